// When the loop plans which key: time, fairness, ranks, leadership, drain; and what it takes in and sends besides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop_fixture.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct LoopOrderTest : ::testing::Test, LoopFixture {
  void by_hand() { automatic = false; }
  int passes_of(const std::string& name) const { return static_cast<int>(std::ranges::count(passes, key(name))); }
};

// --- time ---

TEST_F(LoopOrderTest, RevisitsAndMeasuresHowLongSomethingHolds) {
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
TEST_F(LoopOrderTest, T48_AnEndlessRevisitIsClamped) {
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

TEST_F(LoopOrderTest, AThrottleLetsABurstThroughAndThenOnePerRefill) {
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

TEST_F(LoopOrderTest, OneNamespaceCannotFillTheLoop) {
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

TEST_F(LoopOrderTest, FreshWorkComesBeforeTheFirstList) {
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

TEST_F(LoopOrderTest, ALaterRankWaitsForTheEarlierOnes) {
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
TEST_F(LoopOrderTest, T49_TwoPlacesServeEverybody) {
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

TEST_F(LoopOrderTest, AStandbyFillsItsStoresAndSendsNothing) {
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

TEST_F(LoopOrderTest, AStandbyKeepsNoKeysHoweverLongItWaits) {
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

TEST_F(LoopOrderTest, OneKeyWithManyWritesDoesNotHoldUpOthers) {
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

TEST_F(LoopOrderTest, ALoopThatNeverSyncedDrainsToo) {
  start_as_standby(false);
  bool done = false;
  loop->drain([&] { done = true; });
  run(1s);
  EXPECT_TRUE(done);
}

TEST_F(LoopOrderTest, LosingTheLeadStopsSendingAtOnce) {
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

TEST_F(LoopOrderTest, NoWriteIsSentThatTheLeaseMightNotOutlive) {
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

TEST_F(LoopOrderTest, DrainingWaitsForAnswersAndSendsTheEvents) {
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

TEST_F(LoopOrderTest, ADestroyedLoopIgnoresWhatStillComes) {
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
TEST_F(LoopOrderTest, T37_ALongListIsTakenInInSlicesAndSeenAsAWhole) {
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

TEST_F(LoopOrderTest, EventsAreSentAfterTheirWritesAndOnce) {
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
