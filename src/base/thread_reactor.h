// The production reactor: one thread, real time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/reactor.h"
#include "base/timer_queue.h"

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
  TimerId at(MonoTime when, Task task) override { return timers_.add(when, std::move(task)); }
  void cancel(TimerId timer) override { timers_.cancel(timer); }

  // Runs tasks and timers until stop(): the task that is running is finished, what is left stays for a later run().
  // Posted tasks and due timers alternate in batches, so that neither can starve the other.
  void run();
  // Ends the current run(), or the next one if none is active.
  void stop();

 private:
  void wait_for_work();
  void run_posted();
  bool stopped();

  // Owned by the reactor's thread.
  TimerQueue timers_;
  std::vector<Task> batch_;
  std::size_t batch_next_ = 0;

  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::vector<Task> posted_;  // guarded by mutex_
  bool waiting_ = false;      // guarded by mutex_
  bool stop_ = false;         // guarded by mutex_
};

}  // namespace base
