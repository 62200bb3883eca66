#include "kube/auth/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

namespace kube {
namespace {

constexpr std::size_t k_max_errors = 4096;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
  bool open() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) return false;
    read = Fd(fds[0]);
    write = Fd(fds[1]);
    return true;
  }
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> environment;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string_view text(*item);
    const auto overridden = [&](const auto& pair) {
      return text.starts_with(pair.first) && text.substr(pair.first.size()).starts_with('=');
    };
    if (std::ranges::none_of(added, overridden)) environment.emplace_back(text);
  }
  for (const auto& [name, value] : added) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Returns 0 or the error number, as posix_spawn does.
int spawn(const ProcessSpec& spec, int output, int errors, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> argv{spec.command};
  argv.insert(argv.end(), spec.args.begin(), spec.args.end());
  std::vector<std::string> envp = environment_with(spec.env);
  const int result =
      posix_spawnp(&pid, spec.command.c_str(), &actions, &attributes, pointers(argv).data(), pointers(envp).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

// Reads both pipes until the program has closed them, within the limits.
class Collector {
 public:
  Collector(const ProcessSpec& spec, Fd output, Fd errors)
      : spec_(spec),
        deadline_(std::chrono::steady_clock::now() + spec.timeout),
        output_(std::move(output)),
        errors_(std::move(errors)) {}

  std::expected<void, ProcessError> collect(const std::stop_token& stop, ProcessResult& into) {
    while (output_.get() >= 0 || errors_.get() >= 0) {
      if (stop.stop_requested()) return std::unexpected(stopped());
      if (std::chrono::steady_clock::now() >= deadline_) return std::unexpected(timed_out());
      std::array<pollfd, 2> fds{pollfd{output_.get(), POLLIN, 0}, pollfd{errors_.get(), POLLIN, 0}};
      poll(fds.data(), fds.size(), 20);
      if (fds[0].revents != 0) drain(output_, into.output, spec_.max_output + 1);
      if (fds[1].revents != 0) drain(errors_, into.errors, k_max_errors);
      if (into.output.size() > spec_.max_output) {
        return std::unexpected(
            ProcessError{ProcessFailure::too_much_output, fmt::format("wrote more than {} bytes", spec_.max_output)});
      }
    }
    return {};
  }

  base::MonoTime deadline() const { return deadline_; }
  static ProcessError stopped() { return {ProcessFailure::stopped, "stopped"}; }
  ProcessError timed_out() const {
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(spec_.timeout);
    return {ProcessFailure::timed_out, fmt::format("did not end within {} ms", timeout.count())};
  }

 private:
  // Reads once; what is beyond `limit` is dropped.
  static void drain(Fd& fd, std::string& into, std::size_t limit) {
    std::array<char, 16384> buffer;
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      fd.reset();
      return;
    }
    into.append(buffer.data(), std::min(static_cast<std::size_t>(got), limit - std::min(limit, into.size())));
  }

  const ProcessSpec& spec_;
  base::MonoTime deadline_;
  Fd output_;
  Fd errors_;
};

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Waits for a program that has been killed.
int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

// Waits for a program that has closed its output; nothing if it goes on all the same until `deadline` or `stop`.
std::optional<int> wait_for(pid_t pid, base::MonoTime deadline, const std::stop_token& stop) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return exit_code_of(status);
    if (ended < 0 && errno != EINTR) return 0;  // somebody else has waited for it
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    poll(nullptr, 0, 5);
  }
}

}  // namespace

std::expected<ProcessResult, ProcessError> run_process(const ProcessSpec& spec, const std::stop_token& stop) {
  Pipe output;
  Pipe errors;
  if (!output.open() || !errors.open()) {
    return std::unexpected(ProcessError{ProcessFailure::not_started, std::generic_category().message(errno)});
  }
  pid_t pid = 0;
  if (const int error = spawn(spec, output.write.get(), errors.write.get(), pid); error != 0) {
    const auto kind = error == ENOENT ? ProcessFailure::not_found : ProcessFailure::not_started;
    return std::unexpected(ProcessError{kind, std::generic_category().message(error)});
  }
  output.write.reset();
  errors.write.reset();
  ProcessResult result;
  Collector collector(spec, std::move(output.read), std::move(errors.read));
  auto collected = collector.collect(stop, result);
  if (collected) {
    if (const auto code = wait_for(pid, collector.deadline(), stop)) {
      result.exit_code = *code;
      return result;
    }
    collected = std::unexpected(stop.stop_requested() ? collector.stopped() : collector.timed_out());
  }
  kill(-pid, SIGKILL);
  wait_for(pid);
  return std::unexpected(collected.error());
}

}  // namespace kube
