// Client-side rate limit (--kube-api-qps, --kube-api-burst). Pure: the caller has the clock.
#pragma once

#include "base/clock.h"

namespace kube {

// Hands out places in order: each caller is told how long to wait for its own.
class TokenBucket {
 public:
  // qps <= 0: no limit. At least one request fits into the burst.
  TokenBucket(double qps, int burst);
  // Takes one place. Zero if there is one now.
  base::Duration reserve(base::MonoTime now);

 private:
  double qps_;
  double burst_;
  double tokens_;
  base::MonoTime updated_{};
};

}  // namespace kube
