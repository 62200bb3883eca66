#include "scenarios/write_trap.h"

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace scenarios {
namespace {
constexpr int k_look_ms = 50;  // how soon it sees that it is to end
}

WriteTrap::WriteTrap(std::string audit_log, std::string user, std::size_t writes, pid_t pid)
    : log_(AuditLog::from_its_end(audit_log)), user_(std::move(user)), left_(writes), pid_(pid) {
  const int notifications = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (notifications < 0 || ::inotify_add_watch(notifications, audit_log.c_str(), IN_MODIFY) < 0) {
    const int error = errno;
    if (notifications >= 0) ::close(notifications);
    throw std::system_error(error, std::generic_category(), audit_log + " cannot be watched");
  }
  thread_ = std::jthread([this, notifications](const std::stop_token& stop) {
    watch(stop, notifications);
    ::close(notifications);
  });
}

void WriteTrap::watch(const std::stop_token& stop, int notifications) {
  std::size_t seen = 0;
  while (!stop.stop_requested()) {
    log_.refresh();
    for (; seen < log_.writes().size(); ++seen) {
      const WriteRecord& record = log_.writes()[seen];
      if (record.user != user_ || !record.counts() || --left_ > 0) continue;
      struck_ = true;  // before anybody can see that it is gone
      ::kill(pid_, SIGKILL);
      return;
    }
    pollfd wait{.fd = notifications, .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, k_look_ms);
    char block[4096];
    while (::read(notifications, block, sizeof block) > 0) {
    }
  }
}

}  // namespace scenarios
