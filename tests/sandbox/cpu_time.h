// What a step costs, for tests that something is refused before it gets dear.
#pragma once

#include <ctime>

#include "support/sanitized.h"

namespace sandbox::testing_time {

// This thread's own time, whatever else the machine does.
inline double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// How much longer everything may take under a sanitizer.
inline constexpr double k_slower = support::k_sanitized ? 20 : 1;

}  // namespace sandbox::testing_time
