// Driver design §4: claim → reservation. Scenarios 23 to 28.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ClaimTest : public DriverTest {};

// 23
TEST_F(ClaimTest, AStampedClaimGetsExactlyOnePlaceholderAndNoAddressYet) {
  put_claim();
  EXPECT_EQ(settle(), 1);
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4"));
  const api::Service& p = *drawn();
  EXPECT_EQ(annotation(p, m::pool), "iad-public");
  EXPECT_FALSE(p.meta.annotations.contains(m::pin));
  EXPECT_EQ(annotation(p, m::claim_namespace), "tenant-a");
  EXPECT_EQ(annotation(p, m::claim_name), "web");
  EXPECT_EQ(address(k_v4), nullptr);
}

// 24, and the write budget: placeholder, IPAddress, one placeholder patch.
TEST_F(ClaimTest, AnAssignedPlaceholderBecomesAnAddressAndItsHold) {
  put_claim();
  int writes = settle();
  assign_home("iad-uid-web-v4", "203.0.113.5");
  writes += settle();
  EXPECT_EQ(writes, 3);
  const api::IPAddress* a = address("203.0.113.5");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->meta.name, "ip-203-0-113-5");
  EXPECT_EQ(a->address, "203.0.113.5");
  EXPECT_EQ(a->className, "public");
  EXPECT_EQ(a->reclaimPolicy, "Retain");
  EXPECT_EQ(*a->claimRef, (api::ClaimRef{"tenant-a", "web", "uid-web"}));
  EXPECT_TRUE(a->from_class);
  EXPECT_THAT(a->meta.finalizers, ElementsAre(m::teardown));
  const api::Service& p = *drawn();
  EXPECT_EQ(annotation(p, m::pin), "203.0.113.5");
  EXPECT_EQ(p.meta.labels.get(m::ip_address), "ip-203-0-113-5");
  ASSERT_EQ(p.meta.owners.size(), 1u);
  EXPECT_EQ(p.meta.owners[0].uid, a->meta.uid);
  EXPECT_EQ(provisioning(), "");
  bind("web", {"203.0.113.5"});
  EXPECT_EQ(settle(), 0);
}

TEST_F(ClaimTest, TheReclaimPolicyIsCopiedFromTheClass) {
  world.change<api::IPAddressClass>("", "public", R"({"spec":{"reclaimPolicy":"Delete"}})");
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_EQ(address(k_v4)->reclaimPolicy, "Delete");
}

// 25
TEST_F(ClaimTest, ADualClaimGetsOneOfEach) {
  put_claim("web", "Dual");
  EXPECT_EQ(settle(), 2);
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4", "iad-uid-web-v6"));
  EXPECT_THAT(drawn("web", "-v6")->ipFamilies, ElementsAre("IPv6"));
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_NE(address(k_v4), nullptr);
  assign_home("iad-uid-web-v6", k_v6);
  settle();
  ASSERT_NE(address(k_v6), nullptr);
  EXPECT_EQ(address(k_v6)->claimRef->name, "web");
}

// 26
TEST_F(ClaimTest, PlanningAgainChangesNothing) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_EQ(settle_after(seconds(1)), 0);
  settle_after(seconds(60));  // the class's capacity follows at its own pace
  EXPECT_EQ(settle_after(seconds(3600)), 0);
  EXPECT_EQ(placeholders().size(), 1u);
}

// 27, and every other way of not being ours to serve (contract §6.1).
struct Unserved {
  const char* what;
  const char* patch;
};
class UnservedTest : public DriverTest, public ::testing::WithParamInterface<Unserved> {};

TEST_P(UnservedTest, GetsNoPlaceholderAndLosesTheOneItHad) {
  put_claim();
  settle();
  ASSERT_NE(drawn(), nullptr);
  world.change<api::IPAddressClaim>("tenant-a", "web", GetParam().patch);
  settle();
  EXPECT_EQ(drawn(), nullptr) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Claim, UnservedTest,
    ::testing::Values(Unserved{"stamp of another driver",
                               R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"other"}}})"},
                      Unserved{"no stamp",
                               R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":null}}})"},
                      Unserved{"another class", R"({"status":{"className":"elsewhere"}})"},
                      Unserved{"no class", R"({"status":{"className":null}})"},
                      Unserved{"class not resolved", R"({"status":{"conditions":[]}})"},
                      Unserved{"resolved for an older generation", R"({"spec":{"family":"IPv4","className":""}})"},
                      Unserved{"addressName", R"({"spec":{"addressName":"ip-203-0-113-2"}})"},
                      Unserved{"recorded uid of another claim",
                               R"({"metadata":{"annotations":{"local.sdn.cozystack.io/recorded-uid":"old"}}})"},
                      Unserved{"being deleted", R"({"metadata":{"deletionTimestamp":"2025-01-01T00:00:00Z"}})"}));

TEST_F(ClaimTest, AClassOfAnotherDriverIsNotServedWhateverTheStampSays) {
  world.put<api::IPAddressClass>(R"({"metadata":{"name":"public"},"spec":{"provisioner":"other"}})");
  put_claim();
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

// 28
TEST_F(ClaimTest, WhenTheClaimGoesItsUnrecordedPlaceholderGoesAssignedOrNot) {
  put_claim("one");
  put_claim("two");
  settle();
  world.vanish<api::IPAddressClaim>("tenant-a", "one");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-two-v4"));
  world.vanish<api::IPAddressClaim>("tenant-a", "two");
  assign_home("iad-uid-two-v4", k_v4);
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(ClaimTest, WhenTheClaimGoesTheHoldOfAnExistingAddressStays) {
  put_bound();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"phase":"Released"}})");
  EXPECT_EQ(settle(), 0);
  EXPECT_NE(hold(k_v4), nullptr);
}

TEST_F(ClaimTest, APlaceholderOfAnEarlierClaimOfThatNameGoes) {
  put_claim();
  settle();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.put<api::IPAddressClaim>(R"({"metadata":{"name":"web","namespace":"tenant-a","uid":"another"},"spec":{}})");
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

// Driver design §4.3, a crash between any two writes: plan from those facts.
TEST_F(ClaimTest, ACrashAfterTheAddressWasCreatedIsResumed) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"{}","finalizers":["{}"]}},"spec":{{"address":"{}","className":"public",
          "claimRef":{{"namespace":"tenant-a","name":"web","uid":"uid-web"}},"source":{{"fromClass":{{}}}}}}}})",
      name_of(k_v4), m::teardown, k_v4));
  EXPECT_EQ(settle(), 1);
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4"));
  EXPECT_EQ(annotation(*drawn(), m::pin), k_v4);
}

TEST_F(ClaimTest, TheAddressIsCreatedOnlyAfterALiveReadOfTheClaim) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  const kube::Key key = claim_key("tenant-a", "web");
  const kube::Plan first = plan(key);
  ASSERT_EQ(first.confirms.size(), 1u);
  EXPECT_EQ(first.confirms[0].target.name, "web");
  EXPECT_THAT(first.writes, IsEmpty());
  EXPECT_THAT(steps(plan(key)), ElementsAre("address-record"));
}

TEST_F(ClaimTest, AReportedFamilyIsNeverProvisionedAgain) {
  put_bound();
  world.vanish<api::Service>(k_home, hold_name(name_of(k_v4)));
  world.vanish<api::IPAddress>("", name_of(k_v4));
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(ClaimTest, AnAddressMatchedMeanwhileMakesThePlaceholderGo) {
  put_claim();
  settle();
  put_address("203.0.113.4");
  put_hold("203.0.113.4");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-4"));
}

TEST_F(ClaimTest, ANarrowedFamilyLosesItsPlaceholder) {
  put_claim("web", "Dual");
  settle();
  world.change<api::IPAddressClaim>("tenant-a", "web", R"({"spec":{"family":"IPv4"}})");
  world.change<api::IPAddressClaim>(
      "tenant-a", "web",
      R"({"status":{"conditions":[{"type":"ClassResolved","status":"True","reason":"Resolved","message":"",
          "lastTransitionTime":"2025-01-01T00:00:00Z","observedGeneration":2}]}})");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4"));
}

// §4.2: by value.
TEST_F(ClaimTest, AnAddressOutsideTheClassIsGivenBack) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", "198.51.100.1");
  settle();
  EXPECT_EQ(provisioning(), "False/OutsideClass");
  EXPECT_EQ(address("198.51.100.1"), nullptr);
  ASSERT_NE(drawn(), nullptr);
  EXPECT_THAT(drawn()->ingress, IsEmpty());  // a new one
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  bind("web", {std::string(k_v4)});
  settle();
  EXPECT_EQ(provisioning(), "True/Provisioned");
}

TEST_F(ClaimTest, AnAddressOfAnotherPoolIsGivenBack) {
  put_claim();
  settle();
  assign(k_home, "iad-uid-web-v4", {std::string(k_v4)}, "somebody-elses");
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
}

// §4.4
TEST_F(ClaimTest, AnAddressThatTheLedgerHasForSomebodyElseIsGivenBack) {
  put_address("203.0.113.3", "");
  put_hold("203.0.113.3");
  settle();
  world.vanish<api::Service>(k_home, hold_name("ip-203-0-113-3"));
  put_claim();
  // The hold has been put back, but MetalLB has given the address to our own placeholder.
  settle();
  ASSERT_NE(hold("203.0.113.3"), nullptr);
  assign_home(hold_name("ip-203-0-113-3"), "203.0.113.3");
  settle();
  assign_home(hold_name("ip-203-0-113-3"), "203.0.113.3");
  assign(k_home, "iad-uid-web-v4", {"203.0.113.3"});
  assign(k_home, hold_name("ip-203-0-113-3"), {});
  settle();
  EXPECT_EQ(drawn(), nullptr);
  EXPECT_EQ(provisioning(), "False/LedgerMismatch");
  EXPECT_THAT(event_reasons(), ElementsAre("LedgerMismatch"));
  EXPECT_EQ(address("203.0.113.3")->claimRef, std::nullopt);
  // Nothing is asked for before the owner's hold has it.
  assign_home(hold_name("ip-203-0-113-3"), "203.0.113.3");
  settle();
  EXPECT_NE(drawn(), nullptr);
}

// Its hold went first, so MetalLB may give the address to the next one before the ledger has lost it.
TEST_F(ClaimTest, ThreeAreGivenBackAtOnce) {
  put_bound(k_v4, "owner");
  put_claim();
  settle();
  int given_back = 0;
  for (int i = 0; i < 6; ++i) {
    ASSERT_NE(drawn(), nullptr);
    assign_home("iad-uid-web-v4", k_v4);
    settle();
    given_back += drawn() == nullptr || drawn()->ingress.empty() ? 1 : 0;
  }
  EXPECT_EQ(given_back, 3);
}

// An administrator's, for this very claim, that the core does not count: of another class.
TEST_F(ClaimTest, AnObjectOfItsOwnThatDoesNotCountIsSaid) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"own"}},"spec":{{"address":"{}","className":"theirs","reclaimPolicy":"Retain",
          "claimRef":{{"namespace":"tenant-a","name":"web","uid":"uid-web"}},"source":{{"providerRef":{{"id":"x"}}}}}},
          "status":{{"phase":"Released"}}}})",
      k_v4));
  settle();
  EXPECT_EQ(provisioning(), "");
  settle_after(seconds(3));
  EXPECT_EQ(provisioning(), "False/LedgerMismatch");
}

TEST_F(ClaimTest, AnAddressThatIsBeingTornDownIsWaitedFor) {
  put_address(k_v4, "");
  world.remove<api::IPAddress>("", name_of(k_v4));
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  world.settle(claim_key("tenant-a", "web"));
  world.advance(seconds(3));
  world.settle(claim_key("tenant-a", "web"));
  EXPECT_EQ(provisioning(), "False/Queued");
  ASSERT_NE(drawn(), nullptr);
  EXPECT_THAT(event_reasons(), IsEmpty());
  world.vanish<api::IPAddress>("", name_of(k_v4));
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_EQ(address(k_v4)->claimRef->uid, "uid-web");
}

// The watch of addresses lagged: MetalLB had given away what an administrator has for somebody else, and it was
// recorded beside that.
TEST_F(ClaimTest, AJuniorIsNotWhatAPlaceholderIsKeptFor) {
  put_claim("b");
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"gateway"}},"spec":{{"address":"{}","className":"public","reclaimPolicy":"Retain",
          "claimRef":{{"namespace":"tenant-a","name":"b","uid":"uid-b"}},"source":{{"providerRef":{{"id":"x"}}}}}},
          "status":{{"phase":"Bound"}}}})",
      k_v4));
  put_claim();
  world.put<api::Service>(
      boost::json::serialize(allocation_body(options, *claim(), "iad-uid-web-v4", "public", base::Family::v4)));
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4, "web");
  settle();
  EXPECT_EQ(drawn(), nullptr);
  ASSERT_NE(placeholder(hold_name("gateway")), nullptr);
  assign_home(hold_name("gateway"), k_v4);
  settle();
  settle_after(seconds(31));
  ASSERT_NE(drawn(), nullptr);
  EXPECT_THAT(drawn()->ingress, IsEmpty());
}

TEST_F(ClaimTest, ANameTakenByAnotherAddressIsSaid) {
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"address":"198.51.100.9","className":"other"}}}})", name_of(k_v4)));
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_EQ(provisioning(), "False/AddressNameTaken");
}

// §4.5
TEST_F(ClaimTest, ADualClaimThatCanNeverBeServedReservesNothing) {
  put_class("public", R"("parameters":{"addresses":["203.0.113.0/29"]})");
  put_claim("web", "Dual");
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
  EXPECT_EQ(provisioning(), "False/FamilyUnserved");
}

TEST_F(ClaimTest, AClassThatCannotBeReadIsSaidAndKeepsWhatThereIs) {
  put_claim();
  settle();
  world.change<api::IPAddressClass>("", "public", R"({"spec":{"parameters":{"addresses":"203.0.113.0/29"}}})");
  settle();
  EXPECT_EQ(provisioning(), "False/ClassParametersInvalid");
  EXPECT_NE(drawn(), nullptr);
}

TEST_F(ClaimTest, ForeignConditionsAreCarriedOver) {
  put_class("public", R"("parameters":{"addresses":["2001:db8::/126"]})");
  put_claim();
  settle();
  EXPECT_EQ(claim()->conditions.size(), 2u);
  EXPECT_EQ(claim()->conditions[0].type, "ClassResolved");
}

TEST_F(ClaimTest, TheConditionGoesWithTheServing) {
  put_class("public", R"("parameters":{"addresses":["2001:db8::/126"]})");
  put_claim();
  settle();
  world.change<api::IPAddressClaim>("tenant-a", "web",
                                    R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"other"}}})");
  settle();
  EXPECT_EQ(provisioning(), "");
}

TEST_F(ClaimTest, WhatAnotherDriverSaysIsLeftToIt) {
  put_class("public", R"("parameters":{"addresses":["2001:db8::/126"]})");
  put_claim();
  settle();
  world.change<api::IPAddressClaim>("tenant-a", "web",
                                    R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"other"}}})");
  settle();
  ASSERT_EQ(provisioning(), "");
  world.change<api::IPAddressClaim>(
      "tenant-a", "web",
      R"({"status":{"conditions":[{"type":"Provisioning","status":"False","reason":"Foo","message":"",
          "lastTransitionTime":"2025-01-01T00:00:00Z"}]}})");
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(provisioning(), "False/Foo");
}

TEST_F(ClaimTest, ASilentBackendIsTouchedThenToldOf) {
  put_claim();
  settle();
  settle_after(seconds(2));
  EXPECT_EQ(annotation(*drawn(), m::touched), "1");
  EXPECT_EQ(provisioning(), "");
  settle_after(seconds(9));
  EXPECT_EQ(provisioning(), "False/BackendSilent");
  EXPECT_EQ(annotation(*drawn(), m::touched), "2");
  EXPECT_EQ(settle_after(seconds(2)), 0);
}

TEST_F(ClaimTest, ItsPlaceholderThatLostItsLabelIsReplaced) {
  put_claim();
  settle();
  world.change<api::Service>(k_home, "iad-uid-web-v4",
                             fmt::format(R"({{"metadata":{{"labels":{{"{}":null}}}}}})", m::placeholder));
  settle();
  ASSERT_NE(drawn(), nullptr);
  EXPECT_TRUE(is_placeholder(*drawn(), Options{}));
}

TEST_F(ClaimTest, NothingIsCreatedWhileTheNamespaceIsGoing) {
  world.change<api::Namespace>("", k_home, R"({"status":{"phase":"Terminating"}})");
  put_claim();
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
  world.vanish<api::Namespace>("", k_home);
  settle();
  EXPECT_NE(world.get<api::Namespace>("", k_home), nullptr);
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4"));
}

TEST_F(ClaimTest, TheFirstAddressOfAnIPv6RangeIsServed) {
  put_claim("web", "IPv6");
  settle();
  assign_home("iad-uid-web-v6", "2001:db8::");
  settle();
  ASSERT_NE(address("2001:db8::"), nullptr);
  EXPECT_EQ(address("2001:db8::")->meta.name, "ip-2001-db8--0");
}

// The class gives its reason; what the class says about others is not for tenants.
struct Unready {
  const char* type;
  const char* reason;
};
class UnreadyClassTest : public ClaimTest, public ::testing::WithParamInterface<Unready> {};

TEST_P(UnreadyClassTest, TheClaimSaysWhyWithoutTheNamesOfOthers) {
  world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  world.change<api::IPAddressClass>(
      "", "public",
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"{}","status":"False","reason":"{}","message":"secret","lastTransitionTime":"2025-01-01T00:00:00Z","observedGeneration":1}}]}}}})",
          GetParam().type, GetParam().reason));
  put_claim();
  const kube::Key claim = claim_key("tenant-a", "web");
  const kube::Key pool = pool_key("public", base::Family::v4);
  plan(claim);
  plan(pool);
  plan(claim);
  world.advance(seconds(3));
  world.execute(plan(claim));
  EXPECT_EQ(provisioning(), std::string("False/") + GetParam().reason);
  const auto* condition = kube::find_condition(this->claim()->conditions, api::condition::provisioning);
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->message.find("secret"), std::string::npos);
  EXPECT_NE(condition->message.find("class public"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Reasons, UnreadyClassTest,
                         ::testing::Values(Unready{"ParametersValid", "Overlap"},
                                           Unready{"BackendReady", "PoolOverlap"},
                                           Unready{"BackendReady", "ForeignObject"},
                                           Unready{"BackendReady", "MetalLBMissing"},
                                           Unready{"BackendReady", "WriteRefused"}));

// What the last write of allocation came to, and whether the claims are told.
struct Refusal {
  int failures;
  int code;
  bool told;
};
class RefusedPlaceholderTest : public ClaimTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedPlaceholderTest, IsSaidWhenItLasts) {
  put_claim();
  const kube::Key claim = claim_key("tenant-a", "web");
  const kube::Key pool = pool_key("public", base::Family::v4);
  plan(claim);
  world.memory(pool).failures = GetParam().failures;
  world.memory(pool).refusal = "services is forbidden";
  world.memory(pool).refusal_code = GetParam().code;
  plan(pool);
  world.advance(seconds(3));
  plan(claim);
  world.advance(seconds(15));
  world.execute(plan(claim));
  EXPECT_EQ(provisioning(), GetParam().told ? "False/PlaceholderRefused" : "False/Queued");
}

INSTANTIATE_TEST_SUITE_P(Claim, RefusedPlaceholderTest,
                         ::testing::Values(Refusal{3, 403, true}, Refusal{3, 422, true}, Refusal{2, 403, false},
                                           Refusal{9, 409, false}, Refusal{9, 429, false}, Refusal{9, 500, false},
                                           Refusal{9, 0, false}));

// A refusal of what is not asked for any more sticks to nobody.
TEST_F(ClaimTest, WithoutAnythingToAskForNothingIsRefused) {
  put_claim("placed");
  settle();
  put_class("public", R"("parameters":{"addresses":["203.0.113.1-203.0.113.1"]})");
  put_claim("web");
  world.memory(pool_key("public", base::Family::v4)).failures = 3;
  world.memory(pool_key("public", base::Family::v4)).refusal_code = 403;
  plan(claim_key("tenant-a", "web"));
  plan(pool_key("public", base::Family::v4));
  world.advance(seconds(3));
  plan(claim_key("tenant-a", "web"));
  world.advance(seconds(3));
  world.execute(plan(claim_key("tenant-a", "web")));
  EXPECT_EQ(provisioning(), "False/Exhausted");
}

// Driver design §4: the half that is there may be of another class than the one the core has resolved so far.
TEST_F(ClaimTest, ADualClaimBetweenTwoClassesDoesNotSayThatAllIsThere) {
  put_class("elsewhere", R"("parameters":{"addresses":["198.51.100.0/29","2001:db8:1::/126"]})");
  put_claim("web", "Dual");
  world.change<api::IPAddressClaim>("tenant-a", "web", R"({"spec":{"className":""}})");
  world.change<api::IPAddressClaim>("tenant-a", "web",
                                    R"({"status":{"conditions":[
            {"type":"ClassResolved","status":"True","reason":"Resolved","message":"","lastTransitionTime":"2025-01-01T00:00:00Z",
             "observedGeneration":2},
            {"type":"Provisioning","status":"False","reason":"Queued","message":"waits","lastTransitionTime":"2025-01-01T00:00:00Z",
             "observedGeneration":2}]}})");
  put_address("198.51.100.1");
  world.change<api::IPAddress>("", name_of("198.51.100.1"), R"({"spec":{"className":"elsewhere"}})");
  world.settle(claim_key("tenant-a", "web"));
  EXPECT_EQ(provisioning(), "False/Queued");
}

// A placeholder that has been recorded is the hold of its address for good, under the name it was drawn by. The claim
// may be of another class or family before the core has reported that address.
class RetargetedClaimTest : public ClaimTest {
 protected:
  RetargetedClaimTest() {
    put_class("other", R"("parameters":{"addresses":["198.51.100.0/29"]})");
    settle();
    put_claim();
    settle();
    assign_home("iad-uid-web-v4", k_v4);
  }
  void record() {
    settle();
    ASSERT_TRUE(is_recorded(*drawn()));
  }
  // Drawn and in the ledger; the label is not written yet.
  void record_half() {
    world.put<api::IPAddress>(fmt::format(
        R"({{"metadata":{{"name":"{}","finalizers":["{}"]}},"spec":{{"address":"{}","className":"public","reclaimPolicy":"Retain",
            "claimRef":{{"namespace":"tenant-a","name":"web","uid":"uid-web"}},"source":{{"fromClass":{{}}}}}}}})",
        name_of(k_v4), m::teardown, k_v4));
  }
  // The tenant asks for something else, and the core follows.
  void retarget(std::string_view cls, std::string_view family = "IPv4") {
    world.change<api::IPAddressClaim>("tenant-a", "web",
                                      fmt::format(R"({{"spec":{{"className":"{}","family":"{}"}}}})", cls, family));
    world.change<api::IPAddressClaim>("tenant-a", "web",
                                      fmt::format(R"({{"status":{{"className":"{}","conditions":[
              {{"type":"ClassResolved","status":"True","reason":"Resolved","message":"","lastTransitionTime":"2025-01-01T00:00:00Z",
                "observedGeneration":{}}}]}}}})",
                                                  cls, claim()->meta.generation));
  }
  void release() { world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"phase":"Released"}})"); }
};

TEST_F(RetargetedClaimTest, AnotherClassIsServedBesideTheHoldOfWhatIsReleased) {
  record();
  retarget("other");
  release();
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4", "iad-uid-web-v4-2"));
  EXPECT_EQ(annotation(*drawn("web", "-v4-2"), m::pool), "iad-other");
  assign(k_home, "iad-uid-web-v4-2", {"198.51.100.1"}, "iad-other");
  settle();
  ASSERT_NE(address("198.51.100.1"), nullptr);
  EXPECT_EQ(annotation(*drawn("web", "-v4-2"), m::pin), "198.51.100.1");
  EXPECT_TRUE(is_recorded(*drawn("web", "-v4-2")));
  EXPECT_EQ(annotation(*drawn(), m::pin), k_v4);
}

TEST_F(RetargetedClaimTest, BackAtItsClassItGetsAnotherAddress) {
  record();
  retarget("other");
  release();
  retarget("public");
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4", "iad-uid-web-v4-2"));
  assign_home("iad-uid-web-v4-2", "203.0.113.2");
  settle();
  ASSERT_NE(address("203.0.113.2"), nullptr);
  EXPECT_TRUE(is_recorded(*drawn("web", "-v4-2")));
}

TEST_F(RetargetedClaimTest, WhatIsRecycledMeanwhileKeepsItsHold) {
  record();
  retarget("public", "IPv6");
  release();
  retarget("public", "IPv4");
  world.change<api::IPAddress>("", name_of(k_v4), R"({"spec":{"claimRef":null},"status":{"phase":"Available"}})");
  const std::string uid = drawn()->meta.uid;
  settle();
  ASSERT_NE(drawn(), nullptr);
  EXPECT_EQ(drawn()->meta.uid, uid);
  EXPECT_THAT(drawn()->ingress, ElementsAre(k_v4));
}

TEST_F(RetargetedClaimTest, AnAddressThatIsBeingRecordedKeepsItsHold) {
  record_half();
  retarget("other");
  release();
  const kube::Plan claims = plan(claim_key("tenant-a", "web"));
  EXPECT_THAT(steps(claims), IsEmpty());
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4", "iad-uid-web-v4-2"));
  EXPECT_TRUE(is_recorded(*drawn()));
  EXPECT_THAT(drawn()->ingress, ElementsAre(k_v4));
}

TEST_F(RetargetedClaimTest, AHoldWhoseAddressIsNotSeenYetLetsTheClaimWait) {
  record();
  world.vanish<api::IPAddress>("", name_of(k_v4));
  EXPECT_THAT(steps(plan(claim_key("tenant-a", "web"))), IsEmpty());
  EXPECT_TRUE(world.facts(wants_bucket("public", base::Family::v4)).members.empty());
}

TEST_F(RetargetedClaimTest, ALaterNameGoesOnWhenAnEarlierHoldGoes) {
  record();
  retarget("other");
  release();
  settle();
  assign(k_home, "iad-uid-web-v4-2", {"198.51.100.1"}, "iad-other");
  world.vanish<api::Service>(k_home, "iad-uid-web-v4");
  world.vanish<api::IPAddress>("", name_of(k_v4));
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4-2"));
  EXPECT_NE(address("198.51.100.1"), nullptr);
}

}  // namespace
}  // namespace metallb::testing
