#include "base/thread_reactor.h"

namespace base {

ThreadReactor::~ThreadReactor() {
  // A dropped task's destructor may still post or cancel: take everything out before it goes.
  timers_.clear();
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

void ThreadReactor::run() {
  while (!stopped()) {
    run_posted();
    // One reading of the clock for the batch: a timer set for "now" by a timer waits for its turn.
    timers_.run_due(now(), [this] { return !stopped(); });
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

void ThreadReactor::wait_for_work() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return stop_ || !posted_.empty() || batch_next_ < batch_.size(); };
  if (ready()) return;
  waiting_ = true;
  if (const auto next = timers_.next()) {
    wakeup_.wait_until(lock, *next, ready);
  } else {
    wakeup_.wait(lock, ready);
  }
  waiting_ = false;
}

}  // namespace base
