// What the loop makes of conflicts, refusals, lost answers and writes without change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop_fixture.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct LoopAnswersTest : ::testing::Test, LoopFixture {
  void by_hand() { automatic = false; }
  int passes_of(const std::string& name) const { return static_cast<int>(std::ranges::count(passes, key(name))); }
};

// --- conflicts ---

TEST_F(LoopAnswersTest, AfterAConflictTheKeyWaitsForTheVersion) {
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

TEST_F(LoopAnswersTest, AfterASecondWithoutTheVersionItReadsLive) {
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

TEST_F(LoopAnswersTest, AWriteOnSomethingGoneFindsOut) {
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

TEST_F(LoopAnswersTest, ADeletionAnsweredAfterItsEventLeavesNothingBehind) {
  reconcile = [](const Key& k, View& view) {
    Plan plan;
    const Thing* t = view.get<Thing>(k.ns, k.name);
    if (t == nullptr) {
      plan.forget = true;
    } else {
      plan.writes.push_back(remove(Thing::kind().resource, *t, false, "delete"));
    }
    return plan;
  };
  by_hand();
  start();
  for (int i = 0; i < 20; ++i) {
    const std::string name = "a" + std::to_string(i);
    server.put(name);
    show(name);
    ASSERT_THAT(waiting(), ElementsAre("DELETE ns/" + name));
    const Response gone = server.handle(wire.waiting[0].request);
    show(name);
    answer(0, gone);
  }
  EXPECT_EQ(store().tombstones(), 0u);
  EXPECT_EQ(store().size(), 0u);
  EXPECT_EQ(loop->stats().keys, 0u);
}

// T55: the watch is frozen, the server ahead.
TEST_F(LoopAnswersTest, T55_AFrozenWatchEndsInALiveRead) {
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

// What --drain tells people is what has taken effect.
TEST_F(LoopAnswersTest, WritesThatWereRefusedAreNotCountedAsStored) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  answer(0, ThingServer::status(403, "Forbidden"));
  run(1s);
  answer();
  answer();
  EXPECT_EQ(loop->stats().writes, 3u);
  EXPECT_EQ(loop->stats().stored, 2u) << "the finalizer and the status";
}

TEST_F(LoopAnswersTest, RepeatedConflictsReadLiveAndSlowDown) {
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

TEST_F(LoopAnswersTest, ACreateThatMeetsSomethingReadsIt) {
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

TEST_F(LoopAnswersTest, ARefusalBacksOffAndNeverDelaysOthers) {
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

TEST_F(LoopAnswersTest, TheServersWordsReachTheReconciler) {
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

TEST_F(LoopAnswersTest, AChangePlansAFailingKeyEarlyOnceButDoesNotDriveIt) {
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

TEST_F(LoopAnswersTest, AfterALostAnswerTheTargetIsReadBeforeAnythingElse) {
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

TEST_F(LoopAnswersTest, WhatNeverLeftNeedsNoRead) {
  server.put("a", {{"value", "x"}});
  by_hand();
  start();
  wire.lose(0, false);
  run(1s);
  EXPECT_THAT(waiting(), ElementsAre("PATCH ns/a"));
}

TEST_F(LoopAnswersTest, T52_T53_AWriteWithoutChangeIsADefectAndBacksOff) {
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

TEST_F(LoopAnswersTest, RetryAfterIsObeyed) {
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

}  // namespace
}  // namespace kube::testing
