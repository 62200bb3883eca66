// Faults as data: which requests they hit and what happens to them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kube/transport.h"

namespace sandbox {

struct Fault {
  enum class Effect : char {
    fail_before,   // the connection is reset before the server saw the request
    fail_after,    // the request takes effect, its answer is lost: reset
    hang_before,   // the request never arrives and nothing comes back: the client's time-out ends it
    hang_after,    // the request takes effect, nothing comes back
    delay,         // the request arrives `delay` later
    delay_answer,  // the answer arrives `delay` later
    status,        // the server answers `code` (with `retry_after`) and does nothing
    expired,       // a watch is told 410 as its first event; any other request is answered 410
    drop_watch,    // a watch is reset `delay` after it opened; other requests are not hit
    crash_before,  // the client's process dies as it sends: the server never sees the request
    crash_after,   // the request takes effect, the client's process dies before it learns that
  };
  Effect effect = Effect::fail_before;
  // What it hits; empty = any.
  std::string user = {};
  std::string verb = {};      // "get", "patch", …; "write" = every verb that changes something
  std::string resource = {};  // "services", "ipaddresses/status"
  std::string name = {};      // a trailing '*' stands for anything
  int skip = 0;               // let this many of them pass first
  int count = 1;              // then hit this many; -1: for ever
  double probability = 1;     // of each one
  base::Duration delay = base::Duration(0);
  int code = 500;
  std::optional<base::Duration> retry_after = {};
};

// The faults of one simulation. Not thread-safe.
class FaultPlan {
 public:
  void add(Fault fault) { faults_.push_back({std::move(fault), 0, 0}); }
  void clear() { faults_.clear(); }
  // What happens to this request; the first fault that hits decides.
  std::optional<Fault> decide(std::string_view user, const kube::Request& request, base::Random& random);
  // How many requests have been hit so far.
  int hits() const { return hits_; }

 private:
  struct Armed {
    Fault fault;
    int seen = 0;
    int hit = 0;
  };
  std::vector<Armed> faults_;
  int hits_ = 0;
};

}  // namespace sandbox
