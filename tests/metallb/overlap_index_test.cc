// Overlaps are found without looking at all classes and pools: nothing is missed, and an edit costs what overlaps.
#include "metallb/overlap_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "metallb/class_world.h"

namespace metallb::testing {
namespace {

base::IpRange random_range(base::Random& random, base::Family family) {
  // Close together, so that many overlap, and across borders of cells of every size.
  const std::uint64_t first = random.below(1U << (4 * (1 + random.below(5))));
  const std::uint64_t last = first + random.below(1U << (1 + random.below(18)));
  const auto address = [&](std::uint64_t n) {
    if (family == base::Family::v4) return base::IpAddress::v4(static_cast<std::uint32_t>(0x0a000000U + n));
    std::array<std::uint8_t, 16> bytes{0x20, 0x01, 0x0d, 0xb8};
    for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(n >> (8 * i));
    return base::IpAddress::v6(bytes);
  };
  return {address(first), address(last)};
}

TEST(OverlapIndexTest, WhatOverlapsIsAlwaysFound) {
  base::Random random(7);
  int overlapping = 0;
  int needless = 0;
  for (int i = 0; i < 20'000; ++i) {
    const base::Family family = i % 2 == 0 ? base::Family::v4 : base::Family::v6;
    const base::IpRange a = random_range(random, family);
    const base::IpRange b = random_range(random, family);
    const auto filed = overlap_buckets(a);
    const auto searched = buckets_to_search(b);
    const bool found = std::ranges::any_of(
        searched, [&](const std::string& bucket) { return std::ranges::find(filed, bucket) != filed.end(); });
    const bool overlap = a.first <= b.last && b.first <= a.last;
    if (overlap) {
      ++overlapping;
      ASSERT_TRUE(found) << entry_text(a) << " and " << entry_text(b);
    }
    needless += found && !overlap;
  }
  EXPECT_GT(overlapping, 2000);
  EXPECT_GT(needless, 0);
}

TEST(OverlapIndexTest, FamiliesNeverMeet) {
  const auto v4 = overlap_buckets({base::IpAddress(), base::IpAddress::v4(0xffffffffU)});
  const auto v6 = buckets_to_search({base::IpAddress::v6({}), base::IpAddress::v6({})});
  for (const std::string& bucket : v4) EXPECT_EQ(std::ranges::find(v6, bucket), v6.end());
}

TEST(OverlapIndexTest, TheSmallestRangesAreFiledInFewBuckets) {
  EXPECT_EQ(overlap_buckets({base::IpAddress::v4(1), base::IpAddress::v4(1)}).size(), 10U);
  EXPECT_EQ(overlap_buckets({base::IpAddress::v6({1}), base::IpAddress::v6({1})}).size(), 18U);
}

// Classes of a /24 and a /64 each, all rendered and at rest.
class ManyClasses {
 public:
  explicit ManyClasses(int count) {
    for (int i = 0; i < count; ++i) {
      w.put_class(name(i), parameters(i));
      w.settle(name(i));
    }
    w.world.settle_all(10 * count);
    w.world.take_woken();
  }
  static std::string name(int i) { return fmt::format("class-{}", i); }
  static std::string parameters(int i, std::string_view more = "") {
    return fmt::format(R"({{"addresses":["10.{}.{}.0/24","2001:db8:0:{:x}::/64"{}]}})", i / 256, i % 256, i, more);
  }
  std::size_t reads_of_a_pass(int i) {
    w.run(name(i));
    const kube::KeyId* id = w.world.keys().find(class_key(name(i)));
    return w.world.dependencies().reads(*id);
  }
  ClassWorld w;
};

TEST(OverlapIndexTest, AnEditReadsWhatOverlapsAndWakesNobodyElse) {
  std::set<std::size_t> reads;
  for (const int count : {200, 400, 800}) {
    SCOPED_TRACE(count);
    ManyClasses many(count);
    reads.insert(many.reads_of_a_pass(100));
    many.w.edit_class(ManyClasses::name(100), ManyClasses::parameters(100, R"(,"192.0.2.0/24")"), 2);
    many.w.settle(ManyClasses::name(100));
    EXPECT_THAT(many.w.world.take_woken(), ::testing::IsEmpty());
    // Its neighbour is asked, and nobody else.
    many.w.edit_class(ManyClasses::name(100), ManyClasses::parameters(100, R"(,"10.0.101.7")"), 3);
    many.w.settle(ManyClasses::name(100));
    EXPECT_THAT(many.w.message(ManyClasses::name(100), "BackendReady"), ::testing::HasSubstr("class-101"));
    EXPECT_THAT(many.w.world.take_woken(), ::testing::ElementsAre(class_key(ManyClasses::name(101))));
  }
  EXPECT_EQ(reads.size(), 1U) << "of an edit the cost grows with the number of classes";
  EXPECT_LT(*reads.rbegin(), 80U);
}

}  // namespace
}  // namespace metallb::testing
