// The production reactor: one thread, real time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/reactor.h"

namespace base {

// The thread inside run() is "the reactor's thread". post() and stop() may be called from any thread at any time;
// at() and cancel() from the reactor's thread, or from the thread that will call run() before it does.
// Must outlive everything that posts to it.
class ThreadReactor final : public Reactor {
 public:
  ThreadReactor() = default;
  // Drops the tasks and timers that are left without running them. Nobody may be inside run().
  ~ThreadReactor() override;
  ThreadReactor(const ThreadReactor&) = delete;
  ThreadReactor& operator=(const ThreadReactor&) = delete;

  MonoTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall() const override { return std::chrono::system_clock::now(); }
  void post(Task task) override;
  TimerId at(MonoTime when, Task task) override;
  void cancel(TimerId timer) override;

  // Runs tasks and timers until stop(): the task that is running is finished, what is left stays for a later run().
  // Posted tasks and due timers alternate in batches, so that neither can starve the other.
  void run();
  // Ends the current run(), or the next one if none is active.
  void stop();

 private:
  using TimerKey = std::pair<MonoTime, std::uint64_t>;

  void wait_for_work();
  void run_posted();
  void run_due_timers();
  bool stopped();

  // Owned by the reactor's thread.
  std::map<TimerKey, Task> timers_;
  std::unordered_map<std::uint64_t, MonoTime> timer_times_;
  std::uint64_t last_timer_ = 0;
  std::vector<Task> batch_;
  std::size_t batch_next_ = 0;

  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::vector<Task> posted_;  // guarded by mutex_
  bool waiting_ = false;      // guarded by mutex_
  bool stop_ = false;         // guarded by mutex_
};

}  // namespace base
