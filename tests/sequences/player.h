// Plays a sequence on a stage: a server with one MetalLB controller, in memory or real. Steps:
//   service NS/NAME JSON, pool NAME JSON          creates; a Service is a LoadBalancer with port 80 where JSON says
//   nothing else patch service|pool|namespace [NS/]NAME JSON   a merge patch status service NS/NAME JSON a merge patch
//   of the subresource delete service|pool [NS/]NAME stop, start [CLASS], restart [CLASS]          kills and starts the
//   controller; CLASS: of Services that it is to serve
// Namespaces a and b exist and have the label which=a, which=b. After each step MetalLB comes to rest, if it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/transport.h"
#include "sequences/sequence.h"

namespace sequences {

class Stage {
 public:
  virtual ~Stage() = default;
  virtual kube::Answer send(std::string_view method, std::string_view path, std::string_view body = {}) = 0;
  // A new controller for Services of this class ("" for those without one), at rest when this returns.
  virtual base::Result<void> start(const std::string& lb_class) = 0;
  virtual void stop() = 0;
  // Returns when the controller has handled everything that was written so far, and all that followed from it.
  // `configuration`: what it must have read since the last time, "metallb-system/p" or "/namespace"; "" for none. An
  // error when it does not run.
  virtual base::Result<void> settle(const std::string& configuration) = 0;
  // Returns when every event that the running controller has told so far can be read.
  virtual base::Result<void> flush_events() = 0;
};

// `version` is "0.15" or "0.16"; `seed` gives MetalLB's arbitrary choices; of more events than `event_burst` about one
// Service the rest is lost.
std::unique_ptr<Stage> memory_stage(std::string_view version, std::uint64_t seed, int event_burst = 25);
// `plane`: the folder of a control plane that runs (tests/real/plane, which is `script`) from the port `port`; its
// controller of MetalLB is replaced by ours.
base::Result<std::unique_ptr<Stage>> real_stage(const std::string& plane, const std::string& binaries,
                                                const std::string& version, const std::string& script, int port);

// Removes what another sequence has left and plays this one.
base::Result<Outcome> play(Stage& stage, const Sequence& sequence);

}  // namespace sequences
