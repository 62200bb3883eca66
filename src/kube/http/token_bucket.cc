#include "kube/http/token_bucket.h"

#include <algorithm>
#include <chrono>

namespace kube {

TokenBucket::TokenBucket(double qps, int burst) : qps_(qps), burst_(std::max(1, burst)), tokens_(burst_) {}

base::Duration TokenBucket::reserve(base::MonoTime now) {
  if (qps_ <= 0) return base::Duration::zero();
  const std::chrono::duration<double> elapsed = now - std::max(updated_, base::MonoTime{});
  updated_ = now;
  tokens_ = std::min(burst_, tokens_ + elapsed.count() * qps_) - 1;
  if (tokens_ >= 0) return base::Duration::zero();
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(-tokens_ / qps_));
}

}  // namespace kube
