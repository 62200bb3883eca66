// The loop, by the scenarios of the reference (T..) and its own promises: steps, own results, live reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop_fixture.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct LoopTest : ::testing::Test, LoopFixture {
  void by_hand() { automatic = false; }
  int passes_of(const std::string& name) const { return static_cast<int>(std::ranges::count(passes, key(name))); }
};

TEST_F(LoopTest, TakesAKeyThroughItsStepsOnOwnResultsAlone) {
  server.put("a", {{"value", "x"}});
  start();
  settle();
  // No watch event came: each step saw the result of the one before.
  EXPECT_EQ(server.writes, 2);
  EXPECT_EQ(thing("a")->state, "x");
  EXPECT_EQ(passes_of("a"), 3);
  EXPECT_THAT(loop->verify_settled(), IsEmpty());
}

TEST_F(LoopTest, ARestartOverSettledObjectsWritesNothing) {
  for (int i = 0; i < 100; ++i) server.put("t" + std::to_string(i), {{"value", "x"}});
  start();
  settle();
  const int writes = server.writes;
  passes.clear();
  start();
  settle();
  EXPECT_EQ(server.writes, writes);
  EXPECT_THAT(passes, SizeIs(100));
}

TEST_F(LoopTest, EchoesOfOwnWritesWakeNobody) {
  server.put("a", {{"value", "x"}});
  start();
  settle();
  passes.clear();
  show("a");
  relist();
  EXPECT_THAT(passes, IsEmpty());
}

TEST_F(LoopTest, NeverPlansAKeyWhileItsWriteIsInFlight) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
  server.change("a", {{"spec", {{"value", "y"}}}});
  show("a");
  EXPECT_EQ(passes_of("a"), 1);
  answer();  // 409
  EXPECT_EQ(passes_of("a"), 2) << "woken while in flight";
}

TEST_F(LoopTest, WritesOfOnePlanGoOutTogetherAndTheNextPassWaitsForAll) {
  server.put("a");
  server.put("b", {{"group", "g"}});
  server.put("c", {{"group", "g"}});
  by_hand();
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    if (k.name != "a") return plan;
    view.each<Thing>("group", "g", [&](const Thing& t) {
      if (t.state.empty())
        plan.writes.push_back(patch_status(Thing::kind().resource, t, {{"status", {{"state", "s"}}}}, "mark"));
      return true;
    });
    return plan;
  };
  start();
  EXPECT_THAT(waiting(), UnorderedElementsAre("PATCH ns/b/status", "PATCH ns/c/status"));
  answer(1);
  EXPECT_EQ(passes_of("a"), 1);
  answer(0);
  EXPECT_EQ(passes_of("a"), 2);
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(LoopTest, AWriteOnABusyTargetWaitsForTheOtherKeysAnswer) {
  server.put("a");
  server.put("b");
  server.put("target");
  by_hand();
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    const Thing* t = view.get<Thing>("ns", "target");
    if (k.name == "target" || t == nullptr || t->state == "done") return plan;
    plan.writes.push_back(patch_status(Thing::kind().resource, *t, {{"status", {{"state", "done"}}}}, "mark"));
    return plan;
  };
  start();
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/target/status"));
  EXPECT_EQ(loop->stats().parked, 1u);
  answer();
  EXPECT_EQ(server.writes, 1);
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_TRUE(loop->idle());
  EXPECT_EQ(passes_of("b"), 2);
}

// T41: own writes are visible at once, however late the watch is.
TEST_F(LoopTest, T41_ReconcileAfterAnOwnCreateSeesTheChild) {
  server.put("a");
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    if (k.name != "a" || view.get<Thing>("ns", "child") != nullptr) return plan;
    plan.writes.push_back(
        create(Thing::kind().resource, {{"metadata", {{"namespace", "ns"}, {"name", "child"}}}}, "create"));
    return plan;
  };
  start();
  settle();
  server.change("a", {{"spec", {{"value", "again"}}}});
  show("a");
  settle();
  EXPECT_EQ(server.writes, 1);
}

// T39: a late answer is no news, neither behind a newer event nor behind the deletion.
TEST_F(LoopTest, T39_ALateAnswerNeitherOverwritesNorResurrects) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  const Response late = server.handle(wire.waiting[0].request);
  server.change("a", {{"spec", {{"value", "newer"}}}});
  show("a");
  answer(0, late);
  EXPECT_EQ(thing("a")->value, "newer");
  // The next write is answered after the deletion has been seen.
  ASSERT_THAT(waiting(), ElementsAre("PATCH ns/a/status"));
  const Response later = server.handle(wire.waiting[0].request);
  server.documents.clear();
  store().erase("ns", "a", "uid-1", "999");
  reactor.run();
  answer(0, later);
  EXPECT_EQ(thing("a"), nullptr);
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(LoopTest, RemovingTheLastFinalizerBuriesTheObject) {
  server.put("a", {{"value", "x"}});
  start();
  settle();
  server.remove("a");
  const ObjectPtr stale = store().slot("ns", "a").object;
  show("a");
  settle();
  EXPECT_EQ(server.find("a"), nullptr);
  EXPECT_EQ(thing("a"), nullptr) << "no event has said so yet";
  EXPECT_FALSE(store().apply(stale));
  EXPECT_EQ(loop->state().keys().size(), 0u) << "forgotten";
}

TEST_F(LoopTest, ADeletionIsVisibleAtOnce) {
  server.put("a");
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    if (const Thing* t = view.get<Thing>(k.ns, k.name)) {
      plan.writes.push_back(remove(Thing::kind().resource, *t, true, "delete"));
    } else {
      plan.forget = true;
    }
    return plan;
  };
  start();
  settle();
  EXPECT_EQ(server.writes, 1);
  EXPECT_EQ(thing("a"), nullptr);
  relist();
  EXPECT_TRUE(loop->idle());
}

// --- live reads ---

Plan delete_confirmed(const Key& k, View& view) {
  Plan plan;
  const Thing* t = view.get<Thing>(k.ns, k.name);
  if (t == nullptr || t->group != "doomed") return plan;
  const Ref owner{&Thing::kind().resource, k.ns, t->value};
  if (view.get<Thing>(k.ns, t->value) != nullptr) return plan;
  if (view.confirmed(owner)) {
    plan.writes.push_back(remove(Thing::kind().resource, *t, false, "delete"));
  } else {
    plan.confirms.push_back({owner});
  }
  return plan;
}

// T43: an object that the store does not show (yet) is looked for on the server before anything is destroyed.
TEST_F(LoopTest, T43_NothingIsDestroyedForAnOwnerThatOnlyTheStoreMisses) {
  server.put("child", {{"group", "doomed"}, {"value", "owner"}});
  reconcile = delete_confirmed;
  by_hand();
  start();
  ASSERT_THAT(waiting(), ElementsAre("GET ns/owner"));
  server.put("owner");  // lives, but no event has come
  answer();
  EXPECT_NE(thing("owner"), nullptr) << "the answer is part of the state";
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(server.writes, 0);
}

TEST_F(LoopTest, AConfirmedAbsenceLetsTheNextPassAct) {
  server.put("child", {{"group", "doomed"}, {"value", "owner"}});
  reconcile = delete_confirmed;
  by_hand();
  start();
  answer();
  EXPECT_THAT(waiting(), ElementsAre("DELETE ns/child"));
}

TEST_F(LoopTest, AConfirmThatFailsConfirmsNothing) {
  server.put("child", {{"group", "doomed"}, {"value", "owner"}});
  reconcile = delete_confirmed;
  by_hand();
  start();
  answer(0, ThingServer::status(500, "InternalError"));
  EXPECT_THAT(waiting(), IsEmpty());
  run(1s);
  EXPECT_THAT(waiting(), ElementsAre("GET ns/owner"));
  // A server that does not serve the kind proves nothing either.
  Response missing;
  missing.status = 404;
  missing.body = "404 page not found";
  answer(0, missing);
  run(1s);
  EXPECT_THAT(waiting(), ElementsAre("GET ns/owner"));
}

TEST_F(LoopTest, AbsenceFoundByALiveReadBuriesWhatTheStoreHeld) {
  server.put("child", {{"group", "doomed"}, {"value", "owner"}});
  server.put("owner");
  int asked = 0;
  reconcile = [&](const Key& k, View& view) {
    Plan plan;
    const Ref owner{&Thing::kind().resource, "ns", "owner"};
    if (k.name == "child" && !view.confirmed(owner) && asked++ == 0) plan.confirms.push_back({owner});
    view.get<Thing>("ns", "owner");
    return plan;
  };
  by_hand();
  start();
  server.remove("owner");
  answer();
  EXPECT_EQ(thing("owner"), nullptr);
}

}  // namespace
}  // namespace kube::testing
