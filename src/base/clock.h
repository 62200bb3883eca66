// Time as the project uses it: monotonic for every decision, wall clock only for what people read.
#pragma once

#include <chrono>
#include <cstdint>

namespace base {

using Duration = std::chrono::nanoseconds;
// A point on the local monotonic clock; never compared with a server's timestamp.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
// Wall clock, for log lines, events and leases' text fields only.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

}  // namespace base
