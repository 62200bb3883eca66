#include "kube/flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "kube/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

TEST(Flags, Durations) {
  EXPECT_EQ(parse_duration("300ms"), base::Duration(300ms));
  EXPECT_EQ(parse_duration("15s"), base::Duration(15s));
  EXPECT_EQ(parse_duration("1m30s"), base::Duration(90s));
  EXPECT_EQ(parse_duration("2h"), base::Duration(2h));
  for (const char* bad : {"", "15", "s", "-1s", "1.5s", "1 s", "1y", "1sm", "99999999999999999999s", "99999999h"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(100ms), "100ms");
  EXPECT_EQ(format_duration(0s), "0s");
}

// "" if the arguments are accepted, else what is said about them.
std::string parse(Flags& flags, std::vector<std::string> args) {
  CLI::App app;
  flags.add_to(app);
  std::ranges::reverse(args);
  try {
    app.parse(args);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(Flags, Defaults) {
  Flags flags;
  EXPECT_EQ(parse(flags, {}), "");
  EXPECT_FALSE(flags.leader_elect);
  EXPECT_EQ(flags.metrics_bind_address, ":8080");
  EXPECT_EQ(flags.health_probe_bind_address, ":8081");
  EXPECT_EQ(flags.max_concurrent_reconciles, 64U);
  EXPECT_EQ(flags.kube_api_qps, 0);
  EXPECT_EQ(flags.lease_duration, 15s);
}

TEST(Flags, AreReadAsGoProgramsWriteThem) {
  Flags flags;
  EXPECT_EQ(parse(flags, {"--leader-elect", "--metrics-bind-address=0", "--log-level=debug", "--log-format", "json",
                          "--leader-election-lease-duration=1m", "--kube-api-qps=20", "--kube-api-burst=30"}),
            "");
  EXPECT_TRUE(flags.leader_elect);
  EXPECT_EQ(flags.metrics_bind_address, "0");
  EXPECT_EQ(flags.log_level, base::log::Level::debug);
  EXPECT_EQ(flags.log_format, base::log::Format::json);
  EXPECT_EQ(flags.lease_duration, 1min);
  Flags off;
  EXPECT_EQ(parse(off, {"--leader-elect=false"}), "");
  EXPECT_FALSE(off.leader_elect);
}

TEST(Flags, BadValuesAreNamed) {
  for (const auto& [arg, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--log-level=loud", "loud"},
           {"--log-format=xml", "xml"},
           {"--credential-plugin-policy=deny", "\"deny\" is none of AllowAll, DenyAll, Allowlist"},
           {"--leader-election-retry-period=2", "\"2\" is no duration"},
           {"--leader-election-lease-duration=10ms", "less than 1s"},
           {"--max-concurrent-reconciles=0", "0"},
           {"--kube-api-qps=-1", "\"-1\" is no number from 0 to 1000000000"},
           {"--kube-api-burst=99999999999999999999", "is no number from 0 to"},
           {"--kube-api-burst=1.5", "1.5"},
           {"--kube-api-qps=fast", "fast"},
           {"--leader-election-namespace=Kube_System", "cannot be the name of a namespace"},
           {"--nonsense", "--nonsense"}}) {
    Flags flags;
    const std::string error = parse(flags, {arg});
    EXPECT_NE(error.find(said), std::string::npos) << arg << ": " << error;
    EXPECT_NE(error.find(arg.substr(0, arg.find('='))), std::string::npos) << error;
  }
}

ControllerMain main_of(base::Result<Controller> built) {
  ControllerMain what;
  what.name = "x-controller";
  what.description = "Does x.";
  what.version = "1.2.3";
  what.build = [built](const Surroundings&) { return built; };
  return what;
}

int run_with(std::vector<const char*> args, base::Result<Controller> built = Controller{}) {
  args.insert(args.begin(), "x-controller");
  return run(main_of(std::move(built)), static_cast<int>(args.size()), args.data());
}

TEST(Flags, CredentialPluginsAreLimitedAsInKubectl) {
  Flags flags;
  EXPECT_EQ(parse(flags, {"--credential-plugin-policy=Allowlist", "--credential-plugin-allowlist=a,/b/c",
                          "--credential-plugin-allowlist=d"}),
            "");
  EXPECT_EQ(flags.credential_plugins.type, PluginPolicy::Type::allowlist);
  EXPECT_EQ(flags.credential_plugins.allowlist, (std::vector<std::string>{"a", "/b/c", "d"}));
  EXPECT_TRUE(flags.validate());
  Flags denied;
  EXPECT_EQ(parse(denied, {"--credential-plugin-policy=DenyAll"}), "");
  EXPECT_TRUE(denied.validate());
  denied.credential_plugins.allowlist = {"a"};
  EXPECT_FALSE(denied.validate());
  denied.credential_plugins = {PluginPolicy::Type::allowlist, {}};
  EXPECT_FALSE(denied.validate());
}

TEST(Run, HelpAndVersion) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_with({"--help"}), 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  for (const char* flag : {"--kubeconfig", "--context", "--leader-elect", "--leader-election-namespace",
                           "--metrics-bind-address", "--health-probe-bind-address", "--log-level", "--log-format",
                           "--kube-api-qps", "--kube-api-burst", "--max-concurrent-reconciles", "Does x."}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_with({"--version"}), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "x-controller 1.2.3\n");
}

TEST(Run, WrongCommandLinesAreOneLineAndStatusTwo) {
  for (const auto& args : std::initializer_list<std::vector<const char*>>{{"--log-level=loud"}, {"--nonsense"}}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(run_with(args), 2);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    EXPECT_TRUE(said.starts_with("x-controller: ")) << said;
  }
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({}, base::fail("--own must not be so")), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "x-controller: --own must not be so\n");
}

TEST(Run, ABadKubeconfigIsOneLineThatNamesIt) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_with({"--kubeconfig=/nonexistent/config"}), 1);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_NE(said.find("/nonexistent/config"), std::string::npos) << said;
}

}  // namespace
}  // namespace kube
