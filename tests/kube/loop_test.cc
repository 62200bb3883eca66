// The loop, by the scenarios of the reference (T..) and its own promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop_fixture.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
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

// --- conflicts ---

TEST_F(LoopTest, AfterAConflictTheKeyWaitsForTheVersion) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  server.change("a", {{"metadata", {{"resourceVersion", "ignored"}}}});  // only the version differs
  answer();
  EXPECT_EQ(loop->stats().conflicts, 1u);
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(passes_of("a"), 1);
  show("a");  // looks the same to reconcilers, and yet it is what the key waits for
  EXPECT_EQ(passes_of("a"), 2);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
}

TEST_F(LoopTest, AfterASecondWithoutTheVersionItReadsLive) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  server.change("a", {{"spec", {{"value", "y"}}}});
  answer();
  run(999ms);
  EXPECT_THAT(waiting(), IsEmpty());
  run(1ms);
  EXPECT_THAT(waiting(), ElementsAre("GET ns/a"));
  answer();
  EXPECT_EQ(thing("a")->value, "y");
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
}

TEST_F(LoopTest, AWriteOnSomethingGoneFindsOut) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  server.documents.clear();
  answer();  // 404
  run(1s);
  ASSERT_THAT(waiting(), ElementsAre("GET ns/a"));
  answer();
  EXPECT_EQ(thing("a"), nullptr);
  EXPECT_TRUE(loop->idle());
}

// T55: the watch is frozen, the server ahead.
TEST_F(LoopTest, T55_AFrozenWatchEndsInALiveRead) {
  server.put("a", {{"value", "x"}});
  start();
  settle();
  server.change("a", {{"spec", {{"group", "g"}}}});
  store().apply([&] {
    auto stale = std::make_shared<Thing>(*thing("a"));
    stale->value = "y";
    return stale;
  }());  // ignored: equal version
  EXPECT_EQ(thing("a")->value, "x");
  server.change("a", {{"spec", {{"value", "y"}}}});
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    const Thing* t = view.get<Thing>(k.ns, k.name);
    if (t->state != "z")
      plan.writes.push_back(patch_status(Thing::kind().resource, *t, {{"status", {{"state", "z"}}}}, "z"));
    return plan;
  };
  start();  // knows the newest state, so freeze it by hand
  server.change("a", {{"spec", {{"value", "later"}}}});
  settle();
  run(2s);
  settle();
  EXPECT_EQ(thing("a")->state, "z");
  EXPECT_EQ(thing("a")->value, "later");
}

TEST_F(LoopTest, RepeatedConflictsReadLiveAndSlowDown) {
  server.put("a", {{"value", "x"}});
  int conflicts = 0;
  fault = [&](const Request& request) -> std::optional<Answer> {
    if (request.method != "PATCH") return std::nullopt;
    ++conflicts;
    server.change("a", {{"spec", {{"group", std::to_string(conflicts)}}}});
    return ThingServer::status(409, "Conflict");
  };
  start();
  for (int i = 0; i < 10'000; ++i) {
    run(1ms);
    show("a");
  }
  EXPECT_GT(conflicts, 3);
  EXPECT_LT(conflicts, 20) << "10 s of somebody else writing all the time";
}

TEST_F(LoopTest, ACreateThatMeetsSomethingReadsIt) {
  server.put("a");
  by_hand();
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    if (k.name == "a" && view.get<Thing>("ns", "child") == nullptr) {
      plan.writes.push_back(
          create(Thing::kind().resource, {{"metadata", {{"namespace", "ns"}, {"name", "child"}}}}, "create"));
    }
    return plan;
  };
  start();
  ASSERT_THAT(waiting(), ElementsAre("POST ns"));
  server.put("child");
  answer();
  ASSERT_THAT(waiting(), ElementsAre("GET ns/child"));
  answer();
  EXPECT_NE(thing("child"), nullptr);
  EXPECT_THAT(waiting(), IsEmpty());
}

// --- failures ---

TEST_F(LoopTest, ARefusalBacksOffAndNeverDelaysOthers) {
  server.put("bad", {{"value", "x"}});
  for (int i = 0; i < 20; ++i) server.put("good" + std::to_string(i), {{"value", "x"}});
  std::vector<base::MonoTime> tried;
  fault = [&](const Request& request) -> std::optional<Answer> {
    if (describe(request) != "PATCH ns/bad") return std::nullopt;
    tried.push_back(reactor.now());
    return ThingServer::status(422, "Invalid", "spec.value: must be nice");
  };
  start();
  run(50ms);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(thing("good" + std::to_string(i))->state, "x");
  run(60s);
  ASSERT_GE(tried.size(), 10u);
  EXPECT_LT(tried.size(), 18u);
  for (std::size_t i = 5; i + 1 < tried.size(); ++i) EXPECT_GT(tried[i + 1] - tried[i], tried[i] - tried[i - 1]) << i;
  EXPECT_GE(loop->failures(key("bad")), 10);
  run(3h);
  const std::size_t before = tried.size();
  run(1h);
  EXPECT_GE(tried.size() - before, 12u) << "five minutes are the most";
}

TEST_F(LoopTest, TheServersWordsReachTheReconciler) {
  server.put("a", {{"value", "x"}});
  fault = [&](const Request& request) -> std::optional<Answer> {
    if (request.method != "PATCH") return std::nullopt;
    return ThingServer::status(403, "Forbidden", "not you");
  };
  std::string words;
  reconcile = [&](const Key& k, View& view) {
    if (view.failures() > 0) words = view.refusal();
    return mirror(k, view);
  };
  start();
  run(100ms);
  EXPECT_EQ(words, "not you");
}

TEST_F(LoopTest, AChangePlansAFailingKeyEarlyOnceButDoesNotDriveIt) {
  server.put("a", {{"value", "x"}});
  int tries = 0;
  fault = [&](const Request& request) -> std::optional<Answer> {
    if (request.method != "PATCH") return std::nullopt;
    ++tries;
    return ThingServer::status(422, "Invalid");
  };
  start();
  run(20s);  // the delay is several seconds by now
  const int before = tries;
  for (int i = 0; i < 100; ++i) {
    server.change("a", {{"spec", {{"group", std::to_string(i)}}}});
    show("a");
    run(10ms);
  }
  EXPECT_EQ(tries, before + 1);
  // And the change that helps does help.
  run(60s);
  fault = {};
  server.change("a", {{"spec", {{"group", "fixed"}}}});
  show("a");
  run(50ms);
  EXPECT_EQ(thing("a")->state, "x");
  EXPECT_EQ(loop->failures(key("a")), 0);
}

TEST_F(LoopTest, AfterALostAnswerTheTargetIsReadBeforeAnythingElse) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  server.handle(wire.waiting[0].request);  // it took effect
  wire.lose(0);
  run(1s);
  ASSERT_THAT(waiting(), ElementsAre("GET ns/a"));
  EXPECT_EQ(passes_of("a"), 1);
  answer();
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a/status")) << "the first step is seen to be done";
}

TEST_F(LoopTest, WhatNeverLeftNeedsNoRead) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  wire.lose(0, false);
  run(1s);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
}

TEST_F(LoopTest, AWriteWithoutChangeIsADefectAndBacksOff) {
  server.put("a");
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    const Thing* t = view.get<Thing>(k.ns, k.name);
    plan.writes.push_back(patch(Thing::kind().resource, *t, {{"spec", boost::json::object()}}, "noop"));
    return plan;
  };
  start();
  run(10s);
  EXPECT_GT(loop->stats().noop_writes, 5u);
  EXPECT_LT(loop->stats().noop_writes, 20u);
}

TEST_F(LoopTest, RetryAfterIsObeyed) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  Response busy = ThingServer::status(429, "TooManyRequests");
  busy.retry_after = 7s;
  answer(0, busy);
  run(6900ms);
  EXPECT_THAT(waiting(), IsEmpty());
  run(200ms);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
}

// --- time ---

TEST_F(LoopTest, RevisitsAndMeasuresHowLongSomethingHolds) {
  server.put("a");
  std::vector<base::Duration> held;
  reconcile = [&](const Key&, View& view) {
    Plan plan;
    held.push_back(view.since("waiting", true));
    plan.then_look_after(10s);
    return plan;
  };
  start();
  run(25s);
  EXPECT_THAT(held, ElementsAre(0s, 10s, 20s));
}

// T48: a wait far in the future neither overflows nor fires.
TEST_F(LoopTest, T48_AnEndlessRevisitIsClamped) {
  server.put("a");
  reconcile = [](const Key&, View&) {
    Plan plan;
    plan.revisit = base::Duration::max();
    return plan;
  };
  start();
  run(24h * 30);
  EXPECT_EQ(passes_of("a"), 1);
}

TEST_F(LoopTest, AThrottleLetsABurstThroughAndThenOnePerRefill) {
  server.put("a");
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    const Thing* t = view.get<Thing>(k.ns, k.name);
    if (const base::Duration wait = view.throttle("t", 3, 10s); wait > 0s) {
      plan.then_look_after(wait);
      return plan;
    }
    plan.spends = {"t"};
    plan.writes.push_back(patch_status(Thing::kind().resource, *t, {{"status", {{"state", t->state + "."}}}}, "dot"));
    return plan;
  };
  start();
  run(1s);
  EXPECT_EQ(server.writes, 3);
  run(25s);
  EXPECT_EQ(server.writes, 5);
}

// --- fairness ---

TEST_F(LoopTest, OneNamespaceCannotFillTheLoop) {
  for (int i = 0; i < 500; ++i) server.put("t" + std::to_string(i), {{"value", "x"}}, "big");
  server.put("small", {{"value", "x"}});
  by_hand();
  options.max_concurrent = 50;
  options.per_namespace = 10;
  start();
  EXPECT_THAT(waiting(), SizeIs(11));
  EXPECT_THAT(waiting(), Contains("PATCH ns/small"));
  answer(0);
  EXPECT_THAT(waiting(), SizeIs(11)) << "a place that falls free is taken";
}

TEST_F(LoopTest, FreshWorkComesBeforeTheFirstList) {
  for (int i = 0; i < 500; ++i) server.put("t" + std::to_string(1000 + i), {{"value", "x"}});
  options.max_concurrent = 1;
  options.per_namespace = 1;
  start();
  run(20ms);
  server.put("urgent", {{"value", "x"}});
  show("urgent");
  run(20ms);
  EXPECT_EQ(thing("urgent")->state, "x");
  settle();
}

TEST_F(LoopTest, ALaterRankWaitsForTheEarlierOnes) {
  for (int i = 0; i < 300; ++i) server.put("t" + std::to_string(i));
  std::vector<std::string> order;
  reconcile = [&](const Key& k, View&) {
    order.push_back(k.reconciler);
    Plan plan;
    plan.facts.push_back({"count", k.name, "", {"sum", "", "all"}});
    return plan;
  };
  std::size_t seen = 0;
  controller.reconcilers.push_back(
      {"sum",
       [&](const Key&, View& view) {
         order.emplace_back("sum");
         seen = 0;
         view.each_fact("count", [&](std::string_view, const FactBucket::Value&) { return ++seen, true; });
         return Plan{};
       },
       1});
  start();
  settle();
  EXPECT_THAT(order, SizeIs(301)) << "the sum was planned once";
  EXPECT_EQ(order.back(), "sum");
  EXPECT_EQ(seen, 300u);
}

// T49: bounded concurrency never loses a wake-up.
TEST_F(LoopTest, T49_TwoPlacesServeEverybody) {
  for (int i = 0; i < 200; ++i) server.put("t" + std::to_string(i), {{"value", "x"}});
  options.max_concurrent = 2;
  base::Random random(7);
  fault = [&](const Request&) -> std::optional<Answer> {
    latency = std::chrono::milliseconds(1 + random.below(9));
    if (random.below(10) == 0) return std::unexpected(TransportError{TransportError::Kind::timeout, "slow", true});
    return std::nullopt;
  };
  start();
  settle();
  run(10s);
  settle();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(thing("t" + std::to_string(i))->state, "x") << i;
  EXPECT_THAT(loop->verify_settled(), IsEmpty());
}

// --- leadership and life ---

TEST_F(LoopTest, AStandbyFillsItsStoresAndSendsNothing) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start_as_standby();
  run(1s);
  EXPECT_TRUE(loop->synced());
  EXPECT_THAT(passes, IsEmpty());
  loop->set_leading(true);
  run(1ms);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
}

TEST_F(LoopTest, AStandbyKeepsNoKeysHoweverLongItWaits) {
  start_as_standby();
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "t" + std::to_string(i);
    server.put(name, {{"value", "x"}});
    show(name);
    server.remove(name);
    show(name);
  }
  server.put("last", {{"value", "x"}});
  show("last");
  EXPECT_EQ(loop->state().keys().size(), 0u);
  EXPECT_LT(store().slots(), 5000u) << "nor places for what is gone";
  loop->set_leading(true);
  settle();
  EXPECT_EQ(thing("last")->state, "x");
}

TEST_F(LoopTest, OneKeyWithManyWritesDoesNotHoldUpOthers) {
  for (int i = 0; i < 1000; ++i) server.put("t" + std::to_string(i), {{"group", "g"}});
  server.put("big");
  options.max_requests = 10;
  reconcile = [](const Key& k, View& view) {
    if (k.name == "small") return mirror(k, view);
    Plan plan;
    if (k.name != "big") return plan;
    view.each<Thing>("group", "g", [&](const Thing& t) {
      if (t.state.empty())
        plan.writes.push_back(patch_status(Thing::kind().resource, t, {{"status", {{"state", "s"}}}}, "mark"));
      return true;
    });
    return plan;
  };
  start();
  run(5ms);
  EXPECT_LT(server.writes, 100);
  server.put("small", {{"value", "x"}});
  show("small");
  run(10ms);
  EXPECT_EQ(thing("small")->state, "x");
  EXPECT_LT(server.writes, 200);
  settle();
  EXPECT_EQ(server.writes, 1002);
}

TEST_F(LoopTest, ALoopThatNeverSyncedDrainsToo) {
  start_as_standby(false);
  bool done = false;
  loop->drain([&] { done = true; });
  run(1s);
  EXPECT_TRUE(done);
}

TEST_F(LoopTest, LosingTheLeadStopsSendingAtOnce) {
  for (int i = 0; i < 20; ++i) server.put("t" + std::to_string(i), {{"value", "x"}});
  by_hand();
  options.max_requests = 5;
  start();
  EXPECT_THAT(waiting(), SizeIs(5));
  loop->set_leading(false);
  run(1s);
  while (!wire.waiting.empty()) answer(0);
  run(10s);
  EXPECT_EQ(wire.sent.size(), 5u);
  EXPECT_GT(loop->stats().held_back, 0u);
  automatic = true;
  loop->set_leading(true);
  settle();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(thing("t" + std::to_string(i))->state, "x");
}

TEST_F(LoopTest, NoWriteIsSentThatTheLeaseMightNotOutlive) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  answer();
  ASSERT_THAT(waiting(), ElementsAre("PATCH ns/a/status"));
  loop->set_lease_deadline(reactor.now() + options.write_timeout);
  answer();
  server.put("b", {{"value", "x"}});
  show("b");
  run(1s);
  EXPECT_THAT(waiting(), IsEmpty());
  base::MonoTime until = reactor.now() + 10s;
  loop->set_lease([&] { return until; });
  run(1ms);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/b"));
  run(6s);
  answer();
  EXPECT_THAT(waiting(), IsEmpty());
  until = reactor.now() + 10s;  // renewed; nobody tells the loop
  run(1s);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/b/status"));
}

TEST_F(LoopTest, DrainingWaitsForAnswersAndSendsTheEvents) {
  server.put("a", {{"value", "x"}});
  server.put("b", {{"value", "x"}});
  by_hand();
  reconcile = [](const Key& k, View& view) {
    Plan plan = mirror(k, view);
    if (!plan.writes.empty()) {
      const Thing* t = view.get<Thing>(k.ns, k.name);
      plan.events.push_back({plan.writes[0].target, t->meta.uid, false, "Did", "Do", "done", false});
    }
    return plan;
  };
  start();
  bool done = false;
  loop->drain([&] { done = true; });
  server.put("c");
  show("c");
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a", "PATCH ns/b"));
  answer();
  answer();
  EXPECT_FALSE(done);
  EXPECT_THAT(waiting(), ElementsAre("POST events/ns", "POST events/ns"));
  answer();
  answer();
  EXPECT_TRUE(done);
  run(10s);
  EXPECT_EQ(server.writes, 2);
}

TEST_F(LoopTest, ADestroyedLoopIgnoresWhatStillComes) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  loop.reset();
  wire.answer(0, server.handle(wire.waiting[0].request));
  run(1h);
  EXPECT_EQ(reactor.timers(), 0u);
}

// --- long lists ---

// T37: nobody sees half of a list.
TEST_F(LoopTest, T37_ALongListIsTakenInInSlicesAndSeenAsAWhole) {
  for (int i = 0; i < 10'000; ++i) server.put("t" + std::to_string(i), {{"group", "old"}});
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  reconcile = [&](const Key& k, View& view) {
    if (k.name == "watcher") seen.emplace_back(view.count<Thing>("group", "old"), view.count<Thing>("group", "new"));
    return Plan{};
  };
  start();
  settle();
  server.put("watcher");
  show("watcher");
  for (int i = 0; i < 10'000; ++i) server.change("t" + std::to_string(i), {{"spec", {{"group", "new"}}}});
  seen.clear();
  relist();
  settle();
  EXPECT_THAT(seen, ElementsAre(std::pair<std::size_t, std::size_t>(0, 10'000)));
}

TEST_F(LoopTest, EventsAreSentAfterTheirWritesAndOnce) {
  server.put("a", {{"value", "x"}});
  reconcile = [](const Key& k, View& view) {
    Plan plan = mirror(k, view);
    const Thing* t = view.get<Thing>(k.ns, k.name);
    const Ref ref{&Thing::kind().resource, k.ns, k.name};
    if (!plan.writes.empty())
      plan.events.push_back({ref, t->meta.uid, false, "Wrote", "Write", plan.writes[0].step, false});
    plan.events.push_back({ref, t->meta.uid, true, "Seen", "Look", "it is there", true});
    return plan;
  };
  int refused = 0;
  fault = [&](const Request& request) -> std::optional<Answer> {
    if (describe(request) == "PATCH ns/a/status" && refused++ == 0) return ThingServer::status(422, "Invalid");
    return std::nullopt;
  };
  start();
  settle();
  run(1s);
  server.change("a", {{"spec", {{"group", "g"}}}});
  show("a");
  settle();
  EXPECT_EQ(server.events["Wrote"], 2);
  EXPECT_EQ(server.events["Seen"], 1);
}

}  // namespace
}  // namespace kube::testing
