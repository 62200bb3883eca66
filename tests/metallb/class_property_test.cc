// Parameters and rendering against a model that counts addresses one by one, on random input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>

#include "base/random.h"
#include "metallb/class_world.h"

namespace metallb::testing {
namespace {

// 10.0.0.0 to 10.0.3.255, one bit each.
constexpr std::uint32_t k_base = 10U << 24;
constexpr std::size_t k_size = 1024;
using Set = std::bitset<k_size>;

std::string ip(std::uint64_t offset) {
  return base::IpAddress::v4(k_base + static_cast<std::uint32_t>(offset)).to_string();
}

struct Written {
  std::string text;
  Set all;     // what is written
  Set usable;  // without network and broadcast address
};

Written random_entry(base::Random& random) {
  Written entry;
  if (random.below(3) == 0) {
    const auto length = static_cast<int>(24 + random.below(9));
    const std::uint64_t size = std::uint64_t{1} << (32 - length);
    const std::uint64_t first = random.below(k_size) / size * size;
    entry.text = fmt::format("{}/{}", ip(first + random.below(size)), length);
    for (std::uint64_t i = 0; i < size; ++i) entry.all.set(first + i);
    entry.usable = entry.all;
    if (length < 31) entry.usable.reset(first).reset(first + size - 1);
  } else {
    const std::uint64_t first = random.below(k_size);
    const std::uint64_t last = std::min<std::uint64_t>(k_size - 1, first + random.below(40));
    entry.text = first == last ? ip(first) : fmt::format("{}-{}", ip(first), ip(last));
    for (std::uint64_t i = first; i <= last; ++i) entry.all.set(i);
    entry.usable = entry.all;
  }
  return entry;
}

Set set_of(const base::IpRangeSet& ranges) {
  Set set;
  for (std::uint64_t i = 0; i < k_size; ++i)
    set[i] = ranges.contains(base::IpAddress::v4(k_base + static_cast<std::uint32_t>(i)));
  return set;
}

struct RandomParameters {
  std::string json;
  Set result;
};

RandomParameters random_parameters(base::Random& random) {
  boost::json::array addresses;
  boost::json::array exclude;
  Set written;
  RandomParameters parameters;
  for (std::uint64_t n = 1 + random.below(8); n > 0; --n) {
    const Written entry = random_entry(random);
    if ((entry.all & written).any()) continue;
    written |= entry.all;
    parameters.result |= entry.usable;
    addresses.emplace_back(entry.text);
  }
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    const Written entry = random_entry(random);
    parameters.result &= ~entry.all;
    exclude.emplace_back(entry.text);
  }
  parameters.json = boost::json::serialize(boost::json::object{{"addresses", addresses}, {"exclude", exclude}});
  return parameters;
}

TEST(ParametersPropertyTest, ComeToExactlyWhatIsWrittenAndNotExcluded) {
  base::Random random(7);
  int accepted = 0;
  for (int round = 0; round < 600; ++round) {
    const RandomParameters parameters = random_parameters(random);
    const auto parsed = parse_parameters(parameters.json);
    ASSERT_EQ(parsed.has_value(), parameters.result.any()) << parameters.json;
    if (!parsed) continue;
    ++accepted;
    ASSERT_EQ(set_of(parsed->ranges), parameters.result) << parameters.json;
    ASSERT_EQ(static_cast<std::size_t>(parsed->ranges.count(base::Family::v4).value), parameters.result.count());
    // MetalLB reads the same, no entry overlaps with another, and none is empty.
    base::IpRangeSet rendered;
    for (const std::string& text : render_addresses(parsed->pieces, {})) {
      const auto range = pool_entry(text);
      ASSERT_TRUE(range) << text;
      ASSERT_FALSE(rendered.intersects(*range)) << parameters.json;
      rendered.add(*range);
    }
    ASSERT_EQ(rendered, parsed->ranges) << parameters.json;
  }
  EXPECT_GT(accepted, 300);
}

// Whatever an administrator edits and whatever comes and goes: all that lives stays in the pool, and beyond that there
// is only what the parameters say.
TEST(ClassPropertyTest, WhatLivesIsAlwaysRendered) {
  base::Random random(11);
  for (int history = 0; history < 10; ++history) {
    ClassWorld w;
    Set live;
    Set wanted;
    bool exists = false;
    int generation = 0;
    for (int step = 0; step < 40; ++step) {
      switch (random.below(6)) {
        case 0:
        case 1: {
          const RandomParameters parameters = random_parameters(random);
          if (parameters.result.none()) continue;
          wanted = parameters.result;
          if (exists) {
            w.edit_class("public", parameters.json, ++generation);
          } else {
            w.put_class("public", parameters.json, ++generation);
          }
          exists = true;
          break;
        }
        case 2:
          if (!exists) continue;
          w.world.vanish<api::IPAddressClass>("", "public");
          exists = false;
          break;
        default: {
          const std::uint64_t i = random.below(k_size);
          if (live.any() && random.below(3) == 0) {
            std::uint64_t gone = i;
            while (!live[gone % k_size]) ++gone;
            w.vanish_address(ip(gone % k_size));
            live.reset(gone % k_size);
          } else if (exists && !live[i]) {
            w.put_address(ip(i), "public");
            live.set(i);
          }
        }
      }
      w.world.settle_all();
      w.world.advance(std::chrono::minutes(1));
      w.world.settle_all();
      const Set rendered = set_of(pool_ranges(w.addresses("public")));
      ASSERT_EQ(live & ~rendered, Set()) << "history " << history << " step " << step;
      if (exists) {
        ASSERT_EQ(rendered, wanted | live) << "history " << history << " step " << step;
      } else if (live.none()) {
        ASSERT_EQ(w.pool("public"), nullptr) << "history " << history << " step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace metallb::testing
