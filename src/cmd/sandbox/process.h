// The sandbox as a process: server, identities, parts, from start to end.
#pragma once

#include "cmd/sandbox/options.h"

namespace sandbox_process {

// Runs until SIGTERM or SIGINT. Returns the exit status: 0 after an end in good order, 1 if it could not start (with
// one line that says why).
int run(const Options& options);

}  // namespace sandbox_process
