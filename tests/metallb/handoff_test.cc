// Driver design §4 and §6: what a handoff that does not go the straight way does to others, who is refused and how that
// shows, and that every destructive write is for the version that was judged.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HandoffTest : public DriverTest {
 protected:
  HandoffTest() { put_unshared_class(); }
  static constexpr std::string_view k_v6_spec = R"("clusterIPs":["fd00::9"],"ipFamilies":["IPv6"])";

  std::string attached_to(std::string_view ip = k_v4) {
    return address(ip)->associatedTo ? address(ip)->associatedTo->name : "";
  }
  std::string reserved(std::string_view ip = k_v4) {
    const auto* condition = kube::find_condition(address(ip)->conditions, api::condition::reserved);
    return condition == nullptr ? "" : condition->status + "/" + condition->reason;
  }
  void annotate(std::string_view name, std::string_view key, std::string_view value) {
    world.change<api::Service>("tenant-a", name,
                               fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", key, value));
  }
  void set_phase(std::string_view phase, std::string_view ip = k_v4) {
    world.change<api::IPAddress>("", name_of(ip), fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase));
  }
  void put_dual() {
    put_claim("web", "Dual");
    for (const std::string_view ip : {k_v4, k_v6}) {
      put_address(ip);
      put_hold(ip);
    }
    bind("web", {std::string(k_v4), std::string(k_v6)});
    settle();
    world.writes = 0;
  }
  // Attached as far as we can bring it, but MetalLB never honours the pin: the address is held again.
  void put_unhonoured() {
    put_bound();
    put_service();
    settle();
    settle_after(seconds(31));
    ASSERT_NE(hold(k_v4), nullptr);
    assign_home("iad-ip-203-0-113-1", k_v4);
    settle();
  }
  std::vector<kube::EventNote> about(std::string_view name) {
    std::vector<kube::EventNote> found;
    for (const kube::EventNote& event : world.events) {
      if (event.regarding.name == name) found.push_back(event);
    }
    return found;
  }
};

// --- a pin that MetalLB never honours ---

TEST_F(HandoffTest, AnUnhonouredPinStopsNobodyWhileItWaitsForItsRetry) {
  put_unhonoured();
  put_claim("other");
  settle();
  EXPECT_NE(drawn("other"), nullptr);
}

TEST_F(HandoffTest, ItsRetryOpensAGapOnlyOnceTheUnassignedPlaceholdersAreGone) {
  put_unhonoured();
  put_claim("other");
  settle();
  ASSERT_NE(drawn("other"), nullptr);
  settle_after(seconds(121));
  EXPECT_NE(hold(k_v4), nullptr) << "who tries again does not come before who waits";
  settle_after(seconds(61));
  EXPECT_EQ(drawn("other"), nullptr) << "a placeholder beside an open gap";
  EXPECT_EQ(hold(k_v4), nullptr);
  settle_after(seconds(31));
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_EQ(drawn("other"), nullptr) << "the hold has not landed";
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_NE(drawn("other"), nullptr);
}

TEST_F(HandoffTest, RetriesGetRarer) {
  put_unhonoured();
  int gaps = 0;
  for (int i = 0; i < 240; ++i) {  // two hours
    settle_after(seconds(30));
    if (hold(k_v4) != nullptr) {
      if (!shows(*hold(k_v4), *base::IpAddress::parse(k_v4))) assign_home("iad-ip-203-0-113-1", k_v4);
    } else {
      ++gaps;
    }
    settle();
  }
  EXPECT_GE(gaps, 8);
  EXPECT_LE(gaps, 20);
}

// --- Conflict and Lost ---

class UnusableTest : public HandoffTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(UnusableTest, AnAddressThatIsNotOursToGiveIsNotAttached) {
  put_bound();
  if (std::string_view(GetParam()) == "Conflict") {
    put_service("thief", "");
    assign_home("iad-ip-203-0-113-1", "203.0.113.6");
    assign("tenant-a", "thief", {std::string(k_v4)});
  } else {
    assign(k_home, "iad-ip-203-0-113-1", {});
  }
  set_phase(GetParam());
  settle();
  world.events.clear();
  put_service();
  settle();
  EXPECT_EQ(attached_to(), "");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
  ASSERT_EQ(about("app").size(), 1u);
  EXPECT_EQ(about("app")[0].reason, std::string("Address") + GetParam());
  EXPECT_TRUE(about("app")[0].warning);
  // Over: it is attached by itself.
  if (service("thief") != nullptr) world.vanish<api::Service>("tenant-a", "thief");
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  set_phase("Bound");
  settle();
  EXPECT_EQ(attached_to(), "app");
}

INSTANTIATE_TEST_SUITE_P(Phases, UnusableTest, ::testing::Values("Conflict", "Lost"));

TEST_F(HandoffTest, AConflictIsAConditionOfTheAddressUntilItIsOver) {
  put_bound();
  put_service("thief", "");
  assign(k_home, "iad-ip-203-0-113-1", {});
  assign("tenant-a", "thief", {std::string(k_v4)});
  settle();
  EXPECT_EQ(reserved(), "False/AddressConflict");
  world.vanish<api::Service>("tenant-a", "thief");
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(reserved(), "True/Held");
}

// Its own address, got by a pin of its own before we came: joining the two ends the conflict.
TEST_F(HandoffTest, WhoIsTheConflictAndNamesTheClaimIsAttached) {
  put_bound();
  assign(k_home, "iad-ip-203-0-113-1", {});
  put_service();
  assign("tenant-a", "app", {std::string(k_v4)});
  set_phase("Conflict");
  settle();
  EXPECT_EQ(attached_to(), "app");
}

// --- waiting for MetalLB ---

TEST_F(HandoffTest, AHoldThatWaitsIsSaidAndNeverGivenUp) {
  put_bound();
  assign(k_home, "iad-ip-203-0-113-1", {});
  settle();
  const auto touches = [&] {
    const std::string text = annotation(*hold(k_v4), m::touched);
    return text.empty() ? 0 : std::stoi(text);
  };
  settle_after(seconds(30));
  EXPECT_EQ(reserved(), "");
  settle_after(seconds(31));
  EXPECT_EQ(reserved(), "False/BackendSilent");
  for (int i = 0; i < 24 * 60; ++i) settle_after(minutes(1));
  const int after_a_day = touches();
  EXPECT_GT(after_a_day, 100);
  EXPECT_LT(after_a_day, 160);
  for (int i = 0; i < 11; ++i) settle_after(minutes(1));
  EXPECT_EQ(touches(), after_a_day + 1);
  ASSERT_EQ(about(name_of(k_v4)).size(), 1u) << "one event";
  EXPECT_EQ(about(name_of(k_v4))[0].reason, "BackendSilent");
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(reserved(), "True/Held");
}

// An earlier wait leaves no mark on the next one, neither in our memory nor on the object.
TEST_F(HandoffTest, TheNextWaitStartsQuicklyAgain) {
  put_bound();
  assign(k_home, "iad-ip-203-0-113-1", {});
  settle();
  for (int i = 0; i < 60; ++i) settle_after(minutes(1));
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  const std::string before = annotation(*hold(k_v4), m::touched);
  settle_after(seconds(5));
  assign(k_home, "iad-ip-203-0-113-1", {});
  settle();
  settle_after(seconds(3));
  settle_after(seconds(7));
  EXPECT_NE(annotation(*hold(k_v4), m::touched), before);
}

TEST_F(HandoffTest, AHoldThatCannotBeMadeIsSaid) {
  put_bound();
  world.change<api::Namespace>("", k_home, R"({"status":{"phase":"Terminating"}})");
  world.vanish<api::Service>(k_home, "iad-ip-203-0-113-1");
  settle();
  settle_after(seconds(61));
  EXPECT_EQ(reserved(), "False/HoldMissing");
}

// The event tells of a write that is refused: it must not share its plan with that write.
TEST_F(HandoffTest, AHoldThatIsRefusedIsToldOf) {
  put_bound();
  world.vanish<api::Service>(k_home, "iad-ip-203-0-113-1");
  const kube::Key key = address_key(name_of(k_v4));
  EXPECT_THAT(steps(plan(key)), ElementsAre("hold-create"));
  world.advance(seconds(61));
  world.memory(key).failures = 3;
  world.memory(key).refusal = "quota exceeded";
  const kube::Plan told = plan(key);
  EXPECT_THAT(steps(told), ElementsAre("address-status"));
  ASSERT_EQ(told.events.size(), 1u);
  EXPECT_EQ(told.events[0].reason, "HoldMissing");
  world.execute(told);
  world.memory(key).failures = 0;
  world.memory(key).refusal.clear();
  EXPECT_THAT(steps(plan(key)), ElementsAre("hold-create")) << "and the server's words stay";
}

TEST_F(HandoffTest, AClaimThatMetalLBDoesNotAnswerSaysSoWithOneEvent) {
  put_claim();
  settle();
  for (int i = 0; i < 60; ++i) settle_after(minutes(1));
  EXPECT_EQ(provisioning(), "False/BackendSilent");
  ASSERT_EQ(about("web").size(), 1u);
  EXPECT_EQ(about("web")[0].reason, "BackendSilent");
  const std::string before = annotation(*drawn(), m::touched);
  for (int i = 0; i < 11; ++i) settle_after(minutes(1));
  EXPECT_NE(annotation(*drawn(), m::touched), before);
}

// While nothing seems to be free MetalLB hardly has anything to look at again; when something is, it usually does so by
// itself.
TEST_F(HandoffTest, AnExhaustedClassIsTouchedSeldomAndNotAtOnceWhenItNoLongerIs) {
  put_class("public", R"("parameters":{"addresses":["203.0.113.1/32"]})");
  settle();
  put_bound();
  put_claim("other");
  settle();
  for (int i = 0; i < 30; ++i) settle_after(minutes(1));
  ASSERT_EQ(provisioning("other"), "False/Exhausted");
  EXPECT_EQ(annotation(*drawn("other"), m::touched), "3");
  put_class("public", R"("parameters":{"addresses":["203.0.113.1/32","203.0.113.2/32"]})");
  settle();
  EXPECT_EQ(annotation(*drawn("other"), m::touched), "3");
  settle_after(seconds(3));
  settle_after(seconds(6));
  EXPECT_EQ(annotation(*drawn("other"), m::touched), "4");
}

TEST_F(HandoffTest, WhoLosesOneHalfToAnAdministratorIsToldThatTheClaimHasLostIt) {
  put_dual();
  put_service("app", "web", R"("clusterIPs":["10.96.0.9","fd00::9"],"ipFamilies":["IPv4","IPv6"])");
  settle();
  assign("tenant-a", "app", {std::string(k_v4), std::string(k_v6)});
  settle();
  world.change<api::IPAddress>("", name_of(k_v6), R"({"spec":{"claimRef":null}})");
  settle();
  ASSERT_THAT(event_reasons(), Contains("Dissociated"));
  EXPECT_THAT(about("app").back().note, HasSubstr("IPAddressClaim web has lost an address"));
}

// --- one claim serves one workload ---

TEST_F(HandoffTest, TheOtherHalfOfAnAssociatedClaimIsRefusedLoudly) {
  put_dual();
  put_attached("app", {std::string(k_v4)});
  put_service("six", "web", k_v6_spec);
  settle();
  EXPECT_EQ(attached_to(k_v6), "");
  ASSERT_EQ(about("six").size(), 1u);
  EXPECT_EQ(about("six")[0].reason, "AssociationRejected");
  EXPECT_THAT(about("six")[0].note, HasSubstr("app"));
}

TEST_F(HandoffTest, AnOlderServiceDoesNotTakeTheOtherHalfEither) {
  put_service("older", "", k_v6_spec);
  put_dual();
  put_attached("app", {std::string(k_v4)});
  annotate("older", api::claim_annotation, "\"web\"");
  settle();
  EXPECT_EQ(attached_to(k_v6), "");
  EXPECT_THAT(event_reasons(), Contains("AssociationRejected"));
}

// The one in front is throttled: whoever stands behind it must not wait without a word.
TEST_F(HandoffTest, WhoeverWaitsBehindAnotherSaysSo) {
  put_bound();
  put_service("first");
  for (int i = 0; i < 6; ++i) {
    settle();
    assign("tenant-a", "first", {std::string(k_v4)});
    settle();
    annotate("first", api::claim_annotation, "null");
    settle();
    if (hold(k_v4) != nullptr) assign_home("iad-ip-203-0-113-1", k_v4);
    assign("tenant-a", "first", {});
    settle();
    annotate("first", api::claim_annotation, "\"web\"");
  }
  settle();
  ASSERT_EQ(attached_to(), "");
  put_service("second");
  settle();
  EXPECT_EQ(attached_to(), "");
  settle_after(seconds(11));
  EXPECT_THAT(about("second"), Not(IsEmpty()));
}

TEST_F(HandoffTest, AStrayAssociationIsClearedAndCostsTheServiceNothing) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_address("203.0.113.4", "gone");
  put_hold("203.0.113.4");
  world.change<api::IPAddress>(
      "", name_of("203.0.113.4"),
      R"({"status":{"associatedTo":{"kind":"Service","namespace":"tenant-a","name":"app","uid":"uid-app"}}})");
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(attached_to("203.0.113.4"), "");
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_THAT(service()->meta.finalizers, ElementsAre(m::attached));
}

// --- every destructive write is for the version that was judged ---

// What MetalLB is asked by has not been written: that it is there says nothing.
TEST_F(HandoffTest, AQuestionThatWasNotPutHasNoAnswer) {
  put_bound();
  put_service();
  world.settle(service_key("tenant-a", "app"));
  const kube::Key key = address_key(name_of(k_v4));
  ASSERT_THAT(steps(plan(key)), ElementsAre("hold-ask"));
  ASSERT_THAT(steps(plan(key)), ElementsAre("hold-ask")) << "planned, and not sent";
  world.memory(key).failures = 1;
  EXPECT_THAT(steps(plan(key)), ElementsAre("hold-ask"));
}

class ExactTest : public HandoffTest {
 protected:
  // All writes until everything is settled.
  std::vector<kube::Write> writes() {
    std::vector<kube::Write> all;
    for (int i = 0; i < 100; ++i) {
      const auto woken = world.take_woken();
      if (woken.empty() && !answer()) break;
      for (const kube::Key& key : woken) {
        for (int pass = 0; pass < 20; ++pass) {
          kube::Plan next = plan(key);
          all.insert(all.end(), next.writes.begin(), next.writes.end());
          world.execute(next);
          if (next.sends_nothing()) break;
        }
      }
    }
    return all;
  }
  static void expect_exact(const std::vector<kube::Write>& writes, std::string_view step) {
    bool found = false;
    for (const kube::Write& write : writes) {
      if (write.verb != kube::Write::Verb::remove) continue;
      const boost::json::object& preconditions = write.body.at("preconditions").as_object();
      EXPECT_TRUE(preconditions.contains("resourceVersion")) << write.step;
      found = found || write.step == step;
    }
    EXPECT_TRUE(found) << step;
  }
};

TEST_F(ExactTest, HoldRelease) {
  put_bound();
  put_service();
  expect_exact(writes(), "hold-release");
}

TEST_F(ExactTest, HoldSurplus) {
  put_bound();
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"second","namespace":"{}","labels":{{"{}":"true","{}":"ip-203-0-113-1"}}}},"spec":{{"type":"LoadBalancer"}}}})",
      k_home, m::placeholder, m::ip_address));
  expect_exact(writes(), "hold-surplus");
}

TEST_F(ExactTest, HoldReplace) {
  put_bound();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"spec":{"loadBalancerClass":"other"}})");
  expect_exact(writes(), "hold-replace");
}

TEST_F(ExactTest, HoldTeardown) {
  put_bound();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  expect_exact(writes(), "hold-teardown");
}

TEST_F(ExactTest, WhatWasRenderedForAClass) {
  world.vanish<api::IPAddressClass>("", "public");
  expect_exact(writes(), "class-pool-delete");
}

}  // namespace
}  // namespace metallb::testing
