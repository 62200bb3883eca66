// A thread's sign of life, for other threads that watch over it.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace base {

// Lock-free; any thread may ask. A thread that has not beaten yet counts as young.
class Pulse {
 public:
  void beat(MonoTime now) { beat_ = now.time_since_epoch().count(); }
  // For how long it has not beaten.
  Duration age(MonoTime now) const {
    const Duration::rep last = beat_;
    return last == 0 ? Duration::zero() : now.time_since_epoch() - Duration(last);
  }

 private:
  std::atomic<Duration::rep> beat_{0};  // since the clock's epoch
};

}  // namespace base
