// Passes that throw, or plan what no plan may: bugs that must stay their own key's trouble.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "loop_fixture.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
using ::testing::IsEmpty;

class Panics final : public MetricsSink {
 public:
  void panicked(std::string_view reconciler) override {
    EXPECT_EQ(reconciler, "thing");
    ++count;
  }
  std::uint64_t count = 0;
};

struct LoopFlawsTest : ::testing::Test, LoopFixture {
  LoopFlawsTest() { metrics = &panics; }
  // "bad" is planned by `bad` as long as its value is "x", everything else as it should be.
  void start_with(const Reconcile& bad) {
    server.put("bad", {{"value", "x"}});
    server.put("good", {{"value", "y"}});
    reconcile = [bad](const Key& k, View& view) {
      const Thing* t = view.get<Thing>(k.ns, k.name);
      return k.name == "bad" && t != nullptr && t->value == "x" ? bad(k, view) : mirror(k, view);
    };
    start();
  }
  static Write set_state(const Thing& t, std::string state) {
    return patch_status(Thing::kind().resource, t, {{"status", {{"state", std::move(state)}}}}, "state");
  }
  static const Thing& it(const Key& k, View& view) { return *view.get<Thing>(k.ns, k.name); }
  int passes_of(const std::string& name) const { return static_cast<int>(std::ranges::count(passes, key(name))); }
  std::size_t facts(const std::string& bucket) { return loop->state().facts(bucket).members.size(); }
  void expect_that_only_the_bad_one_suffers() {
    run(60s);
    EXPECT_EQ(thing("good")->state, "y");
    EXPECT_GT(loop->stats().flaws, 5u);
    EXPECT_LT(loop->stats().flaws, 30u) << "it backs off";
    EXPECT_EQ(panics.count, loop->stats().flaws);
    EXPECT_GT(loop->failures(key("bad")), 5);
  }
  void expect_that_it_heals() {
    server.change("bad", {{"spec", {{"value", "z"}}}});
    show("bad");
    run(300s);
    EXPECT_EQ(thing("bad")->state, "z");
    EXPECT_EQ(loop->failures(key("bad")), 0);
    EXPECT_THAT(loop->verify_settled(), IsEmpty());
  }
  Panics panics;
};

TEST_F(LoopFlawsTest, OfTwoWritesOnOneObjectTheFirstIsSent) {
  start_with([](const Key& k, View& view) {
    Plan plan;
    const Thing& t = it(k, view);
    plan.writes.push_back(set_state(t, t.state == "first" ? "again" : "first"));
    plan.writes.push_back(set_state(t, "second"));
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  for (const Request& request : wire.sent) EXPECT_EQ(request.body.find("second"), std::string::npos);
  EXPECT_NE(thing("bad")->state, "");
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, OfTwoFactsAtOnePlaceTheFirstCounts) {
  start_with([](const Key&, View&) {
    Plan plan;
    plan.facts.push_back({"bucket", "here", "first", {}});
    plan.facts.push_back({"bucket", "here", "second", {}});
    plan.facts.push_back({"bucket", "there", "", {}});
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(facts("bucket"), 2u);
  EXPECT_EQ(loop->state().facts("bucket").members.begin()->second.value, "first");
  expect_that_it_heals();
  EXPECT_EQ(facts("bucket"), 0u);
}

TEST_F(LoopFlawsTest, APassThatThrowsLeavesEverythingAsItWas) {
  bool broken = false;
  start_with([&broken](const Key&, View&) -> Plan {
    if (broken) throw std::out_of_range("no such element");
    Plan plan;
    plan.facts.push_back({"bucket", "", "", {}});
    return plan;
  });
  settle();
  broken = true;
  server.change("bad", {{"spec", {{"group", "g"}}}});
  show("bad");
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(facts("bucket"), 1u);
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, LiveReadsComeBeforeWrites) {
  start_with([](const Key& k, View& view) {
    Plan plan;
    plan.confirms.push_back({{&Thing::kind().resource, k.ns, k.name}});
    plan.writes.push_back(set_state(it(k, view), "unread"));
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(thing("bad")->state, "");
  EXPECT_GT(loop->stats().reads, 0u);
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, AnEventThatRidesOnNothingIsLeftOut) {
  start_with([](const Key& k, View& view) {
    Plan plan;
    plan.events.push_back(
        {{&Thing::kind().resource, k.ns, k.name}, it(k, view).meta.uid, true, "Lost", "Tell", "x", false});
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(server.events["Lost"], 0);
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, AKeyThatWantsSomethingIsNotForgotten) {
  start_with([](const Key&, View&) {
    Plan plan;
    plan.forget = true;
    plan.facts.push_back({"bucket", "", "", {}});
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(facts("bucket"), 1u);
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, ALiveReadOfWhatIsNotWatchedIsLeftOut) {
  static const Resource other{"tests.example", "v1", "others", "Other", true};
  start_with([](const Key& k, View&) {
    Plan plan;
    plan.confirms.push_back({{&other, k.ns, k.name}});
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(loop->stats().reads, 0u);
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, AThrottleThatNobodyAskedForIsNotDrawnFrom) {
  start_with([](const Key& k, View& view) {
    Plan plan;
    const Thing& t = it(k, view);
    plan.writes.push_back(set_state(t, t.state == "one" ? "two" : "one"));
    plan.spends.emplace_back("unknown");
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_NE(thing("bad")->state, "") << "the write itself is sound";
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, AFactForAReconcilerThatIsNoneWakesNobody) {
  start_with([](const Key& k, View&) {
    Plan plan;
    plan.facts.push_back({"bucket", "", "", {"nobody", k.ns, k.name}});
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(facts("bucket"), 1u);
  expect_that_it_heals();
}

TEST_F(LoopFlawsTest, AnEventAboutNothingIsLeftOut) {
  start_with([](const Key&, View&) {
    Plan plan;
    plan.events.push_back({{nullptr, "ns", "bad"}, "uid", true, "Lost", "Tell", "x", true});
    return plan;
  });
  expect_that_only_the_bad_one_suffers();
  EXPECT_EQ(server.events["Lost"], 0);
  expect_that_it_heals();
}

using LoopFlawsDeathTest = LoopFlawsTest;
TEST_F(LoopFlawsDeathTest, TestsMayInsistOnPlansWithoutFlaws) {
  options.abort_on_flaws = true;
  EXPECT_DEATH(start_with([](const Key& k, View& view) {
                 Plan plan;
                 plan.writes.push_back(set_state(it(k, view), "a"));
                 plan.writes.push_back(set_state(it(k, view), "b"));
                 return plan;
               }),
               "twice");
}

}  // namespace
}  // namespace kube::testing
