// Credential plugins: T13 to T15.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "kube/auth/plugin_policy.h"
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

std::string print_token(const std::string& token, const std::string& expires = "") {
  std::string status = R"("token":")" + token + "\"";
  if (!expires.empty()) status += R"(,"expirationTimestamp":")" + expires + "\"";
  return R"(cat <<'END'
{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{)" +
         status + "}}\nEND\n";
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

TEST_F(CredentialsTest, T13_CredentialsMayBeGoodForCenturies) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = plugin(print_token("T", "2999-01-01T00:00:00Z"));
  options.exec_min_interval = milliseconds(1);
  connect(config);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(status_of(get("/a")), 200);
    run_for(milliseconds(3));
  }
  EXPECT_EQ(runs(), 1);
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
  const base::MonoTime start = reactor.now();
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
  // However long the calls took: pauses of 200, 400, … ms lie between the attempts.
  const auto attempts = [&] { return observer->count("exec plugin_not_found_error"); };
  EXPECT_GE(attempts(), 1);
  EXPECT_LE(options.exec_backoff * ((1 << (attempts() - 1)) - 1), reactor.now() - start);
  for (const int before = attempts(); attempts() < before + 2;) {
    run_for(milliseconds(20));
    get("/a");
    ASSERT_LE(options.exec_backoff * ((1 << (attempts() - 1)) - 1), reactor.now() - start);
  }
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
  EXPECT_THAT(message_of("exec >&- 2>&-; sleep 60"), HasSubstr("did not end within 300 ms"));
  EXPECT_THAT(message_of("yes"), HasSubstr("wrote more than"));
  EXPECT_THAT(message_of("echo hello"), HasSubstr("not a JSON object"));
  EXPECT_THAT(message_of("echo '{}'"), HasSubstr("want \"ExecCredential\""));
  EXPECT_THAT(
      message_of(R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}}')"),
      HasSubstr("neither a token nor a client certificate"));
  EXPECT_THAT(message_of(print_token("a\\nb")), HasSubstr("line break"));
  EXPECT_THAT(message_of(print_token("a\\u0000b")), HasSubstr("line break"));
  EXPECT_THAT(message_of(print_token("t", "tomorrow")), HasSubstr("RFC 3339"));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(CredentialsTest, ThePolicySaysWhichPluginsMayRun) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = plugin(print_token("T"));
  const std::string path = config.exec->command;
  const std::string other = files.write_script("other", "true");
  using Policy = PluginPolicy;
  const auto refusal = [&](Policy policy) -> std::string {
    config.exec->policy = std::move(policy);
    auto transport = make_transport(config, reactor, options);
    return transport ? "" : transport.error().message;
  };
  const std::string refused = "the credential plugin \"" + path + "\" is not allowed: ";
  EXPECT_EQ(refusal({Policy::Type::deny_all, {}}), refused + "the policy is DenyAll");
  EXPECT_EQ(refusal({Policy::Type::allowlist, {other, "plugin", "no-such-plugin", ""}}),
            refused + path + " is not on the allowlist");
  EXPECT_EQ(runs(), 0);
  EXPECT_EQ(refusal({Policy::Type::allowlist, {other, files.path().string() + "/./plugin"}}), "");
  connect(config);
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(runs(), 1);

  // A name is what PATH makes of it.
  EXPECT_EQ(look_path("no-such-plugin"), std::nullopt);
  ASSERT_TRUE(look_path("sh"));
  config.exec->command = *look_path("sh");
  EXPECT_EQ(refusal({Policy::Type::allowlist, {"sh"}}), "");
  config.exec->command = "no-such-plugin";
  EXPECT_THAT(refusal({Policy::Type::allowlist, {"no-such-plugin"}}), HasSubstr("was not found"));
}

TEST_F(CredentialsTest, AnAllowedPluginThatIsReplacedByALinkElsewhereIsComparedAnew) {
  TokenServer tokens("T");
  ClientConfig config = config_for(tokens.server);
  config.exec = plugin(print_token("T", "2001-01-01T00:00:00Z"));
  config.exec->policy = {PluginPolicy::Type::allowlist, {config.exec->command}};
  options.exec_min_interval = milliseconds(1);
  connect(config);
  EXPECT_EQ(status_of(get("/a")), 200);
  std::filesystem::remove(config.exec->command);
  run_for(milliseconds(5));
  get("/a");
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(observer->count("exec client_internal_error"), 1);
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

}  // namespace
}  // namespace kube::test
