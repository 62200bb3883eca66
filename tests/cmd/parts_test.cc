// The processes of a sandbox: who dies is started again, and nobody outlives it.
#include <csignal>
#include <map>

#include "cmd/process_info.h"
#include "cmd/sandbox_fixture.h"

namespace cmd_test {
namespace {

class Parts : public AddressSandbox {
 protected:
  // By name: "core", "driver", "metallb".
  std::map<std::string, pid_t> parts() const {
    std::map<std::string, pid_t> found;
    for (const pid_t pid : children_of(child_->pid())) {
      const std::string words = command_line(pid);
      for (const char* name : {"core", "driver", "metallb"}) {
        if (words.starts_with(fmt::format("address-sandbox part {} ", name))) found[name] = pid;
      }
    }
    return found;
  }
  bool start_all() {
    return start({}) && eventually([this] { return parts().size() == 3; });
  }
  static bool none_left(const std::map<std::string, pid_t>& parts) {
    return eventually([&parts] {
      return std::ranges::all_of(parts, [](const auto& part) { return command_line(part.second).empty(); });
    });
  }
};

TEST_F(Parts, OneThatDiesIsStartedAgainAndGoesOn) {
  ASSERT_TRUE(start_all());
  const auto before = parts();
  for (const auto& [name, pid] : before) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const auto now = parts();
    return now.size() == 3 &&
           std::ranges::none_of(now, [&](const auto& part) { return before.at(part.first) == part.second; });
  })) << log();
  EXPECT_THAT(log(), HasSubstr("A part has ended; starting it again"));
  EXPECT_THAT(log(), HasSubstr("killed by signal 9"));
  give_web_its_address();
}

TEST_F(Parts, CtrlCEndsAll) {
  ASSERT_TRUE(start_all());
  const auto before = parts();
  ::kill(child_->pid(), SIGINT);
  EXPECT_TRUE(eventually([this] { return !child_->running(); }));
  EXPECT_EQ(child_->ending(), "exited with 0");
  EXPECT_TRUE(none_left(before));
}

TEST_F(Parts, NoneIsLeftBehindByASandboxThatIsKilled) {
  ASSERT_TRUE(start_all());
  const auto before = parts();
  child_->kill();
  EXPECT_TRUE(none_left(before));
}

// One that dies and was never healthy waits longer each time, and ends with the sandbox all the same.
TEST_F(Parts, OneThatWaitsForItsNextStartDoesNotHoldUpTheEnd) {
  ASSERT_TRUE(start_all());
  ::kill(parts().at("core"), SIGKILL);
  ASSERT_TRUE(eventually([this] { return parts().size() == 2; }));
  const auto before = parts();
  EXPECT_TRUE(child_->end(seconds(20))) << log();
  EXPECT_TRUE(none_left(before));
}

}  // namespace
}  // namespace cmd_test
