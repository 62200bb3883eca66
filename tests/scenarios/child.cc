#include "scenarios/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace scenarios {

base::Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& argv, const std::string& log,
                                                  const std::vector<std::pair<std::string, std::string>>& environment) {
  if (::access(argv.front().c_str(), X_OK) != 0)
    return base::fail(fmt::format("{} is not there or cannot be run", argv.front()));
  std::vector<char*> arguments;
  for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail(fmt::format("cannot start {}: {}", argv.front(), std::strerror(errno)));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it died before we could ask
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (const auto& [key, value] : environment) ::setenv(key.c_str(), value.c_str(), 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return std::unique_ptr<Child>(new Child(pid));
}

Child::~Child() { kill(); }

void Child::reap(int status) {
  reaped_ = true;
  clean_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  ending_ = WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                : fmt::format("exited with {}", WEXITSTATUS(status));
}

bool Child::running() {
  int status = 0;
  if (!reaped_ && ::waitpid(pid_, &status, WNOHANG) == pid_) reap(status);
  return !reaped_;
}

bool Child::end(std::chrono::milliseconds patience) {
  if (!running()) return clean_;
  ::kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (running() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (running()) kill();
  return clean_;
}

void Child::kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) reap(status);
}

base::Result<void> run_to_end(const std::vector<std::string>& argv, const std::string& log) {
  auto child = Child::start(argv, log);
  if (!child) return base::fail(child.error().message);
  while ((*child)->running()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if ((*child)->ending() != "exited with 0")
    return base::fail(fmt::format("{} {}; see {}", argv.front(), (*child)->ending(), log));
  return {};
}

}  // namespace scenarios
