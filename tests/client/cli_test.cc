// Command lines that cannot mean anything, and help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/cli.h"

namespace client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
  Connection asked;
};

Outcome run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Outcome outcome;
  const auto connect = [&](const Connection& wanted) -> base::Result<Connected> {
    outcome.asked = wanted;
    return base::fail("no cluster here");
  };
  outcome.status = client::run(args, {.version = "1.2.3", .out = out, .err = err, .connect = connect});
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

TEST(CliTest, WrongLinesNameWhatWouldBeRight) {
  struct Row {
    std::vector<std::string> args;
    const char* says;
  };
  const std::vector<Row> rows{
      {{"atach", "web", "web"}, "there is no command \"atach\"; did you mean attach?"},
      {{"frobnicate"},
       "there is no command \"frobnicate\"; the commands are claim, attach, detach, move, release, list, who, classes, "
       "recycle, get"},
      {{"-n", "shop", "lst"}, "did you mean list?"},
      {{"claim"}, "NAME is required"},
      {{"attach", "web"}, "SERVICE is required"},
      {{"claim", "web", "--family", "IPv5"}, "IPv4"},
      {{"claim", "web", "--timeout", "10"}, "\"10\" is no duration such as 300ms, 15s or 1m30s"},
      {{"claim", "web", "extra"}, "extra"},
      {{"claim", "web", "--colour"}, "--colour"},
      {{"list", "-n"}, "--namespace"},
      {{"apply"}, "--filename is required"},
      {{"release", ""}, "an argument is empty"},
      {{"release", "--wait=false", ""}, "an argument is empty"},
      {{"attach", "", "web"}, "an argument is empty"},
      {{"recycle", ""}, "an argument is empty"},
      {{"get", "service", ""}, "an argument is empty"},
      {{"delete", "ipclaim", "-l", ""}, "an argument is empty"},
      {{"list", "--namespace="}, "an argument is empty"},
      {{"list", "-n", "default/x"}, "\"default/x\" cannot be a namespace"},
      {{"list", "-n", ".."}, "\"..\" cannot be a namespace"},
      {{"get", "service", "-n", "Shop"}, "\"Shop\" cannot be a namespace"},
      {{"claim", "web", "--namespace=shop-"}, "\"shop-\" cannot be a namespace"},
  };
  for (const Row& row : rows) {
    const Outcome outcome = run(row.args);
    EXPECT_EQ(outcome.status, 2) << row.says;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("error: "), HasSubstr(row.says), HasSubstr("See: kubectl-address")));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(CliTest, HelpIsThereForEveryCommand) {
  EXPECT_THAT(run({"--help"}).out, AllOf(HasSubstr("For tenants:"), HasSubstr("attach"), HasSubstr("recycle")));
  for (const char* command : {"claim", "attach", "detach", "move", "release", "list", "who", "classes", "recycle",
                              "get", "apply", "delete", "annotate", "patch", "wait"}) {
    for (const std::string flag : {"--help", "-h"}) {
      const Outcome outcome = run({command, flag});
      EXPECT_EQ(outcome.status, 0) << command;
      EXPECT_THAT(outcome.out, AllOf(HasSubstr(std::string("kubectl-address ") + command), HasSubstr("--kubeconfig"),
                                     HasSubstr("--namespace")));
    }
  }
}

TEST(CliTest, NoCommandShowsHelpAndIsWrong) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("For tenants:"));
}

TEST(CliTest, GlobalFlagsMayStandOnEitherSide) {
  const Outcome before = run({"--kubeconfig", "f", "--context", "c", "-n", "shop", "--as", "ann", "list"});
  const Outcome after = run({"list", "--kubeconfig=f", "--context=c", "--namespace=shop", "--as=ann"});
  for (const Outcome& outcome : {before, after}) {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, "error: no cluster here\n");
    EXPECT_EQ(outcome.asked.kubeconfig, "f");
    EXPECT_EQ(outcome.asked.context, "c");
    EXPECT_EQ(outcome.asked.ns, "shop");
    EXPECT_EQ(outcome.asked.as, "ann");
  }
}

TEST(CliTest, VersionIsOneLine) { EXPECT_EQ(run({"--version"}).out, "kubectl-address 1.2.3\n"); }

}  // namespace
}  // namespace client
