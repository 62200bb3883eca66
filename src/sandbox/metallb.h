// A model of MetalLB's controller: gives LoadBalancer Services their addresses as MetalLB 0.15 and 0.16 do, mistakes
// included. Acts over the API like the real one, with its own caches, one worker and no memory across restarts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/reactor.h"
#include "kube/transport.h"
#include "sandbox/api_server.h"
#include "sandbox/world.h"

namespace sandbox {

struct MetalLbOptions {
  enum class Version : char { v0_15, v0_16 };
  Version version = Version::v0_16;
  std::string ns = "metallb-system";  // where its configuration is
  std::string lb_class = {};          // --lb-class; empty: Services without a class
  bool events = true;                 // false: they get lost
  int event_burst = 25;               // so many about one object at once; more get lost
  // Time the worker takes for each Service besides its writes: widens every gap.
  base::Duration work = std::chrono::microseconds(200);
  std::uint64_t seed = 1;  // order of ties, choice among equal pools
};

// One controller process. Restart = destroy and make anew; two at once are two replicas, which is as wrong as in
// reality.
class MetalLb final : public Actor {
 public:
  MetalLb(base::Reactor& reactor, kube::Transport& transport, MetalLbOptions options);
  ~MetalLb() override;

  // The first full pass is over: single events are looked at from now on.
  bool loaded() const;
  // The last configuration could not be parsed; the one before it is in use.
  bool stale_config() const;
  // Nothing waits to be looked at.
  bool idle() const;
  // While held, the worker finishes what it does and takes up nothing new.
  void hold(bool held);
  // How many passes over all Services there were.
  int full_passes() const;

 private:
  class Controller;
  std::shared_ptr<Controller> controller_;
};

// MetalLB's admission webhook on its own kinds, to be asked by the API server. `down` makes it fail as a missing one
// does.
class MetalLbWebhook {
 public:
  // Registers itself with the server, which it must not outlive.
  MetalLbWebhook(ApiServer& server, std::string ns = "metallb-system");
  void set_down(bool down) { *down_ = down; }

 private:
  std::shared_ptr<bool> down_ = std::make_shared<bool>(false);
};

// Starts a MetalLB in a world under the user "metallb".
void start_metallb(World& world, MetalLbOptions options = {}, const std::string& name = "metallb");

}  // namespace sandbox
