// What the built-in kinds do beyond the general rules. Internal to the sandbox.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "sandbox/kind.h"

namespace sandbox {

struct ServerOptions;

std::shared_ptr<Strategy> plain_strategy();
std::shared_ptr<Strategy> custom_strategy();  // custom kinds: /status keeps nothing but status
std::shared_ptr<Strategy> namespace_strategy();
std::shared_ptr<Strategy> lease_strategy();
std::shared_ptr<Strategy> event_strategy();
std::shared_ptr<Strategy> event_view_strategy();  // events.k8s.io/v1
std::shared_ptr<Strategy> slice_strategy();
std::shared_ptr<Strategy> workload_strategy();  // Deployments and ReplicaSets
std::shared_ptr<Strategy> pod_strategy();
std::shared_ptr<Strategy> secret_strategy();
std::shared_ptr<Strategy> policy_strategy();      // admission policies and their bindings
std::shared_ptr<Strategy> definition_strategy();  // CustomResourceDefinitions
// Cluster IPs and node ports come from `random` and the ranges in `options`; both outlive the strategy.
std::shared_ptr<Strategy> service_strategy(const ServerOptions& options, base::Random& random);

// events.k8s.io/v1 and v1 are two views of one storage.
void event_to_core(json::object& event);
void event_from_core(json::object& event);

}  // namespace sandbox
