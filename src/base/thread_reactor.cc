#include "base/thread_reactor.h"

namespace base {

ThreadReactor::~ThreadReactor() {
  // A dropped task's destructor may still post or cancel: take everything out before it goes.
  timer_times_.clear();
  auto timers = std::exchange(timers_, {});
  auto batch = std::exchange(batch_, {});
  std::vector<Task> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
}

void ThreadReactor::post(Task task) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    wake = std::exchange(waiting_, false);
  }
  if (wake) wakeup_.notify_one();
}

TimerId ThreadReactor::at(MonoTime when, Task task) {
  const std::uint64_t id = ++last_timer_;
  timers_.emplace(TimerKey{when, id}, std::move(task));
  timer_times_.emplace(id, when);
  return TimerId{id};
}

void ThreadReactor::cancel(TimerId timer) {
  const auto id = static_cast<std::uint64_t>(timer);
  const auto found = timer_times_.find(id);
  if (found == timer_times_.end()) return;
  // The task dies last: its destructor may come back here.
  auto dropped = timers_.extract(TimerKey{found->second, id});
  timer_times_.erase(found);
}

void ThreadReactor::run() {
  while (!stopped()) {
    run_posted();
    run_due_timers();
    wait_for_work();
  }
  const std::lock_guard lock(mutex_);
  stop_ = false;
}

void ThreadReactor::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_ = false;
  }
  wakeup_.notify_one();
}

bool ThreadReactor::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void ThreadReactor::run_posted() {
  // A batch interrupted by stop() is continued by the next run().
  if (batch_next_ == batch_.size()) {
    batch_.clear();
    batch_next_ = 0;
    const std::lock_guard lock(mutex_);
    batch_.swap(posted_);
  }
  while (batch_next_ < batch_.size() && !stopped()) {
    Task task = std::move(batch_[batch_next_++]);
    task();
  }
}

void ThreadReactor::run_due_timers() {
  // One reading of the clock for the batch: a timer set for "now" by a timer waits for its turn.
  const MonoTime now = this->now();
  const std::uint64_t last = last_timer_;
  while (!timers_.empty() && timers_.begin()->first.first <= now && timers_.begin()->first.second <= last) {
    if (stopped()) return;
    auto timer = timers_.extract(timers_.begin());
    timer_times_.erase(timer.key().second);
    timer.mapped()();
  }
}

void ThreadReactor::wait_for_work() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return stop_ || !posted_.empty() || batch_next_ < batch_.size(); };
  if (ready()) return;
  waiting_ = true;
  if (timers_.empty()) {
    wakeup_.wait(lock, ready);
  } else {
    wakeup_.wait_until(lock, timers_.begin()->first.first, ready);
  }
  waiting_ = false;
}

}  // namespace base
