// Credentials that change while requests go on: T11 to T16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "kube/auth/credentials.h"
#include "kube/curl_transport.h"
#include "kube/support/fake_server.h"
#include "kube/support/temporary.h"
#include "kube/support/transport_fixture.h"

namespace kube::test {
namespace {

using testing::HasSubstr;
using Kind = TransportError::Kind;

int status_of(const Answer& answer) {
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer ? answer->status : 0;
}

// A server that knows some tokens.
class TokenServer {
 public:
  explicit TokenServer(std::string token) : tokens_{std::move(token)} {}
  void accept_too(const std::string& token) {
    const std::lock_guard lock(mutex_);
    tokens_.insert(token);
  }
  void accept_only(const std::string& token) {
    const std::lock_guard lock(mutex_);
    tokens_ = {token};
  }
  bool accepts(const FakeExchange& exchange) {
    const std::string sent = exchange.request.header("authorization");
    const std::lock_guard lock(mutex_);
    return sent.starts_with("Bearer ") && tokens_.contains(sent.substr(7));
  }
  FakeServer server{[this](FakeExchange& exchange) {
    if (!accepts(exchange)) return exchange.respond(401, R"({"kind":"Status","code":401})");
    if (exchange.request.target.find("watch=true") == std::string::npos) return exchange.respond(200, "{}");
    exchange.start_stream();
    exchange.chunk("first\n");
    exchange.wait_until([this] { return more_.load(); });
    exchange.chunk("second\n");
    exchange.end_stream();
  }};
  std::atomic<bool> more_ = false;

 private:
  std::mutex mutex_;
  std::set<std::string> tokens_;  // guarded by mutex_
};

class CredentialsTest : public TransportFixture, public testing::Test {
 protected:
  // As the kubelet does: the directory that a symbolic link names is exchanged.
  std::string swap_token(const std::string& token) {
    const std::string version = "v" + std::to_string(++version_);
    files.write(version + "/token", token + "\n");
    std::filesystem::create_symlink(version, files.path() / "data.new");
    std::filesystem::rename(files.path() / "data.new", files.path() / "data");
    return (files.path() / "data" / "token").string();
  }
  ClientConfig config_for(const FakeServer& server) const {
    ClientConfig config;
    config.server = server.url();
    return config;
  }
  ExecConfig plugin(const std::string& commands) {
    ExecConfig exec;
    exec.api_version = "client.authentication.k8s.io/v1";
    exec.command = files.write_script("plugin", "echo run >> " + (files.path() / "runs").string() + "\n" + commands);
    return exec;
  }
  int runs() const { return static_cast<int>(std::ranges::count(files.read("runs"), '\n')); }

  TemporaryDirectory files;

 private:
  int version_ = 0;
};

std::string print_token(const std::string& token, const std::string& expires = "") {
  std::string status = R"("token":")" + token + "\"";
  if (!expires.empty()) status += R"(,"expirationTimestamp":")" + expires + "\"";
  return R"(cat <<'END'
{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{)" +
         status + "}}\nEND\n";
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
  tokens.more_ = true;
  ASSERT_TRUE(run_until([&] { return running->closed.has_value(); }));
  EXPECT_EQ(running->data, "first\nsecond\n");
  EXPECT_EQ(status_of(*running->closed), 200);
  const auto next = watch("/pods");
  ASSERT_TRUE(run_until([&] { return next->opened; }));
  EXPECT_EQ(tokens.server.requests().back().header("authorization"), "Bearer B");
}

TEST_F(CredentialsTest, T13_APluginWhoseCredentialsAreBornExpiredIsNotRunForEveryRequest) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = plugin(print_token("T", "2001-01-01T00:00:00Z"));
  options.exec_min_interval = seconds(60);
  connect(config);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(tokens.server.connections(), 1) << "the connection is kept";

  options.exec_min_interval = milliseconds(1);
  connect(config);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(status_of(get("/a")), 200);
    run_for(milliseconds(3));
  }
  EXPECT_LE(runs(), 1 + 5) << "at most one run for each request";
  EXPECT_EQ(tokens.server.connections(), 2) << "a new token needs no new connection";
}

TEST_F(CredentialsTest, T13_RequestsThatComeTogetherShareOneRun) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = plugin("sleep 0.2\n" + print_token("T", "2999-01-01T00:00:00+02:00"));
  connect(config);
  const auto stream = watch("/pods");
  std::vector<std::shared_ptr<std::optional<Answer>>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(begin({.path = "/a"}));
  for (const auto& answer : answers) {
    ASSERT_TRUE(run_until([&] { return answer->has_value(); }));
    EXPECT_EQ(status_of(**answer), 200);
  }
  EXPECT_TRUE(run_until([&] { return stream->opened; }));
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(observer->count("exec no_error"), 1);
}

TEST_F(CredentialsTest, T14_AMissingPluginIsOneClearErrorNotAStormOfProcesses) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = ExecConfig{.api_version = "client.authentication.k8s.io/v1",
                           .command = "no-such-credential-plugin",
                           .install_hint = "get it from the vendor\n"};
  options.exec_backoff = milliseconds(200);
  connect(config);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) {
    const Answer answer = get("/a");
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().kind, Kind::credentials);
    EXPECT_FALSE(answer.error().sent);
    EXPECT_EQ(
        answer.error().message,
        "the credential plugin \"no-such-credential-plugin\" was not found: install it or put it into PATH; get it "
        "from the vendor");
  }
  EXPECT_EQ(observer->count("exec plugin_not_found_error"), 1);
  run_for(milliseconds(220));
  get("/a");
  EXPECT_EQ(observer->count("exec plugin_not_found_error"), 2);
  run_for(milliseconds(220));
  get("/a");
  EXPECT_EQ(observer->count("exec plugin_not_found_error"), 2) << "the pause has doubled";
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << "one line for one defect: " << log;
  EXPECT_EQ(tokens.server.connections(), 0);
}

TEST_F(CredentialsTest, T14_PluginsThatMisbehaveAreNamedWithTheirDefect) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); });
  const auto message_of = [&](const std::string& commands) {
    ClientConfig config = config_for(server);
    config.exec = plugin(commands);
    options.exec_timeout = milliseconds(300);
    connect(config);
    const Answer answer = get("/a");
    EXPECT_FALSE(answer.has_value()) << commands;
    return answer ? std::string() : answer.error().message;
  };
  EXPECT_THAT(message_of("echo 'no session, log in first' >&2; exit 3"),
              HasSubstr("ended with code 3: no session, log in first"));
  EXPECT_THAT(message_of("sleep 60 & sleep 60"), HasSubstr("did not end within 300 ms"));
  EXPECT_THAT(message_of("yes"), HasSubstr("wrote more than"));
  EXPECT_THAT(message_of("echo hello"), HasSubstr("not a JSON object"));
  EXPECT_THAT(message_of("echo '{}'"), HasSubstr("want \"ExecCredential\""));
  EXPECT_THAT(
      message_of(R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}}')"),
      HasSubstr("neither a token nor a client certificate"));
  EXPECT_THAT(message_of(print_token("a\\nb")), HasSubstr("line break"));
  EXPECT_THAT(message_of(print_token("t", "tomorrow")), HasSubstr("RFC 3339"));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(CredentialsTest, T15_A401IsAnsweredByOneAttemptWithFreshCredentials) {
  TokenServer tokens("two");
  ClientConfig config = config_for(tokens.server);
  const std::string first_run = "[ $(wc -l < " + (files.path() / "runs").string() + ") = 1 ]";
  config.exec = plugin("if " + first_run + "; then\n" + print_token("one") + "else\n" + print_token("two") + "fi");
  options.exec_min_interval = milliseconds(0);
  connect(config);
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(runs(), 2);
  EXPECT_EQ(observer->count("retry GET 401"), 1);

  tokens.accept_only("three");
  EXPECT_EQ(status_of(get("/a")), 401) << "once, then the caller is told";
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

TEST_F(CredentialsTest, APluginsCertificateIsUsedAndItsTokenToo) {
  const Authority authority("both");
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); },
                    {.tls = authority.server(), .client_ca = authority.certificate()});
  const KeyPair pair = authority.client("from-plugin");
  files.write("pair.crt", pair.certificate);
  files.write("pair.key", pair.key);
  const std::string directory = files.path().string();
  const std::string escape = R"(sed ':a;N;$!ba;s/\n/\\n/g' )" + directory;
  ClientConfig config = config_for(server);
  config.tls.ca_data = authority.certificate();
  config.exec = plugin(
      "printf "
      "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t\","
      "\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}}' \"$(" +
      escape + "/pair.crt)\" \"$(" + escape + "/pair.key)\"");
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.requests().back().client_name, "from-plugin");
  EXPECT_EQ(server.requests().back().header("authorization"), "Bearer t");
}

TEST_F(CredentialsTest, ThePluginIsToldWhatItAsksFor) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = plugin("echo \"$KUBERNETES_EXEC_INFO\" > " + (files.path() / "info").string() +
                       "; echo \"$EXTRA $1\" > " + (files.path() / "extra").string() + "\n" + print_token("T"));
  config.exec->args = {"argument"};
  config.exec->env = {{"EXTRA", "value"}};
  config.exec->provide_cluster_info = true;
  config.exec->cluster_config_json = R"({"audience":"x"})";
  connect(config);
  ASSERT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(files.read("info"),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false,)"
            R"("cluster":{"server":")" +
                config.server +
                R"(","config":{"audience":"x"}}}})"
                "\n");
  EXPECT_EQ(files.read("extra"), "value argument\n");
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
