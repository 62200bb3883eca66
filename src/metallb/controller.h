// The driver as data for the runtime (driver design §1 and §3 to §8): the kinds it watches, their indexes, and the
// functions that plan its keys.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "api/restore.h"
#include "base/clock.h"
#include "kube/controller.h"

namespace metallb {

// What the command line of the driver says. Immutable once the controller is built.
struct Options {
  // Where MetalLB and its pools live.
  std::string metallb_namespace = "metallb-system";
  // The namespace only the driver may write to. Created when missing.
  std::string placeholder_namespace = "metallb-iad-system";
  // Where placeholders were before: those that are left there are trusted, and go over to placeholder_namespace.
  // Without that one and without repetitions.
  std::vector<std::string> former_placeholder_namespaces;
  // MetalLB's loadBalancerClass; "" if it serves Services without one.
  std::string load_balancer_class;
  // How long a Service that lets go may be kept from going by our finalizer.
  base::Duration detach_timeout = std::chrono::seconds(60);
  // How long a pin on a Service may take to land before the address is held again.
  base::Duration attach_timeout = std::chrono::seconds(30);
  // How long MetalLB may be silent about a placeholder before its claim says so.
  base::Duration backend_patience = std::chrono::seconds(10);
  // How long what a backup tool made again waits for what belongs to it (contract §9); not more than
  // api::k_longest_restore.
  base::Duration restore_grace = api::k_restore_grace;
  // Whether MetalLB is made to take reserved addresses from Services that use them without a claim.
  bool evict_intruders = false;
  // Whether classes may have addresses of Services that never claimed them made into objects (driver design §9). Takes
  // the right to create and delete claims.
  bool inventory = false;
  // No allocation placeholder is created while this many placeholders exist; each costs a ClusterIP. 0 = no limit.
  std::size_t max_placeholders = 0;
  // Random bytes that nobody else knows: sharing keys are made with it. "" makes keys that can be foretold, for tests.
  std::string secret;
};

// A controller that keeps nothing outside the cluster; every call gives an independent one.
kube::Controller controller(const Options& options);

}  // namespace metallb
