// CPU time and peak memory of another process, from /proc.
#pragma once

#include <sys/types.h>

#include "base/clock.h"

namespace bench {

// User and system time so far.
base::Duration cpu_of(pid_t pid);
double peak_memory_mib(pid_t pid);

}  // namespace bench
