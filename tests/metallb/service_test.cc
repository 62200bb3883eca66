// Driver design §6: attach and detach by the gap handoff. Scenarios 38 to 42.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class ServiceTest : public DriverTest {
 protected:
  ServiceTest() { put_unshared_class(); }
  std::string attached_to(std::string_view ip = k_v4) {
    return address(ip)->associatedTo ? address(ip)->associatedTo->name : "";
  }
  void annotate(std::string_view name, std::string_view key, std::string_view value) {
    world.change<api::Service>("tenant-a", name,
                               fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", key, value));
  }
  void expect_clean(std::string_view name = "app") {
    const api::Service& s = *service(name);
    EXPECT_FALSE(s.meta.annotations.contains(m::pin));
    EXPECT_FALSE(s.meta.annotations.contains(m::pinned));
    EXPECT_FALSE(s.meta.annotations.contains(m::service_uid));
    EXPECT_THAT(s.meta.finalizers, IsEmpty());
  }
};

// 38, step by step: associatedTo, pin, MetalLB is asked whether it is there, hold. Four writes.
TEST_F(ServiceTest, AttachingIsFourWritesInOrder) {
  put_bound();
  put_service();
  const kube::Key key = service_key("tenant-a", "app");
  kube::Plan next = plan(key);
  EXPECT_THAT(steps(next), ElementsAre("attach-associate"));
  world.execute(next);
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(address(k_v4)->associatedTo->uid, "uid-app");
  next = plan(key);
  EXPECT_THAT(steps(next), ElementsAre("attach-pin"));
  world.execute(next);
  const api::Service& s = *service();
  EXPECT_EQ(annotation(s, m::pin), k_v4);
  EXPECT_EQ(annotation(s, m::pool), "iad-public");
  EXPECT_EQ(annotation(s, m::pinned), "true");
  EXPECT_EQ(annotation(s, m::service_uid), "uid-app");
  EXPECT_THAT(s.meta.finalizers, ElementsAre(m::attached));
  EXPECT_THAT(event_reasons(), ElementsAre("Associated"));
  world.settle_all();
  ASSERT_NE(hold(k_v4), nullptr) << "nothing is let go of while nobody answers";
  EXPECT_EQ(annotation(*hold(k_v4), m::allocated_from), "");
  EXPECT_EQ(world.writes, 3);
  settle();
  EXPECT_EQ(hold(k_v4), nullptr);
  EXPECT_EQ(world.writes, 4);
  assign("tenant-a", "app", {std::string(k_v4)});
  EXPECT_EQ(settle(), 0);
}

TEST_F(ServiceTest, TheHoldGoesOnlyWhenNoUnassignedPlaceholderIsAbout) {
  put_bound();
  put_claim("waiting");
  settle();
  ASSERT_NE(drawn("waiting"), nullptr);
  put_service();
  std::vector<std::string> order;
  for (int i = 0; i < 30; ++i) {
    const auto woken = world.take_woken();
    for (const kube::Key& key : woken) {
      kube::Plan next = plan(key);
      for (const std::string& step : steps(next)) order.push_back(step);
      world.execute(next);
      if (!next.sends_nothing()) world.settle(key);
    }
    answer();
  }
  EXPECT_EQ(drawn("waiting"), nullptr);
  EXPECT_EQ(hold(k_v4), nullptr);
  const auto before = std::ranges::find(order, "placeholder-before-gap");
  const auto release = std::ranges::find(order, "hold-release");
  ASSERT_NE(before, order.end());
  EXPECT_LT(before, release);
  // And none comes before the pin has landed.
  settle();
  EXPECT_EQ(drawn("waiting"), nullptr);
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_NE(drawn("waiting"), nullptr);
}

// 39
TEST_F(ServiceTest, ASecondServiceIsRefusedOnceAndTakesOverWhenTheFirstLetsGo) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_service("second");
  EXPECT_EQ(settle(), 0);
  EXPECT_THAT(event_reasons(), ElementsAre("AssociationRejected"));
  EXPECT_EQ(attached_to(), "app");
  EXPECT_FALSE(service("second")->meta.annotations.contains(m::pin));
  settle_after(seconds(5));
  EXPECT_THAT(event_reasons(), ElementsAre("AssociationRejected"));
  world.remove<api::Service>("tenant-a", "app");
  settle();
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(attached_to(), "second");
  EXPECT_EQ(annotation(*service("second"), m::pin), k_v4);
}

// 40
TEST_F(ServiceTest, AHolderThatIsGoneWithoutNoticeIsFollowed) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::Service>("tenant-a", "app");
  put_service("next");
  settle();
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(attached_to(), "next");
  assign("tenant-a", "next", {std::string(k_v4)});
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

// 41, at most six writes.
TEST_F(ServiceTest, RemovingTheAnnotationDetaches) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  annotate("app", api::claim_annotation, "null");
  int writes = settle();
  expect_clean();
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_EQ(attached_to(), "app");
  assign("tenant-a", "app", {});
  assign_home("iad-ip-203-0-113-1", k_v4);
  writes += settle();
  EXPECT_EQ(attached_to(), "");
  EXPECT_EQ(address(k_v4)->claimRef->name, "web");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pool));
  EXPECT_LE(writes, 6);
  EXPECT_EQ(settle(), 0);
}

TEST_F(ServiceTest, DetachingWaitsForTheHoldAndForUnassignedPlaceholdersToGo) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_claim("waiting");
  settle();
  annotate("app", api::claim_annotation, "null");
  const kube::Key key = service_key("tenant-a", "app");
  EXPECT_THAT(steps(plan(key)), IsEmpty());  // no hold yet
  world.settle(address_key(name_of(k_v4)));
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_THAT(steps(plan(key)), IsEmpty());  // not opened yet
  world.settle(pool_key("public", base::Family::v4));
  EXPECT_EQ(drawn("waiting"), nullptr);
  EXPECT_THAT(steps(plan(key)), ElementsAre("detach-release"));
  settle();
  EXPECT_EQ(drawn("waiting"), nullptr);
  assign("tenant-a", "app", {});
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_NE(drawn("waiting"), nullptr);
}

// Deletion: hold, finalizer, associatedTo.
TEST_F(ServiceTest, DeletingTheServiceIsThreeWritesAndTheHoldStandsFirst) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.remove<api::Service>("tenant-a", "app");
  ASSERT_NE(service(), nullptr);
  EXPECT_THAT(steps(plan(service_key("tenant-a", "app"))), IsEmpty());
  int writes = settle();
  EXPECT_EQ(service(), nullptr);
  ASSERT_NE(hold(k_v4), nullptr);
  assign_home("iad-ip-203-0-113-1", k_v4);
  writes += settle();
  EXPECT_EQ(attached_to(), "");
  EXPECT_EQ(writes, 3);
}

TEST_F(ServiceTest, ItNeverWaitsForEver) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_claim("waiting");
  settle();
  world.begin_write({&api::Service::kind().resource, std::string(k_home), "iad-uid-waiting-v4"});
  world.remove<api::Service>("tenant-a", "app");
  settle();
  ASSERT_NE(service(), nullptr);  // an unassigned placeholder of which the server does not answer
  settle_after(seconds(59));
  ASSERT_NE(service(), nullptr);
  settle_after(seconds(2));
  EXPECT_EQ(service(), nullptr);
  EXPECT_THAT(event_reasons(), Contains("DetachTimedOut"));
  EXPECT_NE(hold(k_v4), nullptr);
}

TEST_F(ServiceTest, ItDoesNotWaitWhereNoHoldCanBeMade) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::Namespace>("", k_home, R"({"status":{"phase":"Terminating"}})");
  world.remove<api::Service>("tenant-a", "app");
  settle();
  EXPECT_EQ(service(), nullptr);
}

// Every way to let go.
struct LetGo {
  const char* what;
  const char* patch;  // of the Service
};
class LetGoTest : public ServiceTest, public ::testing::WithParamInterface<LetGo> {};

TEST_P(LetGoTest, TheServiceIsCleanedAndTheAddressHeld) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::Service>("tenant-a", "app", GetParam().patch);
  settle();
  expect_clean();
  ASSERT_NE(hold(k_v4), nullptr) << GetParam().what;
  assign("tenant-a", "app", {});
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(attached_to(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Service, LetGoTest,
    ::testing::Values(LetGo{"another claim",
                            R"({"metadata":{"annotations":{"local.sdn.cozystack.io/ip-address-claim":"other"}}})"},
                      LetGo{"type", R"({"spec":{"type":"ClusterIP"},"status":null})"},
                      LetGo{"class", R"({"spec":{"loadBalancerClass":"other"}})"},
                      LetGo{"family", R"({"spec":{"clusterIPs":["fd00::9"],"ipFamilies":["IPv6"]}})"}));

TEST_F(ServiceTest, AClaimThatIsBeingDeletedLetsGo) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.remove<api::IPAddressClaim>("tenant-a", "web");
  settle();
  expect_clean();
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  assign("tenant-a", "app", {});
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(attached_to(), "");
  // The annotation still names the claim: the pool that gives nothing stays.
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
}

TEST_F(ServiceTest, AClearedClaimRefLetsGo) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::IPAddress>("", name_of(k_v4), R"({"spec":{"claimRef":null}})");
  settle();
  expect_clean();
}

TEST_F(ServiceTest, AnotherClaimIsAttachedAfterTheFirstIsHeldAgain) {
  put_bound();
  put_bound("203.0.113.2", "other");
  put_attached("app", {std::string(k_v4)});
  annotate("app", api::claim_annotation, "\"other\"");
  settle();
  EXPECT_EQ(attached_to("203.0.113.2"), "");
  assign("tenant-a", "app", {});
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(attached_to(), "");
  EXPECT_EQ(attached_to("203.0.113.2"), "app");
  EXPECT_EQ(annotation(*service(), m::pin), "203.0.113.2");
}

// 42
TEST_F(ServiceTest, APinWithoutOurMarkerIsNeverRemoved) {
  put_bound();
  put_service("hand", "");
  annotate("hand", m::pin, "\"203.0.113.2\"");
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(annotation(*service("hand"), m::pin), "203.0.113.2");
}

TEST_F(ServiceTest, AHandWrittenPinThatAgreesIsUsedAndLeftBehind) {
  put_bound();
  put_service();
  annotate("app", m::pin, "\"203.0.113.1\"");
  settle();
  EXPECT_EQ(attached_to(), "app");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pinned));
  EXPECT_THAT(service()->meta.finalizers, ElementsAre(m::attached));
  EXPECT_EQ(hold(k_v4), nullptr);
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  annotate("app", api::claim_annotation, "null");
  settle();
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
}

// Eligibility: each refusal is distinct, and nothing is written.
struct Refused {
  const char* patch;
  const char* reason;
};
class RefusedTest : public ServiceTest, public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedTest, TheServiceIsToldOnceAndNothingIsWritten) {
  put_bound();
  put_service();
  world.change<api::Service>("tenant-a", "app", GetParam().patch);
  EXPECT_EQ(settle(), 0);
  settle_after(seconds(1));
  EXPECT_THAT(event_reasons(), ElementsAre(GetParam().reason));
  EXPECT_EQ(attached_to(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Service, RefusedTest,
    ::testing::Values(
        Refused{R"({"spec":{"type":"ClusterIP"}})", "NotLoadBalancer"},
        Refused{R"({"spec":{"loadBalancerClass":"other"}})", "OtherLoadBalancerClass"},
        Refused{R"({"spec":{"clusterIPs":["fd00::9"],"ipFamilies":["IPv6"]}})", "FamilyMismatch"},
        Refused{R"({"spec":{"clusterIPs":["10.96.0.9","fd00::9"],"ipFamilies":["IPv4","IPv6"]}})", "FamilyMismatch"},
        Refused{R"({"spec":{"loadBalancerIP":"203.0.113.1"}})", "LoadBalancerIPSet"},
        Refused{R"({"metadata":{"annotations":{"metallb.io/address-pool":"theirs"}}})", "PoolConflict"},
        Refused{R"({"metadata":{"annotations":{"metallb.universe.tf/address-pool":"theirs"}}})", "PoolConflict"},
        Refused{R"({"metadata":{"annotations":{"metallb.io/loadBalancerIPs":"203.0.113.2"}}})", "PinConflict"},
        Refused{R"({"metadata":{"annotations":{"metallb.universe.tf/loadBalancerIPs":"203.0.113.2"}}})", "PinConflict"},
        Refused{R"({"metadata":{"annotations":{"metallb.io/allow-shared-ip":"k"}}})", "SharingKeySet"},
        Refused{R"({"metadata":{"annotations":{"metallb.universe.tf/allow-shared-ip":"k"}}})", "SharingKeySet"}));

TEST_F(ServiceTest, ASharingKeyIsFineWhereTheClassAllowsIt) {
  put_class("public", R"("parameters":{"addresses":["203.0.113.0/29"],"allowSharing":true})");
  put_bound();
  put_service();
  annotate("app", m::sharing_key, "\"k\"");
  settle();
  EXPECT_EQ(attached_to(), "app");
}

TEST_F(ServiceTest, ThePoolThatGivesNothingNeverContradicts) {
  put_bound();
  put_service();
  annotate("app", m::pool, fmt::format("\"{}\"", m::awaiting_pool));
  settle();
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pool), "iad-public");
}

TEST_F(ServiceTest, AClaimThatIsNotBoundIsWaitedForQuietlyThenToldOf) {
  put_claim();
  put_service();
  settle();
  EXPECT_THAT(event_reasons(), IsEmpty());
  settle_after(seconds(11));
  EXPECT_THAT(event_reasons(), ::testing::UnorderedElementsAre("ClaimNotBound", "BackendSilent"));
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_EQ(attached_to(), "");
  bind("web", {std::string(k_v4)});
  settle();
  EXPECT_EQ(attached_to(), "app");
}

TEST_F(ServiceTest, AMissingClaimIsToldOf) {
  put_service();
  settle();
  settle_after(seconds(11));
  EXPECT_THAT(event_reasons(), ElementsAre("ClaimNotFound"));
}

TEST_F(ServiceTest, AClaimOfAnotherNamespaceIsNotMeant) {
  put_bound();
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"app","namespace":"tenant-b","annotations":{{"{}":"web"}}}},"spec":{{"type":"LoadBalancer","clusterIPs":["10.96.0.3"]}}}})",
      api::claim_annotation));
  EXPECT_EQ(settle(), 0);
}

// To keep, the claim need only live and hold the address.
TEST_F(ServiceTest, AClaimThatTurnsLostKeepsWhatIsAttached) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::IPAddressClaim>("tenant-a", "web", R"({"status":{"phase":"Lost"}})");
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(attached_to(), "app");
}

class DualServiceTest : public ServiceTest {
 protected:
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
  static constexpr std::string_view k_dual_spec =
      R"("clusterIPs":["fd00::9","10.96.0.9"],"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"RequireDualStack")";
};

TEST_F(DualServiceTest, ADualStackServiceGetsBothInOnePin) {
  put_dual();
  put_service("app", "web", k_dual_spec);
  settle();
  EXPECT_EQ(annotation(*service(), m::pin), "203.0.113.1,2001:db8::1");
  EXPECT_THAT(placeholders(), IsEmpty());
  assign("tenant-a", "app", {std::string(k_v6), std::string(k_v4)});  // MetalLB re-sorts
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(attached_to(k_v4), "app");
  EXPECT_EQ(attached_to(k_v6), "app");
}

TEST_F(DualServiceTest, ASingleStackServiceTakesItsHalf) {
  put_dual();
  put_service("app", "web", R"("clusterIPs":["fd00::9"],"ipFamilies":["IPv6"])");
  settle();
  EXPECT_EQ(annotation(*service(), m::pin), k_v6);
  EXPECT_EQ(attached_to(k_v4), "");
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
}

TEST_F(DualServiceTest, BothHalvesGoTogetherWhenTheServiceGoes) {
  put_dual();
  put_attached("app", {std::string(k_v4), std::string(k_v6)});
  world.remove<api::Service>("tenant-a", "app");
  settle();
  EXPECT_EQ(service(), nullptr);
  for (const std::string_view ip : {k_v4, k_v6}) assign_home(hold(ip)->meta.name, ip);
  settle();
  EXPECT_EQ(attached_to(k_v4), "");
  EXPECT_EQ(attached_to(k_v6), "");
}

TEST_F(DualServiceTest, ACrashBetweenTheHalvesIsResumed) {
  put_dual();
  put_service("app", "web", k_dual_spec);
  world.change<api::IPAddress>(
      "", name_of(k_v6),
      R"({"status":{"associatedTo":{"kind":"Service","namespace":"tenant-a","name":"app","uid":"uid-app"}}})");
  settle();
  EXPECT_EQ(attached_to(k_v4), "app");
  EXPECT_EQ(annotation(*service(), m::pin), "203.0.113.1,2001:db8::1");
}

TEST_F(DualServiceTest, AHalfThatIsLostForGoodLeavesTheOtherAttached) {
  put_dual();
  put_attached("app", {std::string(k_v4), std::string(k_v6)});
  world.vanish<api::IPAddress>("", name_of(k_v6));
  world.change<api::IPAddressClaim>("tenant-a", "web", R"({"status":{"phase":"Lost"}})");
  settle();
  EXPECT_EQ(attached_to(k_v4), "app");
  EXPECT_EQ(annotation(*service(), m::pin), "203.0.113.1,2001:db8::1");
}

TEST_F(DualServiceTest, AHalfThatSomebodyElseGetsIsTakenOff) {
  put_dual();
  put_attached("app", {std::string(k_v4), std::string(k_v6)});
  world.change<api::IPAddress>("", name_of(k_v6), R"({"spec":{"claimRef":null}})");
  settle();
  expect_clean();
}

TEST_F(ServiceTest, OfSeveralTheOldestGetsIt) {
  put_bound();
  put_service("zz-old");
  put_service("aa-young");
  settle();
  EXPECT_EQ(attached_to(), "zz-old");
}

TEST_F(ServiceTest, FlappingIsThrottled) {
  put_bound();
  put_service();
  int handoffs = 0;
  for (int i = 0; i < 8; ++i) {
    annotate("app", api::claim_annotation, "\"web\"");
    settle();
    if (attached_to() != "app") break;
    ++handoffs;
    assign("tenant-a", "app", {std::string(k_v4)});
    settle();
    annotate("app", api::claim_annotation, "null");
    settle();
    assign("tenant-a", "app", {});
    assign_home("iad-ip-203-0-113-1", k_v4);
    settle();
  }
  EXPECT_EQ(handoffs, 5);
  EXPECT_THAT(event_reasons(), Contains("HandoffThrottled"));
  settle_after(seconds(31));
  EXPECT_EQ(attached_to(), "app");
}

// Somebody, or something, that puts our keys on a Service of its own whenever they are taken off.
TEST_F(ServiceTest, ForgedKeysAreTakenOffAtAPace) {
  put_bound();
  put_service("app", "");
  int writes = 0;
  for (int i = 0; i < 20; ++i) {
    annotate("app", m::pinned, "\"true\"");
    writes += settle();
  }
  EXPECT_EQ(writes, 10);  // off with them, then the pool that this leaves
  settle_after(seconds(10));
  EXPECT_FALSE(service()->meta.annotations.contains(m::pinned));
}

// Those behind the first one look no further than at that.
TEST_F(ServiceTest, ACrowdThatNamesOneClaimLooksAtItsFirstOnly) {
  put_bound();
  for (int i = 0; i < 50; ++i) put_service(fmt::format("app{:02}", i));
  for (const char* name : {"app25", "app49"}) world.settle(service_key("tenant-a", name));
  world.take_woken();
  annotate("app25", m::pool, "\"iad-awaiting-claim\"");
  EXPECT_TRUE(world.is_woken(service_key("tenant-a", "app25")));
  EXPECT_FALSE(world.is_woken(service_key("tenant-a", "app49")));
}

// A copy of an attached Service carries its keys, and is not it.
TEST_F(ServiceTest, ACopyIsStrippedOfWhatItCopied) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"copy","namespace":"tenant-a","finalizers":["{}"],
          "annotations":{{"{}":"{}","{}":"iad-public","{}":"true","{}":"uid-app","{}":"web"}}}},
          "spec":{{"type":"LoadBalancer","clusterIPs":["10.96.0.4"]}}}})",
      m::attached, m::pin, k_v4, m::pool, m::pinned, m::service_uid, api::claim_annotation));
  settle();
  expect_clean("copy");
  EXPECT_EQ(annotation(*service("copy"), m::pool), m::awaiting_pool);
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
}

TEST_F(ServiceTest, AnythingWithOurFinalizerThatIsNotAttachedLosesIt) {
  put_service("left", "");
  world.change<api::Service>("tenant-a", "left", fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::attached));
  settle();
  EXPECT_THAT(service("left")->meta.finalizers, IsEmpty());
}

// Its ledger entry was lost, but the Service qualifies and has the address: no detour.
TEST_F(ServiceTest, AnAttachedServiceThatTheLedgerForgotIsTakenBack) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"associatedTo":null}})");
  settle();
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(ServiceTest, WhoNoLongerQualifiesBeforeItsPinLetsOthersHaveTheClaim) {
  put_bound();
  put_service();
  world.execute(plan(service_key("tenant-a", "app")));
  ASSERT_EQ(attached_to(), "app");
  world.change<api::Service>("tenant-a", "app", R"({"spec":{"loadBalancerIP":"203.0.113.1"}})");
  settle();
  EXPECT_EQ(attached_to(), "");
  EXPECT_THAT(event_reasons(), ElementsAre("LoadBalancerIPSet"));
}

// The deadline of §6: a pin that does not land.
TEST_F(ServiceTest, APinThatDoesNotLandIsHeldAgainAndTriedAgain) {
  put_bound();
  put_service();
  settle();
  ASSERT_EQ(hold(k_v4), nullptr);
  settle_after(seconds(29));
  EXPECT_EQ(hold(k_v4), nullptr);
  settle_after(seconds(2));
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_THAT(event_reasons(), Contains("HandoffTimedOut"));
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  settle_after(seconds(1));
  EXPECT_EQ(attached_to(), "app");
  settle_after(seconds(121));
  EXPECT_EQ(hold(k_v4), nullptr);
}

// MetalLB does not look again by itself at what it could not serve.
TEST_F(ServiceTest, APinThatWaitsIsTouchedMoreAndMoreRarely) {
  put_bound();
  put_service();
  settle();
  const auto touches = [&] { return annotation(*service(), m::touched); };
  settle_after(seconds(1));
  EXPECT_EQ(touches(), "");
  settle_after(seconds(1));
  EXPECT_EQ(touches(), "1");
  settle_after(seconds(3));
  EXPECT_EQ(touches(), "1");
  settle_after(seconds(1));
  EXPECT_EQ(touches(), "2");
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  annotate("app", api::claim_annotation, "null");
  settle();
  EXPECT_FALSE(service()->meta.annotations.contains(m::touched));
}

TEST_F(ServiceTest, TheGapIsMeasured) {
  put_bound();
  put_service();
  settle();
  ASSERT_EQ(hold(k_v4), nullptr);
  world.advance(std::chrono::milliseconds(250));
  assign("tenant-a", "app", {std::string(k_v4)});
  const kube::Plan seen = plan(address_key(name_of(k_v4)));
  ASSERT_EQ(seen.observations.size(), 1u);
  EXPECT_DOUBLE_EQ(seen.observations[0].value, 0.25);
  EXPECT_TRUE(plan(address_key(name_of(k_v4))).observations.empty());
}

TEST_F(ServiceTest, PlaceholdersAreNoWorkloads) {
  put_bound();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":"web"}}}}}})", api::claim_annotation));
  EXPECT_EQ(settle(), 0);
}

TEST_F(ServiceTest, EvenAStrippedFinalizerIsRepairedSlowly) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  for (int i = 0; i < 20; ++i) {
    world.change<api::Service>("tenant-a", "app", R"({"metadata":{"finalizers":null,"annotations":null}})");
    annotate("app", api::claim_annotation, "\"web\"");
    settle();
  }
  EXPECT_EQ(world.writes, 5);
  EXPECT_EQ(attached_to(), "app");
  EXPECT_THAT(placeholders(), IsEmpty());
}

// 43
TEST_F(ServiceTest, AForeignServiceThatShowsABoundAddressIsAConflict) {
  put_bound();
  put_service("thief", "");
  assign("tenant-a", "thief", {std::string(k_v4)});
  assign(k_home, "iad-ip-203-0-113-1", {});
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
  EXPECT_THAT(event_reasons(), ElementsAre("AddressConflict", "AddressConflict"));
  EXPECT_EQ(world.events[1].regarding.name, "thief");
  EXPECT_EQ(world.events[1].note.find("web"), std::string::npos);
  EXPECT_EQ(settle(), 0);
  world.vanish<api::Service>("tenant-a", "thief");
  EXPECT_EQ(settle(), 1) << "whether it is held yet or not";
  EXPECT_EQ(address(k_v4)->phase, "Pending");
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Pending");
}

TEST_F(ServiceTest, BesideTheAttachedServiceTooItIsAConflict) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_service("thief", "");
  assign("tenant-a", "thief", {std::string(k_v4)});
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
  EXPECT_EQ(attached_to(), "app");
}

// 44
TEST_F(ServiceTest, OurOwnAreNoConflict) {
  put_bound();
  EXPECT_EQ(settle_after(seconds(1)), 0);
  EXPECT_EQ(address(k_v4)->phase, "Bound");
}

// 45
TEST_F(ServiceTest, AnAddressNobodyTracksMakesNoObject) {
  put_service("foreign", "");
  assign("tenant-a", "foreign", {"203.0.113.6"});
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(address("203.0.113.6"), nullptr);
}

}  // namespace
}  // namespace metallb::testing
