// Contract §2 "Holds", §3.3 and §4.3: which object has its IP, and what is read live before that is acted upon.
#include "api/holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/names.h"

namespace api {
namespace {

IPAddressClaim live_claim(std::string family = "IPv4", std::string class_name = "") {
  IPAddressClaim claim;
  claim.meta.ns = "t";
  claim.meta.name = "web";
  claim.meta.uid = "uid-web";
  claim.family = std::move(family);
  claim.className = std::move(class_name);
  return claim;
}

IPAddress object(std::string name, std::string text = "203.0.113.1", std::string claim_uid = "uid-web") {
  IPAddress address;
  address.meta.name = name;
  address.meta.uid = "uid-" + name;
  address.address = std::move(text);
  address.className = "public";
  address.claimRef = ClaimRef{"t", "web", std::move(claim_uid)};
  return address;
}

TEST(GripTest, OfEveryKindOfObject) {
  const IPAddress plain = object("a");
  const IPAddressClaim claim = live_claim();
  EXPECT_EQ(grip_of(plain, &claim), Grip::claimed);
  EXPECT_EQ(grip_of(plain, nullptr), Grip::loose);

  IPAddress unclaimed = plain;
  unclaimed.claimRef.reset();
  EXPECT_EQ(grip_of(unclaimed, nullptr), Grip::loose);
  EXPECT_EQ(grip_of(object("a", "203.0.113.1", ""), &claim), Grip::loose) << "a pre-binding";
  EXPECT_EQ(grip_of(object("a", "203.0.113.1", "uid-former"), &claim), Grip::loose);
  EXPECT_EQ(grip_of(object("a", "2001:db8::1"), &claim), Grip::loose) << "another family";
  EXPECT_EQ(grip_of(object("a", "127.0.0.1"), &claim), Grip::loose);
  EXPECT_EQ(grip_of(object("a", "nonsense"), &claim), Grip::loose);

  IPAddress released = plain;
  released.phase = phase::released;
  EXPECT_EQ(grip_of(released, &claim), Grip::loose);
  for (const auto phase : {phase::conflict, phase::lost, phase::pending, phase::bound}) {
    IPAddress other = plain;
    other.phase = phase;
    EXPECT_EQ(grip_of(other, &claim), Grip::claimed) << phase;
  }

  IPAddress copy = object("a", "203.0.113.1", "uid-former");
  copy.meta.annotations.set(std::string(recorded_uid_annotation), "uid-before");
  for (const auto phase : {phase::released, phase::pending}) {
    copy.phase = phase;
    EXPECT_EQ(grip_of(copy, &claim), Grip::awaited) << "another claim of that name: it is kept for its own";
    EXPECT_EQ(grip_of(copy, nullptr), Grip::awaited);
  }
  copy.claimRef->uid = claim.meta.uid;
  EXPECT_EQ(grip_of(copy, &claim), Grip::claimed) << "intact, the annotation is behind";

  IPAddressClaim going = claim;
  going.meta.deleting = true;
  EXPECT_EQ(grip_of(plain, &going), Grip::loose);
  const IPAddressClaim of_other_class = live_claim("IPv4", "other");
  EXPECT_EQ(grip_of(plain, &of_other_class), Grip::loose);
}

TEST(GripTest, WhatIsReportedIsNameAndValue) {
  IPAddressClaim claim = live_claim("IPv6", "other");
  claim.addresses = {{"a", "2001:DB8:0::1"}};
  EXPECT_EQ(grip_of(object("a", "2001:db8::1"), &claim), Grip::reported) << "and then its class does not matter";
  EXPECT_EQ(grip_of(object("a", "2001:db8::2"), &claim), Grip::claimed);
  EXPECT_EQ(grip_of(object("b", "2001:db8::1"), &claim), Grip::claimed);
}

TEST(SeniorTest, GripThenAgeThenUidWhateverTheOrder) {
  IPAddressClaim reporter = live_claim();
  reporter.addresses = {{"reported", "203.0.113.1"}};
  IPAddressClaim other = live_claim();
  other.meta.name = "other";
  other.meta.uid = "uid-other";
  // From the strongest to the weakest.
  std::vector<IPAddress> objects{object("reported"), object("claimed", "203.0.113.1", "uid-other"), object("old"),
                                 object("b"), object("c")};
  objects[0].meta.created = 9;
  objects[1].claimRef->name = "other";
  objects[1].meta.created = 8;
  objects[2].phase = phase::released;
  objects[2].meta.created = 1;
  for (const std::size_t i : {3, 4}) {
    objects[i].claimRef.reset();
    objects[i].meta.created = 2;
  }
  const auto named = [&](const IPAddress& a) -> const IPAddressClaim* {
    if (!a.claimRef) return nullptr;
    return a.claimRef->name == "other" ? &other : &reporter;
  };
  for (std::size_t strongest = 0; strongest < objects.size(); ++strongest) {
    std::vector<std::size_t> order;
    for (std::size_t i = strongest; i < objects.size(); ++i) order.push_back(i);
    do {
      std::vector<Contender> all;
      for (const std::size_t i : order) all.push_back({&objects[i], named(objects[i])});
      EXPECT_EQ(all[senior_of(all)].address->meta.name, objects[strongest].meta.name);
    } while (std::ranges::next_permutation(order).found);
  }
}

// What a driver has just made for the claim.
IPAddress fresh() {
  IPAddress address = object("a");
  address.from_class = true;
  address.meta.finalizers = {"driver.example/teardown"};
  return address;
}

TEST(NeverPromisedTest, WhatItsDriverMadeForAClaimThatIsGone) {
  const IPAddress made = fresh();
  EXPECT_TRUE(was_never_promised(made, nullptr));
  IPAddressClaim claim = live_claim();
  EXPECT_FALSE(was_never_promised(made, &claim));
  claim.meta.deleting = true;
  EXPECT_TRUE(was_never_promised(made, &claim));
  claim.addresses = {{"a", "203.0.113.1"}};
  EXPECT_FALSE(was_never_promised(made, &claim)) << "its phase is written after the claim's status";
  claim.meta.uid = "uid-next";
  EXPECT_TRUE(was_never_promised(made, &claim)) << "another claim of that name";

  IPAddress seen = made;  // by the core, while its claim was there
  seen.meta.finalizers.emplace_back(address_protection);
  seen.meta.annotations.set(std::string(recorded_uid_annotation), seen.meta.uid);
  EXPECT_TRUE(was_never_promised(seen, nullptr));
}

TEST(NeverPromisedTest, NotWhatMayHaveBeenPromisedAndNotWhatOthersMade) {
  const auto but = [](auto change) {
    IPAddress address = fresh();
    change(address);
    return was_never_promised(address, nullptr);
  };
  for (const auto phase : {phase::pending, phase::available, phase::bound, phase::released, phase::lost}) {
    EXPECT_FALSE(but([&](IPAddress& a) { a.phase = phase; })) << phase;
  }
  EXPECT_FALSE(but([](IPAddress& a) { a.claimRef.reset(); }));
  EXPECT_FALSE(but([](IPAddress& a) { a.claimRef->uid.clear(); })) << "an administrator's pre-binding";
  EXPECT_FALSE(but([](IPAddress& a) { a.from_class = false; }));
  EXPECT_FALSE(but([](IPAddress& a) { a.meta.finalizers.clear(); })) << "no driver made it";
  EXPECT_FALSE(but([](IPAddress& a) {
    a.conditions = {{std::string(condition::reserved), "True", "Held", "", "", 1}};
  })) << "an administrator's, which the driver came to later";
  // Copies that a backup tool made, which writes no status: with the annotation, and from before it existed.
  EXPECT_FALSE(but([](IPAddress& a) { a.meta.annotations.set(std::string(recorded_uid_annotation), "uid-before"); }));
  EXPECT_FALSE(but([](IPAddress& a) { a.meta.finalizers.emplace_back(address_protection); }));
}

TEST(ReportedTest, FamiliesAreReadByValue) {
  IPAddressClaim claim = live_claim("IPv6");
  claim.addresses = {{"x", "2001:DB8::1"}};
  EXPECT_NE(reported(claim, base::Family::v6), nullptr);
  EXPECT_EQ(reported(claim, base::Family::v4), nullptr);
  claim.addresses = {{"x", "unreadable"}};
  EXPECT_NE(reported(claim, base::Family::v6), nullptr) << "the record that the family was served is not lost";
  claim.family = "Dual";
  EXPECT_EQ(reported(claim, base::Family::v6), nullptr);
}

}  // namespace
}  // namespace api
