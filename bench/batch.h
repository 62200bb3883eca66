// Sends many requests with a bounded number in flight and waits for all: the load generator of the benchmarks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/thread_reactor.h"
#include "kube/transport.h"

namespace bench {

struct BatchResult {
  std::size_t failed = 0;     // no answer, or a status that is not 2xx
  std::string first_failure;  // what the first of them said
  base::Duration elapsed{};
  base::Duration p50{}, p99{};  // of single requests
};

// Sends `count` requests made by `make(i)`, at most `window` at once, on the calling thread's reactor; returns when all
// are answered.
BatchResult run_batch(base::ThreadReactor& reactor, kube::Transport& transport, std::size_t count, std::size_t window,
                      const std::function<kube::Request(std::size_t)>& make);

}  // namespace bench
