// The harness that the reconcilers' tests stand on, and through it: views, births, dependencies, facts.
#include "support/fake_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/thing.h"

namespace kube::testing {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Key k_a{"thing", "ns", "a"};
const Key k_b{"thing", "ns", "b"};
const Key k_sum{"sum", "", "all"};

// Things get a finalizer, then a status that says how many things their group has; the sum counts facts.
Controller example() {
  Controller c;
  c.name = "example";
  WatchSpec things;
  things.kind = &Thing::kind();
  things.indexes = {{"group", [](const Object& o, std::vector<IndexEntry>& out) {
                       out.push_back({static_cast<const Thing&>(o).group, o.meta.name});
                     }}};
  things.keys = [](const Object& o, std::vector<Key>& out) { out.push_back({"thing", o.meta.ns, o.meta.name}); };
  WatchSpec places;
  places.kind = &Place::kind();
  places.optional = true;
  c.watches = {things, places};
  c.reconcilers.push_back(
      {"thing",
       [](const Key& key, View& view) {
         Plan plan;
         const Thing* t = view.get<Thing>(key.ns, key.name);
         if (t == nullptr) {
           plan.forget = true;
           return plan;
         }
         plan.facts.push_back({"counted", t->meta.name, t->value, k_sum});
         if (!t->meta.has_finalizer("f")) {
           plan.writes.push_back(patch(Thing::kind().resource, *t, {{"metadata", {{"finalizers", {"f"}}}}}, "protect"));
           return plan;
         }
         const std::string state = std::to_string(view.count<Thing>("group", t->group));
         if (t->state != state) {
           plan.writes.push_back(patch_status(Thing::kind().resource, *t, {{"status", {{"state", state}}}}, "status"));
         }
         return plan;
       },
       0});
  c.reconcilers.push_back({"sum",
                           [](const Key&, View& view) {
                             int n = 0;
                             view.each_fact("counted",
                                            [&](std::string_view, const FactBucket::Value&) { return ++n, true; });
                             Plan plan;
                             plan.facts.push_back({"sums", "", std::to_string(n), {}});
                             if (view.available(Place::kind())) plan.then_look_after(std::chrono::seconds(n));
                             return plan;
                           },
                           1});
  return c;
}

constexpr std::string_view k_thing_a = R"({"metadata":{"name":"a","namespace":"ns"},"spec":{"group":"g"}})";
constexpr std::string_view k_thing_b = R"({"metadata":{"name":"b","namespace":"ns"},"spec":{"group":"g"}})";

TEST(FakeWorld, AnObjectGivesBirthToItsKeyAndItsFactsToTheirReader) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  EXPECT_THAT(world.take_woken(), ElementsAre(k_a));
  const Plan plan = world.run(k_a);
  ASSERT_EQ(plan.writes.size(), 1u);
  EXPECT_EQ(plan.writes[0].step, "protect");
  EXPECT_EQ(plan.writes[0].planned_from, world.get<Thing>("ns", "a")->meta.resourceVersion);
  EXPECT_THAT(world.take_woken(), ElementsAre(k_sum));
}

TEST(FakeWorld, ExecutesPlansUntilNothingIsLeftToDo) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  EXPECT_TRUE(world.settle(k_a).sends_nothing());
  EXPECT_EQ(world.writes, 2);
  EXPECT_EQ(world.get<Thing>("ns", "a")->state, "1");
  EXPECT_TRUE(world.get<Thing>("ns", "a")->meta.has_finalizer("f"));
}

TEST(FakeWorld, AChangeToABucketThatWasReadWakesItsReaders) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  world.settle_all();
  world.put<Thing>(k_thing_b);
  EXPECT_THAT(world.take_woken(), ElementsAre(k_a, k_b));
  world.settle(k_a);
  EXPECT_EQ(world.get<Thing>("ns", "a")->state, "2");
}

TEST(FakeWorld, WhatLooksTheSameWakesNobodyButItsVersionIsKept) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  world.settle_all();
  const std::string version = world.get<Thing>("ns", "a")->meta.resourceVersion;
  world.change<Thing>("ns", "a", R"({"spec":{}})");
  EXPECT_THAT(world.take_woken(), IsEmpty());
  EXPECT_NE(world.get<Thing>("ns", "a")->meta.resourceVersion, version);
}

TEST(FakeWorld, AKeyThatForgetsIsWokenByNothingButABirth) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  world.settle_all();
  world.vanish<Thing>("ns", "a");
  EXPECT_THAT(world.take_woken(), ElementsAre(k_a));
  EXPECT_TRUE(world.run(k_a).forget);
  EXPECT_THAT(world.take_woken(), ElementsAre(k_sum)) << "its fact is withdrawn";
  world.put<Thing>(k_thing_b);
  EXPECT_THAT(world.take_woken(), ElementsAre(k_b));
}

TEST(FakeWorld, AnOptionalKindBecomesAvailable) {
  const Controller controller = example();
  FakeWorld world(controller);
  EXPECT_FALSE(world.run(k_sum).revisit);
  world.sync(Place::kind());
  EXPECT_THAT(world.take_woken(), ElementsAre(k_sum));
  EXPECT_TRUE(world.run(k_sum).revisit);
}

TEST(FakeWorld, DeletionWaitsForFinalizers) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  world.settle_all();
  world.remove<Thing>("ns", "a");
  ASSERT_NE(world.get<Thing>("ns", "a"), nullptr);
  EXPECT_TRUE(world.get<Thing>("ns", "a")->meta.deleting);
  world.change<Thing>("ns", "a", R"({"metadata":{"finalizers":[]}})");
  EXPECT_EQ(world.get<Thing>("ns", "a"), nullptr);
}

TEST(FakeWorldDeathTest, RefusesWritesThatChangeNothing) {
  const Controller controller = example();
  FakeWorld world(controller);
  world.put<Thing>(k_thing_a);
  world.settle_all();
  Plan plan;
  plan.writes.push_back(
      patch(Thing::kind().resource, *world.get<Thing>("ns", "a"), {{"spec", {{"group", "g"}}}}, "noop"));
  EXPECT_DEATH(world.execute(plan), "changes nothing");
}

}  // namespace
}  // namespace kube::testing
