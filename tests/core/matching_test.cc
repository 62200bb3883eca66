// Contract §3a: matching by class and family.
#include "core/matching.h"
#include "core/indexes.h"
#include "core_fixture.h"

namespace core {
namespace {

using testing::ElementsAre;

class Matching : public CoreTest {
 protected:
  void SetUp() override { make_class("public"); }
  void make_claims(int n, std::string_view spec = R"("className":"public")") {
    for (int i = 0; i < n; ++i) make_claim(fmt::format("c{:04}", i), spec);
  }
  void make_addresses(int n) {
    for (int i = 0; i < n; ++i) make_address(fmt::format("a{:04}", i), fmt::format("10.0.{}.{}", i / 250, i % 250 + 1));
  }
  const kube::Key key{"match", "", "public/IPv4"};
};

TEST_F(Matching, AddressesInNameOrderClaimsByAge) {
  make_claims(3);
  settle();
  make_address("z", "203.0.113.1");
  make_address("y", "203.0.113.2");
  settle();
  // Each address came when the oldest waiting claim was the next one.
  EXPECT_EQ(phase("c0000"), "Bound");
  EXPECT_EQ(phase("c0001"), "Bound");
  EXPECT_EQ(phase("c0002"), "Pending");
  expect_quiet();
}

TEST_F(Matching, OrderIsTakenFromTheWholeQueue) {
  make_address("b", "203.0.113.2");
  make_address("a", "203.0.113.1");
  settle();
  make_claim("young", R"("className":"public")", "", R"(,"creationTimestamp":"2024-05-01T00:00:00Z")");
  make_claim("old", R"("className":"public")", "", R"(,"creationTimestamp":"2023-05-01T00:00:00Z")");
  make_claim("middle-b", R"("className":"public")", "", R"(,"creationTimestamp":"2024-01-01T00:00:00Z","uid":"b")");
  make_claim("middle-a", R"("className":"public")", "", R"(,"creationTimestamp":"2024-01-01T00:00:00Z","uid":"a")");
  settle();
  EXPECT_EQ(reported("old"), "203.0.113.1");
  EXPECT_EQ(reported("middle-a"), "203.0.113.2");
  EXPECT_EQ(phase("middle-b"), "Pending");
  EXPECT_EQ(phase("young"), "Pending");
}

TEST_F(Matching, DualWithItsOtherHalfComesFirst) {
  make_claim("single", R"("className":"public","family":"IPv6")");
  make_claim("dual", R"("className":"public","family":"Dual")");
  make_address("v4", "203.0.113.1");
  settle();
  EXPECT_EQ(reported("dual"), "203.0.113.1");
  make_address("v6", "2001:db8::1");
  settle();
  EXPECT_EQ(phase("dual"), "Bound");
  EXPECT_EQ(phase("single"), "Pending");
}

TEST_F(Matching, DualWithBothAtHandIsReportedOnce) {
  make_address("v4", "203.0.113.1");
  make_address("v6", "2001:db8::1");
  settle();
  clear();
  make_claim("dual", R"("className":"public","family":"Dual")");
  settle();
  EXPECT_EQ(phase("dual"), "Bound");
  EXPECT_EQ(world.writes, 6);  // metadata, two claimRefs, two address statuses, one claim status
  EXPECT_THAT(event_reasons(), ElementsAre("dual:Bound"));
}

TEST_F(Matching, FreedAddressWakesOneClaimNotAll) {
  make_claims(50);
  settle();
  clear();
  make_address("a", "203.0.113.1");
  settle();
  EXPECT_EQ(phase("c0000"), "Bound");
  // Address metadata and Available, claimRef, address Bound, claim Bound: nothing about the other 49.
  EXPECT_EQ(world.writes, 5);
  // The supply stayed exhausted all the time, so the other claims were not even woken.
  make_address("b", "203.0.113.2");
  world.settle({"address", "", "b"});
  const kube::Plan plan = world.run(key);
  world.take_woken();
  world.execute(plan);
  world.settle({"address", "", "b"});
  for (const kube::Key& woken : world.take_woken())
    EXPECT_THAT(woken.name, testing::AnyOf("c0001", "b", "public/IPv4"));
}

TEST_F(Matching, PortionsOfALongQueue) {
  make_addresses(200);
  settle();
  make_claims(200);
  for (int i = 0; i < 200; ++i) world.settle({"claim", "t", fmt::format("c{:04}", i)});
  const kube::Plan plan = world.run(key);
  EXPECT_EQ(plan.writes.size(), k_portion);
  // Its facts: one for each patch in flight; nobody is told that the supply is exhausted.
  EXPECT_EQ(plan.facts.size(), k_portion);
  world.execute(plan);
  clear();
  settle();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(phase(fmt::format("c{:04}", i)), "Bound");
  expect_quiet();
}

TEST_F(Matching, FourWritesEachInABurst) {
  make_addresses(150);
  settle();
  clear();
  make_claims(150);
  settle();
  EXPECT_EQ(world.writes, 4 * 150);
  EXPECT_EQ(world.events.size(), 150U);
}

TEST_F(Matching, ExhaustedIsSaidExactlyWhileClaimsAreLeftOver) {
  const auto exhausted = [&] { return !world.facts(exhausted_bucket("public/IPv4")).members.empty(); };
  make_addresses(2);
  settle();
  EXPECT_FALSE(exhausted());
  make_claims(2);
  settle();
  EXPECT_FALSE(exhausted());
  make_claim("third", R"("className":"public")");
  settle();
  EXPECT_TRUE(exhausted());
  make_address("x", "203.0.113.9");
  settle();
  EXPECT_EQ(phase("third"), "Bound");
  EXPECT_FALSE(exhausted());
}

TEST_F(Matching, WriteInFlightHidesAnAddressButExhaustsNothing) {
  make_address("a", "203.0.113.1");
  settle();
  const kube::Ref target{&Address::kind().resource, "", "a"};
  world.begin_write(target);
  make_claims(1);
  world.settle({"claim", "t", "c0000"});
  kube::Plan plan = world.run(key);
  EXPECT_TRUE(plan.sends_nothing());
  EXPECT_TRUE(plan.facts.empty());  // not exhausted: wait for the answer
  make_claims(2);
  world.settle({"claim", "t", "c0001"});
  plan = world.run(key);
  EXPECT_EQ(plan.facts.size(), 1U);  // two claims, one address at best
  world.take_woken();
  world.end_write(target);
  EXPECT_TRUE(world.is_woken(key));
}

TEST_F(Matching, ClaimThatIsNotProtectedYetKeepsItsTurn) {
  make_address("a", "203.0.113.1");
  settle();
  make_claim("old", R"("className":"public")", "", R"(,"creationTimestamp":"2023-05-01T00:00:00Z")");
  make_claim("young", R"("className":"public")");
  const kube::Plan protect = world.run({"claim", "t", "old"});
  ASSERT_EQ(protect.writes.size(), 1U);
  world.settle({"claim", "t", "young"});
  EXPECT_TRUE(world.run(key).writes.empty());
  world.execute(protect);
  settle();
  EXPECT_EQ(phase("old"), "Bound");
  EXPECT_EQ(phase("young"), "Pending");
}

TEST_F(Matching, ClaimThatCannotBeProtectedDelaysNobody) {
  make_address("a", "203.0.113.1");
  settle();
  make_claim("refused", R"("className":"public")");
  world.memory({"claim", "t", "refused"}).failures = 1;
  EXPECT_TRUE(world.run({"claim", "t", "refused"}).facts.empty());
  make_claim("fine", R"("className":"public")");
  world.settle({"claim", "t", "fine"});
  world.take_woken();
  world.settle(key);
  world.settle({"claim", "t", "fine"});
  EXPECT_EQ(phase("fine"), "Bound");
}

TEST_F(Matching, AddressWhosePatchIsRefusedDelaysNobody) {
  make_address("bad", "203.0.113.1");
  make_address("good", "203.0.113.2");
  settle();
  make_claims(1);
  world.settle({"claim", "t", "c0000"});
  EXPECT_EQ(world.run(key).writes.at(0).target.name, "bad");
  world.memory(key).failures = 1;
  EXPECT_EQ(world.run(key).writes.at(0).target.name, "bad");  // once more: it may have been the network
  world.memory(key).failures = 2;
  const kube::Plan plan = world.run(key);
  EXPECT_EQ(plan.writes.at(0).target.name, "good");
  EXPECT_TRUE(plan.revisit.has_value());
  world.execute(plan);
  world.memory(key).failures = 0;
  // Only the refused one is left for the next claim: it is told to wait, and the address is tried again later.
  make_claim("next", R"("className":"public")");
  settle();
  EXPECT_EQ(bound_reason("next"), "False/WaitingForProvisioning");
  world.advance(std::chrono::seconds(31));
  EXPECT_EQ(world.run(key).writes.at(0).target.name, "bad");
}

TEST_F(Matching, WhatIsNotMatchable) {
  make_claim("web", R"("className":"public")");
  make_address("attached", "203.0.113.1", "public", "",
               R"("associatedTo":{"kind":"Service","namespace":"x","name":"y"})");
  make_address("reserved", "203.0.113.2", "public", claim_ref("future"));
  make_address(
      "unreserved", "203.0.113.3", "public", "",
      R"("conditions":[{"type":"Reserved","status":"False","reason":"R","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}])");
  make_address("conflict", "203.0.113.4", "public", "", R"("phase":"Conflict")");
  make_address("dying", "203.0.113.5", "public", "", R"("phase":"Available")", R"(,"finalizers":["x/y"])");
  world.remove<Address>("", "dying");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  for (const char* name : {"attached", "unreserved", "conflict", "dying"}) EXPECT_EQ(ref(name), "") << name;
  EXPECT_EQ(ref("reserved"), "t/future/");
  EXPECT_EQ(address_phase("reserved"), "Available");
  EXPECT_EQ(address_phase("unreserved"), "Available");
  // The driver holds it now.
  change_address(
      "unreserved",
      R"({"status":{"conditions":[{"type":"Reserved","status":"True","reason":"R","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}]}})");
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.3");
  expect_quiet();
}

TEST_F(Matching, ClearedFromUnderALiveClaim) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_address("a", R"({"spec":{"claimRef":null}})");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(address_phase("a"), "Available");
  EXPECT_THAT(kube::find_condition(claim("web")->conditions, "Bound")->message, testing::HasSubstr("no longer bound"));
  // Another claim gets it.
  make_claim("next", R"("className":"public")");
  settle();
  EXPECT_EQ(reported("next"), "203.0.113.1");
  EXPECT_EQ(phase("web"), "Lost");
  expect_quiet();
}

TEST_F(Matching, KeyIsForgottenWhenNobodyWaits) {
  make_claims(1);
  settle();
  EXPECT_FALSE(world.run(key).forget);
  world.remove<Claim>("t", "c0000");
  settle();
  EXPECT_TRUE(world.run(key).forget);
}

TEST_F(Matching, DeletionDoesNotWaitForAKeyThatBacksOff) {
  make_address("a", "203.0.113.1");
  settle();
  make_claims(1);
  world.settle({"claim", "t", "c0000"});
  ASSERT_EQ(world.run(key).writes.size(), 1U);  // refused; its fact stays until the key is planned again
  world.remove<Claim>("t", "c0000");
  world.settle({"claim", "t", "c0000"});
  EXPECT_EQ(claim("c0000"), nullptr);
}

TEST_F(Matching, DeletionWaitsForAMatchInFlight) {
  make_address("a", "203.0.113.1", "public", R"(,"reclaimPolicy":"Delete")");
  settle();
  make_claims(1);
  world.settle({"claim", "t", "c0000"});
  const kube::Plan match = world.run(key);
  ASSERT_EQ(match.writes.size(), 1U);
  world.begin_write(match.writes[0].target);
  world.remove<Claim>("t", "c0000");
  EXPECT_TRUE(world.run({"claim", "t", "c0000"}).sends_nothing());
  world.end_write(match.writes[0].target);
  world.execute(match);
  settle();
  EXPECT_EQ(claim("c0000"), nullptr);
  EXPECT_EQ(address("a"), nullptr);
}

}  // namespace
}  // namespace core
