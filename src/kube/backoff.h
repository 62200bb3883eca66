// Delays between attempts that fail: exponential, jittered, forgotten after a quiet time. client-go's reflector
// constants.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/random.h"

namespace kube {

// Not thread-safe. Time and randomness are the caller's.
class Backoff {
 public:
  struct Limits {
    base::Duration first = std::chrono::milliseconds(800);
    base::Duration most = std::chrono::seconds(30);
    base::Duration forget_after = std::chrono::minutes(2);  // without a failure
  };
  Backoff() = default;
  explicit Backoff(Limits limits) : limits_(limits) {}

  // The delay before the next attempt, for a failure at `now`: uniform in [d, 2d), where d doubles up to `most`.
  base::Duration next(base::MonoTime now, base::Random& random) {
    if (!last_ || now - *last_ > limits_.forget_after) delay_ = limits_.first;
    const base::Duration base = delay_;
    delay_ = std::min(delay_ * 2, limits_.most);
    const auto jitter =
        base::Duration(static_cast<base::Duration::rep>(random.unit() * static_cast<double>(base.count())));
    // The quiet time begins when the attempt does, not when it is put off.
    last_ = now + base + jitter;
    return base + jitter;
  }
  void reset() { last_.reset(); }

 private:
  Limits limits_{};
  base::Duration delay_{};
  std::optional<base::MonoTime> last_;
};

}  // namespace kube
