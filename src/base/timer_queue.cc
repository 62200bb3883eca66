#include "base/timer_queue.h"

namespace base {

TimerId TimerQueue::add(MonoTime when, Task task) {
  const std::uint64_t id = ++last_;
  tasks_.emplace(std::pair(when, id), std::move(task));
  times_.emplace(id, when);
  return TimerId{id};
}

void TimerQueue::cancel(TimerId timer) {
  const auto id = static_cast<std::uint64_t>(timer);
  const auto found = times_.find(id);
  if (found == times_.end()) return;
  // The task dies last: its destructor may come back here.
  const auto dropped = tasks_.extract(std::pair(found->second, id));
  times_.erase(found);
}

std::optional<MonoTime> TimerQueue::next() const {
  if (tasks_.empty()) return std::nullopt;
  return tasks_.begin()->first.first;
}

void TimerQueue::clear() {
  times_.clear();
  const auto dropped = std::exchange(tasks_, {});
}

}  // namespace base
