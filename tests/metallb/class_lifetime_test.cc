// Editing or deleting a class never revokes a live address; overlaps are found before anything is written (driver
// design §3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metallb/class_world.h"

namespace metallb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view k_29 = R"({"addresses":["203.0.113.0/29"]})";
constexpr std::string_view k_other = R"({"addresses":["198.51.100.0/29"]})";

// --- edits ---

TEST(ClassEditTest, LiveAddressesOutsideTheNewRangesStayAsEntriesOfTheirOwn) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["203.0.113.0/29","2001:db8::/126"]})");
  w.put_address("203.0.113.2", "public");
  w.put_address("203.0.113.5", "public");
  w.put_address("2001:db8::", "public");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "2001:db8::/126"));

  w.edit_class("public", k_other, 2);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"),
              ElementsAre("198.51.100.1-198.51.100.6", "203.0.113.2/32", "203.0.113.5/32", "2001:db8::/128"));
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("203.0.113.2, 203.0.113.5 and 2001:db8::"));

  w.vanish_address("203.0.113.2");
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("198.51.100.1-198.51.100.6", "203.0.113.5/32", "2001:db8::/128"));
}

TEST(ClassEditTest, AnAssignedPlaceholderOutsideTheNewRangesStaysToo) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.put_placeholder("iad-u1-v4", "iad-public", "203.0.113.3");
  w.put_placeholder("iad-u2-v4", "iad-public", "203.0.113.4", "former");
  w.put_placeholder("iad-u3-v4", "iad-public", "");
  w.put_placeholder("iad-u4-v4", "iad-other", "203.0.113.6");
  w.put_placeholder("fake-1", "iad-public", "203.0.113.5", "tenant");
  w.put_placeholder("fake-2", "iad-public", "203.0.113.5", "metallb-iad-system", false);
  w.edit_class("public", k_other, 2);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("198.51.100.1-198.51.100.6", "203.0.113.3/32", "203.0.113.4/32"));
}

TEST(ClassEditTest, AStaticAddressOutsideTheRangesIsRendered) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.put_address("203.0.113.200", "public", false);
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "203.0.113.200/32"));
}

TEST(ClassEditTest, AddressesOfOtherClassesAreNotOurs) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("192.0.2.1", "elsewhere");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
}

TEST(ClassEditTest, InvalidParametersLeaveWhatWasRendered) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("203.0.113.2", "public");
  w.settle("public");
  w.edit_class("public", R"({"addresses":["203.0.113.9-203.0.113.1"]})", 2);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  EXPECT_NE(w.l2("public"), nullptr);
  EXPECT_EQ(w.condition("public", "ParametersValid"), "False InvalidParameters");
  EXPECT_THAT(w.message("public", "ParametersValid"), HasSubstr("203.0.113.1-203.0.113.9"));
  EXPECT_EQ(w.condition("public", "BackendReady"), "True KeptAsBefore");
  EXPECT_EQ(w.status("public").at("ranges").as_array().size(), 4U) << "policies go on reading what is rendered";

  // A static address is added even so, and drift is repaired.
  w.put_address("192.0.2.7", "public", false);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "192.0.2.7/32"));
  w.world.change<api::IPAddressPool>("metallb-system", "iad-public", R"({"spec":{"autoAssign":true}})");
  w.settle("public");
  EXPECT_EQ(w.pool("public")->autoAssign, false);

  // The pool is lost: what lives is held again, from the ledger alone.
  w.world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("192.0.2.7/32", "203.0.113.2/32"));
}

TEST(ClassEditTest, InvalidFromTheStartRendersNothing) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":"203.0.113.0/29"})");
  w.settle("public");
  EXPECT_EQ(w.pool("public"), nullptr);
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_EQ(w.condition("public", "ParametersValid"), "False InvalidParameters");
  EXPECT_EQ(w.condition("public", "BackendReady"), "False NothingRendered");
  w.edit_class("public", k_29, 2);
  w.settle("public");
  EXPECT_NE(w.pool("public"), nullptr);
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST(ClassEditTest, AddressesInsideTheRangesAreCountedAndNotRead) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["10.0.0.0/16"]})");
  for (int i = 1; i <= 100; ++i) w.put_address(fmt::format("10.0.1.{}", i), "public");
  w.settle("public");
  w.world.take_woken();
  int woken = 0;
  for (int i = 1; i <= 100; ++i) {
    w.world.change<api::IPAddress>("", fmt::format("ip-10-0-1-{}", i), R"({"status":{"phase":"Bound"}})");
    if (w.is_woken("public")) ++woken;
    w.world.take_woken();
  }
  EXPECT_LE(woken, 1) << "no more than the first one, where the search for outsiders ends";
}

// --- deletion ---

TEST(ClassDeletionTest, WithoutAddressesEverythingGoesAfterALiveRead) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["203.0.113.0/29"],"advertise":{"l2":{},"bgp":{}}})");
  w.settle("public");
  w.world.vanish<api::IPAddressClass>("", "public");
  EXPECT_TRUE(w.is_woken("public"));
  const kube::Plan first = w.run("public");
  EXPECT_THAT(first.writes, IsEmpty());
  ASSERT_EQ(first.confirms.size(), 1U);
  EXPECT_EQ(first.confirms[0].target.name, "public");
  EXPECT_TRUE(w.settle("public").forget);
  EXPECT_EQ(w.pool("public"), nullptr);
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_EQ(w.bgp("public"), nullptr);
}

TEST(ClassDeletionTest, PoolAndAdvertisementStayWhileAnAddressLives) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("203.0.113.2", "public");
  w.settle("public");
  w.world.vanish<api::IPAddressClass>("", "public");
  w.world.settle_all();
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  EXPECT_NE(w.l2("public"), nullptr);
  w.vanish_address("203.0.113.2");
  EXPECT_TRUE(w.is_woken("public"));
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr);
  EXPECT_EQ(w.l2("public"), nullptr);
}

TEST(ClassDeletionTest, PoolStaysWhileAPlaceholderOfItIsThere) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.put_placeholder("iad-u1-v4", "iad-public", "");
  w.world.vanish<api::IPAddressClass>("", "public");
  w.world.settle_all();
  EXPECT_NE(w.pool("public"), nullptr);
  w.world.vanish<api::Service>("metallb-iad-system", "iad-u1-v4");
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr);
}

TEST(ClassDeletionTest, AfterARestartTheKeyIsBornFromThePool) {
  ClassWorld w;
  w.put_pool("iad-public", R"(["203.0.113.0/29"])",
             R"(,"labels":{"metallb.drivers.local.sdn.cozystack.io/class":"public"})");
  EXPECT_TRUE(w.is_woken("public"));
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr);
}

TEST(ClassDeletionTest, AForeignPoolOfThatNameIsNotDeleted) {
  ClassWorld w;
  w.put_pool("iad-public", R"(["203.0.113.0/29"])");
  w.settle("public");
  EXPECT_NE(w.pool("public"), nullptr);
}

TEST(ClassDeletionTest, ALostPoolIsRenderedFromTheLedgerAlone) {
  ClassWorld w;
  w.put_address("203.0.113.2", "public");
  w.put_address("2001:db8::", "public");
  EXPECT_TRUE(w.is_woken("public")) << "born by the address";
  w.world.settle_all();
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.2/32", "2001:db8::/128"));
  EXPECT_EQ(w.pool("public")->autoAssign, false);
}

TEST(ClassDeletionTest, WithoutAClassAddressesThatAreNotHeldByUsAreNotOurs) {
  ClassWorld w;
  w.put_address("203.0.113.2", "public", false);
  EXPECT_FALSE(w.is_woken("public"));
  w.settle("public");
  EXPECT_EQ(w.pool("public"), nullptr);
}

TEST(ClassDeletionTest, AClassOfAnotherProvisionerUnderTheSameNameChangesNothing) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("203.0.113.2", "public");
  w.settle("public");
  w.world.vanish<api::IPAddressClass>("", "public");
  w.put_class("public", k_other, 1, "other.example");
  w.put_address("198.51.100.2", "public", false);
  w.world.settle_all();
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  EXPECT_THAT(w.status("public"), IsEmpty());
  w.vanish_address("203.0.113.2");
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr) << "addresses of the other provisioner do not keep it";
}

TEST(ClassDeletionTest, AClassThatIsReCreatedAtOnceTakesItsPoolBack) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("203.0.113.2", "public");
  w.settle("public");
  const std::string uid = w.pool("public")->meta.uid;
  w.world.vanish<api::IPAddressClass>("", "public");
  w.world.settle_all();
  w.put_class("public", k_other);
  w.world.settle_all();
  EXPECT_EQ(w.pool("public")->meta.uid, uid);
  EXPECT_THAT(w.addresses("public"), ElementsAre("198.51.100.1-198.51.100.6", "203.0.113.2/32"));
}

TEST(ClassDeletionTest, TheLastPoolStaysWhileMetalLbServesOthers) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  // Without any pool MetalLB would empty it.
  w.world.put<api::Service>(R"({"metadata":{"name":"web","namespace":"tenant"},"spec":{"type":"LoadBalancer"},
                                "status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}})");
  w.world.vanish<api::IPAddressClass>("", "public");
  w.world.settle_all();
  EXPECT_NE(w.pool("public"), nullptr);
  EXPECT_EQ(w.l2("public"), nullptr);
  ASSERT_EQ(w.world.events.size(), 1U);
  EXPECT_EQ(w.world.events[0].reason, "LastPoolKept");
  EXPECT_EQ(w.world.events[0].regarding.name, "iad-public");
  w.put_pool("another", R"(["192.0.2.0/24"])");
  EXPECT_TRUE(w.is_woken("public"));
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr);
}

TEST(ClassDeletionTest, ServicesOfOtherLoadBalancersDoNotKeepTheLastPool) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.put<api::Service>(
      R"({"metadata":{"name":"a","namespace":"t"},"spec":{"type":"LoadBalancer","loadBalancerClass":"x/y"},
                                "status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}})");
  w.world.put<api::Service>(R"({"metadata":{"name":"b","namespace":"t"},"spec":{"type":"LoadBalancer"}})");
  w.world.vanish<api::IPAddressClass>("", "public");
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr);
}

TEST(ClassDeletionTest, APoolThatIsBeingWrittenToCountsAsGone) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.put_pool("another", R"(["192.0.2.0/24"])");
  w.world.put<api::Service>(R"({"metadata":{"name":"web","namespace":"tenant"},"spec":{"type":"LoadBalancer"},
                                "status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}})");
  w.world.vanish<api::IPAddressClass>("", "public");
  const kube::Ref another{&api::IPAddressPool::kind().resource, "metallb-system", "another"};
  w.world.begin_write(another);
  w.settle("public");
  EXPECT_NE(w.pool("public"), nullptr);
  w.world.end_write(another);
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_EQ(w.pool("public"), nullptr);
}

// --- overlaps ---

TEST(ClassOverlapTest, TheYoungerClassIsRefused) {
  ClassWorld w;
  w.put_class("first", k_29);
  w.put_class("second", R"({"addresses":["203.0.113.4-203.0.113.20"]})");
  w.world.settle_all();
  EXPECT_NE(w.pool("first"), nullptr);
  EXPECT_EQ(w.pool("second"), nullptr);
  EXPECT_EQ(w.condition("first", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("second", "ParametersValid"), "False Overlap");
  EXPECT_THAT(w.message("second", "ParametersValid"), HasSubstr("class first"));
  EXPECT_EQ(w.condition("second", "BackendReady"), "False NothingRendered");

  w.edit_class("first", R"({"addresses":["203.0.113.0/30"]})", 2);
  w.world.settle_all();
  EXPECT_THAT(w.addresses("second"), ElementsAre("203.0.113.4-203.0.113.20"));
  EXPECT_EQ(w.condition("second", "ParametersValid"), "True Valid");
}

TEST(ClassOverlapTest, WhoeverIsPlannedFirst) {
  ClassWorld w;
  w.put_class("b-older", k_29);
  w.put_class("a-younger", k_29);
  w.settle("a-younger");
  EXPECT_EQ(w.pool("a-younger"), nullptr);
  EXPECT_EQ(w.condition("a-younger", "ParametersValid"), "False Overlap");
  w.world.settle_all();
  EXPECT_NE(w.pool("b-older"), nullptr);
  EXPECT_EQ(w.pool("a-younger"), nullptr);
}

TEST(ClassOverlapTest, AClassOfAnotherProvisionerOverlapsWithNothing) {
  ClassWorld w;
  w.put_class("theirs", k_29, 1, "other.example");
  w.put_class("ours", k_29);
  w.world.settle_all();
  EXPECT_NE(w.pool("ours"), nullptr);
}

TEST(ClassOverlapTest, AnOlderClassThatIsEditedWaitsForTheYoungerOnesPool) {
  ClassWorld w;
  w.put_class("older", k_29);
  w.put_class("younger", k_other);
  w.world.settle_all();
  w.edit_class("older", R"({"addresses":["203.0.113.0/29","198.51.100.0/30"]})", 2);
  w.world.settle_all();
  EXPECT_THAT(w.addresses("older"), ElementsAre("203.0.113.1-203.0.113.6")) << "as before";
  EXPECT_EQ(w.condition("older", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("older", "BackendReady"), "False PoolOverlap");
  EXPECT_EQ(w.condition("younger", "ParametersValid"), "False Overlap");
  EXPECT_THAT(w.addresses("younger"), ElementsAre("198.51.100.1-198.51.100.6")) << "as before";

  w.edit_class("younger", R"({"addresses":["198.51.100.8/29"]})", 2);
  w.world.settle_all();
  EXPECT_THAT(w.addresses("older"), ElementsAre("203.0.113.1-203.0.113.6", "198.51.100.1-198.51.100.2"));
  EXPECT_THAT(w.addresses("younger"), ElementsAre("198.51.100.9-198.51.100.14"));
  EXPECT_EQ(w.condition("older", "BackendReady"), "True Rendered");
  EXPECT_EQ(w.condition("younger", "ParametersValid"), "True Valid");
}

TEST(ClassOverlapTest, WhatIsBeingAddedToAnotherPoolIsTaken) {
  ClassWorld w;
  w.put_class("first", k_29);
  // A write of "second" is under way, or its outcome is unknown: stores do not show it.
  const auto plan_of = [&](std::string_view parameters) {
    ClassWorld other;
    other.put_class("second", parameters);
    return other.run("second");
  };
  w.world.publish(class_key("second"), plan_of(R"({"addresses":["203.0.113.6-203.0.113.9"]})").facts);
  w.settle("first");
  EXPECT_EQ(w.pool("first"), nullptr);
  w.world.publish(class_key("second"), plan_of(R"({"addresses":["203.0.113.8-203.0.113.9"]})").facts);
  EXPECT_TRUE(w.is_woken("first"));
  w.settle("first");
  EXPECT_NE(w.pool("first"), nullptr) << "other addresses are in nobody's way";
  // To shrink it needs nobody's leave.
  w.world.publish(class_key("second"), plan_of(R"({"addresses":["203.0.113.2"]})").facts);
  w.edit_class("first", R"({"addresses":["203.0.113.2"]})", 2);
  const kube::Plan plan = w.run("first");
  EXPECT_THAT(plan.facts, IsEmpty());
  w.world.execute(plan);
  w.settle("first");
  EXPECT_THAT(w.addresses("first"), ElementsAre("203.0.113.2/32"));
}

TEST(ClassOverlapTest, AForeignPoolIsRespected) {
  ClassWorld w;
  w.put_pool("production", R"(["203.0.113.6 - 203.0.113.9"])");
  w.put_class("public", k_29);
  w.world.settle_all();
  EXPECT_EQ(w.pool("public"), nullptr);
  EXPECT_EQ(w.condition("public", "ParametersValid"), "False Overlap");
  EXPECT_THAT(w.message("public", "ParametersValid"), HasSubstr("pool production"));
  w.world.vanish<api::IPAddressPool>("metallb-system", "production");
  w.world.settle_all();
  EXPECT_NE(w.pool("public"), nullptr);
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
}

TEST(ClassOverlapTest, AForeignPoolIsReadWithItsHostBitsMasked) {
  ClassWorld w;
  w.put_pool("production", R"(["203.0.113.200/24"])");
  w.put_class("public", k_29);
  w.world.settle_all();
  EXPECT_EQ(w.condition("public", "ParametersValid"), "False Overlap");
}

TEST(ClassOverlapTest, ThePoolOfADeletedClassIsWaitedFor) {
  ClassWorld w;
  w.put_class("old", k_29);
  w.put_address("203.0.113.2", "old");
  w.world.settle_all();
  w.world.vanish<api::IPAddressClass>("", "old");
  w.put_class("new", k_29);
  w.world.settle_all();
  EXPECT_EQ(w.pool("new"), nullptr);
  EXPECT_EQ(w.condition("new", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("new", "BackendReady"), "False PoolOverlap");
  EXPECT_THAT(w.message("new", "BackendReady"), HasSubstr("class old that is gone"));
  w.vanish_address("203.0.113.2");
  w.world.settle_all();
  EXPECT_EQ(w.pool("old"), nullptr);
  EXPECT_THAT(w.addresses("new"), ElementsAre("203.0.113.1-203.0.113.6"));
}

// The class that waits for the pool of a deleted one is older than that one when it comes back.
TEST(ClassOverlapTest, AClassThatComesBackAndTheOneThatWaitsForItsPoolDoNotWaitForEachOther) {
  ClassWorld w;
  w.put_class("first", R"({"addresses":["192.0.2.0/28"]})");
  w.settle("first");
  w.put_address("192.0.2.3", "first");
  w.settle("first");
  w.put_class("waiting", R"({"addresses":["192.0.2.0/27"]})");
  w.settle("waiting");
  w.world.vanish<api::IPAddressClass>("", "first");
  w.settle("first");
  w.settle("waiting");
  EXPECT_EQ(w.condition("waiting", "BackendReady"), "False PoolOverlap");
  w.put_class("first", R"({"addresses":["192.0.2.0/28"]})");
  w.settle("first");
  w.settle("waiting");
  w.settle("first");
  EXPECT_EQ(w.condition("first", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("first", "BackendReady"), "True Rendered");
  EXPECT_EQ(w.condition("waiting", "ParametersValid"), "False Overlap");
  w.edit_class("waiting", R"({"addresses":["192.0.2.16/28"]})", 2);
  w.settle("waiting");
  EXPECT_EQ(w.condition("waiting", "BackendReady"), "True Rendered");
}

// It is as old as its pool for what is in that pool, and no older than itself for what it asks for beyond that.
TEST(ClassOverlapTest, AClassThatComesBackWiderTakesNoLivingClassOutOfService) {
  ClassWorld w;
  w.put_class("first", R"({"addresses":["192.0.2.0/28"]})");
  w.settle("first");
  w.put_address("192.0.2.3", "first");
  w.settle("first");
  w.put_class("living", R"({"addresses":["192.0.2.16/28"]})");
  w.world.settle_all();
  w.world.vanish<api::IPAddressClass>("", "first");
  w.world.settle_all();
  w.put_class("first", R"({"addresses":["192.0.2.0/27"]})");
  w.world.settle_all();
  EXPECT_EQ(w.condition("living", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("living", "BackendReady"), "True Rendered");
  EXPECT_EQ(w.condition("first", "ParametersValid"), "False Overlap");
  EXPECT_EQ(w.addresses("first").size(), 1u) << "as before";
}

// Creation times are whole seconds: the order of uids is nobody's order of events.
TEST(ClassOverlapTest, OfTwoClassesOfOneSecondTheRenderedOneStays) {
  for (const bool smaller_uid : {false, true}) {
    ClassWorld w;
    const auto put = [&](std::string_view name, std::string_view uid) {
      w.world.put<api::IPAddressClass>(fmt::format(
          R"({{"metadata":{{"name":"{}","uid":"{}","creationTimestamp":"2025-01-01T00:00:00Z"}},"spec":{{"provisioner":"{}",
              "reclaimPolicy":"Retain","parameters":{}}}}})",
          name, uid, api::metallb::provisioner, k_29));
    };
    put("rendered", smaller_uid ? "a" : "z");
    w.world.settle_all();
    put("late", "m");
    w.world.settle_all();
    EXPECT_EQ(w.condition("rendered", "ParametersValid"), "True Valid") << smaller_uid;
    EXPECT_EQ(w.condition("rendered", "BackendReady"), "True Rendered") << smaller_uid;
    EXPECT_EQ(w.condition("late", "ParametersValid"), "False Overlap") << smaller_uid;
  }
}

TEST(ClassOverlapTest, AStaticAddressInsideAnotherPoolIsNotRendered) {
  ClassWorld w;
  w.put_pool("production", R"(["192.0.2.0/24"])");
  w.put_class("public", k_29);
  w.put_address("192.0.2.7", "public", false);
  w.world.settle_all();
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("192.0.2.7"));
}

TEST(ClassOverlapTest, AStaticAddressInsideAnotherClassIsNotRendered) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("198.51.100.2", "public", false);
  w.put_class("other", k_other);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  w.world.settle_all();
  EXPECT_NE(w.pool("other"), nullptr);
}

TEST(ClassOverlapTest, ARangeGivenUpWithLiveAddressesIsNotTakenByAnotherClassYet) {
  ClassWorld w;
  w.put_class("first", k_29);
  w.put_address("203.0.113.2", "first");
  w.world.settle_all();
  w.edit_class("first", k_other, 2);
  w.put_class("second", k_29);
  w.world.settle_all();
  EXPECT_THAT(w.addresses("first"), ElementsAre("198.51.100.1-198.51.100.6", "203.0.113.2/32"));
  EXPECT_EQ(w.pool("second"), nullptr);
  EXPECT_EQ(w.condition("second", "ParametersValid"), "False Overlap");
  w.vanish_address("203.0.113.2");
  w.world.settle_all();
  EXPECT_THAT(w.addresses("second"), ElementsAre("203.0.113.1-203.0.113.6"));
}

// Whoever deletes the pool, and whatever is planned first when it is gone: the ledger speaks for what is held.
TEST(ClassOverlapTest, APoolThatIsDeletedLeavesItsLiveAddressesToNoOtherClass) {
  for (const bool deleted : {true, false}) {
    ClassWorld w;
    w.put_class("z-first", k_29);
    w.put_address("203.0.113.2", "z-first");
    w.world.settle_all();
    if (deleted) {
      w.world.vanish<api::IPAddressClass>("", "z-first");
    } else {
      w.edit_class("z-first", k_other, 2);
    }
    w.settle("z-first");
    w.world.vanish<api::IPAddressPool>("metallb-system", "iad-z-first");
    w.put_class("a-second", k_29);
    w.settle("a-second");
    EXPECT_EQ(w.pool("a-second"), nullptr);
    EXPECT_EQ(w.condition("a-second", "ParametersValid"), "True Valid");
    EXPECT_EQ(w.condition("a-second", "BackendReady"), "False PoolOverlap");
    EXPECT_THAT(w.message("a-second", "BackendReady"), HasSubstr("203.0.113.2 is held for class z-first"));
    w.world.settle_all();
    EXPECT_THAT(w.addresses("z-first"), ::testing::Contains("203.0.113.2/32"));
    w.vanish_address("203.0.113.2");
    w.world.settle_all();
    EXPECT_THAT(w.addresses("a-second"), ElementsAre("203.0.113.1-203.0.113.6"));
  }
}

}  // namespace
}  // namespace metallb::testing
