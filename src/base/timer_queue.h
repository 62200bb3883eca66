// Timers of a reactor: run in order of time, then of setting; cancelled ones leave at once. For implementations of
// base::Reactor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/reactor.h"

namespace base {

// Not thread-safe. Tasks may set and cancel timers while they run or are destroyed.
class TimerQueue {
 public:
  TimerId add(MonoTime when, Task task);
  void cancel(TimerId timer);
  // The earliest timer's time.
  std::optional<MonoTime> next() const;
  // Runs the timers that are due at `now` and were set before this call, as long as `proceed()` holds.
  template <class Proceed>
  void run_due(MonoTime now, Proceed proceed) {
    const std::uint64_t last = last_;
    while (proceed() && !tasks_.empty() && tasks_.begin()->first.first <= now && tasks_.begin()->first.second <= last) {
      auto timer = tasks_.extract(tasks_.begin());
      times_.erase(timer.key().second);
      timer.mapped()();
    }
  }
  // Drops all timers without running them.
  void clear();

 private:
  std::map<std::pair<MonoTime, std::uint64_t>, Task> tasks_;
  std::unordered_map<std::uint64_t, MonoTime> times_;
  std::uint64_t last_ = 0;
};

}  // namespace base
