// Conflict and Lost (driver design §7): seen from both sides, by value, and over by themselves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "metallb/driver_fixture.h"

namespace metallb::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace m = api::metallb;

class ConflictTest : public DriverTest {
 protected:
  explicit ConflictTest(Options with = {}) : DriverTest(std::move(with)) {}

  // A Service of another tenant that MetalLB has given the address.
  void put_thief(std::string_view ip = k_v4, std::string_view name = "thief", std::string_view ns = "tenant-b") {
    world.put<api::Service>(
        fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"type":"LoadBalancer"}}}})", name, ns));
    assign(ns, name, {std::string(ip)});
  }
  void lose_hold(std::string_view ip = k_v4) {
    ASSERT_NE(hold(ip), nullptr);
    world.vanish<api::Service>(k_home, hold(ip)->meta.name);
  }
  std::string reserved(std::string_view ip = k_v4) {
    const auto* condition = kube::find_condition(address(ip)->conditions, "Reserved");
    return condition == nullptr ? "" : condition->status + "/" + condition->reason;
  }
  // Everything that a tenant can read.
  void expect_that_tenants_learn_nothing() {
    for (const kube::EventNote& event : world.events) {
      if (event.regarding.ns.empty()) continue;  // for administrators
      EXPECT_THAT(event.note, Not(HasSubstr("tenant-"))) << event.reason;
      EXPECT_THAT(event.note, Not(HasSubstr("web"))) << event.reason;
    }
    for (const auto& condition : address(k_v4)->conditions) {
      EXPECT_THAT(condition.message, Not(HasSubstr("tenant-"))) << condition.type;
      EXPECT_THAT(condition.message, Not(HasSubstr("thief"))) << condition.type;
    }
  }
  int count(std::string_view reason, std::string_view about) {
    return static_cast<int>(std::ranges::count_if(
        world.events, [&](const auto& e) { return e.reason == reason && e.regarding.name == about; }));
  }
};

TEST_F(ConflictTest, IsSeenWhenAServiceChanges) {
  put_bound();
  put_thief();
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
  EXPECT_EQ(reserved(), "False/AddressConflict");
  EXPECT_EQ(count("AddressConflict", "thief"), 1);
  EXPECT_EQ(count("AddressConflict", name_of(k_v4)), 1);
  expect_that_tenants_learn_nothing();
}

TEST_F(ConflictTest, IsSeenWhenAnAddressAppears) {
  put_thief(k_v4);
  settle();
  put_claim();
  put_address(k_v4);
  bind("web", {std::string(k_v4)});
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
}

TEST_F(ConflictTest, IsSeenByValue) {
  put_bound(k_v6);
  put_thief("2001:DB8:0:0:0:0:0:1");
  settle();
  EXPECT_EQ(address(k_v6)->phase, "Conflict");
}

TEST_F(ConflictTest, OurLabelOutsideOfOurNamespaceIsNothing) {
  put_bound();
  put_thief();
  world.change<api::Service>("tenant-b", "thief",
                             fmt::format(R"({{"metadata":{{"labels":{{"{}":"true","{}":"{}"}}}}}})", m::placeholder,
                                         m::ip_address, name_of(k_v4)));
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
}

TEST_F(ConflictTest, AServiceWithoutOurLabelInOurNamespaceIsNotOurs) {
  put_bound();
  put_thief(k_v4, "by-hand", k_home);
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
}

TEST_F(ConflictTest, EveryIntruderIsTold) {
  put_bound();
  put_thief();
  settle();
  put_thief(k_v4, "accomplice");
  settle();
  EXPECT_EQ(count("AddressConflict", "thief"), 1);
  EXPECT_EQ(count("AddressConflict", "accomplice"), 1);
  EXPECT_EQ(count("AddressConflict", name_of(k_v4)), 2);
}

TEST_F(ConflictTest, ForgedKeysHideAThiefOnlyWhileItIsMadeToLetGo) {
  put_bound();
  put_thief();
  world.change<api::Service>("tenant-b", "thief",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":"true"}}}}}})", m::pinned));
  settle();
  EXPECT_EQ(annotation(*world.get<api::Service>("tenant-b", "thief"), m::pinned), "");
  EXPECT_EQ(address(k_v4)->phase, "Conflict") << "it still shows the address";
}

TEST_F(ConflictTest, IsOverAsSoonAsNobodyWrongShowsTheAddress) {
  put_bound();
  lose_hold();
  put_thief();
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
  world.vanish<api::Service>("tenant-b", "thief");
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Pending") << "the core derives the rest";
  EXPECT_EQ(reserved(), "False/AwaitingBackend");
  ASSERT_NE(hold(k_v4), nullptr);
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle();
  EXPECT_EQ(reserved(), "True/Held");
}

TEST_F(ConflictTest, TheDriverEvictsNobodyUnasked) {
  put_bound();
  put_thief();
  settle_after(minutes(1));
  EXPECT_EQ(annotation(*world.get<api::Service>("tenant-b", "thief"), m::pool), "");
}

Options evicting() {
  Options options;
  options.evict_intruders = true;
  return options;
}

class EvictionTest : public ConflictTest {
 protected:
  EvictionTest() : ConflictTest(evicting()) {}
  std::string thiefs_pool() { return annotation(*world.get<api::Service>("tenant-b", "thief"), m::pool); }
};

TEST_F(EvictionTest, PointsTheThiefToAPoolThatDoesNotExist) {
  put_bound();
  lose_hold();
  put_thief();
  world.change<api::Service>("tenant-b", "thief",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", m::pin, k_v4));
  settle();
  EXPECT_EQ(thiefs_pool(), m::awaiting_pool);
  EXPECT_EQ(annotation(*world.get<api::Service>("tenant-b", "thief"), m::pin), k_v4) << "not written by us";
  EXPECT_EQ(count("IntruderEvicted", "thief"), 1);
  expect_that_tenants_learn_nothing();
  // MetalLB empties it, and the hold that waits gets the address.
  assign("tenant-b", "thief", {});
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Pending");
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle();
  EXPECT_EQ(reserved(), "True/Held");
  EXPECT_EQ(thiefs_pool(), m::awaiting_pool) << "its pin would take the address in the first gap";
  world.change<api::Service>("tenant-b", "thief",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", m::pin));
  settle();
  EXPECT_EQ(thiefs_pool(), "") << "nothing of ours is left behind";
}

TEST_F(EvictionTest, AThiefThatAsksInTheOtherFormStaysOut) {
  put_bound();
  lose_hold();
  put_thief();
  world.change<api::Service>("tenant-b", "thief", fmt::format(R"({{"spec":{{"loadBalancerIP":"{}"}}}})", k_v4));
  settle();
  assign("tenant-b", "thief", {});
  settle();
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle();
  EXPECT_EQ(thiefs_pool(), m::awaiting_pool);
}

TEST_F(EvictionTest, NoUnassignedPlaceholderOfOursGetsWhatBecomesFree) {
  put_bound();
  lose_hold();
  settle();
  put_claim("other");
  world.vanish<api::Service>(k_home, hold(k_v4)->meta.name);
  put_thief();
  // Whatever the order in which keys are planned.
  for (int i = 0; i < 30; ++i) {
    for (const kube::Key& key : world.take_woken()) {
      const kube::Plan next = plan(key);
      for (const kube::Write& write : next.writes) {
        EXPECT_FALSE(write.step == "intruder-evict" && drawn("other") != nullptr);
      }
      world.execute(next);
    }
  }
  EXPECT_EQ(thiefs_pool(), m::awaiting_pool);
  settle();
  EXPECT_EQ(drawn("other"), nullptr) << "while the address is on its way back";
}

TEST_F(EvictionTest, SomebodyWhoPutsItBackIsAnsweredAtADistance) {
  put_bound();
  put_thief();
  int evictions = 0;
  for (int i = 0; i < 60; ++i) {
    settle_after(seconds(1));
    if (thiefs_pool() != m::awaiting_pool) continue;
    ++evictions;
    world.change<api::Service>("tenant-b", "thief",
                               fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", m::pool));
  }
  EXPECT_GE(evictions, 3);
  EXPECT_LE(evictions, 5);
}

TEST_F(EvictionTest, ServicesOfOtherLoadBalancersAreLeftAlone) {
  put_bound();
  put_thief();
  world.change<api::Service>("tenant-b", "thief", R"({"spec":{"loadBalancerClass":"other.example/lb"}})");
  settle_after(minutes(1));
  EXPECT_EQ(thiefs_pool(), "");
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
}

// --- Lost ---

class LostTest : public ConflictTest {};

TEST_F(LostTest, AnAddressWhosePoolIsGoneIsLostAndComesBack) {
  put_bound();
  world.vanish<api::Namespace>("", "metallb-system");
  world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle_after(minutes(5));
  EXPECT_EQ(address(k_v4)->phase, "Bound") << "as long as MetalLB leaves it to the hold";
  assign(k_home, hold(k_v4)->meta.name, {});
  settle();
  settle_after(seconds(11));
  EXPECT_EQ(reserved(), "False/OutsidePool");
  EXPECT_EQ(address(k_v4)->phase, "Bound");
  settle_after(minutes(2));
  EXPECT_EQ(address(k_v4)->phase, "Lost");
  EXPECT_EQ(count("AddressLost", name_of(k_v4)), 1);
  settle_after(minutes(20));
  EXPECT_EQ(address(k_v4)->phase, "Lost");

  world.put<api::Namespace>(R"({"metadata":{"name":"metallb-system"},"status":{"phase":"Active"}})");
  settle();
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Pending");
  EXPECT_EQ(reserved(), "True/Held");
}

TEST_F(LostTest, AnAddressThatCannotBeHeldIsLost) {
  put_bound();
  world.vanish<api::Service>(k_home, hold(k_v4)->meta.name);
  const kube::Key key = address_key(name_of(k_v4));
  // The server refuses what is planned.
  for (int i = 0; i < 30; ++i) {
    kube::Plan next = plan(key);
    std::erase_if(next.writes, [](const kube::Write& write) { return write.verb == kube::Write::Verb::create; });
    world.execute(next);
    world.memory(key).failures = 1;
    world.memory(key).refusal = "quota exceeded";
    world.advance(seconds(10));
  }
  EXPECT_EQ(address(k_v4)->phase, "Lost");
  EXPECT_EQ(reserved(), "False/HoldMissing");
}

TEST_F(LostTest, ASilentMetalLbIsNoLoss) {
  put_bound();
  assign(k_home, hold(k_v4)->meta.name, {});
  for (int i = 0; i < 10; ++i) settle_after(minutes(1));
  EXPECT_EQ(address(k_v4)->phase, "Bound");
  EXPECT_EQ(reserved(), "False/BackendSilent");
}

TEST_F(LostTest, AnAttachedAddressIsNotLostWithItsPool) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::Namespace>("", "metallb-system");
  world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  settle_after(minutes(10));
  EXPECT_EQ(address(k_v4)->phase, "Bound");
}

TEST_F(LostTest, AnAttachedAddressThatItsServiceHasLostIsLostAndComesBack) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::Namespace>("", "metallb-system");
  world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  assign("tenant-a", "app", {});
  settle();
  settle_after(seconds(11));
  EXPECT_EQ(reserved(), "False/OutsidePool");
  EXPECT_EQ(hold(k_v4), nullptr);
  settle_after(seconds(20));
  EXPECT_NE(hold(k_v4), nullptr) << "the pin has had its time";
  EXPECT_EQ(reserved(), "False/OutsidePool");
  EXPECT_EQ(address(k_v4)->phase, "Bound");
  settle_after(minutes(2));
  EXPECT_EQ(address(k_v4)->phase, "Lost");
  EXPECT_EQ(count("AddressLost", name_of(k_v4)), 1);

  world.put<api::Namespace>(R"({"metadata":{"name":"metallb-system"},"status":{"phase":"Active"}})");
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Pending");
  EXPECT_EQ(reserved(), "True/Held");
  EXPECT_EQ(hold(k_v4), nullptr);
}

// The event about a pin that has not landed rides on the hold, and the hold is refused.
TEST_F(LostTest, AnAttachedAddressThatCannotBeHeldIsLost) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  assign("tenant-a", "app", {});
  const kube::Key key = address_key(name_of(k_v4));
  for (int i = 0; i < 30; ++i) {
    kube::Plan next = plan(key);
    std::erase_if(next.writes, [](const kube::Write& write) { return write.verb == kube::Write::Verb::create; });
    world.execute(next);
    world.memory(key).failures = 1;
    world.memory(key).refusal = "quota exceeded";
    world.advance(seconds(10));
  }
  EXPECT_EQ(address(k_v4)->phase, "Lost");
  EXPECT_EQ(reserved(), "False/HoldMissing");
}

TEST_F(LostTest, AStaticAddressInsideAnotherPoolIsReportedOnTheAddress) {
  world.put<api::IPAddressPool>(
      R"({"metadata":{"name":"theirs","namespace":"metallb-system"},"spec":{"addresses":["198.51.100.0/24"]}})");
  world.put<api::IPAddress>(R"({"metadata":{"name":"gateway"},"spec":{"address":"198.51.100.9","className":"public",
      "reclaimPolicy":"Retain","source":{"providerRef":{"id":"x"}}},"status":{"phase":"Available"}})");
  settle();
  settle_after(seconds(11));
  const auto* condition = kube::find_condition(world.get<api::IPAddress>("", "gateway")->conditions, "Reserved");
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->reason, "OutsidePool");
  settle_after(minutes(1));
  EXPECT_TRUE(world.facts(forgotten_bucket("public")).members.empty())
      << "MetalLB has not forgotten what it was never given";
  settle_after(minutes(2));
  EXPECT_EQ(world.get<api::IPAddress>("", "gateway")->phase, "Lost");
}

TEST_F(LostTest, SomebodyElsesPoolOfThatNameIsNotTheClasss) {
  put_bound();
  assign(k_home, hold(k_v4)->meta.name, {});
  put_foreign_pool("iad-public", R"("203.0.113.0/29")");
  settle();
  settle_after(seconds(11));
  EXPECT_EQ(reserved(), "False/OutsidePool");
}

// --- used without a ledger entry ---

TEST_F(ConflictTest, AnAddressOfOurPoolThatNobodyTracksIsReported) {
  put_thief("203.0.113.6", "free");
  settle_after(seconds(6));
  EXPECT_EQ(count("UntrackedAddress", "free"), 1);
  const auto* condition =
      kube::find_condition(world.get<api::IPAddressClass>("", "public")->conditions, "BackendReady");
  EXPECT_THAT(condition->message, HasSubstr("in use without a claim: 203.0.113.6"));
  EXPECT_EQ(condition->status, "True");
  world.vanish<api::Service>("tenant-b", "free");
  settle_after(seconds(6));
  condition = kube::find_condition(world.get<api::IPAddressClass>("", "public")->conditions, "BackendReady");
  EXPECT_THAT(condition->message, Not(HasSubstr("without a claim")));
}

TEST_F(ConflictTest, WhatTheLedgerHasIsAConflictAndNotUntracked) {
  put_bound();
  put_thief();
  settle_after(seconds(6));
  EXPECT_EQ(count("UntrackedAddress", "thief"), 0);
}

}  // namespace
}  // namespace metallb::testing
