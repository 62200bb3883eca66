// Kubernetes' own kinds that the controllers read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/types.h"

namespace api {

struct ServicePort {
  std::string protocol;  // "TCP" by default
  int port = 0;
  friend bool operator==(const ServicePort&, const ServicePort&) = default;
};

struct Service : kube::Object {
  std::string type;  // "ClusterIP" by default
  std::optional<std::string> loadBalancerClass;
  std::string loadBalancerIP;
  bool has_selector = false;  // the key is there, even if empty
  kube::StringMap selector;
  std::vector<ServicePort> ports;
  std::vector<std::string> clusterIPs;
  std::vector<std::string> ipFamilies;
  std::string ipFamilyPolicy;
  std::string externalTrafficPolicy;
  std::optional<bool> allocateLoadBalancerNodePorts;
  std::vector<std::string> externalIPs;
  // status.loadBalancer.ingress[].ip in the server's order. An ingress is a set: MetalLB re-sorts it.
  std::vector<std::string> ingress;
  static const kube::Kind& kind();
};

struct Namespace : kube::Object {
  std::string phase;  // "Active" or "Terminating"
  static const kube::Kind& kind();
};

// Read for being there, and for their metadata.
struct Pod : kube::Object {
  static const kube::Kind& kind();
};

struct EndpointSlice : kube::Object {
  static const kube::Kind& kind();
};

}  // namespace api
