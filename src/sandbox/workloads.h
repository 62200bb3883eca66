// What makes Deployments, pods and Services look alive: ReplicaSets and pods that "run" at once on a node that does not
// exist, endpoints of Services, the default service account of every namespace. As much as a tour of the product needs.
#pragma once

#include <chrono>
#include <memory>

#include "sandbox/api_server.h"

namespace sandbox {

struct WorkloadOptions {
  base::Duration delay = std::chrono::milliseconds(30);       // from a change to what follows from it
  base::Duration pod_start = std::chrono::milliseconds(700);  // from a pod's creation to its readiness
};

// Server and reactor outlive it. Writes as the users of kube-controller-manager's controllers
// ("system:serviceaccount:kube-system:deployment-controller", …) and as "system:node:sandbox".
class Workloads {
 public:
  Workloads(ApiServer& server, base::Reactor& reactor, WorkloadOptions options = {});
  ~Workloads();
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;

 private:
  class Controller;
  std::shared_ptr<Controller> controller_;
};

}  // namespace sandbox
