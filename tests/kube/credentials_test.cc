// Credentials that change while requests go on: T11, T12, T15, T16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "kube/curl_transport.h"
#include "kube/support/credentials_fixture.h"

namespace kube::test {
namespace {

using testing::HasSubstr;
using Kind = TransportError::Kind;

int status_of(const Answer& answer) {
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer ? answer->status : 0;
}

TEST_F(CredentialsTest, T11_ARotatedTokenFileIsReadAgainAndNoRequestFails) {
  TokenServer tokens("A");
  ClientConfig config = config_for(tokens.server);
  config.token_file = swap_token("A");
  options.token_reload = milliseconds(200);
  connect(config);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(status_of(get("/a")), 200);
  // As in a cluster, the new token is valid from its writing on, the old one for some time to come.
  tokens.accept_too("B");
  swap_token("B");
  const base::MonoTime rotated = reactor.now();
  while (tokens.server.requests().back().header("authorization") != "Bearer B") {
    ASSERT_LT(reactor.now() - rotated, seconds(5));
    ASSERT_EQ(status_of(get("/a")), 200);
    run_for(milliseconds(5));
  }
  EXPECT_LT(reactor.now() - rotated, seconds(1));
  tokens.accept_only("B");
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(observer->count("token updated"), 1);
}

TEST_F(CredentialsTest, T11_TheTokenFileIsNotReadForEveryRequest) {
  TokenServer tokens("A");
  ClientConfig config = config_for(tokens.server);
  config.token_file = swap_token("A");
  connect(config);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(observer->count("token unchanged"), 0) << "read at the start, then at most once a minute";
}

TEST_F(CredentialsTest, T11_AnUnreadableTokenFileKeepsTheOldToken) {
  TokenServer tokens("A");
  ClientConfig config = config_for(tokens.server);
  config.token_file = swap_token("A");
  options.token_reload = milliseconds(1);
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  std::filesystem::remove(files.path() / "data");
  run_for(milliseconds(5));
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_GE(observer->count("token read_error"), 1);
  swap_token("");
  run_for(milliseconds(5));
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_GE(observer->count("token empty"), 1);
}

TEST_F(CredentialsTest, T12_ARunningWatchOutlivesItsToken) {
  TokenServer tokens("A");
  ClientConfig config = config_for(tokens.server);
  config.token_file = swap_token("A");
  options.token_reload = milliseconds(20);
  connect(config);
  const auto running = watch("/pods");
  ASSERT_TRUE(run_until([&] { return running->data == "first\n"; }));
  swap_token("B");
  tokens.accept_only("B");
  run_for(milliseconds(30));
  ASSERT_EQ(status_of(get("/a")), 200);
  tokens.more = true;
  ASSERT_TRUE(run_until([&] { return running->closed.has_value(); }));
  EXPECT_EQ(running->data, "first\nsecond\n");
  EXPECT_EQ(status_of(*running->closed), 200);
  const auto next = watch("/pods");
  ASSERT_TRUE(run_until([&] { return next->opened; }));
  EXPECT_EQ(tokens.server.requests().back().header("authorization"), "Bearer B");
}

TEST_F(CredentialsTest, T15_AlsoForWritesAndWatchesBecauseA401ProvesThatNothingHappened) {
  TokenServer tokens("A");
  ClientConfig config = config_for(tokens.server);
  config.token_file = swap_token("A");
  options.token_reload = milliseconds(900);
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  run_for(milliseconds(950));
  ASSERT_EQ(status_of(get("/a")), 200);
  // Revoked at once: only the refusal tells us before the next reading is due. Two readings are a second apart at least
  // here.
  swap_token("B");
  tokens.accept_only("B");
  run_for(milliseconds(1));
  const auto until_accepted = [&](const std::string& method) {
    for (int i = 0; i < 200; ++i) {
      if (status_of(write(method, "/a")) == 200) return true;
      run_for(milliseconds(10));
    }
    return false;
  };
  EXPECT_TRUE(until_accepted("POST"));
  const auto stream = watch("/pods");
  EXPECT_TRUE(run_until([&] { return stream->opened; }));
}

TEST_F(CredentialsTest, T15_AFixedTokenThatIsRefusedIsNotTriedAgain) {
  TokenServer tokens("A");
  ClientConfig config = config_for(tokens.server);
  config.token = "wrong";
  connect(config);
  EXPECT_EQ(status_of(get("/a")), 401);
  EXPECT_EQ(tokens.server.requests().size(), 1u);
}

TEST_F(CredentialsTest, T16_ANewAuthorityIsTrustedWithinTheCheckPeriod) {
  const Authority first("first");
  const Authority second("second");
  ClientConfig config;
  config.tls.ca_file = files.write("ca.crt", first.certificate());
  options.certificate_reload = milliseconds(100);
  const auto script = [](FakeExchange& exchange) { exchange.respond(200); };
  int port = 0;
  {
    FakeServer server(script, {.tls = first.server()});
    port = server.port();
    config.server = server.url();
    connect(config);
    ASSERT_EQ(status_of(get("/a")), 200);
    // Garbage is counted and ignored.
    files.write("ca.crt", "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
    run_for(milliseconds(250));
    EXPECT_EQ(status_of(get("/a")), 200);
    EXPECT_GE(observer->count("ca ca_parse_error"), 1);
    std::filesystem::remove(files.path() / "ca.crt");
    run_for(milliseconds(250));
    EXPECT_GE(observer->count("ca read_error"), 1);
  }
  FakeServer server(script, {.tls = second.server(), .port = port});
  const Answer distrusted = get("/a");
  ASSERT_FALSE(distrusted.has_value());
  EXPECT_EQ(distrusted.error().kind, Kind::tls) << distrusted.error().message;
  EXPECT_FALSE(distrusted.error().sent);
  files.write("ca.crt", second.certificate());
  run_for(milliseconds(250));
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(observer->count("ca updated"), 1);
}

TEST_F(CredentialsTest, T16_ANewClientCertificateReplacesConnectionsAndEndsWatches) {
  const Authority authority("both");
  FakeServer server(
      [](FakeExchange& exchange) {
        if (exchange.request.target.find("watch=true") == std::string::npos) return exchange.respond(200);
        exchange.start_stream();
        exchange.stall();
      },
      {.tls = authority.server(), .client_ca = authority.certificate()});
  const KeyPair old_pair = authority.client("old");
  ClientConfig config = config_for(server);
  config.tls.ca_data = authority.certificate();
  config.tls.certificate_file = files.write("tls.crt", old_pair.certificate);
  config.tls.key_file = files.write("tls.key", old_pair.key);
  options.certificate_reload = milliseconds(100);
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.requests().back().client_name, "old");
  const auto running = watch("/pods", seconds(60));
  ASSERT_TRUE(run_until([&] { return running->opened; }));

  // One file after the other: the half that does not fit yet is not used.
  const KeyPair new_pair = authority.client("new");
  files.write("tls.crt", new_pair.certificate);
  run_for(milliseconds(250));
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.requests().back().client_name, "old");
  EXPECT_FALSE(running->closed.has_value());
  files.write("tls.key", new_pair.key);
  ASSERT_TRUE(run_until([&] { return running->closed.has_value(); }));
  EXPECT_EQ(running->closed->error().kind, Kind::reset);
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.requests().back().client_name, "new");
}

TEST_F(CredentialsTest, HeadersSayWhoWeAre) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); });
  ClientConfig config = config_for(server);
  config.username = "user";
  config.password = "pass:word";
  config.impersonate = {
      .user = "somebody", .uid = "u1", .groups = {"g1", "g2"}, .extra = {{"acme.com/Scope", {"a", "b"}}}};
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  const auto headers = server.requests().front().headers;
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::ranges::count(headers, std::pair(name, value)) == 1;
  };
  EXPECT_TRUE(has("authorization", "Basic dXNlcjpwYXNzOndvcmQ="));
  EXPECT_TRUE(has("impersonate-user", "somebody"));
  EXPECT_TRUE(has("impersonate-uid", "u1"));
  EXPECT_TRUE(has("impersonate-group", "g1"));
  EXPECT_TRUE(has("impersonate-group", "g2"));
  EXPECT_TRUE(has("impersonate-extra-acme.com%2fscope", "a"));
  EXPECT_TRUE(has("impersonate-extra-acme.com%2fscope", "b"));
}

TEST_F(CredentialsTest, TheServersNameIsVerified) {
  const Authority authority("both");
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); },
                    {.tls = authority.server("DNS:kubernetes.example")});
  ClientConfig config = config_for(server);
  config.tls.ca_data = authority.certificate();
  connect(config);
  const Answer refused = get("/a");
  ASSERT_FALSE(refused.has_value()) << "the certificate is for another name than 127.0.0.1";
  EXPECT_EQ(refused.error().kind, Kind::tls);

  config.tls.server_name = "kubernetes.example";
  connect(config);
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.requests().back().header("host"), "127.0.0.1:" + std::to_string(server.port()));

  config.tls = TlsConfig{.insecure = true};
  connect(config);
  EXPECT_EQ(status_of(get("/a")), 200);

  config.tls = TlsConfig{};
  connect(config);
  EXPECT_FALSE(get("/a").has_value()) << "the system's roots do not know our authority";
}

TEST_F(CredentialsTest, AProxyIsAskedToConnect) {
  const Authority authority("both");
  FakeServer proxy([](FakeExchange& exchange) { exchange.respond(200, "from the proxy"); });
  ClientConfig config;
  config.server = "http://api.example:6443";
  config.proxy_url = proxy.url();
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(proxy.requests().back().target, "http://api.example:6443/a");
  config.server = "https://api.example:6443";
  connect(config);
  EXPECT_FALSE(get("/a", milliseconds(500)).has_value());
  EXPECT_EQ(proxy.requests().back().method, "CONNECT");
  EXPECT_EQ(proxy.requests().back().target, "api.example:6443");
}

TEST_F(CredentialsTest, WhatCannotWorkIsAnErrorAtStart) {
  const auto error_of = [&](const ClientConfig& config) {
    const auto made = make_transport(config, reactor);
    EXPECT_FALSE(made.has_value());
    return made ? std::string() : made.error().message;
  };
  const Authority authority("one");
  const KeyPair pair = authority.client("a");
  const KeyPair other = authority.client("b");
  ClientConfig config;
  config.server = "https://127.0.0.1:1";
  config.tls.ca_file = (files.path() / "missing").string();
  EXPECT_THAT(error_of(config), HasSubstr("certificate authority: " + config.tls.ca_file));
  config.tls.ca_file = files.write("empty", "\n");
  EXPECT_THAT(error_of(config), HasSubstr("the file is empty"));
  config.tls = {.ca_data = "not PEM"};
  EXPECT_THAT(error_of(config), HasSubstr("certificate authority holds no usable PEM certificate"));
  config.tls = {.certificate_data = pair.certificate, .key_data = other.key};
  EXPECT_THAT(error_of(config), HasSubstr("the client key does not belong to the client certificate"));
  config.tls = {.certificate_data = pair.certificate, .key_data = "nonsense"};
  EXPECT_THAT(error_of(config), HasSubstr("the client key is not usable"));
  config.tls = {};
  config.token_file = (files.path() / "missing").string();
  EXPECT_THAT(error_of(config), HasSubstr("token: " + config.token_file));
  config.token_file.clear();
  config.server = "ftp://x";
  EXPECT_THAT(error_of(config), HasSubstr("is not http(s)://host:port"));
}

}  // namespace
}  // namespace kube::test
