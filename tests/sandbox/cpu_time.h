// What a step costs, for tests that something is refused before it gets dear.
#pragma once

#include <ctime>

namespace sandbox::testing_time {

// This thread's own time, whatever else the machine does.
inline double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// How much longer everything may take under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double k_slower = 20;
#else
inline constexpr double k_slower = 1;
#endif

}  // namespace sandbox::testing_time
