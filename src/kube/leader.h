// Leader election on a Lease (coordination.k8s.io/v1), by what this process has seen itself on its monotonic clock:
// timestamps in the Lease are written for people and other clients, and never compared with anything.
//
// A Lease counts as held until leaseDurationSeconds (the holder's, as written in it) have passed since this process saw
// it change. The leader in turn counts from the moment it sent a renewal that succeeded, which is earlier than anyone
// can have seen it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/reactor.h"
#include "base/result.h"
#include "kube/transport.h"
#include "kube/types.h"

namespace kube {

struct LeaderOptions {
  std::string ns;
  std::string name;
  std::string identity;  // unique to this process; see leader_identity()
  base::Duration lease_duration = std::chrono::seconds(15);
  base::Duration renew_deadline = std::chrono::seconds(10);  // leadership is given up after so long without a renewal
  base::Duration retry_period = std::chrono::seconds(2);
  static constexpr double k_jitter = 1.2;  // a candidate waits for retry_period × [1, 1 + k_jitter)

  // lease_duration > renew_deadline > k_jitter × retry_period, whole seconds of lease, names not empty.
  base::Result<void> validate() const;
};

// Leases' place in the API.
const Resource& lease_resource();

// "<pod or host name>_<uuid>". The environment's POD_NAME wins over the host name.
std::string leader_identity();

// What other threads may know of an elector: for /healthz and metrics. Lock-free.
class LeaderWatchdog {
 public:
  // False if the process leads but has not renewed for lease_duration + tolerance: the elector is stuck.
  bool healthy(base::MonoTime now, base::Duration tolerance = std::chrono::seconds(20)) const;
  bool leading() const { return renewed_.load() != 0; }

 private:
  friend class Elector;
  std::atomic<base::Duration::rep> renewed_{0};  // since the clock's epoch; 0 = not leading
  base::Duration lease_duration_{};
};

// Belongs to the reactor's thread. Uses Lane::lease only.
class Elector {
 public:
  // All optional. Not called from within start(), release() or stop().
  struct Listener {
    std::function<void()> became_leader;
    // At most once, and never after release() or stop(). The process must end without writing anything.
    std::function<void(std::string_view reason)> lost;
    std::function<void(std::string_view identity)> observed_leader;  // another holder, or "" for nobody
    std::function<void()> slow_path;                                 // a renewal needed a GET
  };

  // `options` must be valid. `reactor` and `transport` must outlive it.
  Elector(base::Reactor& reactor, Transport& transport, LeaderOptions options, std::uint64_t seed, Listener listener);
  // As stop().
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  // Once.
  void start();
  bool leading() const;
  // No other process can hold the lease before this moment. A write may be sent only if its time-out ends before it. In
  // the past when not leading.
  base::MonoTime lease_until() const;
  // Of the Lease as it was last seen; "" if it never was. For events about it.
  std::string lease_uid() const;
  // Gives the lease back so that another takes over at once. Only when all guarded work has ended: leading() is false
  // from here on. `done(released)` is called once, within five seconds; at once (but not from within this call) if
  // there is nothing to give.
  void release(std::function<void(bool released)> done);
  // Ends without giving anything back.
  void stop();
  // Shared with the probes' thread.
  std::shared_ptr<const LeaderWatchdog> watchdog() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
