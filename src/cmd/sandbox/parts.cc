#include "cmd/sandbox/parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "cmd/sandbox/identities.h"

namespace sandbox_process {
namespace {

using base::log::kv;

constexpr base::Duration k_first_pause = std::chrono::milliseconds(500);
constexpr base::Duration k_longest_pause = std::chrono::seconds(30);
constexpr base::Duration k_healthy = std::chrono::seconds(30);  // one that ran this long begins with the first pause

// Between fork and exec: nothing but system calls.
[[noreturn]] void become(const char* const* argv, int log, pid_t parent) {
  setpgid(0, 0);  // Ctrl-C of the terminal is for the sandbox, which ends its parts in order
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // gone already
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv("/proc/self/exe", const_cast<char* const*>(argv));
  _exit(127);
}

std::string ending(int status) {
  return WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                             : fmt::format("exited with {}", WEXITSTATUS(status));
}

}  // namespace

struct Parts::Impl : std::enable_shared_from_this<Parts::Impl> {
  struct Process {
    pid_t pid = 0;  // 0: not running
    base::MonoTime since;
    base::Duration pause = k_first_pause;
    base::TimerId timer = base::TimerId::none;  // of the next start
    std::thread waiter;
  };

  Impl(base::Reactor& the_reactor, PartOptions the_options) : reactor(the_reactor), options(std::move(the_options)) {}

  std::vector<std::string> command(Part part) const;
  void start(Part part);
  void start_later(Part part);
  void ended(Part part, pid_t pid, int status);
  bool any_running() const {
    return std::ranges::any_of(processes, [](const auto& entry) { return entry.second.pid != 0; });
  }
  void signal_all(int signal) const {
    for (const auto& [part, process] : processes) {
      if (process.pid != 0) kill(process.pid, signal);
    }
  }

  base::Reactor& reactor;
  PartOptions options;
  std::map<Part, Process> processes;
  std::function<void()> all_ended;
  base::TimerId grace_timer = base::TimerId::none;
  bool ending_all = false;
};

std::vector<std::string> Parts::Impl::command(Part part) const {
  const std::string name(to_string(part));
  std::vector<std::string> argv{"address-sandbox",
                                "part",
                                name,
                                fmt::format("--kubeconfig={}/{}", options.dir, kubeconfig_of(name)),
                                "--log-level=" + options.log_level,
                                "--log-format=" + options.log_format};
  if (part == Part::metallb) {
    argv.push_back("--metallb-version=" + options.metallb_version);
  } else {
    argv.insert(argv.end(), {"--metrics-bind-address=0", "--health-probe-bind-address=0"});
  }
  return argv;
}

void Parts::Impl::start(Part part) {
  Process& process = processes[part];
  process.timer = base::TimerId::none;
  if (ending_all || process.pid != 0) return;
  const std::string log_file = fmt::format("{}/{}.log", options.dir, to_string(part));
  const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  const std::vector<std::string> words = command(part);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = log < 0 ? -1 : fork();
  if (pid == 0) become(argv.data(), log, parent);
  const int failed = errno;
  if (log >= 0) close(log);
  if (pid < 0) {
    base::log::error("A part cannot be started",
                     {kv("part", to_string(part)), kv("error", std::system_category().message(failed))});
    return start_later(part);
  }
  base::log::debug("Started a part", {kv("part", to_string(part)), kv("pid", pid), kv("log", log_file)});
  process.pid = pid;
  process.since = reactor.now();
  if (process.waiter.joinable()) process.waiter.join();
  process.waiter = std::thread([weak = weak_from_this(), &reactor = reactor, part, pid] {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    reactor.post([weak, part, pid, status] {
      if (const auto self = weak.lock()) self->ended(part, pid, status);
    });
  });
}

void Parts::Impl::start_later(Part part) {
  Process& process = processes[part];
  process.timer = reactor.at(reactor.now() + process.pause, [weak = weak_from_this(), part] {
    if (const auto self = weak.lock()) self->start(part);
  });
  process.pause = std::min(2 * process.pause, k_longest_pause);
}

void Parts::Impl::ended(Part part, pid_t pid, int status) {
  Process& process = processes[part];
  if (process.pid != pid) return;
  process.pid = 0;
  if (ending_all) {
    if (any_running() || !all_ended) return;
    reactor.cancel(std::exchange(grace_timer, base::TimerId::none));
    return std::exchange(all_ended, nullptr)();
  }
  if (reactor.now() - process.since >= k_healthy) process.pause = k_first_pause;
  base::log::warn("A part has ended; starting it again",
                  {kv("part", to_string(part)), kv("how", ending(status)),
                   kv("log", fmt::format("{}/{}.log", options.dir, to_string(part)))});
  start_later(part);
}

Parts::Parts(base::Reactor& reactor, PartOptions options)
    : impl_(std::make_shared<Impl>(reactor, std::move(options))) {}

Parts::~Parts() {
  impl_->ending_all = true;
  impl_->signal_all(SIGKILL);
  for (auto& [part, process] : impl_->processes) {
    impl_->reactor.cancel(process.timer);
    if (process.waiter.joinable()) process.waiter.join();
  }
  impl_->reactor.cancel(impl_->grace_timer);
}

void Parts::start(Part part) { impl_->start(part); }

void Parts::end(std::function<void()> ended) {
  impl_->ending_all = true;
  for (auto& [part, process] : impl_->processes) impl_->reactor.cancel(std::exchange(process.timer, {}));
  if (!impl_->any_running()) return ended();
  impl_->all_ended = std::move(ended);
  impl_->signal_all(SIGTERM);
  impl_->grace_timer = impl_->reactor.at(impl_->reactor.now() + impl_->options.grace, [weak = std::weak_ptr(impl_)] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    base::log::warn("A part does not end; killing it");
    self->signal_all(SIGKILL);
  });
}

std::string Parts::log_of(Part part) const { return fmt::format("{}/{}.log", impl_->options.dir, to_string(part)); }

}  // namespace sandbox_process
