// A reactor that also waits for file descriptors: for threads that do I/O.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/reactor.h"
#include "base/timer_queue.h"

namespace base {

// As ThreadReactor: post() and stop() from any thread, everything else on the thread that is inside run() (or before
// it).
class EpollReactor final : public Reactor {
 public:
  // Bits of `events`: Linux's EPOLLIN and EPOLLOUT; EPOLLERR and EPOLLHUP are always reported. Level-triggered.
  using FdCallback = std::function<void(std::uint32_t events)>;

  // Throws std::system_error if the kernel gives no descriptors.
  EpollReactor();
  ~EpollReactor() override;
  EpollReactor(const EpollReactor&) = delete;
  EpollReactor& operator=(const EpollReactor&) = delete;

  MonoTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall() const override { return std::chrono::system_clock::now(); }
  void post(Task task) override;
  TimerId at(MonoTime when, Task task) override { return timers_.add(when, std::move(task)); }
  void cancel(TimerId timer) override { timers_.cancel(timer); }

  // Calls `callback` when `fd` is ready. A second call for the same fd replaces events and callback.
  void watch(int fd, std::uint32_t events, FdCallback callback);
  // Ends watching; safe from within callbacks and after the fd has been closed.
  void unwatch(int fd);

  // Runs until stop(). What is left then stays for the next run(), or is dropped by the destructor.
  void run();
  void stop();

 private:
  struct Watched {
    FdCallback callback;
  };

  void run_posted();
  void wait_and_dispatch();
  // How long epoll_wait may sleep, in milliseconds rounded up; -1 for ever.
  int wait_time() const;

  TimerQueue timers_;
  std::unordered_map<int, std::shared_ptr<Watched>> watched_;
  std::vector<Task> batch_;
  std::size_t batch_next_ = 0;
  std::atomic<bool> stop_ = false;
  int epoll_ = -1;
  int wakeup_ = -1;

  std::mutex mutex_;
  std::vector<Task> posted_;  // guarded by mutex_
  bool signalled_ = false;    // guarded by mutex_: wakeup_ is readable or about to be
};

}  // namespace base
