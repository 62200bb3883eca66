// Contract §3.2 and §3.6: class resolution, stamp, and what changes with classes.
#include "core_fixture.h"

namespace core {
namespace {

using testing::ElementsAre;

class Classes : public CoreTest {};

TEST_F(Classes, CreatedLate) {
  make_claim("named", R"("className":"public")");
  make_claim("any");
  settle();
  EXPECT_EQ(class_reason("named"), "False/ClassNotFound");
  EXPECT_EQ(class_reason("any"), "False/NoDefaultClass");
  make_class("public", "prov", true);
  settle();
  for (const char* name : {"named", "any"}) {
    EXPECT_EQ(class_reason(name), "True/Resolved") << name;
    EXPECT_EQ(stamp(name), "prov") << name;
    EXPECT_EQ(claim(name)->status_className, "public") << name;
    EXPECT_EQ(bound_reason(name), "False/WaitingForProvisioning") << name;
  }
  expect_quiet();
}

// The name of a driver in a class is free text: a slip of the pen must not leave a claim waiting without a word.
TEST_F(Classes, AProvisionerThatIsNeverHeardOfIsTold) {
  const auto message = [&] { return kube::find_condition(claim("web")->conditions, "Bound")->message; };
  make_class("public", "metalbl");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_THAT(message(), testing::EndsWith("from provisioner \"metalbl\""));
  const kube::Key key{"claim", "t", "web"};
  const auto revisit = world.run(key).revisit;
  ASSERT_TRUE(revisit.has_value());
  world.advance(*revisit);
  world.settle(key);
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
  EXPECT_THAT(message(), testing::HasSubstr("provisioner \"metalbl\", of which nothing has been heard"));
  expect_quiet();
  // A driver says why.
  change_claim("web", R"({"status":{"conditions":[
      {"type":"ClassResolved","status":"True","reason":"Resolved","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"},
      {"type":"Bound","status":"False","reason":"WaitingForProvisioning","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"},
      {"type":"Provisioning","status":"False","reason":"Exhausted","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  settle();
  EXPECT_THAT(message(), testing::EndsWith("from provisioner \"metalbl\""));
  EXPECT_FALSE(world.run(key).revisit.has_value());
}

TEST_F(Classes, CreatedLateWithAnAddressAtHand) {
  make_claim("any");
  make_address("a", "203.0.113.7");
  settle();
  clear();
  make_class("public", "prov", true);
  settle();
  EXPECT_EQ(phase("any"), "Bound");
  EXPECT_EQ(stamp("any"), "prov");
  EXPECT_EQ(world.writes, 4);  // stamp, claimRef, address status, claim status
}

TEST_F(Classes, DefaultMovedTakesWaitingClaimsAlong) {
  make_class("a", "prov-a", true);
  make_class("b", "prov-b");
  make_class("public");
  make_claim("waits");
  make_bound_pair("has", "x", "203.0.113.7");
  settle();
  EXPECT_EQ(stamp("waits"), "prov-a");
  world.change<api::ClassRead>(
      "", "b", R"({"metadata":{"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"}}})");
  settle();
  EXPECT_EQ(class_reason("waits"), "False/MultipleDefaultClasses");
  EXPECT_EQ(stamp("waits"), "");
  EXPECT_EQ(claim("waits")->status_className, "");
  world.change<api::ClassRead>(
      "", "a", R"({"metadata":{"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"false"}}})");
  settle();
  EXPECT_EQ(class_reason("waits"), "True/Resolved");
  EXPECT_EQ(stamp("waits"), "prov-b");
  EXPECT_EQ(claim("waits")->status_className, "b");
  EXPECT_EQ(phase("has"), "Bound");
  expect_quiet();
}

constexpr const char* k_mark =
    R"({"metadata":{"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"}}})";
constexpr const char* k_unmark =
    R"({"metadata":{"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"false"}}})";

// The default moved after one half was bound, and before the claim's status said of which class.
TEST_F(Classes, BothHalvesAreOfOneClassWhereverTheDefaultMoves) {
  for (const char* status : {"", R"("phase":"Pending","className":"b")"}) {
    make_class("a", "prov-a");
    make_class("b", "prov-b", true);
    make_address("a4", "203.0.113.1", "a", claim_ref("web", "uid-web"));
    make_address("b6", "2001:db8::b", "b");
    make_claim("web", R"("family":"Dual")", status);
    settle();
    EXPECT_EQ(phase("web"), "Pending") << status;
    EXPECT_EQ(reported("web"), "203.0.113.1") << status;
    EXPECT_EQ(claim("web")->status_className, "a") << status;
    EXPECT_EQ(stamp("web"), "prov-a") << status;
    EXPECT_EQ(ref("b6"), "") << status;
    make_address("a6", "2001:db8::a", "a");
    settle();
    EXPECT_EQ(phase("web"), "Bound") << status;
    EXPECT_EQ(ref("a6"), "t/web/uid-web") << status;
    expect_quiet();
    for (const char* name : {"a4", "a6", "b6"}) world.vanish<Address>("", name);
    world.vanish<Claim>("t", "web");
  }
}

// It moves while the patch that binds the first half is on its way.
TEST_F(Classes, AHalfInFlightOfTheFormerDefaultKeepsTheOtherHalfWaiting) {
  make_class("a", "prov-a", true);
  make_class("b", "prov-b");
  make_claim("web", R"("family":"Dual")");
  settle();
  make_address("a4", "203.0.113.1", "a");
  make_address("b6", "2001:db8::b", "b");
  for (const char* name : {"a4", "b6"}) world.settle({"address", "", name});
  const kube::Plan binding = world.run({"match", "", "a/IPv4"});
  ASSERT_EQ(binding.writes.size(), 1U);
  world.change<api::ClassRead>("", "a", k_unmark);
  world.change<api::ClassRead>("", "b", k_mark);
  world.settle({"claim", "t", "web"});
  EXPECT_EQ(stamp("web"), "prov-b");
  EXPECT_TRUE(world.run({"match", "", "b/IPv6"}).writes.empty());
  world.execute(binding);
  settle();
  EXPECT_EQ(stamp("web"), "prov-a");
  EXPECT_EQ(ref("b6"), "");
  make_address("a6", "2001:db8::a", "a");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.1 2001:db8::a");
}

// A driver made the first half of the former default, and the claim's own pass has not come to it yet.
TEST_F(Classes, MatchingLooksAtTheOtherHalfToo) {
  make_class("a", "prov-a");
  make_class("b", "prov-b", true);
  make_claim("web", R"("family":"Dual")");
  settle();
  make_address("b6", "2001:db8::b", "b");
  world.settle({"address", "", "b6"});
  make_address("a4", "203.0.113.1", "a", claim_ref("web", "uid-web"));
  EXPECT_TRUE(world.run({"match", "", "b/IPv6"}).writes.empty());
  settle();
  EXPECT_EQ(ref("b6"), "");
  EXPECT_EQ(stamp("web"), "prov-a");
}

TEST_F(Classes, DefaultBeingDeletedIsNone) {
  world.put<api::ClassRead>(
      R"({"metadata":{"name":"public","finalizers":["x/y"],"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"}},"spec":{"provisioner":"prov"}})");
  make_claim("any");
  make_claim("named", R"("className":"public")");
  settle();
  EXPECT_EQ(class_reason("any"), "True/Resolved");
  world.remove<api::ClassRead>("", "public");
  settle();
  EXPECT_EQ(class_reason("any"), "False/NoDefaultClass");
  EXPECT_EQ(class_reason("named"), "False/ClassNotFound");
  EXPECT_EQ(stamp("any"), "");
  EXPECT_EQ(stamp("named"), "");
  expect_quiet();
}

TEST_F(Classes, DeletedAndRecreatedWithAnotherProvisioner) {
  make_class("public", "prov");
  make_bound_pair("has", "x", "203.0.113.7");
  make_claim("waits", R"("className":"public")");
  settle();
  clear();
  world.remove<api::ClassRead>("", "public");
  settle();
  EXPECT_EQ(phase("has"), "Bound");
  EXPECT_EQ(stamp("has"), "prov");
  EXPECT_EQ(claim("has")->status_className, "public");
  EXPECT_EQ(class_reason("waits"), "False/ClassNotFound");
  EXPECT_EQ(stamp("waits"), "");
  make_class("public", "other");
  settle();
  EXPECT_EQ(phase("has"), "Bound");
  EXPECT_EQ(reported("has"), "203.0.113.7");
  EXPECT_EQ(stamp("waits"), "other");
  EXPECT_EQ(class_reason("waits"), "True/Resolved");
  expect_quiet();
}

TEST_F(Classes, HalfBoundDualKeepsItsClass) {
  make_class("a", "prov-a", true);
  make_address("x", "203.0.113.7", "a");
  make_claim("web", R"("family":"Dual")");
  settle();
  EXPECT_EQ(claim("web")->status_className, "a");
  make_class("b", "prov-b", true);
  world.remove<api::ClassRead>("", "a");
  make_address("y", "2001:db8::7", "b");
  settle();
  // Its class is the one it was served from, present or not: no half of another class comes to it.
  EXPECT_EQ(class_reason("web"), "False/ClassNotFound");
  EXPECT_EQ(claim("web")->status_className, "a");
  EXPECT_EQ(reported("web"), "203.0.113.7");
  EXPECT_EQ(ref("y"), "");
  expect_quiet();
  make_class("a", "prov-a");
  make_address("z", "2001:db8::8", "a");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.7 2001:db8::8");
}

TEST_F(Classes, StampOfAWaitingClaimIsRestoredButNotInAHotLoop) {
  make_class("public", "prov");
  make_claim("web", R"("className":"public")");
  settle();
  int restored = 0;
  for (int round = 0; round < 10; ++round) {
    change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"thief"}}})");
    clear();
    settle();
    restored += world.writes;
  }
  EXPECT_EQ(restored, 5);
  EXPECT_EQ(stamp("web"), "thief");
  // The loop looks again after the delay that the plan names.
  const auto plan = world.run({"claim", "t", "web"});
  ASSERT_TRUE(plan.revisit.has_value());
  world.advance(*plan.revisit);
  world.settle({"claim", "t", "web"});
  EXPECT_EQ(stamp("web"), "prov");
}

TEST_F(Classes, TamperedStampOfABoundClaim) {
  make_class("public", "prov");
  make_bound_pair("web", "a", "203.0.113.7");
  change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"thief"}}})");
  settle();
  EXPECT_EQ(stamp("web"), "prov");
  change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":null}}})");
  settle();
  EXPECT_EQ(stamp("web"), "prov");
  world.remove<api::ClassRead>("", "public");
  change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"thief"}}})");
  clear();
  settle();
  EXPECT_EQ(stamp("web"), "thief");  // left: there is no class to mirror
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 0);
}

TEST_F(Classes, ProtectionIsRestored) {
  make_class("public", "prov");
  make_bound_pair("web", "a", "203.0.113.7");
  change_claim("web",
               R"({"metadata":{"finalizers":["x/y"],"annotations":{"local.sdn.cozystack.io/recorded-uid":"forged"}}})");
  change_address("a",
                 R"({"metadata":{"finalizers":[],"annotations":{"local.sdn.cozystack.io/recorded-uid":"forged"}}})");
  settle();
  EXPECT_THAT(claim("web")->meta.finalizers, ElementsAre("x/y", api::claim_protection));
  EXPECT_EQ(claim("web")->meta.annotations.get(api::recorded_uid_annotation), "uid-web");
  EXPECT_THAT(address("a")->meta.finalizers, ElementsAre(api::address_protection));
  EXPECT_EQ(address("a")->meta.annotations.get(api::recorded_uid_annotation), "uid-a");
  EXPECT_EQ(world.writes, 2);
}

// A pre-binding needs no class; what is missing of stamp and className is filled from the address's class.
TEST_F(Classes, PreBoundWithoutAnyClass) {
  make_address("a", "203.0.113.7", "nowhere", claim_ref("web"));
  make_claim("web");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(claim("web")->status_className, "nowhere");
  EXPECT_EQ(stamp("web"), "");
  EXPECT_EQ(class_reason("web"), "");
  expect_quiet();
  clear();
  make_class("nowhere", "prov");
  settle();
  EXPECT_EQ(stamp("web"), "prov");
  EXPECT_EQ(class_reason("web"), "True/Resolved");
  EXPECT_EQ(world.writes, 2);
  expect_quiet();
}

TEST_F(Classes, WhatTheCoreDoesNotReadWakesNobody) {
  make_class("public", "prov");
  make_bound_pair("web", "a", "203.0.113.7");
  world.take_woken();
  world.put<api::ClassRead>(
      R"({"metadata":{"name":"public","generation":9,"labels":{"x":"y"}},"spec":{"provisioner":"prov","parameters":{"addresses":[]}},"status":{"ranges":[]}})");
  EXPECT_THAT(world.take_woken(), ElementsAre());
}

// Written by another implementation: other texts, no recorded uid. One metadata write each adopts them.
TEST_F(Classes, ForeignSettledObjectsAreAdoptedWithOneWriteEach) {
  make_class("public", "prov");
  make_claim(
      "web", R"("className":"public")",
      R"("phase":"Bound","className":"public","addresses":[{"name":"a","address":"203.0.113.7"}],"conditions":[
                {"type":"ClassResolved","status":"True","reason":"Resolved","message":"other words","lastTransitionTime":"2024-01-01T00:00:00Z"},
                {"type":"Bound","status":"True","reason":"Bound","message":"other words","lastTransitionTime":"2024-01-01T00:00:00Z"}])",
      R"(,"finalizers":["local.sdn.cozystack.io/claim-protection"],"annotations":{"local.sdn.cozystack.io/provisioner":"prov"})");
  make_address("a", "203.0.113.7", "public", claim_ref("web", "uid-web"), R"("phase":"Bound")",
               R"(,"finalizers":["local.sdn.cozystack.io/address-protection"])");
  settle();
  EXPECT_EQ(world.writes, 2);
  EXPECT_EQ(kube::find_condition(claim("web")->conditions, "Bound")->message, "other words");
  EXPECT_TRUE(world.events.empty());
}

TEST_F(Classes, ForeignConditionsAreCarriedOver) {
  make_class("public", "prov");
  make_claim(
      "web", R"("className":"public")",
      R"("conditions":[{"type":"Provisioning","status":"False","reason":"Exhausted","message":"m","lastTransitionTime":"2024-01-01T00:00:00Z","observedGeneration":1}])");
  settle();
  const auto* foreign = kube::find_condition(claim("web")->conditions, "Provisioning");
  ASSERT_NE(foreign, nullptr);
  EXPECT_EQ(*foreign, (kube::Condition{"Provisioning", "False", "Exhausted", "m", "2024-01-01T00:00:00Z", 1}));
  EXPECT_EQ(claim("web")->conditions.size(), 3U);
}

TEST_F(Classes, TransitionTimesMoveOnlyWhenStatusFlips) {
  make_claim("web", R"("className":"public")");
  settle();
  const auto time = [&] { return kube::find_condition(claim("web")->conditions, "Bound")->lastTransitionTime; };
  const std::string first = time();
  world.advance(std::chrono::minutes(1));
  make_class("public");
  settle();
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
  EXPECT_EQ(time(), first);
  world.advance(std::chrono::minutes(1));
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(bound_reason("web"), "True/Bound");
  EXPECT_NE(time(), first);
}

TEST_F(Classes, ObservedGenerationFollowsTheSpec) {
  make_class("public", "prov");
  make_claim("web", R"("className":"public")");
  settle();
  change_claim("web", R"({"spec":{"family":"IPv6"}})");
  settle();
  EXPECT_EQ(claim("web")->meta.generation, 2);
  for (const char* type : {"Bound", "ClassResolved"})
    EXPECT_EQ(kube::find_condition(claim("web")->conditions, type)->observedGeneration, 2) << type;
}

}  // namespace
}  // namespace core
