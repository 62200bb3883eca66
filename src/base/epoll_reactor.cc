#include "base/epoll_reactor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace base {
namespace {

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void add_to(int epoll, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  checked(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

}  // namespace

EpollReactor::EpollReactor() {
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  wakeup_ = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  add_to(epoll_, wakeup_, EPOLLIN);
}

EpollReactor::~EpollReactor() {
  timers_.clear();
  const auto batch = std::exchange(batch_, {});
  const auto watched = std::exchange(watched_, {});
  std::vector<Task> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  posted.clear();
  close(wakeup_);
  close(epoll_);
}

void EpollReactor::post(Task task) {
  bool signal = false;
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    signal = !std::exchange(signalled_, true);
  }
  if (signal) eventfd_write(wakeup_, 1);
}

void EpollReactor::stop() {
  stop_ = true;
  eventfd_write(wakeup_, 1);
}

void EpollReactor::watch(int fd, std::uint32_t events, FdCallback callback) {
  auto& entry = watched_[fd];
  bool known = entry != nullptr;
  entry = std::make_shared<Watched>(Watched{std::move(callback)});
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  // A descriptor that was closed without unwatch() has left the kernel's set: its number starts anew.
  if (known && epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0) known = false;
  if (!known) add_to(epoll_, fd, events);
}

void EpollReactor::unwatch(int fd) {
  if (watched_.erase(fd) == 0) return;
  epoll_event event{};
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, &event);  // fails if the fd is closed already: then it has left by itself
}

void EpollReactor::run() {
  while (!stop_) {
    run_posted();
    timers_.run_due(now(), [this] { return !stop_; });
    if (!stop_) wait_and_dispatch();
  }
  stop_ = false;
}

void EpollReactor::run_posted() {
  // A batch interrupted by stop() is continued by the next run().
  if (batch_next_ == batch_.size()) {
    batch_.clear();
    batch_next_ = 0;
    const std::lock_guard lock(mutex_);
    batch_.swap(posted_);
    signalled_ = false;
  }
  while (batch_next_ < batch_.size() && !stop_) {
    Task task = std::move(batch_[batch_next_++]);
    task();
  }
}

int EpollReactor::wait_time() const {
  const auto next = timers_.next();
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void EpollReactor::wait_and_dispatch() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_time());
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int fd = event.data.fd;
    if (fd == wakeup_) {
      eventfd_t ignored = 0;
      eventfd_read(wakeup_, &ignored);
      continue;
    }
    // An earlier callback of this round may have ended the watch, and the number may even belong to a new socket by
    // now: then this call is spurious, which level-triggered callbacks must bear anyway.
    const auto found = watched_.find(fd);
    if (found == watched_.end()) continue;
    const std::shared_ptr<Watched> kept = found->second;
    kept->callback(event.events);
  }
}

}  // namespace base
