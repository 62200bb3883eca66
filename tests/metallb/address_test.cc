// Driver design §5 and §8: holding and teardown, and the ledger's side of the handoff. Scenarios 31 to 36.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AddressTest : public DriverTest {
 protected:
  void put_static(std::string_view name, std::string_view ip, std::string_view class_name = "public") {
    world.put<api::IPAddress>(fmt::format(
        R"({{"metadata":{{"name":"{}"}},"spec":{{"address":"{}","className":"{}","source":{{"providerRef":{{"id":"x"}}}}}}}})",
        name, ip, class_name));
  }
  std::string reserved(std::string_view name) {
    const auto* object = world.get<api::IPAddress>("", name);
    const auto* condition = kube::find_condition(object->conditions, api::condition::reserved);
    return condition == nullptr ? "" : condition->status + "/" + condition->reason;
  }
  void expect_proper_hold(std::string_view name, std::string_view ip) {
    const api::Service* p = placeholder(name);
    ASSERT_NE(p, nullptr) << name;
    EXPECT_EQ(annotation(*p, m::pin), ip);
    EXPECT_EQ(annotation(*p, m::pool), "iad-public");
    EXPECT_EQ(p->meta.labels.get(m::ip_address), name_of(ip));
    EXPECT_EQ(p->meta.labels.get(m::placeholder), "true");
    ASSERT_EQ(p->meta.owners.size(), 1u);
    EXPECT_EQ(p->meta.owners[0].uid, address(ip)->meta.uid);
  }
};

// 31
TEST_F(AddressTest, AnUnassociatedAddressIsHeld) {
  put_address(k_v4);
  settle();
  expect_proper_hold("iad-ip-203-0-113-1", k_v4);
  assign_home("iad-ip-203-0-113-1", k_v4);
  EXPECT_EQ(settle(), 0);
}

// 32
TEST_F(AddressTest, TheHoldOfAnAttachedAddressGoes) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_hold(k_v4);
  settle();
  EXPECT_EQ(hold(k_v4), nullptr);
  EXPECT_EQ(settle(), 0);
}

// 33
TEST_F(AddressTest, WhenTheServiceIsGoneTheHoldComesBackAndThenTheAssociationGoes) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::Service>("tenant-a", "app");
  EXPECT_EQ(settle(), 1);
  expect_proper_hold("iad-ip-203-0-113-1", k_v4);
  EXPECT_TRUE(address(k_v4)->associatedTo);
  assign_home("iad-ip-203-0-113-1", k_v4);
  EXPECT_EQ(settle(), 1);
  EXPECT_FALSE(address(k_v4)->associatedTo);
  EXPECT_EQ(address(k_v4)->claimRef->name, "web");
}

TEST_F(AddressTest, AServiceOfThatNameWithAnotherUidIsAnotherService) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::Service>("tenant-a", "app");
  world.put<api::Service>(
      R"({"metadata":{"name":"app","namespace":"tenant-a","uid":"another"},"spec":{"type":"LoadBalancer"}})");
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_FALSE(address(k_v4)->associatedTo);
}

TEST_F(AddressTest, ABackendThatIsSilentDoesNotKeepAnAssociationForEver) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::Service>("tenant-a", "app");
  settle();
  settle_after(seconds(59));
  EXPECT_TRUE(address(k_v4)->associatedTo);
  settle_after(seconds(2));
  EXPECT_FALSE(address(k_v4)->associatedTo);
}

// 34
TEST_F(AddressTest, AnAddressOfAForeignClassIsLeftAlone) {
  world.put<api::IPAddressClass>(R"({"metadata":{"name":"foreign"},"spec":{"provisioner":"other"}})");
  put_static("ip-203-0-113-9", "203.0.113.9", "foreign");
  put_static("ip-203-0-113-10", "203.0.113.10", "nowhere");
  EXPECT_EQ(settle(), 0);
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(AddressTest, WhatWeHoldIsServedWhateverBecomesOfTheClass) {
  put_bound();
  world.vanish<api::IPAddressClass>("", "public");
  settle();
  world.vanish<api::Service>(k_home, hold_name(name_of(k_v4)));
  settle();
  expect_proper_hold("iad-ip-203-0-113-1", k_v4);
  world.put<api::IPAddressClass>(R"({"metadata":{"name":"public"},"spec":{"provisioner":"other"}})");
  world.vanish<api::Service>(k_home, hold_name(name_of(k_v4)));
  settle();
  expect_proper_hold("iad-ip-203-0-113-1", k_v4);
}

// Contract §6.7.
TEST_F(AddressTest, AStaticAddressIsOffTheMarketUntilItIsHeld) {
  put_static("gateway.example", "203.0.113.4");
  const kube::Plan first = plan(address_key("gateway.example"));
  EXPECT_THAT(steps(first), ElementsAre("hold-create", "address-status"));
  world.execute(first);
  EXPECT_EQ(reserved("gateway.example"), "False/AwaitingBackend");
  settle();
  EXPECT_TRUE(world.get<api::IPAddress>("", "gateway.example")->meta.has_finalizer(m::teardown));
  const std::string name = hold_name("gateway.example");
  ASSERT_NE(placeholder(name), nullptr);
  assign_home(name, "203.0.113.4");
  settle();
  EXPECT_EQ(reserved("gateway.example"), "True/Held");
  EXPECT_EQ(settle_after(seconds(1)), 0);
}

TEST_F(AddressTest, OfTwoObjectsForOneAddressOnlyTheSeniorIsHeld) {
  put_address(k_v4, "");
  put_hold(k_v4);
  put_static("again", k_v4);
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
  EXPECT_EQ(reserved("again"), "False/DuplicateAddress");
  world.remove<api::IPAddress>("", "again");
  settle();
  EXPECT_EQ(world.get<api::IPAddress>("", "again"), nullptr);
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
}

// Who stands for the address takes over its hold in one write: MetalLB would refuse a second one for as long as it is
// there, and without it the address would be anybody's.
TEST_F(AddressTest, WhoBecomesTheSeniorTakesOverTheHoldOfTheOther) {
  put_address(k_v4, "");
  put_hold(k_v4);
  put_claim();
  settle();
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"static-1","uid":"uid-static-1"}},"spec":{{"address":"{}","className":"public",
          "claimRef":{{"namespace":"tenant-a","name":"web","uid":"uid-web"}},"source":{{"providerRef":{{"id":"x"}}}}}}}})",
      k_v4));
  settle();
  ASSERT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
  const api::Service& hold = *placeholder("iad-ip-203-0-113-1");
  EXPECT_EQ(hold.meta.labels.get(m::ip_address), "static-1");
  ASSERT_EQ(hold.meta.owners.size(), 1u);
  EXPECT_EQ(hold.meta.owners[0].uid, "uid-static-1");
  EXPECT_EQ(reserved("static-1"), "True/Held");
  EXPECT_EQ(reserved(name_of(k_v4)), "False/DuplicateAddress");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1")) << "it is not the hold of the one that went";
}

TEST_F(AddressTest, AnUnclaimedAddressThatLosesItsHoldGoesOffTheMarket) {
  put_address(k_v4, "");
  put_hold(k_v4);
  settle();
  assign(k_home, "iad-ip-203-0-113-1", {});
  settle();
  EXPECT_EQ(reserved("ip-203-0-113-1"), "");
  settle_after(seconds(6));
  EXPECT_EQ(reserved("ip-203-0-113-1"), "False/AwaitingBackend");
  assign_home("iad-ip-203-0-113-1", k_v4);
  settle();
  EXPECT_EQ(reserved("ip-203-0-113-1"), "True/Held");
}

TEST_F(AddressTest, ReleasedAndRecycledAddressesKeepTheirHold) {
  put_bound();
  const std::string uid = hold(k_v4)->meta.uid;
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"phase":"Released"}})");
  EXPECT_EQ(settle(), 0);
  world.change<api::IPAddress>("", name_of(k_v4), R"({"spec":{"claimRef":null},"status":{"phase":"Available"}})");
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(hold(k_v4)->meta.uid, uid);
}

struct Damage {
  const char* what;
  const char* patch;
};
class RepairTest : public AddressTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(RepairTest, ADamagedHoldIsRepairedInOneWrite) {
  put_bound();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", GetParam().patch);
  EXPECT_EQ(settle(), 1) << GetParam().what;
  expect_proper_hold("iad-ip-203-0-113-1", k_v4);
  const api::Service& p = *hold(k_v4);
  EXPECT_FALSE(p.has_selector);
  EXPECT_EQ(p.type, "LoadBalancer");
  EXPECT_EQ(p.allocateLoadBalancerNodePorts, false);
}

INSTANTIATE_TEST_SUITE_P(
    Hold, RepairTest,
    ::testing::Values(
        Damage{"pin gone", R"({"metadata":{"annotations":{"metallb.io/loadBalancerIPs":null}}})"},
        Damage{"other pin", R"({"metadata":{"annotations":{"metallb.io/loadBalancerIPs":"203.0.113.6"}}})"},
        Damage{"pool gone", R"({"metadata":{"annotations":{"metallb.io/address-pool":null}}})"},
        Damage{"labels gone", R"({"metadata":{"labels":null}})"},
        Damage{"one label gone",
               R"({"metadata":{"labels":{"metallb.drivers.local.sdn.cozystack.io/placeholder":null}}})"},
        Damage{"other label gone",
               R"({"metadata":{"labels":{"metallb.drivers.local.sdn.cozystack.io/ip-address":null}}})"},
        Damage{"owner gone", R"({"metadata":{"ownerReferences":null}})"},
        Damage{
            "owner of an earlier object",
            R"({"metadata":{"ownerReferences":[{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","name":"ip-203-0-113-1","uid":"old"}]}})"},
        Damage{"selector", R"({"spec":{"selector":{"app":"web"}}})"},
        Damage{"type", R"({"spec":{"type":"ClusterIP"}})"},
        Damage{"node ports", R"({"spec":{"allocateLoadBalancerNodePorts":true}})"},
        Damage{"loadBalancerIP", R"({"spec":{"loadBalancerIP":"203.0.113.6"}})"}));

// Its name tells of a claim that has long gone.
TEST_F(AddressTest, AHoldWithoutLabelsIsFoundByItsOwner) {
  put_address(k_v4, "");
  world.put<api::Service>(
      boost::json::serialize(hold_body(options, *address(k_v4), *base::IpAddress::parse(k_v4), "iad-uid-old-v4")));
  assign_home("iad-uid-old-v4", k_v4);
  settle();
  for (const char* labels : {"null", R"({"metallb.drivers.local.sdn.cozystack.io/placeholder":null})"}) {
    world.change<api::Service>(k_home, "iad-uid-old-v4", fmt::format(R"({{"metadata":{{"labels":{}}}}})", labels));
    EXPECT_EQ(settle(), 1) << labels;
    expect_proper_hold("iad-uid-old-v4", k_v4);
    EXPECT_THAT(placeholders(), ElementsAre("iad-uid-old-v4"));
    EXPECT_EQ(address(k_v4)->phase, "Available");
  }
}

// What is left of its labels says whose it is.
TEST_F(AddressTest, AHoldWithTheLabelOfAnotherAddressIsNotTakenByItsName) {
  put_bound();
  world.change<api::Service>(
      k_home, "iad-ip-203-0-113-1",
      fmt::format(R"({{"metadata":{{"labels":{{"{}":null,"{}":"ip-203-0-113-2"}}}}}})", m::placeholder, m::ip_address));
  settle();
  EXPECT_EQ(hold(k_v4)->meta.labels.get(m::ip_address), "ip-203-0-113-2");
}

TEST_F(AddressTest, AHoldOfAnotherLoadBalancerClassIsReplaced) {
  put_bound();
  const std::string uid = hold(k_v4)->meta.uid;
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1",
                             R"({"metadata":{"uid":"x"},"spec":{"loadBalancerClass":"other"}})");
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_FALSE(hold(k_v4)->loadBalancerClass);
}

// As all are when the driver is started with another --load-balancer-class.
TEST_F(AddressTest, WhatAHoldHasThatIsReplacedFallsToNoPlaceholder) {
  put_bound();
  put_claim("waiting");
  settle();
  ASSERT_NE(drawn("waiting"), nullptr);
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"spec":{"loadBalancerClass":"other"}})");
  world.settle(address_key(name_of(k_v4)));
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_EQ(hold(k_v4)->loadBalancerClass, "other");
  const kube::Plan before = plan(pool_key("public", base::Family::v4));
  EXPECT_THAT(steps(before), ElementsAre("placeholder-before-gap"));
  world.execute(before);
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_FALSE(hold(k_v4)->loadBalancerClass);
  EXPECT_EQ(drawn("waiting"), nullptr);
}

TEST_F(AddressTest, ATerminatingHoldIsReplacedUnderAnotherName) {
  put_bound();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"metadata":{"finalizers":["somebody/else"]}})");
  world.remove<api::Service>(k_home, "iad-ip-203-0-113-1");
  EXPECT_EQ(settle(), 2);
  const std::string spare = spare_hold_name("ip-203-0-113-1");
  expect_proper_hold(spare, k_v4);
  world.vanish<api::Service>(k_home, "iad-ip-203-0-113-1");
  assign_home(spare, k_v4);
  EXPECT_EQ(settle(), 0);
}

// Whatever others do with its finalizers: MetalLB is made to take the address off it, and gives it to the next one.
TEST_F(AddressTest, ATerminatingHoldIsMadeToLetGoOnceAnotherStandsReady) {
  put_bound();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"metadata":{"finalizers":["somebody/else"]}})");
  world.remove<api::Service>(k_home, "iad-ip-203-0-113-1");
  settle();
  ASSERT_NE(placeholder(spare_hold_name("ip-203-0-113-1")), nullptr);
  EXPECT_EQ(annotation(*placeholder("iad-ip-203-0-113-1"), api::metallb::pool), api::metallb::awaiting_pool);
  EXPECT_FALSE(placeholder("iad-ip-203-0-113-1")->meta.annotations.contains(api::metallb::pin));
}

TEST_F(AddressTest, ATerminatingHoldIsNotEmptiedBeforeTheGapIsOpen) {
  put_bound();
  put_claim("waiting");
  settle();
  ASSERT_NE(drawn("waiting"), nullptr);
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"metadata":{"finalizers":["somebody/else"]}})");
  world.remove<api::Service>(k_home, "iad-ip-203-0-113-1");
  world.settle(address_key("ip-203-0-113-1"));
  EXPECT_EQ(annotation(*placeholder("iad-ip-203-0-113-1"), api::metallb::pool), "iad-public");
  settle();
  EXPECT_EQ(annotation(*placeholder("iad-ip-203-0-113-1"), api::metallb::pool), api::metallb::awaiting_pool);
  EXPECT_EQ(drawn("waiting"), nullptr);
}

TEST_F(AddressTest, TeardownEmptiesATerminatingHoldAndDoesNotWaitForIt) {
  put_address(k_v4, "");
  put_hold(k_v4);
  settle();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"metadata":{"finalizers":["somebody/else"]}})");
  world.remove<api::IPAddress>("", "ip-203-0-113-1");
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  ASSERT_TRUE(placeholder("iad-ip-203-0-113-1")->meta.deleting);
  EXPECT_EQ(annotation(*placeholder("iad-ip-203-0-113-1"), api::metallb::pool), api::metallb::awaiting_pool);
  EXPECT_TRUE(address(k_v4)->meta.has_finalizer(m::teardown)) << "MetalLB still has it";
  assign(k_home, "iad-ip-203-0-113-1", {});
  settle();
  EXPECT_FALSE(address(k_v4)->meta.has_finalizer(m::teardown));
}

TEST_F(AddressTest, ThereIsANameForEveryHoldHoweverManyDoNotGo) {
  put_bound();
  for (int i = 0; i < 4; ++i) {
    for (const std::string& name : placeholders()) {
      if (placeholder(name)->meta.deleting) continue;
      world.change<api::Service>(k_home, name, R"({"metadata":{"finalizers":["somebody/else"]}})");
      world.remove<api::Service>(k_home, name);
      assign(k_home, name, {});
    }
    settle();
  }
  EXPECT_EQ(placeholders().size(), 5u);
  settle_after(std::chrono::minutes(6));
  EXPECT_EQ(gap_of(world.facts(gaps_bucket("public", base::Family::v4)).members.begin()->first.first), Gap::patient);
}

TEST_F(AddressTest, ATerminatingHoldThatDoesNotGoKeepsNobodyWaitingForEver) {
  put_bound();
  world.change<api::Service>(k_home, "iad-ip-203-0-113-1", R"({"metadata":{"finalizers":["somebody/else"]}})");
  world.remove<api::Service>(k_home, "iad-ip-203-0-113-1");
  settle();
  put_claim("other");
  settle();
  ASSERT_EQ(drawn("other"), nullptr);
  EXPECT_EQ(gap_of(world.facts(gaps_bucket("public", base::Family::v4)).members.begin()->first.first), Gap::eager);
  settle_after(std::chrono::minutes(7));
  settle_after(std::chrono::seconds(6));  // the eager ones have been quiet for long enough
  EXPECT_EQ(gap_of(world.facts(gaps_bucket("public", base::Family::v4)).members.begin()->first.first), Gap::patient);
  EXPECT_NE(drawn("other"), nullptr);
}

TEST_F(AddressTest, OfSeveralPlaceholdersTheOneThatHasTheAddressStays) {
  put_bound();
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"second","namespace":"{}","labels":{{"{}":"true","{}":"ip-203-0-113-1"}}}},"spec":{{"type":"LoadBalancer"}}}})",
      k_home, m::placeholder, m::ip_address));
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1"));
}

// Driver design §4.3: no second hold beside the allocation placeholder that is not labelled yet.
TEST_F(AddressTest, TheAllocationPlaceholderIsRecognisedByItsName) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4);
  EXPECT_THAT(steps(plan(address_key(name_of(k_v4)))), ElementsAre("hold-record"));
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-uid-web-v4"));
}

TEST_F(AddressTest, TheLabelDerivedFromTheAddressIsAccepted) {
  put_static("custom", "203.0.113.5");
  settle();
  world.vanish<api::Service>(k_home, hold_name("custom"));
  settle();
  world.change<api::Service>(k_home, hold_name("custom"),
                             fmt::format(R"({{"metadata":{{"labels":{{"{}":"ip-203-0-113-5"}}}}}})", m::ip_address));
  EXPECT_EQ(settle(), 0);
  EXPECT_THAT(placeholders(), ElementsAre(hold_name("custom")));
}

TEST_F(AddressTest, AHoldThatWaitsInVainIsTouched) {
  put_address(k_v4);
  settle();
  settle_after(seconds(2));
  EXPECT_EQ(annotation(*hold(k_v4), m::touched), "1");
  settle_after(seconds(1));
  EXPECT_EQ(annotation(*hold(k_v4), m::touched), "1");
  settle_after(seconds(4));
  EXPECT_EQ(annotation(*hold(k_v4), m::touched), "2");
  // Not while somebody has the address: it is not for MetalLB to look.
  put_service("thief", "");
  assign("tenant-a", "thief", {std::string(k_v4)});
  settle();
  settle_after(seconds(100));
  EXPECT_EQ(annotation(*hold(k_v4), m::touched), "2");
}

// 35
TEST_F(AddressTest, TeardownOfAnAttachedAddressFreesTheServiceFirst) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  assign("tenant-a", "app", {});
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(AddressTest, WhileItsClaimLivesNothingHappens) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.remove<api::IPAddress>("", name_of(k_v4));
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
}

TEST_F(AddressTest, AHeldAddressBeingDeletedKeepsItsHoldWhileItsClaimLives) {
  put_bound();
  world.remove<api::IPAddress>("", name_of(k_v4));
  EXPECT_EQ(settle(), 0);
  world.vanish<api::Service>(k_home, "iad-ip-203-0-113-1");
  settle();
  EXPECT_NE(hold(k_v4), nullptr);
}

// The write budget of a deletion with policy Delete: placeholder, finalizer.
TEST_F(AddressTest, TeardownCostsTwoWritesAndLiveReadsBeforeEach) {
  put_bound();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  const kube::Key key = address_key(name_of(k_v4));
  EXPECT_EQ(plan(key).confirms.size(), 2u);  // its claim, and itself: its version does not guard the hold
  kube::Plan next = plan(key);
  EXPECT_THAT(steps(next), ElementsAre("hold-teardown"));
  world.execute(next);
  EXPECT_EQ(plan(key).confirms.size(), 1u);
  next = plan(key);
  EXPECT_THAT(steps(next), ElementsAre("address-teardown"));
  world.execute(next);
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_EQ(settle(), 0);
}

TEST_F(AddressTest, AnAddressThatWasNeverPromisedGoesWithItsClaim) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  ASSERT_EQ(address(k_v4)->phase, "");
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(placeholders(), IsEmpty());
}

// A backup tool restores without status; the copy is known by its recorded uid.
TEST_F(AddressTest, ARestoredAddressIsNotTakenForOneThatWasNeverPromised) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  ASSERT_EQ(address(k_v4)->phase, "");
  world.change<api::IPAddress>(
      "", name_of(k_v4),
      fmt::format(R"({{"metadata":{{"annotations":{{"{}":"the-uid-before"}}}}}})", api::recorded_uid_annotation));
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  settle();
  EXPECT_NE(address(k_v4), nullptr);
}

// From before the uid was recorded, by a tool that drops finalizers and owner references: its hold came back first.
TEST_F(AddressTest, ARestoredAddressThatIsHeldAtFirstSightIsKeptToo) {
  put_bound();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               R"({"metadata":{"finalizers":null},"status":{"phase":null,"conditions":null}})");
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_TRUE(address(k_v4)->meta.has_finalizer(m::teardown));
  EXPECT_EQ(reserved(name_of(k_v4)), "True/Held");
}

// Whatever befalls it before the core has seen it, the claim that goes takes it along.
TEST_F(AddressTest, WhatWasNeverPromisedGoesAlsoAfterItsHoldFailed) {
  for (const bool stolen : {false, true}) {
    put_claim();
    settle();
    assign_home("iad-uid-web-v4", k_v4);
    settle();
    ASSERT_NE(address(k_v4), nullptr);
    assign_home("iad-uid-web-v4", "203.0.113.2");
    if (stolen) {
      put_service("thief", "");
      assign("tenant-a", "thief", {std::string(k_v4)});
    }
    settle();
    settle_after(seconds(61));
    world.vanish<api::IPAddressClaim>("tenant-a", "web");
    settle();
    EXPECT_EQ(address(k_v4), nullptr) << stolen;
    EXPECT_THAT(placeholders(), IsEmpty());
  }
}

TEST_F(AddressTest, AnAddressThatWasBoundIsNotDeletedByUs) {
  put_bound();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  EXPECT_EQ(settle(), 0);
  EXPECT_NE(address(k_v4), nullptr);
}

TEST_F(AddressTest, TextThatIsNoAddressIsNotHeldAndNotKept) {
  put_static("broken", "203.0.113.300");
  EXPECT_EQ(settle(), 0);
  world.change<api::IPAddress>("", "broken", fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", "broken");
  settle();
  EXPECT_EQ(world.get<api::IPAddress>("", "broken"), nullptr);
}

// 36
TEST_F(AddressTest, AConflictThatIsOverIsHandedBack) {
  put_bound();
  world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"phase":"Conflict"}})");
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Pending");
}

TEST_F(AddressTest, AConflictThatGoesOnStays) {
  put_bound();
  put_service("thief", "");
  assign("tenant-a", "thief", {std::string(k_v4)});
  world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"phase":"Conflict"}})");
  EXPECT_EQ(settle(), 1) << "the condition";
  EXPECT_EQ(address(k_v4)->phase, "Conflict");
  EXPECT_EQ(settle(), 0);
}

// Orphans.
TEST_F(AddressTest, APlaceholderOfAnAddressThatIsGoneGoes) {
  put_bound();
  world.vanish<api::IPAddress>("", name_of(k_v4));
  settle();
  EXPECT_THAT(placeholders(), ElementsAre("iad-ip-203-0-113-1")) << "a backup tool may bring its address back";
  settle_after(std::chrono::minutes(2));
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(AddressTest, APlaceholderForNobodyGoes) {
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"stray","namespace":"{}","labels":{{"{}":"true"}}}},"spec":{{"type":"LoadBalancer"}}}})",
      k_home, m::placeholder));
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(AddressTest, TheLabelElsewhereMeansNothing) {
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"stray","namespace":"tenant-a","labels":{{"{}":"true"}}}},"spec":{{"type":"LoadBalancer"}}}})",
      m::placeholder));
  EXPECT_EQ(settle(), 0);
}

TEST_F(AddressTest, ThePlaceholderNamespaceIsPutBackAndEverythingIsHeldAgain) {
  put_bound();
  world.vanish<api::Service>(k_home, "iad-ip-203-0-113-1");
  world.vanish<api::Namespace>("", k_home);
  settle();
  EXPECT_NE(world.get<api::Namespace>("", k_home), nullptr);
  expect_proper_hold("iad-ip-203-0-113-1", k_v4);
}

}  // namespace
}  // namespace metallb::testing
