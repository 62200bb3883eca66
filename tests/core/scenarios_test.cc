// Scenarios 1 to 22 of the acceptance list, by number.
#include "core_fixture.h"

namespace core {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class Scenario : public CoreTest {};

TEST_F(Scenario, S01_ClassAndClaimWithoutAddress) {
  make_class("public", "prov");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(stamp("web"), "prov");
  EXPECT_EQ(claim("web")->status_className, "public");
  EXPECT_THAT(claim("web")->meta.finalizers, ElementsAre(api::claim_protection));
  EXPECT_EQ(claim("web")->meta.annotations.get(api::recorded_uid_annotation), "uid-web");
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
  EXPECT_THAT(kube::find_condition(claim("web")->conditions, "Bound")->message, testing::HasSubstr("\"prov\""));
  EXPECT_EQ(class_reason("web"), "True/Resolved");
  EXPECT_EQ(world.writes, 2);
  EXPECT_THAT(event_reasons(), ElementsAre());
  expect_quiet();
}

TEST_F(Scenario, S02_OneDefaultClass) {
  make_class("public", "prov", true);
  make_class("other");
  make_claim("web");
  settle();
  EXPECT_EQ(claim("web")->status_className, "public");
  EXPECT_EQ(class_reason("web"), "True/Resolved");
  expect_quiet();
}

TEST_F(Scenario, S03_NoDefaultClass) {
  make_class("public");
  make_claim("web");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(class_reason("web"), "False/NoDefaultClass");
  EXPECT_EQ(bound_reason("web"), "False/NoDefaultClass");
  EXPECT_EQ(claim("web")->status_className, "");
  EXPECT_FALSE(claim("web")->meta.annotations.contains(api::provisioner_annotation));
  EXPECT_THAT(event_reasons(), ElementsAre("web:NoDefaultClass"));
  expect_quiet();
}

TEST_F(Scenario, S04_TwoDefaultClasses) {
  make_class("a", "prov", true);
  make_class("b", "prov", true);
  make_claim("web");
  settle();
  EXPECT_EQ(class_reason("web"), "False/MultipleDefaultClasses");
  EXPECT_THAT(event_reasons(), ElementsAre("web:MultipleDefaultClasses"));
  expect_quiet();
}

TEST_F(Scenario, S05_PreBoundWithoutUid) {
  make_class("public");
  make_address("a", "203.0.113.7", "public", claim_ref("web"));
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.7");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(stamp("web"), "prov");
  expect_quiet();
}

TEST_F(Scenario, S06_OneAvailableAddress) {
  make_class("public");
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(address_phase("a"), "Available");
  clear();
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(bound_reason("web"), "True/Bound");
  // Claim metadata, claimRef, address status, claim status; one event.
  EXPECT_EQ(world.writes, 4);
  EXPECT_THAT(event_reasons(), ElementsAre("web:Bound"));
  expect_quiet();
}

TEST_F(Scenario, S07_OtherClassAndOtherFamilyOnly) {
  make_class("public");
  make_class("other");
  make_address("a", "203.0.113.7", "other");
  make_address("b", "2001:db8::7", "public");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
  EXPECT_EQ(ref("a"), "");
  EXPECT_EQ(ref("b"), "");
  expect_quiet();
}

TEST_F(Scenario, S08_DualOneAfterTheOther) {
  make_class("public");
  make_address("a", "203.0.113.7");
  make_claim("web", R"("className":"public","family":"Dual")");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(reported("web"), "203.0.113.7");
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
  expect_quiet();
  make_address("b", "2001:db8::7");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.7 2001:db8::7");
  expect_quiet();
}

TEST_F(Scenario, S09_BoundRetainClaimDeleted) {
  make_class("public");
  make_bound_pair("web", "a", "203.0.113.7");
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(claim("web"), nullptr);
  EXPECT_EQ(address_phase("a"), "Released");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(world.writes, 2);
  EXPECT_THAT(event_reasons(), ElementsAre("a:Released"));
  expect_quiet();
}

TEST_F(Scenario, S10_BoundDeleteClaimDeleted) {
  make_class("public");
  make_bound_pair("web", "a", "203.0.113.7", "Delete");
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(claim("web"), nullptr);
  EXPECT_EQ(address("a"), nullptr);
  EXPECT_EQ(world.writes, 3);
  expect_quiet();
}

TEST_F(Scenario, S11_BoundAndClassAbsent) {
  make_class("public");
  make_bound_pair("web", "a", "203.0.113.7");
  world.remove<api::ClassRead>("", "public");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(claim("web")->status_className, "public");
  EXPECT_EQ(reported("web"), "203.0.113.7");
  EXPECT_EQ(stamp("web"), "prov");
  EXPECT_EQ(world.writes, 0);
  expect_quiet();
}

TEST_F(Scenario, S12_ClassDoesNotExist) {
  make_claim("web", R"("className":"nowhere")");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(class_reason("web"), "False/ClassNotFound");
  EXPECT_EQ(bound_reason("web"), "False/ClassNotFound");
  EXPECT_THAT(event_reasons(), ElementsAre("web:ClassNotFound"));
  expect_quiet();
}

TEST_F(Scenario, S13_AddressGone) {
  make_class("public");
  make_bound_pair("web", "a", "203.0.113.7");
  world.vanish<Address>("", "a");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(bound_reason("web"), "False/AddressLost");
  EXPECT_EQ(reported("web"), "203.0.113.7");
  EXPECT_EQ(world.writes, 1);
  EXPECT_THAT(event_reasons(), ElementsAre("web:AddressLost"));
  expect_quiet();
  // A reported family is never matched again.
  make_address("b", "203.0.113.8");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(address_phase("b"), "Available");
}

TEST_F(Scenario, S14_UnboundAddress) {
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(address_phase("a"), "Available");
  EXPECT_THAT(address("a")->meta.finalizers, ElementsAre(api::address_protection));
  EXPECT_EQ(address("a")->meta.annotations.get(api::recorded_uid_annotation), "uid-a");
  EXPECT_TRUE(address("a")->conditions.empty());
  EXPECT_EQ(world.writes, 2);
  expect_quiet();
}

TEST_F(Scenario, S15_ClaimRefWithTheLiveClaimsUid) {
  make_class("public");
  make_claim("web", R"("className":"public")");
  make_address("a", "203.0.113.7", "public", claim_ref("web", "uid-web"));
  settle();
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(phase("web"), "Bound");
  expect_quiet();
}

TEST_F(Scenario, S16_PreBoundOfAnotherClass) {
  make_class("public");
  make_class("other");
  make_claim("web", R"("className":"other")");
  make_address("a", "203.0.113.7", "public", claim_ref("web"));
  settle();
  EXPECT_EQ(address_phase("a"), "Pending");
  EXPECT_EQ(ref("a"), "t/web/");
  EXPECT_EQ(address_reason("a"), "False/ClaimOfOtherClass");
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_THAT(event_reasons(), ElementsAre("a:ClaimOfOtherClass"));
  expect_quiet();
}

TEST_F(Scenario, S17_RetainAndClaimGone) {
  make_address("a", "203.0.113.7", "public", claim_ref("web", "uid-web"), R"("phase":"Bound")");
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  expect_quiet();
}

TEST_F(Scenario, S18_DeleteAndClaimGone) {
  make_address("a", "203.0.113.7", "public", claim_ref("web", "uid-web") + R"(,"reclaimPolicy":"Delete")",
               R"("phase":"Bound")");
  settle();
  EXPECT_EQ(address("a"), nullptr);
}

TEST_F(Scenario, S19_AnotherUidOfThatName) {
  make_class("public");
  make_claim("web", R"("className":"public")");
  make_address("a", "203.0.113.7", "public", claim_ref("web", "uid-former"), R"("phase":"Bound")");
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
  EXPECT_EQ(phase("web"), "Pending");
  expect_quiet();
}

TEST_F(Scenario, S20_ConflictAndLostStay) {
  make_class("public");
  make_address("a", "203.0.113.7", "public", "", R"("phase":"Conflict")");
  make_address("b", "203.0.113.8", "public", claim_ref("gone", "uid-gone"), R"("phase":"Lost")");
  settle();
  EXPECT_EQ(address_phase("a"), "Conflict");
  EXPECT_EQ(address_phase("b"), "Lost");
  expect_quiet();
}

TEST_F(Scenario, S21_BoundToALiveClaimAndDeletedByHand) {
  make_class("public");
  make_bound_pair("web", "a", "203.0.113.7");
  world.remove<Address>("", "a");
  settle();
  ASSERT_NE(address("a"), nullptr);
  EXPECT_THAT(address("a")->meta.finalizers, ElementsAre(api::address_protection));
  EXPECT_EQ(address_reason("a", "DeletionBlocked"), "True/DeletionBlocked");
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_THAT(event_reasons(), ElementsAre("a:DeletionBlocked"));
  EXPECT_EQ(world.writes, 1);
  expect_quiet();
  // It goes once the claim lets it go.
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(address("a"), nullptr);
  EXPECT_EQ(claim("web"), nullptr);
}

TEST_F(Scenario, S22_NoAddressAtAll) {
  make_class("public");
  make_claim("web", R"("className":"public")");
  make_address("a", "not an address");
  make_address("b", "127.0.0.1");
  make_address("c", "224.0.0.1", "public", "", R"("phase":"Available")");
  settle();
  EXPECT_EQ(address_phase("a"), "Pending");
  EXPECT_EQ(address_reason("a", "Usable"), "False/InvalidAddress");
  EXPECT_EQ(address_phase("b"), "Pending");
  EXPECT_EQ(address_reason("b", "Usable"), "False/UnclaimableAddress");
  EXPECT_EQ(address_phase("c"), "Pending");
  EXPECT_EQ(phase("web"), "Pending");
  expect_quiet();
}

TEST_F(Scenario, ProvisionedWriteBudget) {
  make_class("public");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(world.writes, 2);  // metadata, status Pending
  make_address("ip-203-0-113-7", "203.0.113.7", "public", claim_ref("web", "uid-web"), "",
               R"(,"finalizers":["driver.example/teardown"])");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 5);
  EXPECT_THAT(address("ip-203-0-113-7")->meta.finalizers,
              ElementsAre("driver.example/teardown", api::address_protection));
  EXPECT_THAT(event_reasons(), ElementsAre("web:Bound"));
  expect_quiet();
  // Policy Retain: address status, claim finalizer.
  clear();
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(world.writes, 2);
}

TEST_F(Scenario, ColdStartTakesAtMostSevenWrites) {
  make_class("public");
  make_address("a", "203.0.113.7");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_LE(world.writes, 7);
  EXPECT_THAT(event_reasons(), ElementsAre("web:Bound"));
  expect_quiet();
}

}  // namespace
}  // namespace core
