// Driver design §4: allocation planned for one class and family, and the exclusion of unassigned placeholders and gaps.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AllocationTest : public DriverTest {
 protected:
  // Only the pool 203.0.113.0/30 minus network and broadcast: two addresses.
  void use_small_class() { put_class("public", R"("parameters":{"addresses":["203.0.113.0/30"]})"); }
  // A stand-in for a key that wants to open a gap.
  void want_gap() { world.publish(k_opener, {gap_fact("public", base::Family::v4)}); }
  void end_gap() { world.publish(k_opener, {}); }
  // settle_after() would have the opener forget what it wants.
  void pass(base::Duration d) {
    world.advance(d);
    world.settle(pool_key("public", base::Family::v4));
    settle();
  }
  bool is_opened() { return !world.facts(opened_bucket("public", base::Family::v4)).members.empty(); }

  const kube::Key k_opener{std::string(k_service_reconciler), "tenant-b", "opener"};
};

TEST_F(AllocationTest, AsManyWaitAsThereAreFreeAddressesOldestFirst) {
  use_small_class();
  for (const char* name : {"a", "b", "c", "d"}) put_claim(name);
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-a-v4", "iad-uid-b-v4"));
}

TEST_F(AllocationTest, OneWaitsWhenNothingIsFree) {
  use_small_class();
  put_address("203.0.113.1", "");
  put_hold("203.0.113.1");
  put_address("203.0.113.2", "");
  put_hold("203.0.113.2");
  settle();
  put_claim("a");
  put_claim("b");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1", "iad-ip-203-0-113-2", "iad-uid-a-v4"));
  settle_after(seconds(3));
  settle_after(seconds(3));
  EXPECT_EQ(provisioning("a"), "False/Exhausted");
  EXPECT_EQ(provisioning("b"), "False/Exhausted");
}

// What is free is for those before it.
TEST_F(AllocationTest, WhoeverIsLeftWithNothingSaysSo) {
  use_small_class();
  for (const char* name : {"a", "b", "c"}) put_claim(name);
  settle();
  settle_after(seconds(1));
  EXPECT_EQ(provisioning("c"), "");
  settle_after(seconds(2));
  EXPECT_EQ(provisioning("c"), "False/Exhausted");
}

// Which of them is taken back goes by the age of the claims, as giving does: otherwise it would be given again at once,
// and taken back, for ever.
TEST_F(AllocationTest, ExcessIsTakenFromTheYoungestClaim) {
  use_small_class();
  for (const char* ip : {"203.0.113.1", "203.0.113.2"}) {
    put_address(ip, "");
    put_hold(ip);
  }
  put_claim("young");
  settle();
  put_claim("old");
  world.change<api::IPAddressClaim>("tenant-a", "old", R"({"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}})");
  settle();
  ASSERT_NE(drawn("old"), nullptr);
  settle_after(seconds(11));
  EXPECT_EQ(drawn("young"), nullptr);
  settle_after(seconds(11));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(settle_after(seconds(11)), 0);
  EXPECT_NE(drawn("old"), nullptr);
}

// A crowd's place in the queue is worth a write for each only if it lasts, and what MetalLB has not got to yet is no
// reason to make it look again.
TEST_F(AllocationTest, ACrowdIsServedInPortionsAndWritesNothingWhileItMoves) {
  put_class("public", R"("parameters":{"addresses":["203.0.113.0/24"]})");
  for (int i = 0; i < 100; ++i) put_claim(fmt::format("c{:02}", i));
  settle();
  ASSERT_EQ(placeholders().size(), 64U);
  EXPECT_EQ(placeholders().back(), "iad-uid-c63-v4");
  EXPECT_EQ(settle_after(seconds(9)), 0);
  settle_after(seconds(14));
  EXPECT_EQ(provisioning("c64"), "False/Queued");
}

// An address changes hands: those who would get nothing anyway say what they said before.
TEST_F(AllocationTest, AGapIsNoNewsToAnExhaustedQueue) {
  use_small_class();
  for (const char* ip : {"203.0.113.1", "203.0.113.2"}) {
    put_address(ip, "");
    put_hold(ip);
  }
  for (const char* name : {"a", "b"}) put_claim(name);
  settle();
  settle_after(seconds(3));
  settle_after(seconds(30));
  ASSERT_EQ(provisioning("b"), "False/Exhausted");
  want_gap();
  world.vanish<api::Service>(k_home, "iad-uid-a-v4");
  settle();
  settle_after(seconds(20));
  EXPECT_EQ(provisioning("b"), "False/Exhausted");
  world.vanish<api::IPAddress>("", name_of("203.0.113.2"));
  settle();
  settle_after(seconds(3));
  EXPECT_EQ(provisioning("b"), "False/Exhausted") << "nor is one that is free for a moment";
  end_gap();
}

// Freed addresses go to the oldest. To all behind them nothing has happened: they have nothing to write.
TEST_F(AllocationTest, AFreedAddressWakesOneOfAHundred) {
  use_small_class();
  put_address("203.0.113.1", "");
  put_hold("203.0.113.1");
  put_address("203.0.113.2", "");
  put_hold("203.0.113.2");
  for (int i = 0; i < 100; ++i) put_claim(fmt::format("c{:02}", i));
  settle();
  settle_after(seconds(3));
  settle_after(seconds(3));
  ASSERT_EQ(provisioning("c99"), "False/Exhausted");
  ASSERT_NE(drawn("c00"), nullptr);
  world.vanish<api::IPAddress>("", name_of("203.0.113.2"));
  world.vanish<api::Service>(k_home, hold_name(name_of("203.0.113.2")));
  settle();
  const int before = world.writes;
  assign_home("iad-uid-c00-v4", "203.0.113.2");
  world.settle_all();
  EXPECT_LE(world.writes - before, 5);  // address, label, class status; the next one's placeholder
  EXPECT_NE(drawn("c01"), nullptr);
}

TEST_F(AllocationTest, AFreedAddressLetsTheNextOneIn) {
  use_small_class();
  for (const char* name : {"a", "b", "c"}) put_claim(name);
  settle();
  world.vanish<api::IPAddressClaim>("tenant-a", "a");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-b-v4", "iad-uid-c-v4"));
}

TEST_F(AllocationTest, ExhaustionIsTakenBackWhenCapacityFrees) {
  use_small_class();
  for (const char* ip : {"203.0.113.1", "203.0.113.2"}) {
    put_address(ip, "");
    put_hold(ip);
  }
  put_claim("a");
  settle();
  settle_after(seconds(3));
  ASSERT_EQ(provisioning("a"), "False/Exhausted");
  world.vanish<api::Service>(k_home, "iad-ip-203-0-113-2");
  world.vanish<api::IPAddress>("", "ip-203-0-113-2");
  assign_home("iad-uid-a-v4", "203.0.113.2");
  settle();
  bind("a", {"203.0.113.2"});
  settle();
  EXPECT_EQ(provisioning("a"), "True/Provisioned");
}

TEST_F(AllocationTest, FamiliesAndClassesDoNotWaitForEachOther) {
  want_gap();
  put_claim("six", "IPv6");
  put_claim("four", "IPv4");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-six-v6"));
}

TEST_F(AllocationTest, AGapMakesUnassignedPlaceholdersGoBeforeItOpens) {
  put_claim();
  settle();
  ASSERT_NE(drawn(), nullptr);
  want_gap();
  const kube::Key pool = pool_key("public", base::Family::v4);
  const kube::Plan first = plan(pool);
  EXPECT_THAT(steps(first), ElementsAre("placeholder-before-gap"));
  EXPECT_FALSE(is_opened());
  world.execute(first);
  settle();
  EXPECT_TRUE(is_opened());
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(AllocationTest, ThatDeletionSparesAPlaceholderThatWasAssignedMeanwhile) {
  put_claim();
  settle();
  want_gap();
  const kube::Plan first = plan(pool_key("public", base::Family::v4));
  ASSERT_EQ(first.writes.size(), 1u);
  EXPECT_TRUE(first.writes[0].body.at("preconditions").get_object().contains("resourceVersion"));
}

TEST_F(AllocationTest, AnAssignedPlaceholderIsNoObstacleToAGap) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  want_gap();
  settle();
  EXPECT_TRUE(is_opened());
  EXPECT_NE(drawn(), nullptr);
}

// Whatever holds up the claim's key.
TEST_F(AllocationTest, ATerminatingUnassignedPlaceholderIsOneUntilItGetsNothing) {
  put_claim();
  settle();
  world.change<api::Service>(k_home, "iad-uid-web-v4", R"({"metadata":{"finalizers":["somebody/else"]}})");
  want_gap();
  const kube::Key key = pool_key("public", base::Family::v4);
  world.execute(plan(key));
  ASSERT_TRUE(drawn()->meta.deleting);
  const kube::Plan next = plan(key);
  EXPECT_THAT(steps(next), ElementsAre("placeholder-empty"));
  EXPECT_FALSE(is_opened());
  world.execute(next);
  settle();
  EXPECT_TRUE(is_opened());
}

TEST_F(AllocationTest, NothingIsCreatedWhileAGapIsOpenAndAllIsAfterwards) {
  want_gap();
  put_claim();
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
  for (int i = 0; i < 2; ++i) {
    world.advance(seconds(16));
    world.settle(claim_key("tenant-a", "web"));
  }
  EXPECT_EQ(provisioning(), "False/Queued");
  end_gap();
  settle();
  EXPECT_FALSE(is_opened());
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4"));
}

// --- gaps without end ---

TEST_F(AllocationTest, GapsThatNeverEndLeaveTheClaimsTheirTurn) {
  want_gap();
  put_claim();
  for (int i = 0; i < 45; ++i) {
    pass(seconds(1));
    ASSERT_EQ(drawn(), nullptr) << "after " << i << " s";
  }
  int served = 0;
  int pairs = 0;
  for (int i = 0; i < 180; ++i) {
    pass(seconds(1));
    served += drawn() != nullptr ? 1 : 0;
    pairs += drawn() != nullptr && is_opened() ? 1 : 0;
  }
  EXPECT_GE(served, 20) << "of 180 s";
  EXPECT_LE(served, 60) << "a live Service may wait for its address";
  EXPECT_EQ(pairs, 0);
}

// What was opened at the last moment is over before there is something that could get the address.
TEST_F(AllocationTest, TheTurnOfTheClaimsBeginsWithAPause) {
  want_gap();
  put_claim();
  settle();
  bool open_before = false;
  for (int i = 0; i < 1000 && drawn() == nullptr; ++i) {
    open_before = is_opened();
    pass(std::chrono::milliseconds(100));
  }
  ASSERT_NE(drawn(), nullptr);
  EXPECT_FALSE(open_before);
}

// Between two gaps that somebody opens one after the other.
TEST_F(AllocationTest, APauseBetweenGapsStartsNoNewTurn) {
  put_claim();
  int longest = 0;
  int row = 0;
  for (int i = 0; i < 1000; ++i) {
    want_gap();
    pass(std::chrono::milliseconds(90));
    row = drawn() != nullptr ? row + 1 : 0;
    longest = std::max(longest, row);
    end_gap();
    pass(std::chrono::milliseconds(10));
  }
  EXPECT_GE(longest, 50) << "MetalLB had no time";
}

TEST_F(AllocationTest, WhoWantsAGapOnceNowAndThenWaitsForNobody) {
  put_claim();
  for (int i = 0; i < 20; ++i) {
    pass(seconds(10));
    EXPECT_NE(drawn(), nullptr) << i;
    want_gap();
    settle();
    EXPECT_TRUE(is_opened()) << i;
    end_gap();
    settle();
  }
}

// Facts of a fresh process: gaps are known before the first placeholder is planned.
TEST_F(AllocationTest, AfterARestartAnOpenGapIsSeenBeforeAnythingIsCreated) {
  put_claim("waiting");
  put_address(k_v4, "");  // its hold is gone: a gap
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1", "iad-uid-waiting-v4"));
}

TEST_F(AllocationTest, AnAddressThatTheBackendCannotGiveIsNoGap) {
  put_address("198.51.100.7", "");
  world.change<api::IPAddressPool>("metallb-system", "iad-public", R"({"spec":{"addresses":["203.0.113.0/29"]}})");
  const auto gaps = [&] { return world.facts(gaps_bucket("public", base::Family::v4)).members.size(); };
  world.settle(address_key("ip-198-51-100-7"));
  EXPECT_EQ(gaps(), 0u);
  world.change<api::IPAddressPool>("metallb-system", "iad-public",
                                   R"({"spec":{"addresses":["203.0.113.0/29","198.51.100.7/32"]}})");
  world.settle(address_key("ip-198-51-100-7"));
  EXPECT_EQ(gaps(), 1u);
}

TEST_F(AllocationTest, AnAddressInForeignHandsIsNoGap) {
  put_service("thief", "");
  assign("tenant-a", "thief", {std::string(k_v4)});
  put_address(k_v4, "");
  put_claim();
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1", "iad-uid-web-v4"));
}

TEST_F(AllocationTest, WithoutItsPoolNothingIsAskedFor) {
  world.change<api::Namespace>("", "metallb-system", R"({"status":{"phase":"Terminating"}})");
  world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  put_claim();
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
  settle_after(seconds(3));
  EXPECT_EQ(provisioning(), "False/MetalLBTerminating");
}

// MetalLB would give of it, for ever what has to be given back.
TEST_F(AllocationTest, NothingIsDrawnFromSomebodyElsesPool) {
  put_foreign_pool("iad-public", R"("192.0.2.0/24")");
  put_claim();
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
  settle_after(seconds(3));
  EXPECT_THAT(placeholders(), IsEmpty());
  EXPECT_EQ(provisioning(), "False/ForeignObject");
}

TEST_F(AllocationTest, WhatSomebodyElsesPoolHasGivenIsNotRecorded) {
  put_claim();
  settle();
  put_foreign_pool("iad-public", R"("203.0.113.0/29")");
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(placeholders(), IsEmpty());
}

// --- what supply says ---

TEST_F(AllocationTest, AddressesOutsideTheRangesTakeNothingFromTheSupply) {
  use_small_class();
  for (const char* ip : {"203.0.113.1", "203.0.113.2"}) {
    put_address(ip, "");
    put_hold(ip);
  }
  settle();
  put_class("public", R"("parameters":{"addresses":["198.51.100.0/30"]})");
  put_claim("a");
  put_claim("b");
  settle();
  EXPECT_NE(drawn("a"), nullptr);
  EXPECT_NE(drawn("b"), nullptr);
}

TEST_F(AllocationTest, WhatServicesUseWithoutAClaimIsNotFree) {
  use_small_class();
  for (const char* ip : {"203.0.113.1", "203.0.113.2"}) {
    put_service(name_of(ip), "");
    assign("tenant-a", name_of(ip), {ip});
  }
  put_claim("a");
  put_claim("b");
  settle();
  settle_after(seconds(3));
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-a-v4"));
  settle_after(seconds(11));
  EXPECT_EQ(provisioning("a"), "False/Exhausted");
}

TEST_F(AllocationTest, WhileTheirNamespaceGoesNoPlaceholdersAreToBeHad) {
  world.change<api::Namespace>("", k_home, R"({"status":{"phase":"Terminating"}})");
  put_claim();
  settle();
  settle_after(seconds(3));
  EXPECT_THAT(placeholders(), IsEmpty());
  EXPECT_EQ(provisioning(), "False/PlaceholderRefused");
}

// That it is exhausted is an estimate.
TEST_F(AllocationTest, InAnExhaustedClassMetalLbIsAskedAgainSeldom) {
  use_small_class();
  for (const char* ip : {"203.0.113.1", "203.0.113.2"}) {
    put_address(ip, "");
    put_hold(ip);
  }
  put_claim("a");
  settle();
  settle_after(seconds(3));
  EXPECT_EQ(settle_after(std::chrono::minutes(9)), 0);
  EXPECT_EQ(settle_after(std::chrono::minutes(1)), 1);
  EXPECT_EQ(annotation(*drawn("a"), m::touched), "1");
  EXPECT_EQ(settle_after(std::chrono::minutes(9)), 0);
}

// --- ---

class LimitedAllocationTest : public DriverTest {
 protected:
  static Options limited() {
    Options options;
    options.max_placeholders = 1;
    return options;
  }
  LimitedAllocationTest() : DriverTest(limited()) {}
};

TEST_F(LimitedAllocationTest, NoPlaceholderBeyondTheLimit) {
  put_bound();
  put_claim("b");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
  settle_after(seconds(3));
  EXPECT_EQ(provisioning("b"), "False/PlaceholderLimit");
}

TEST_F(AllocationTest, ExcessIsTakenBackAfterAWhile) {
  use_small_class();
  put_claim("a");
  put_claim("b");
  settle();
  put_address("203.0.113.1", "");
  put_hold("203.0.113.1");
  settle();
  EXPECT_EQ(placeholders().size(), 3u);
  settle_after(seconds(11));
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1", "iad-uid-a-v4"));
}

}  // namespace
}  // namespace metallb::testing
