#include "kube/probe_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <list>
#include <sstream>

namespace kube {
namespace {

using boost::asio::ip::tcp;

struct Reply {
  int status = 0;
  std::string head;
  std::string body;
};

// Sends `raw` and reads until the server closes.
Reply talk(std::uint16_t port, const std::string& raw) {
  tcp::iostream stream("127.0.0.1", std::to_string(port));
  stream.expires_after(std::chrono::seconds(20));
  stream << raw << std::flush;
  std::ostringstream all;
  all << stream.rdbuf();
  Reply reply;
  const std::string text = all.str();
  const std::size_t end = text.find("\r\n\r\n");
  if (text.size() > 12) reply.status = std::atoi(text.substr(9, 3).c_str());
  if (end != std::string::npos) reply.head = text.substr(0, end), reply.body = text.substr(end + 4);
  return reply;
}
Reply get(std::uint16_t port, const std::string& target, const std::string& method = "GET") {
  return talk(port, method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

struct ProbeServerTest : ::testing::Test {
  ProbeOptions options() {
    ProbeOptions o;
    o.metrics_address = "127.0.0.1:0";
    o.health_address = "127.0.0.1:0";
    o.metrics = [] { return std::string("up 1\n"); };
    o.healthz = {{"ping", [] { return std::optional<std::string>(); }}};
    o.readyz = {{"ping", [] { return std::optional<std::string>(); }},
                {"synced", [this]() -> std::optional<std::string> {
                   return ready ? std::optional<std::string>() : "widgets are not listed yet";
                 }}};
    return o;
  }
  std::unique_ptr<ProbeServer> start(ProbeOptions o) {
    auto server = ProbeServer::start(std::move(o));
    EXPECT_TRUE(server) << server.error().message;
    return server ? std::move(*server) : nullptr;
  }
  std::atomic<bool> ready{false};
};

TEST_F(ProbeServerTest, HealthAndReadinessAsControllerRuntimeAnswers) {
  const auto server = start(options());
  const std::uint16_t port = server->health_port();
  EXPECT_EQ(get(port, "/healthz").status, 200);
  EXPECT_EQ(get(port, "/healthz").body, "ok");
  EXPECT_EQ(get(port, "/healthz/").body, "ok");
  EXPECT_EQ(get(port, "/healthz/ping").body, "ok");
  EXPECT_EQ(get(port, "/healthz?verbose").body, "[+]ping ok\nhealthz check passed\n");
  EXPECT_EQ(get(port, "/healthz/nothing").status, 404);

  const Reply unready = get(port, "/readyz");
  EXPECT_EQ(unready.status, 500);
  EXPECT_EQ(unready.body, "[+]ping ok\n[-]synced failed: widgets are not listed yet\nreadyz check failed\n");
  EXPECT_EQ(get(port, "/readyz?exclude=synced").status, 200);
  ready = true;
  EXPECT_EQ(get(port, "/readyz").body, "ok");
  EXPECT_EQ(get(port, "/readyz?verbose=true").body, "[+]ping ok\n[+]synced ok\nreadyz check passed\n");
}

TEST_F(ProbeServerTest, MetricsAreOnTheirOwnAddress) {
  const auto server = start(options());
  EXPECT_EQ(get(server->metrics_port(), "/metrics").body, "up 1\n");
  EXPECT_NE(get(server->metrics_port(), "/metrics").head.find("text/plain; version=0.0.4"), std::string::npos);
  EXPECT_EQ(get(server->metrics_port(), "/healthz").status, 404);
  EXPECT_EQ(get(server->health_port(), "/metrics").status, 404);
}

TEST_F(ProbeServerTest, MethodsAndTargetsThatAreNotServed) {
  const auto server = start(options());
  const std::uint16_t port = server->health_port();
  EXPECT_EQ(get(port, "/").status, 404);
  EXPECT_EQ(get(port, "/healthzz").status, 404);
  EXPECT_EQ(get(port, "/healthz", "DELETE").status, 405);
  const Reply head = get(port, "/healthz", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_NE(head.head.find("Content-Length: 2"), std::string::npos);
}

TEST_F(ProbeServerTest, AConnectionServesSeveralRequests) {
  const auto server = start(options());
  const Reply both = talk(server->health_port(),
                          "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
                          "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(both.status, 200);
  EXPECT_NE(both.body.find("HTTP/1.1 200"), std::string::npos);
}

TEST_F(ProbeServerTest, BadClientsGetNothingAndHurtNobody) {
  const auto server = start(options());
  const std::uint16_t port = server->health_port();
  EXPECT_EQ(talk(port, "\x16\x03\x01 this is not HTTP\r\n\r\n").status, 0);
  EXPECT_EQ(talk(port, "GET /" + std::string(20000, 'x') + " HTTP/1.1\r\n\r\n").status, 0);
  // Clients that connect and say nothing take the places there are, not the server.
  std::list<tcp::iostream> idle;
  for (int i = 0; i < 40; ++i) idle.emplace_back("127.0.0.1", std::to_string(port));
  EXPECT_EQ(get(port, "/healthz").status, 200);
  for (int i = 0; i < 60; ++i) idle.emplace_back("127.0.0.1", std::to_string(port));
  EXPECT_EQ(get(port, "/healthz").status, 0) << "more than it wants to hold are turned away";
  idle.clear();
  for (int i = 0; i < 100 && get(port, "/healthz").status != 200; ++i) {
  }
  EXPECT_EQ(get(port, "/healthz").status, 200);
}

TEST_F(ProbeServerTest, ZeroTurnsItOffAndOneAddressServesBoth) {
  ProbeOptions off = options();
  off.metrics_address = "0";
  off.health_address = "";
  const auto none = start(std::move(off));
  EXPECT_EQ(none->metrics_port(), 0);
  EXPECT_EQ(none->health_port(), 0);

  // A port that was free a moment ago.
  ProbeOptions one = options();
  const std::uint16_t free_port = [&] { return start(options())->health_port(); }();
  one.metrics_address = one.health_address = "127.0.0.1:" + std::to_string(free_port);
  const auto shared = start(std::move(one));
  EXPECT_EQ(get(shared->metrics_port(), "/metrics").status, 200);
  EXPECT_EQ(get(shared->health_port(), "/healthz").status, 200);
}

TEST_F(ProbeServerTest, AddressesThatCannotBeAreNamed) {
  for (const std::string bad : {"8080", "host:80", "127.0.0.1:99999", "127.0.0.1:x", ":", "1.2.3.4.5:80"}) {
    ProbeOptions o = options();
    o.health_address = bad;
    const auto server = ProbeServer::start(std::move(o));
    ASSERT_FALSE(server) << bad;
    EXPECT_NE(server.error().message.find('"' + bad + '"'), std::string::npos);
  }
  const auto first = start(options());
  ProbeOptions taken = options();
  taken.health_address = "127.0.0.1:" + std::to_string(first->health_port());
  const auto second = ProbeServer::start(std::move(taken));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos);
}

TEST_F(ProbeServerTest, AnEmptyHostMeansEveryAddress) {
  ProbeOptions o = options();
  o.health_address = ":0";
  const auto server = start(std::move(o));
  EXPECT_EQ(get(server->health_port(), "/healthz").status, 200);
}

}  // namespace
}  // namespace kube
