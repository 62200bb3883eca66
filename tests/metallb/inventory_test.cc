// Driver design §9, inventory: each transition of adopting and giving back. The test plays the core.
#include "metallb/inventory.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "metallb/class.h"
#include "metallb/inventory_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(InventoryTest, IsOffUnlessTheClassAsksForIt) {
  put_stranger();
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_EQ(condition(), "");
  EXPECT_THAT(event_reasons(), Contains("UntrackedAddress"));
}

TEST_F(InventoryTest, ADryRunTellsAndWritesNothing) {
  put_stranger();
  put_stranger("other", {"203.0.113.2"}, fmt::format(R"({{"{}":"x"}})", m::sharing_key));
  const std::string before = document();
  set_mode("DryRun");
  EXPECT_EQ(
      condition(),
      "True/Planned: 1 would be adopted: tenant-a/app (203.0.113.1); 1 cannot be adopted: tenant-a/other "
      "(203.0.113.2): annotation metallb.io/allow-shared-ip is set and class public does not allow sharing: remove "
      "the annotation");
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_EQ(document(), before);
  set_mode("Off");
  EXPECT_EQ(condition(), "");
}

TEST_F(InventoryTest, AServiceIsAdoptedStepByStepAndKeepsItsAddress) {
  put_stranger();
  set_mode("Adopt");
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_EQ(address(k_v4)->claimRef->uid, "");
  EXPECT_EQ(address(k_v4)->reclaimPolicy, "Retain") << "the class's";
  EXPECT_TRUE(address(k_v4)->from_class);
  EXPECT_TRUE(address(k_v4)->meta.has_finalizer(m::teardown));
  EXPECT_EQ(generated(), nullptr) << "not before the core knows the address";
  core_sees(k_v4);
  settle();
  ASSERT_NE(generated(), nullptr);
  EXPECT_EQ(generated()->className, "public");
  EXPECT_EQ(generated()->family, "IPv4");
  EXPECT_EQ(generated()->addressName, name_of(k_v4));
  EXPECT_EQ(generated()->meta.labels.get(m::inventory), "true");
  EXPECT_FALSE(service()->meta.annotations.contains(api::claim_annotation)) << "not before the claim is bound";
  expect_untouched();
  core_binds();
  settle();
  EXPECT_EQ(annotation(*service(), api::claim_annotation), claim_name());
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(annotation(*service(), m::pool), "iad-public");
  EXPECT_EQ(annotation(*service(), m::pinned), "true");
  EXPECT_TRUE(service()->meta.has_finalizer(m::attached));
  EXPECT_EQ(address(k_v4)->associatedTo->uid, "uid-app");
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_THAT(event_reasons(), Contains("Adopted"));
  EXPECT_THAT(event_reasons(), Not(Contains("UntrackedAddress")));
  expect_untouched();
  EXPECT_EQ(condition(), "True/Adopted: 1 adopted");
  EXPECT_EQ(settle_after(std::chrono::minutes(10)), 0);
}

TEST_F(InventoryTest, ADualStackServiceIsAdoptedWithBoth) {
  put_stranger("app", {std::string(k_v4), std::string(k_v6)});
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  EXPECT_EQ(generated(), nullptr) << "the core does not know the other one yet";
  core_sees(k_v6);
  settle();
  ASSERT_NE(generated(), nullptr);
  EXPECT_EQ(generated()->family, "Dual");
  EXPECT_EQ(generated()->addressName, "");
  core_binds({std::string(k_v4), std::string(k_v6)});
  settle();
  EXPECT_EQ(annotation(*service(), m::pin), "203.0.113.1,2001:db8::1");
  EXPECT_EQ(state_of(k_v4), "adopted");
  EXPECT_EQ(state_of(k_v6), "adopted");
  expect_untouched();
}

TEST_F(InventoryTest, AHandWrittenPinIsLeftAsItIs) {
  put_stranger("app", {std::string(k_v4)}, fmt::format(R"({{"{}":"{}","{}":"iad-public"}})", m::pin, k_v4, m::pool));
  const std::string before = document();
  set_mode("Adopt");
  adopt();
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pinned));
  set_mode("Revert");
  EXPECT_EQ(document(), before);
}

TEST_F(InventoryTest, WhoCannotBeAdoptedIsToldWhy) {
  struct Row {
    std::string_view name;
    std::vector<std::string> ips;
    std::string_view annotations;
    std::string_view spec;
    std::string_view why;
  };
  const Row rows[] = {
      {"names",
       {"203.0.113.1"},
       R"({"local.sdn.cozystack.io/ip-address-claim":"mine"})",
       "",
       "names IPAddressClaim mine"},
      {"lbip", {"203.0.113.1"}, "{}", R"("loadBalancerIP":"203.0.113.1")", "spec.loadBalancerIP is set"},
      {"pool", {"203.0.113.1"}, R"({"metallb.universe.tf/address-pool":"old"})", "", "names pool old"},
      {"pin", {"203.0.113.1"}, R"({"metallb.universe.tf/loadBalancerIPs":"203.0.113.3"})", "", "asks for 203.0.113.3"},
      {"outside", {"203.0.113.77"}, "{}", "", "not among the addresses of the class"},
      {"half", {"203.0.113.1"}, "{}", R"("clusterIPs":["10.96.0.9","fd00::9"])", "it has cluster IPs of IPv4 and IPv6"},
      {"twice",
       {"203.0.113.1", "203.0.113.2"},
       "{}",
       R"("clusterIPs":["10.96.0.9"])",
       "something else than one address"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    put_stranger(row.name, row.ips, row.annotations);
    if (!row.spec.empty())
      world.change<api::Service>("tenant-a", row.name, fmt::format(R"({{"spec":{{{}}}}})", row.spec));
    set_mode("Adopt");
    EXPECT_THAT(condition(), HasSubstr(row.why));
    EXPECT_EQ(address(k_v4), nullptr);
    EXPECT_EQ(std::ranges::count(event_reasons(), "NotAdopted"), row.name == "names" ? 0 : 1);
    world.vanish<api::Service>("tenant-a", row.name);
    world.events.clear();
    set_mode("Off");
  }
}

TEST_F(InventoryTest, WhatTwoServicesShareIsAdoptedForNeither) {
  put_stranger("app");
  put_stranger("next");
  set_mode("Adopt");
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(condition(), HasSubstr("another Service shows 203.0.113.1 too"));
  world.vanish<api::Service>("tenant-a", "next");
  settle();
  EXPECT_NE(address(k_v4), nullptr) << "and then it is";
}

TEST_F(InventoryTest, WhatIsInTheLedgerIsNotAdopted) {
  put_address(k_v4, "");
  put_stranger();
  set_mode("Adopt");
  EXPECT_EQ(state_of(), "none");
  EXPECT_THAT(condition(), HasSubstr("there is an IPAddress object for 203.0.113.1 already"));
}

TEST_F(InventoryTest, ATakenNameOfTheClaimIsNobodysClaim) {
  put_stranger();
  set_mode("Adopt");
  const std::string name = claim_name();
  put_claim(name, "IPv6");
  core_sees(k_v4);
  settle();
  core_lets_go(k_v4);
  settle();
  EXPECT_EQ(address(k_v4), nullptr) << "it was promised to nobody, and is not given to that claim";
  EXPECT_THAT(condition(), HasSubstr("there is an IPAddressClaim " + name));
  EXPECT_FALSE(service()->meta.annotations.contains(m::pool));
}

TEST_F(InventoryTest, OffInTheMiddleTakesBackWhatNobodyWasPromised) {
  for (const std::string_view mode : {"Off", "DryRun", "Revert"}) {
    put_stranger();
    const std::string before = document();
    set_mode("Adopt");
    core_sees(k_v4);
    set_mode(mode);
    core_lets_go(k_v4);
    settle();
    EXPECT_EQ(address(k_v4), nullptr) << mode;
    EXPECT_EQ(document(), before);
    expect_untouched();
  }
}

TEST_F(InventoryTest, OffAfterTheClaimIsTooLate) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  set_mode("Off");
  core_binds();
  settle();
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
}

TEST_F(InventoryTest, AServiceThatGoesBeforeItsClaimLeavesNothing) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  world.vanish<api::Service>("tenant-a", "app");
  settle();
  core_lets_go(k_v4);
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(InventoryTest, AServiceThatGoesAfterItsClaimLeavesItTheAddress) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  core_binds();
  world.vanish<api::Service>("tenant-a", "app");
  settle();
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_NE(hold(k_v4), nullptr) << "held for the claim";
}

TEST_F(InventoryTest, ARefusedClaimIsToldInTheServersWords) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  kube::KeyMemory& memory = world.memory(inventory_key("tenant-a", "app"));
  memory.failures = 1;
  memory.refusal = "exceeded quota: addresses";
  world.run(inventory_key("tenant-a", "app"));
  world.settle({std::string(k_inventory_summary_reconciler), "", "public"});
  world.settle(class_key("public"));
  world.advance(std::chrono::seconds(6));
  world.settle(class_key("public"));
  const auto* cls = world.get<api::IPAddressClass>("", "public");
  const auto* found = kube::find_condition(cls->conditions, "Inventory");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->message, "1 being adopted: tenant-a/app (203.0.113.1): exceeded quota: addresses");
}

TEST_F(InventoryTest, RevertingLeavesTheServiceAsItWasAndNothingElse) {
  for (const bool dual : {false, true}) {
    const std::vector<std::string> ips = dual ? std::vector<std::string>{std::string(k_v4), std::string(k_v6)}
                                              : std::vector<std::string>{std::string(k_v4)};
    put_stranger("app", ips);
    const std::string before = document();
    set_mode("Adopt");
    adopt(ips);
    ASSERT_EQ(state_of(), "adopted");
    set_mode("Revert");
    EXPECT_EQ(document(), before);
    for (const std::string& ip : ips) EXPECT_FALSE(address(ip)->associatedTo);
    ASSERT_TRUE(generated()->meta.deleting);
    core_reclaims(ips);
    settle();
    for (const std::string& ip : ips) core_lets_go(ip);
    settle();
    EXPECT_EQ(address(k_v4), nullptr);
    EXPECT_EQ(document(), before);
    expect_untouched();
    EXPECT_EQ(condition(), "True/Reverted: nothing that was adopted is left");
    EXPECT_EQ(settle_after(std::chrono::minutes(10)), 0);
    world.vanish<api::Service>("tenant-a", "app");
  }
}

TEST_F(InventoryTest, WhatIsAttachedNoMoreStaysClaimed) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  world.vanish<api::Service>("tenant-a", "app");
  settle();
  set_mode("Revert");
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_THAT(condition(), HasSubstr("True/Reverted: 1 stay claimed: tenant-a/app (203.0.113.1): it is not attached"));
}

TEST_F(InventoryTest, WhatOnlyTheLedgerKeepsInThePoolStaysClaimed) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  set_mode("Revert", R"("203.0.113.4/30")");
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_THAT(condition(), HasSubstr("only the claim keeps it in MetalLB's pool"));
}

TEST_F(InventoryTest, AServiceThatGoesWhileRevertingLeavesNothing) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  Adoption record = *adoption_of(*address(k_v4));
  record.state = Adoption::State::reverting;
  world.change<api::IPAddress>(
      "", name_of(k_v4),
      boost::json::serialize(boost::json::object{
          {"metadata", boost::json::object{{"annotations", boost::json::object{{m::inventory, record.text()}}}}}}));
  world.remove<api::Service>("tenant-a", "app");
  settle();
  ASSERT_NE(hold(k_v4), nullptr) << "it lets go like any other";
  assign_home(hold(k_v4)->meta.name, k_v4);
  assign("tenant-a", "app", {});
  settle();
  EXPECT_EQ(service(), nullptr);
  settle_after(std::chrono::minutes(1));
  core_reclaims();
  settle();
  core_lets_go(k_v4);
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(InventoryTest, ARestoredCopyIsLeftToItsClaim) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  Adoption record = *adoption_of(*address(k_v4));
  world.vanish<api::Service>("tenant-a", "app");
  world.vanish<api::IPAddressClaim>("tenant-a", claim_name());
  for (const auto state : {Adoption::State::adopting, Adoption::State::reverting}) {
    record.state = state;
    world.change<api::IPAddress>(
        "", name_of(k_v4),
        boost::json::serialize(boost::json::object{
            {"metadata",
             boost::json::object{{"annotations", boost::json::object{{m::inventory, record.text()},
                                                                     {api::recorded_uid_annotation, "old"}}}}}}));
    settle();
    ASSERT_NE(address(k_v4), nullptr);
    EXPECT_FALSE(address(k_v4)->meta.deleting);
  }
}

TEST_F(InventoryTest, AServiceThatLetsGoOfItsClaimIsNone) {
  set_mode("Adopt");
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::Service>("tenant-a", "app",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", api::claim_annotation));
  settle();
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle();
  ASSERT_EQ(annotation(*service(), m::pool), m::awaiting_pool) << "MetalLB is about to take it off";
  EXPECT_THAT(event_reasons(), Not(Contains("NotAdopted")));
  assign("tenant-a", "app", {});
  settle_after(std::chrono::seconds(60));
  EXPECT_EQ(condition(), "True/Adopted: no Service has an address of the class without a claim");
}

TEST_F(InventoryTest, AServiceThatHasLostAHalfIsGivenBackWithTheOther) {
  put_stranger("app", {std::string(k_v4), std::string(k_v6)});
  const std::string before = document();
  set_mode("Adopt");
  adopt({std::string(k_v4), std::string(k_v6)});
  set_mode("Off");
  for (const std::string_view ip : {k_v4, k_v6}) {
    Adoption record = *adoption_of(*address(ip));
    record.state = Adoption::State::reverting;
    world.change<api::IPAddress>(
        "", name_of(ip),
        boost::json::serialize(boost::json::object{
            {"metadata", boost::json::object{{"annotations", boost::json::object{{m::inventory, record.text()}}}}}}));
  }
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  assign("tenant-a", "app", {std::string(k_v4), std::string(k_v6)});
  EXPECT_EQ(document(), before);
  EXPECT_TRUE(generated()->meta.deleting);
}

class InventoryNotEnabledTest : public InventoryTest {
 protected:
  InventoryNotEnabledTest() : InventoryTest(Options{}) {}
};

TEST_F(InventoryNotEnabledTest, TheClassSaysWhatItTakes) {
  put_stranger();
  set_mode("Adopt");
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_EQ(
      condition(),
      "False/NotEnabled: the driver runs without --inventory (chart value inventory) and changes nothing; 1 to be "
      "adopted: tenant-a/app (203.0.113.1)");
}

// Who is not told why nobody keeps the address is told that nobody does.
TEST_F(InventoryNotEnabledTest, TheServiceIsTold) {
  set_mode("Adopt");
  put_stranger();
  settle_after(std::chrono::seconds(6));
  EXPECT_THAT(event_reasons(), Contains("UntrackedAddress"));
}

TEST_F(InventoryTest, AServiceThatNamesAClaimIsToldToo) {
  set_mode("Adopt");
  put_claim();
  put_stranger("app", {std::string(k_v4)}, fmt::format(R"({{"{}":"web"}})", api::claim_annotation));
  settle_after(std::chrono::seconds(6));
  EXPECT_THAT(event_reasons(), Contains("UntrackedAddress"));
}

TEST_F(InventoryTest, AMessageNamesTheFirstFew) {
  for (int i = 1; i <= 6; ++i) put_stranger(fmt::format("app-{}", i), {fmt::format("203.0.113.{}", i)});
  set_mode("DryRun");
  EXPECT_THAT(condition(), HasSubstr("6 would be adopted: tenant-a/app-1 (203.0.113.1); "));
  EXPECT_THAT(condition(), HasSubstr("; and 1 more"));
}

}  // namespace
}  // namespace metallb::testing
