// A kind that the server does not serve for a while: nothing follows from not seeing it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop_fixture.h"

namespace kube::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class LoopServedTest : public LoopFixture, public ::testing::Test {
 protected:
  // As the server answers 404, and then shows what it had all the while.
  void go() {
    serve(false);
    run(1min);
  }
  void come_back() {
    relist();
    serve(true);
    settle();
  }
  // And a turn that notices, as after a reflector's word.
  void serve(bool yes) {
    store().set_served(yes);
    loop->set_lease_deadline(base::MonoTime::max());
    reactor.run();
  }
  void expect_nothing_missed() { EXPECT_THAT(loop->verify_settled(), IsEmpty()); }
};

TEST_F(LoopServedTest, NothingIsPlannedWithoutAKindThatIsNeeded) {
  server.put("a", {{"value", "1"}});
  start();
  settle();
  passes.clear();
  const int writes = server.writes;
  go();
  server.change("a", {{"spec", {{"value", "2"}}}});
  show("a");
  run(1min);
  EXPECT_THAT(passes, IsEmpty());
  EXPECT_EQ(server.writes, writes);
  EXPECT_FALSE(loop->whole());
  come_back();
  EXPECT_TRUE(loop->whole());
  EXPECT_THAT(passes, Contains(key("a")));
  EXPECT_EQ(thing("a")->state, "2");
  expect_nothing_missed();
}

TEST_F(LoopServedTest, WhatIsPlannedIsNotSentAnyMore) {
  server.put("a", {{"value", "x"}});
  server.put("b", {{"value", "x"}});
  options.max_requests = 1;
  automatic = false;
  start();
  ASSERT_THAT(waiting(), ElementsAre("PATCH ns/a")) << "the other one's waits for it";
  serve(false);
  answer();
  run(1min);
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(loop->stats().held_back, 1U);
  automatic = true;
  come_back();
  EXPECT_EQ(thing("a")->state, "x");
  EXPECT_EQ(thing("b")->state, "x");
  expect_nothing_missed();
}

TEST_F(LoopServedTest, WhatIsPlannedWaitsForAKindThatIsBackBeforeAnybodyNotices) {
  server.put("a", {{"value", "x"}});
  server.put("b", {{"value", "x"}});
  options.max_requests = 1;
  automatic = false;
  start();
  ASSERT_THAT(waiting(), ElementsAre("PATCH ns/a"));
  store().set_served(false);
  wire.answer(0, server.handle(wire.waiting.at(0).request));
  store().set_served(true);
  reactor.run();
  EXPECT_FALSE(waiting().empty());
  automatic = true;
  while (!wire.waiting.empty()) answer();
  settle();
  EXPECT_EQ(thing("b")->state, "x");
}

TEST_F(LoopServedTest, AKeyThatFoundNothingOfAnOptionalKindIsBornAgain) {
  controller.watches.front().optional = true;
  server.put("a", {{"value", "1"}});
  start();
  settle();
  go();
  EXPECT_EQ(loop->stats().keys, 0U) << "there is nothing of that kind";
  come_back();
  expect_nothing_missed();
  passes.clear();
  server.change("a", {{"spec", {{"value", "2"}}}});
  show("a");
  settle();
  EXPECT_THAT(passes, Contains(key("a")));
  EXPECT_EQ(thing("a")->state, "2");
}

TEST_F(LoopServedTest, AStandbyIsBornWhatItSawWhenItLeads) {
  server.put("a", {{"value", "1"}});
  start_as_standby();
  go();
  loop->set_leading(true);
  run(1min);
  EXPECT_THAT(passes, IsEmpty());
  come_back();
  EXPECT_EQ(thing("a")->state, "1");
  expect_nothing_missed();
}

TEST_F(LoopServedTest, WhatWasConfirmedBeforeIsConfirmedAnew) {
  server.put("child");
  server.put("owner");
  const Ref owner{&Thing::kind().resource, "ns", "owner"};
  int confirmed = 0;
  reconcile = [&](const Key& k, View& view) {
    Plan plan;
    view.get<Thing>("ns", "owner");
    if (k.name != "child") return plan;
    if (view.confirmed(owner)) {
      ++confirmed;
    } else if (confirmed == 0) {
      plan.confirms.push_back({owner});
    }
    return plan;
  };
  automatic = false;
  start();
  ASSERT_THAT(waiting(), ElementsAre("GET ns/owner"));
  serve(false);
  answer();
  run(1min);
  EXPECT_EQ(confirmed, 0);
  relist();
  serve(true);
  EXPECT_EQ(confirmed, 0) << "what was read a minute ago proves nothing";
  ASSERT_THAT(waiting(), ElementsAre("GET ns/owner"));
  answer();
  EXPECT_EQ(confirmed, 1);
}

// What a pass decided and cannot read back from anywhere.
TEST_F(LoopServedTest, ANoteAloneIsKept) {
  std::vector<std::string> seen;
  reconcile = [&](const Key&, View& view) {
    const auto* a = view.get<Thing>("ns", "a");
    seen.emplace_back(view.noted("drawn"));
    if (seen.size() == 1) view.note("drawn", "k1");
    if (a == nullptr || a->value != "3") return Plan{};
    view.note("drawn", "");
    return Plan{};
  };
  server.put("a", {{"value", "1"}});
  start();
  settle();
  for (const char* value : {"2", "3", "4"}) {
    server.change("a", {{"spec", {{"value", value}}}});
    show("a");
    settle();
  }
  EXPECT_THAT(seen, ElementsAre("", "k1", "k1", ""));
}

}  // namespace
}  // namespace kube::testing
