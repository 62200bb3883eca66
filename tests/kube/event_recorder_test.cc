// Events: T65-T67, truncation, series, budgets, retries, flushing.
#include "kube/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "loop_fixture.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct EventTest : ::testing::Test {
  struct Count : MetricsSink {
    void event_sent() override { ++sent; }
    void event_dropped() override { ++dropped; }
    int sent = 0, dropped = 0;
  };
  EventTest() {
    base::log::configure(base::log::Level::error, base::log::Format::text);
    options.controller = "test";
    options.instance = "pod-1";
    make();
  }
  void make() { recorder = std::make_unique<EventRecorder>(wire, reactor, metrics, options, 1); }
  static EventNote note(std::string reason = "Bound", std::string text = "it is bound", std::string uid = "u1") {
    EventNote n;
    n.regarding = {&Thing::kind().resource, "ns", "a"};
    n.regarding_uid = std::move(uid);
    n.reason = std::move(reason);
    n.action = "Bind";
    n.note = std::move(text);
    return n;
  }
  void record(EventNote n) { recorder->record(n); }
  // Answers everything as the server would.
  void serve(int status = 201) {
    for (reactor.run(); !wire.waiting.empty(); reactor.run()) {
      Response response;
      response.status = status;
      response.body = status < 300 ? "{}" : ThingServer::status(status, "Reason").body;
      wire.answer(0, std::move(response));
    }
  }
  json::object body(std::size_t i) const { return json::parse(wire.sent.at(i).body).get_object(); }
  // Requests of a method so far.
  int sent(std::string_view method) const {
    return static_cast<int>(std::ranges::count(wire.sent, method, &Request::method));
  }

  ManualReactor reactor;
  Wire wire{reactor};
  Count metrics;
  EventOptions options;
  std::unique_ptr<EventRecorder> recorder;
};

TEST_F(EventTest, SendsWhatTheServerRequires) {
  EventNote n = note();
  n.warning = true;
  record(n);
  serve();
  ASSERT_THAT(wire.sent, SizeIs(1));
  EXPECT_EQ(wire.sent[0].method, "POST");
  EXPECT_EQ(wire.sent[0].path, "/apis/events.k8s.io/v1/namespaces/ns/events");
  const json::object b = body(0);
  EXPECT_EQ(b.at("reportingController"), "test");
  EXPECT_EQ(b.at("reportingInstance"), "pod-1");
  EXPECT_EQ(b.at("action"), "Bind");
  EXPECT_EQ(b.at("type"), "Warning");
  EXPECT_EQ(b.at("eventTime"), "2025-01-01T00:00:00.000000Z");
  EXPECT_EQ(b.at("regarding").at("uid"), "u1");
  EXPECT_EQ(b.at("regarding").at("apiVersion"), "tests.example/v1");
}

TEST_F(EventTest, ClusterScopedObjectsHaveTheirEventsInDefault) {
  EventNote n = note();
  n.regarding = {&Place::kind().resource, "", "p"};
  record(n);
  serve();
  EXPECT_EQ(wire.sent[0].path, "/apis/events.k8s.io/v1/namespaces/default/events");
  EXPECT_EQ(body(0).at("metadata").at("namespace"), "default");
  EXPECT_FALSE(body(0).at("regarding").get_object().contains("namespace"));
}

// T66
TEST_F(EventTest, T66_TooLongIsCutBetweenCharacters) {
  options.instance = std::string(200, 'p');
  make();
  std::string text(1023, 'x');
  text += "\xc3\xa9 and much more";
  EventNote n = note("Reason", text);
  n.action.clear();
  n.regarding.name = std::string(250, 'n');
  record(n);
  serve();
  const json::object b = body(0);
  EXPECT_EQ(b.at("reportingInstance").get_string().size(), 128u);
  EXPECT_EQ(b.at("note").get_string(), std::string(1023, 'x'));
  EXPECT_FALSE(b.at("action").get_string().empty());
  EXPECT_LE(b.at("metadata").at("name").get_string().size(), 253u);
}

// T67
TEST_F(EventTest, T67_TwoEventsOfOneInstantHaveTwoNames) {
  record(note("A"));
  record(note("B"));
  serve();
  EXPECT_NE(body(0).at("metadata").at("name"), body(1).at("metadata").at("name"));
}

// T65
TEST_F(EventTest, T65_RepeatsAreASeriesThatCountsRight) {
  for (int i = 0; i < 600; ++i) {
    record(note());
    serve();
    reactor.advance(1s);
  }
  EXPECT_EQ(sent("POST"), 1);
  EXPECT_EQ(sent("PATCH"), 1) << "the first repeat at once";
  EXPECT_EQ(body(1).at("series").at("count"), 2);
  reactor.advance(13min);
  serve();
  EXPECT_EQ(sent("PATCH"), 2) << "and the sum when it is over";
  EXPECT_EQ(body(2).at("series").at("count"), 600);
  EXPECT_EQ(metrics.dropped, 0);
  record(note());
  serve();
  EXPECT_EQ(sent("POST"), 2) << "a new one after that";
}

TEST_F(EventTest, ALongSeriesIsWrittenNowAndThen) {
  for (int i = 0; i < 4000; ++i) {
    record(note());
    serve();
    reactor.advance(1s);
  }
  EXPECT_EQ(sent("PATCH"), 3) << "after the first repeat, and after half an hour each";
}

TEST_F(EventTest, ACountNeverOvertakesItsEvent) {
  record(note());
  record(note());
  record(note());
  reactor.run();
  EXPECT_THAT(wire.waiting, SizeIs(1));
  Response created;
  created.status = 201;
  wire.answer(0, created);
  reactor.run();
  ASSERT_THAT(wire.waiting, SizeIs(1));
  EXPECT_EQ(json::parse(wire.waiting[0].request.body).at("series").at("count"), 3);
}

TEST_F(EventTest, ASeriesWhoseEventExpiredIsWrittenAnew) {
  record(note());
  serve();
  record(note());
  serve(404);
  serve();
  EXPECT_EQ(sent("POST"), 2);
  EXPECT_EQ(body(2).at("series").at("count"), 2);
}

TEST_F(EventTest, OneObjectHasABudget) {
  for (int i = 0; i < 40; ++i) record(note("R" + std::to_string(i)));
  record(note("Other", "other", "u2"));
  serve();
  EXPECT_EQ(sent("POST"), 26);
  EXPECT_EQ(metrics.dropped, 15);
  reactor.advance(5min);
  record(note("Later"));
  serve();
  EXPECT_EQ(sent("POST"), 27);
}

TEST_F(EventTest, OnceIsOnceInThisProcessAndInTheNext) {
  EventNote n = note();
  n.once = true;
  record(n);
  record(n);
  serve();
  EXPECT_EQ(sent("POST"), 1);
  make();
  record(n);
  serve(409);
  EXPECT_EQ(body(0).at("metadata").at("name"), body(1).at("metadata").at("name"));
  EventNote other = n;
  other.note = "another";
  EXPECT_NE(once_name(n), once_name(other));
}

TEST_F(EventTest, RefusalsAreDroppedAndTroubleIsRetried) {
  record(note("Refused"));
  serve(403);
  reactor.advance(1h);
  EXPECT_EQ(sent("POST"), 1);
  EXPECT_EQ(metrics.dropped, 1);
  record(note("Trouble"));
  for (int i = 0; i < 20; ++i) {
    serve(503);
    reactor.advance(10s);
  }
  EXPECT_EQ(sent("POST"), 1 + 12);
  EXPECT_EQ(metrics.dropped, 2);
}

TEST_F(EventTest, TheQueueIsBounded) {
  options.queue = 10;
  options.in_flight = 1;
  make();
  for (int i = 0; i < 50; ++i) record(note("R", "n" + std::to_string(i), "u" + std::to_string(i)));
  EXPECT_EQ(metrics.dropped, 50 - 11);
  serve();
  EXPECT_EQ(metrics.sent, 11);
}

TEST_F(EventTest, ASpammersBudgetIsNotForgottenForTheSakeOfOthers) {
  for (int i = 0; i < 25; ++i) record(note("R" + std::to_string(i), "it is bad", "0"));
  serve();
  for (int i = 0; i < 10'000; ++i) {
    record(note("Other", "other", "u" + std::to_string(i)));
    if (i % 1000 == 0) record(note("More" + std::to_string(i), "it is bad", "0"));
    serve();
  }
  EXPECT_EQ(sent("POST"), 25 + 10'000);
  EXPECT_EQ(metrics.dropped, 10);
}

TEST_F(EventTest, ASeriesThatGoesOnIsNotForgottenForTheSakeOfOthers) {
  for (int i = 0; i < 10'000; ++i) {
    record(note("Other", "other", "u" + std::to_string(i)));
    if (i % 1000 == 0) record(note("Bad", "it is bad", "0"));
    serve();
  }
  EXPECT_EQ(sent("POST"), 1 + 10'000);
  EXPECT_EQ(sent("PATCH"), 1) << "the first repeat";
}

TEST_F(EventTest, WhatHappenedOnceIsForgottenWhenItCannotBeASeriesAnyMore) {
  for (int i = 0; i < 100; ++i) record(note("R", "r", "u" + std::to_string(i)));
  serve();
  EXPECT_EQ(recorder->series(), 100u);
  reactor.advance(13min);
  EXPECT_EQ(recorder->series(), 0u);
}

TEST_F(EventTest, NothingIsTriedAgainAfterTheFlush) {
  record(note("Trouble"));
  serve(503);
  recorder->flush([] {});
  reactor.advance(1min);
  EXPECT_THAT(wire.waiting, SizeIs(0));
  EXPECT_EQ(metrics.dropped, 1);
}

TEST_F(EventTest, FlushWritesCountsAndWaitsForAnswersOnly) {
  for (int i = 0; i < 5; ++i) {
    record(note());
    serve();
  }
  record(note("Trouble"));
  bool done = false;
  recorder->flush([&] { done = true; });
  reactor.run();
  EXPECT_FALSE(done);
  serve(503);
  EXPECT_TRUE(done) << "no second try while shutting down";
  record(note("Late"));
  EXPECT_THAT(wire.waiting, SizeIs(0));
}

}  // namespace
}  // namespace kube::testing
