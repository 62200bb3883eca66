// The parts of kube-controller-manager that controllers rely on: the garbage collector and the namespace controller.
// They act through the API like anybody else, a little after the fact, driven by the reactor's clock.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/reactor.h"
#include "sandbox/api_server.h"

namespace sandbox {

struct ClusterControllerOptions {
  base::Duration collect_delay = std::chrono::milliseconds(50);    // from an owner's end to its dependents' deletion
  base::Duration namespace_delay = std::chrono::milliseconds(50);  // from a namespace's deletion to that of its content
  base::Duration namespace_retry = std::chrono::milliseconds(500);  // while content with finalizers is left
};

// Both outlive nothing: server and reactor outlive them. Users:
// "system:serviceaccount:kube-system:generic-garbage-collector" and
// "system:serviceaccount:kube-system:namespace-controller".
class ClusterControllers {
 public:
  ClusterControllers(ApiServer& server, base::Reactor& reactor, ClusterControllerOptions options = {});
  ~ClusterControllers();
  ClusterControllers(const ClusterControllers&) = delete;
  ClusterControllers& operator=(const ClusterControllers&) = delete;

 private:
  class GarbageCollector;
  class NamespaceController;
  std::shared_ptr<GarbageCollector> garbage_;
  std::shared_ptr<NamespaceController> namespaces_;
};

}  // namespace sandbox
