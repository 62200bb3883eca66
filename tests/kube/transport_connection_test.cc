// Connections that die, stall and break: T01 to T07 and T10.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "kube/support/fake_server.h"
#include "kube/support/fault_proxy.h"
#include "kube/support/http2_front.h"
#include "kube/support/transport_fixture.h"

namespace kube::test {
namespace {

using testing::HasSubstr;
using Kind = TransportError::Kind;
using Mode = FaultProxy::Mode;

std::string url(int port, bool tls = false) {
  return (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port);
}

bool is_watch(const FakeExchange& exchange) { return exchange.request.target.find("watch=true") != std::string::npos; }

// Answers requests at once; watches get one line and then silence until the client goes.
void well_behaved(FakeExchange& exchange) {
  if (!is_watch(exchange)) return exchange.respond(200, R"({"ok":true})");
  exchange.start_stream();
  exchange.chunk("first\n");
  exchange.stall();
}

int status_of(const Answer& answer) {
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer ? answer->status : 0;
}

int count_of(const FakeServer& server, const std::string& method) {
  return static_cast<int>(std::ranges::count(server.requests(), method, &SeenRequest::method));
}

class Connection : public TransportFixture, public testing::Test {
 protected:
  // A watch that has begun behind the proxy, which then turns bad; returns when the watch has ended.
  void watch_dies(FaultProxy& proxy, Mode mode, base::Duration idle) {
    const auto lost = watch("/pods", idle);
    ASSERT_TRUE(run_until([&] { return lost->data == "first\n"; }));
    const base::MonoTime silent_since = reactor.now();
    proxy.set_existing(mode);
    ASSERT_TRUE(run_until([&] { return lost->closed.has_value(); }));
    ASSERT_FALSE(lost->closed->has_value());
    EXPECT_EQ(lost->closed->error().kind, Kind::timeout) << lost->closed->error().message;
    EXPECT_GE(reactor.now() - silent_since, idle * 9 / 10);
    EXPECT_LT(reactor.now() - silent_since, seconds(3));
    EXPECT_EQ(lost->closings, 1);
  }
};

TEST_F(Connection, T01_ABlackHoledWatchIsNoticedAndTheNextOneIsFresh) {
  FakeServer server(well_behaved);
  FaultProxy proxy(server.port());
  connect(url(proxy.port()));
  watch_dies(proxy, Mode::stuck, milliseconds(300));
  const auto next = watch("/pods");
  EXPECT_TRUE(run_until([&] { return next->data == "first\n"; }));
  EXPECT_EQ(proxy.connections(), 2);
}

TEST_F(Connection, T02_AConnectionThatIsAcknowledgedButUnansweredCountsAsDead) {
  FakeServer server(well_behaved);
  FaultProxy proxy(server.port());
  connect(url(proxy.port()));
  watch_dies(proxy, Mode::swallow, milliseconds(300));
  ASSERT_EQ(status_of(get("/a")), 200);
  proxy.set_existing(Mode::swallow);
  const Answer lost = get("/b", milliseconds(200));
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().kind, Kind::timeout);
  EXPECT_TRUE(lost.error().sent);
  EXPECT_EQ(status_of(get("/c")), 200);
}

TEST_F(Connection, T03_AStoppedServerCostsOneDeadlineAndTheNextCallConnectsAnew) {
  std::atomic<bool> stopped = true;
  FakeServer server([&](FakeExchange& exchange) {
    if (stopped.exchange(false)) return exchange.stall();
    exchange.respond(200);
  });
  connect(server.url());
  const base::MonoTime start = reactor.now();
  const Answer lost = get("/a", milliseconds(300));
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().kind, Kind::timeout);
  EXPECT_LT(reactor.now() - start, seconds(3));
  EXPECT_EQ(status_of(get("/b")), 200);
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(Connection, T04_ADeadHttp2ConnectionIsNotUsedAgain) {
  FakeServer server(well_behaved);
  Http2Front front(SharedTls::get().server, server.port());
  FaultProxy proxy(front.port());
  connect(url(proxy.port(), true), SharedTls::get().authority.certificate());
  for (int i = 0; i < 5; ++i) ASSERT_EQ(status_of(get("/warm-up")), 200);
  ASSERT_EQ(proxy.connections(), 1) << "HTTP/2 requests share a connection";
  proxy.set_existing(Mode::swallow);
  EXPECT_FALSE(get("/1", milliseconds(300)).has_value());
  for (int i = 2; i <= 5; ++i) EXPECT_EQ(status_of(get("/next", milliseconds(1000))), 200) << i;
  EXPECT_EQ(proxy.connections(), 2);
}

TEST_F(Connection, T04_OneSlowAnswerDoesNotCostTheOthersTheirHttp2Connection) {
  FakeServer server([](FakeExchange& exchange) {
    if (exchange.request.target == "/slow") return exchange.stall();
    exchange.respond(200);
  });
  Http2Front front(SharedTls::get().server, server.port());
  FaultProxy proxy(front.port());
  connect(url(proxy.port(), true), SharedTls::get().authority.certificate());
  ASSERT_EQ(status_of(get("/quick")), 200);
  const auto slow = begin({.path = "/slow", .timeout = milliseconds(400)});
  while (!slow->has_value()) {
    ASSERT_EQ(status_of(get("/quick")), 200);
    run_for(milliseconds(20));
  }
  EXPECT_EQ((*slow)->error().kind, Kind::timeout);
  EXPECT_EQ(status_of(get("/quick")), 200);
  EXPECT_EQ(proxy.connections(), 1);
}

TEST_F(Connection, T05_ARequestThatWaitsForAnothersHandshakeKeepsItsOwnDeadline) {
  FakeServer server(well_behaved, {.tls = SharedTls::get().server, .handshake_delay = milliseconds(1500)});
  connect(server.url(), SharedTls::get().authority.certificate());
  const auto first = begin({.path = "/a", .timeout = milliseconds(300)});
  run_for(milliseconds(100));
  const auto second = begin({.path = "/b", .timeout = milliseconds(3000)});
  ASSERT_TRUE(run_until([&] { return first->has_value(); }));
  ASSERT_FALSE((*first)->has_value());
  EXPECT_EQ((*first)->error().kind, Kind::timeout);
  EXPECT_FALSE((*first)->error().sent) << "nothing is sent before the handshake";
  server.set_handshake_delay({});
  const base::MonoTime start = reactor.now();
  ASSERT_TRUE(run_until([&] { return second->has_value(); }));
  EXPECT_EQ(status_of(**second), 200);
  EXPECT_LT(reactor.now() - start, milliseconds(2900));
}

TEST_F(Connection, T06_AWatchWhoseHeadersNeverComeEndsAfterItsHeaderTimeout) {
  FakeServer server([](FakeExchange& exchange) { exchange.stall(); });
  connect(server.url());
  const base::MonoTime start = reactor.now();
  const auto refused = watch("/pods", seconds(60), milliseconds(250));
  ASSERT_TRUE(run_until([&] { return refused->closed.has_value(); }));
  EXPECT_LT(reactor.now() - start, seconds(3));
  ASSERT_FALSE(refused->closed->has_value());
  EXPECT_EQ(refused->closed->error().kind, Kind::timeout);
  EXPECT_THAT(refused->closed->error().message, HasSubstr("no response headers within 250 ms"));
  EXPECT_FALSE(refused->opened);
}

TEST_F(Connection, T07_AGetWhoseConnectionBreaksIsSentOnceMoreOnAFreshOne) {
  std::atomic<int> breaks = 1;
  FakeServer server([&](FakeExchange& exchange) {
    if (breaks-- > 0) return exchange.reset();
    exchange.respond(200);
  });
  connect(server.url());
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(observer->count("retry GET 0"), 1);

  breaks = 5;
  const Answer lost = get("/b");
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().kind, Kind::reset);
  EXPECT_EQ(breaks, 3) << "twice, not more";
}

TEST_F(Connection, T07_AWriteWhoseConnectionBreaksIsNotRepeated) {
  std::atomic<bool> break_next = true;
  FakeServer server([&](FakeExchange& exchange) {
    if (exchange.request.method != "GET" && break_next) return exchange.reset();
    exchange.respond(200);
  });
  connect(server.url());
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE"}) {
    // The connection has been used before: here libcurl would repeat the write by itself.
    ASSERT_EQ(status_of(get("/warm-up")), 200);
    const Answer lost = write(method, "/object");
    ASSERT_FALSE(lost.has_value()) << method;
    EXPECT_EQ(lost.error().kind, Kind::reset);
    EXPECT_TRUE(lost.error().sent) << "its fate is unknown";
    EXPECT_EQ(count_of(server, method), 1);
  }
  break_next = false;
  EXPECT_EQ(status_of(write("POST", "/object")), 200);
}

TEST_F(Connection, T07_OverHttp2Too) {
  FakeServer server([&](FakeExchange& exchange) {
    if (exchange.request.target == "/slow") return exchange.stall();
    exchange.respond(200);
  });
  Http2Front front(SharedTls::get().server, server.port());
  FaultProxy proxy(front.port());
  connect(url(proxy.port(), true), SharedTls::get().authority.certificate());
  ASSERT_EQ(status_of(get("/warm-up")), 200);
  const auto read = begin({.path = "/slow", .timeout = milliseconds(700)});
  const auto written =
      begin({.method = "PATCH", .path = "/slow", .content_type = "application/merge-patch+json", .body = "{}"});
  ASSERT_TRUE(run_until([&] { return server.requests().size() == 3; }));
  proxy.set(1, Mode::reset);
  ASSERT_TRUE(run_until([&] { return written->has_value(); }));
  ASSERT_FALSE((*written)->has_value());
  EXPECT_TRUE((*written)->error().sent);
  EXPECT_EQ((*written)->error().kind, Kind::reset);
  ASSERT_TRUE(run_until([&] { return read->has_value(); }));
  EXPECT_EQ(count_of(server, "GET"), 3) << "warm-up, first attempt, repetition";
  EXPECT_EQ(count_of(server, "PATCH"), 1);
  EXPECT_GE(proxy.connections(), 2);
}

TEST_F(Connection, T07_AKeptConnectionThatTheServerClosedCostsNothing) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.respond(200);
    if (exchange.request.connection == 1) exchange.reset();
  });
  connect(server.url());
  ASSERT_EQ(status_of(get("/a")), 200);
  run_for(milliseconds(50));
  EXPECT_EQ(status_of(write("POST", "/b")), 200);
  EXPECT_EQ(count_of(server, "POST"), 1);
}

TEST_F(Connection, T10_StreamsThatAProxyCutsDoNotHurtRequests) {
  FakeServer server(well_behaved);
  FaultProxy proxy(server.port());
  proxy.set_max_age(milliseconds(300));
  connect(url(proxy.port()));
  const auto cut = watch("/pods", seconds(10));
  const auto slow_list = begin({.path = "/list"});
  ASSERT_TRUE(run_until([&] { return slow_list->has_value(); }));
  ASSERT_TRUE(run_until([&] { return cut->closed.has_value(); }));
  ASSERT_FALSE(cut->closed->has_value());
  EXPECT_EQ(cut->closed->error().kind, Kind::reset);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(status_of(get("/list")), 200);
}

TEST_F(Connection, T10_Http11ForEverythingIsAnOptionAway) {
  FakeServer server(well_behaved);
  Http2Front front(SharedTls::get().server, server.port());
  FaultProxy proxy(front.port());
  options.http2 = false;
  connect(url(proxy.port(), true), SharedTls::get().authority.certificate());
  std::vector<std::shared_ptr<std::optional<Answer>>> answers;
  for (int i = 0; i < 8; ++i) answers.push_back(begin({.path = "/a"}));
  for (const auto& answer : answers) ASSERT_TRUE(run_until([&] { return answer->has_value(); }));
  EXPECT_GT(proxy.connections(), 1) << "HTTP/1.1 does not share a connection between requests in flight";
  EXPECT_LE(proxy.connections(), options.max_connections);
}

TEST_F(Connection, EachStreamAndTheLeaseHaveConnectionsOfTheirOwn) {
  FakeServer server(well_behaved, {.tls = SharedTls::get().server});
  connect(server.url(), SharedTls::get().authority.certificate());
  const auto one = watch("/pods");
  const auto two = watch("/nodes");
  ASSERT_TRUE(run_until([&] { return !one->data.empty() && !two->data.empty(); }));
  ASSERT_EQ(status_of(get("/a")), 200);
  ASSERT_EQ(status_of(call({.path = "/lease", .lane = Lane::lease})), 200);
  ASSERT_EQ(status_of(get("/b")), 200);
  EXPECT_EQ(server.connections(), 4);
  const auto requests = server.requests();
  EXPECT_EQ(requests[2].header("user-agent"), options.user_agent);
  EXPECT_EQ(requests[3].header("user-agent"), options.user_agent + "/leader-election");
}

TEST_F(Connection, AWatchThatOutlivesItsTimeoutSecondsIsEnded) {
  // The cap is the header time-out, timeoutSeconds and ten seconds: too long for a test, so only that it does not
  // strike early.
  FakeServer server([](FakeExchange& exchange) {
    exchange.start_stream();
    for (int i = 0; i < 20; ++i) {
      exchange.chunk("x");
      std::this_thread::sleep_for(milliseconds(60));
    }
    exchange.end_stream();
  });
  connect(server.url() + "/");
  const auto regular = watch("/pods?timeoutSeconds=1");
  ASSERT_TRUE(run_until([&] { return regular->closed.has_value(); }));
  ASSERT_TRUE(regular->closed->has_value());
  EXPECT_EQ((*regular->closed)->status, 200);
  EXPECT_EQ((*regular->closed)->body, "");
  EXPECT_EQ(regular->data, std::string(20, 'x'));
}

}  // namespace
}  // namespace kube::test
