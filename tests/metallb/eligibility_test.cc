// Driver design §6, eligibility: what a refused Service is told once lasts as a condition of the address (the events
// are in service_test.cc), and what does not contradict.
#include <fmt/format.h>

#include "kube/finalizers.h"
#include "metallb/driver_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view k_dual = R"("clusterIPs":["10.96.0.9","fd00::9"],"ipFamilies":["IPv4","IPv6"])";

class EligibilityTest : public DriverTest {
 protected:
  EligibilityTest() {
    put_unshared_class();
    settle_after(seconds(60));  // the class has said all about itself
  }
  const kube::Condition* refused(std::string_view ip = k_v4) {
    return kube::find_condition(address(ip)->conditions, m::service_refused);
  }
  std::string said(std::string_view ip = k_v4) { return refused(ip) == nullptr ? "" : refused(ip)->message; }
  void patch(std::string_view name, std::string_view body) { world.change<api::Service>("tenant-a", name, body); }
  std::string attached_to(std::string_view ip = k_v4) {
    return address(ip)->associatedTo ? address(ip)->associatedTo->name : "";
  }
};

TEST_F(EligibilityTest, ARefusalThatLastsIsSaidByTheAddressAndTakenBack) {
  put_bound();
  put_service("app", "web", k_dual);
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(settle_after(seconds(1)), 0);
  EXPECT_EQ(settle_after(seconds(1)), 1);
  ASSERT_NE(refused(), nullptr);
  EXPECT_EQ(refused()->status, "True");
  EXPECT_EQ(refused()->reason, "FamilyMismatch");
  EXPECT_THAT(said(), StartsWith("Service app: "));
  EXPECT_THAT(said(), HasSubstr("use a claim of family Dual"));
  EXPECT_EQ(settle_after(seconds(60)), 0);
  world.remove<api::Service>("tenant-a", "app");
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(refused(), nullptr);
  EXPECT_EQ(settle_after(seconds(60)), 0);
}

TEST_F(EligibilityTest, AStraightAttachAndAQuickMoveWriteNoCondition) {
  put_bound();
  put_service();
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_EQ(world.writes, 4);
  put_service("next");
  settle_after(seconds(1));
  world.remove<api::Service>("tenant-a", "app");
  settle();
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  assign("tenant-a", "next", {std::string(k_v4)});
  settle_after(seconds(60));
  EXPECT_EQ(attached_to(), "next");
  EXPECT_EQ(refused(), nullptr);
  EXPECT_EQ(world.writes, 4 + 3 + 4);
}

TEST_F(EligibilityTest, TheOldestIsNamedAndTheNextOneWhenItHasGone) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_service("second");
  put_service("third");
  patch("third", R"({"spec":{"loadBalancerIP":"203.0.113.7"}})");
  settle();
  settle_after(seconds(2));
  EXPECT_EQ(refused()->reason, "AssociationRejected");
  EXPECT_THAT(said(), StartsWith("Service second: "));
  world.remove<api::Service>("tenant-a", "second");
  settle();
  EXPECT_EQ(refused()->reason, "LoadBalancerIPSet");
  EXPECT_THAT(said(), StartsWith("Service third: "));
  EXPECT_THAT(event_reasons(), ElementsAre("AssociationRejected", "LoadBalancerIPSet"));
}

// It rides on what the handoff writes anyway.
TEST_F(EligibilityTest, WhatIsNoLongerSoGoesWithTheHandoff) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_service("next");
  settle();
  settle_after(seconds(2));
  ASSERT_NE(refused(), nullptr);
  world.writes = 0;
  world.remove<api::Service>("tenant-a", "app");
  settle();
  EXPECT_NE(refused(), nullptr);
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(refused(), nullptr);
  EXPECT_EQ(attached_to(), "next");
  EXPECT_EQ(world.writes, 3 + 4);
}

TEST_F(EligibilityTest, WhoIsWrongInEverNewWaysGetsItWrittenOnceInAWhile) {
  put_bound();
  put_service();
  int written = 0;
  for (int i = 0; i < 60; ++i) {
    patch("app", fmt::format(R"({{"metadata":{{"annotations":{{"metallb.io/address-pool":"pool-{}"}}}}}})", i));
    settle();
    written += settle_after(seconds(1));
  }
  EXPECT_LE(written, 10 + 6);
  EXPECT_EQ(settle_after(seconds(10)), 1);
  EXPECT_THAT(said(), HasSubstr("pool-59"));
  // It is taken back at once all the same.
  patch("app", R"({"metadata":{"annotations":{"metallb.io/address-pool":null}}})");
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_EQ(refused(), nullptr);
}

TEST_F(EligibilityTest, ACopyAClaimThatIsNotBoundAndAnotherClaimsServiceAreNotToldOfHere) {
  put_bound();
  put_bound("203.0.113.2", "other");
  put_service("elsewhere", "other", k_dual);
  put_service("app", "web", k_dual);
  world.change<api::IPAddressClaim>("tenant-a", "web", R"({"status":{"phase":"Lost"}})");
  settle();
  settle_after(seconds(10));
  EXPECT_EQ(refused(), nullptr);
  EXPECT_THAT(said("203.0.113.2"), StartsWith("Service elsewhere: "));
  EXPECT_THAT(event_reasons(), Contains("ClaimLost"));
}

TEST_F(EligibilityTest, WhyAClaimCannotBeHadHasAReasonOfItsOwn) {
  put_claim();
  put_service();
  put_service("slash", "tenant-b/web");
  world.change<api::IPAddressClaim>("tenant-a", "web", R"({"metadata":{"finalizers":["somebody/else"]}})");
  world.remove<api::IPAddressClaim>("tenant-a", "web");
  settle();
  EXPECT_THAT(event_reasons(), IsEmpty());
  settle_after(seconds(10));
  EXPECT_THAT(event_reasons(), ::testing::UnorderedElementsAre("ClaimDeleting", "ClaimNotFound"));
  for (const kube::EventNote& event : world.events) {
    if (event.reason == "ClaimNotFound") {
      EXPECT_THAT(event.note, HasSubstr("takes the bare name of a claim in the Service's own namespace"));
    }
  }
}

// A cluster of one family gives PreferDualStack one cluster IP: that is what counts.
TEST_F(EligibilityTest, TheClusterIPsCountAndNotThePolicy) {
  put_bound();
  put_service("app", "web", R"("ipFamilyPolicy":"PreferDualStack","clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"])");
  settle();
  EXPECT_EQ(attached_to(), "app");
}

// A pin of the tenant's that agrees, and what goes with it: the pool is ours whoever wrote the pin.
// MetalLB takes a single address off a Service that has become dual-stack: what it cannot have any more is held.
TEST_F(EligibilityTest, WhoStopsQualifyingAndLosesTheAddressIsToldAndLetsGo) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  patch("app", "{\"spec\":{" + std::string(k_dual) + "}}");
  settle();
  EXPECT_EQ(attached_to(), "app") << "it keeps what it shows";
  EXPECT_THAT(event_reasons(), ::testing::Not(Contains("FamilyMismatch")));
  assign("tenant-a", "app", {});
  settle();
  EXPECT_THAT(event_reasons(), Contains("FamilyMismatch"));
  settle_after(options.attach_timeout - seconds(1));
  EXPECT_EQ(attached_to(), "app") << "it may be a moment in which MetalLB takes everything off";
  world.advance(seconds(1));
  const kube::Plan last = plan(service_key("tenant-a", "app"));
  EXPECT_THAT(steps(last), ::testing::ElementsAre("detach-release"));
  EXPECT_EQ(attached_to(), "app") << "the ledger forgets it last";
  ASSERT_EQ(last.events.size(), 1u);
  EXPECT_THAT(last.events[0].note, HasSubstr("the Service has cluster IPs of IPv4 and IPv6"));
  world.execute(last);
  settle();
  EXPECT_EQ(attached_to(), "");
  EXPECT_NE(hold(k_v4), nullptr);
  EXPECT_FALSE(service()->meta.annotations.contains(m::pinned));
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
}

// What only we ask of those who attach: MetalLB gives it back what it has taken off.
class KeptTest : public EligibilityTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KeptTest, WhoIsAttachedIsNotLetGoOfByARuleOfAttaching) {
  put_class("public", R"("parameters":{"addresses":["203.0.113.0/29"],"allowSharing":true})");
  put_bound();
  put_attached("app", {std::string(k_v4)});
  patch("app", GetParam());
  settle();
  put_class("public", R"("parameters":{"addresses":["203.0.113.0/29"]})");
  settle();
  assign("tenant-a", "app", {});
  settle();
  for (int i = 0; i < 10; ++i) settle_after(seconds(60));
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(annotation(*service(), m::pool), "iad-public");
}

INSTANTIATE_TEST_SUITE_P(
    Eligibility, KeptTest,
    ::testing::Values(R"({"metadata":{"annotations":{"metallb.universe.tf/address-pool":"theirs"}}})",
                      R"({"metadata":{"annotations":{"metallb.universe.tf/loadBalancerIPs":"203.0.113.5"}}})",
                      R"({"metadata":{"annotations":{"metallb.io/allow-shared-ip":"mine"}}})"));

TEST_F(EligibilityTest, BesideAHandWrittenPinOurPoolGoesWithTheType) {
  put_bound();
  put_service();
  patch("app", R"({"metadata":{"annotations":{"metallb.io/loadBalancerIPs":"203.0.113.1"}}})");
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_EQ(annotation(*service(), m::pool), "iad-public");
  patch("app", R"({"spec":{"type":"ClusterIP"},"status":null})");
  settle();
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_FALSE(service()->meta.annotations.contains(m::pool));
  EXPECT_FALSE(service()->meta.annotations.contains(m::service_uid));
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
}

// Who is rid of our keys and is not MetalLB's to empty is left alone: there is nothing that a write could do.
TEST_F(EligibilityTest, AServiceOfAnotherClassThatShowsTheAddressIsNotWrittenAgainAndAgain) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  patch("app", R"({"spec":{"loadBalancerClass":"other"}})");
  settle();
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
  EXPECT_FALSE(service()->meta.annotations.contains(m::pool));
  EXPECT_EQ(settle_after(seconds(1)), 0);
  // Nobody would ever take it off: the claim is not kept from others by that.
  settle_after(options.detach_timeout);
  EXPECT_EQ(attached_to(), "");
}

struct Parting {
  const char* patch;
  const char* why;
};
class PartingTest : public EligibilityTest, public ::testing::WithParamInterface<Parting> {};

TEST_P(PartingTest, TheServiceIsToldWhy) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  patch("app", GetParam().patch);
  settle();
  ASSERT_THAT(event_reasons(), Contains("Dissociated"));
  EXPECT_EQ(world.events.back().note, fmt::format("{} is taken off: {}", k_v4, GetParam().why));
  EXPECT_FALSE(world.events.back().warning);
}

INSTANTIATE_TEST_SUITE_P(
    Service, PartingTest,
    ::testing::Values(Parting{R"({"metadata":{"annotations":{"local.sdn.cozystack.io/ip-address-claim":null}}})",
                              "it names no IPAddressClaim any more"},
                      Parting{R"({"metadata":{"annotations":{"local.sdn.cozystack.io/ip-address-claim":"other"}}})",
                              "it names another IPAddressClaim"},
                      Parting{R"({"spec":{"type":"ClusterIP"},"status":null})",
                              "it is no LoadBalancer Service of MetalLB any more"},
                      Parting{R"({"spec":{"clusterIPs":["fd00::9"],"ipFamilies":["IPv6"]}})",
                              "its cluster IPs are not of the same families any more"}));

TEST_F(EligibilityTest, TheServiceIsToldOfItsClaimThatGoes) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.remove<api::IPAddressClaim>("tenant-a", "web");
  settle();
  ASSERT_THAT(event_reasons(), Contains("Dissociated"));
  EXPECT_EQ(world.events.back().note, "203.0.113.1 is taken off: IPAddressClaim web is being deleted");
}

TEST_F(EligibilityTest, TheServiceIsToldOfABindingThatIsCleared) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::IPAddress>("", name_of(k_v4), R"({"spec":{"claimRef":null}})");
  settle();
  EXPECT_EQ(world.events.back().note, "203.0.113.1 is taken off: IPAddressClaim web has it no more");
}

// What MetalLB serves nobody with costs its owner nothing: whoever waits behind it must not look at it.
TEST_F(EligibilityTest, WhatCanNeverAttachStandsInNobodysLine) {
  put_bound();
  for (int i = 0; i < 20; ++i) {
    put_service(fmt::format("old{:02}", i));
    world.change<api::Service>("tenant-a", fmt::format("old{:02}", i), R"({"spec":{"type":"ExternalName"}})");
  }
  for (const char* name : {"app", "next"}) put_service(name);
  for (const char* name : {"old07", "next"}) world.settle(service_key("tenant-a", name));
  world.take_woken();
  world.change<api::Service>("tenant-a", "old07", R"({"metadata":{"annotations":{"a":"b"}}})");
  EXPECT_TRUE(world.is_woken(service_key("tenant-a", "old07")));
  EXPECT_FALSE(world.is_woken(service_key("tenant-a", "next")));
  world.change<api::Service>("tenant-a", "old07", R"({"spec":{"type":"LoadBalancer"}})");
  EXPECT_TRUE(world.is_woken(service_key("tenant-a", "next"))) << "it has somebody before it now";
}

}  // namespace
}  // namespace metallb::testing
