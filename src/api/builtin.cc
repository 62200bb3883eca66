#include "api/builtin.h"

#include "kube/json_decode.h"

namespace kube::json {

using api::Namespace;
using api::Service;
using api::ServicePort;

template <>
struct Fields<ServicePort> {
  static constexpr std::array list{field<&ServicePort::protocol>("protocol"), field<&ServicePort::port>("port")};
};

namespace {

struct Ingress {
  std::string ip;
};

bool read_selector(Value& value, Service& out, Trail& trail) {
  out.has_selector = true;
  return read(value, out.selector, trail);
}
bool same_selector(const Service& a, const Service& b) {
  return a.has_selector == b.has_selector && a.selector == b.selector;
}

bool read_ingress(Value& value, Service& out, Trail& trail);
bool same_ingress(const Service& a, const Service& b) { return a.ingress == b.ingress; }

constexpr std::array service_spec{field<&Service::type>("type"),
                                  field<&Service::loadBalancerClass>("loadBalancerClass"),
                                  field<&Service::loadBalancerIP>("loadBalancerIP"),
                                  Field<Service>{"selector", read_selector, same_selector},
                                  field<&Service::ports>("ports"),
                                  field<&Service::clusterIPs>("clusterIPs"),
                                  field<&Service::ipFamilies>("ipFamilies"),
                                  field<&Service::ipFamilyPolicy>("ipFamilyPolicy"),
                                  field<&Service::externalTrafficPolicy>("externalTrafficPolicy"),
                                  field<&Service::allocateLoadBalancerNodePorts>("allocateLoadBalancerNodePorts"),
                                  field<&Service::externalIPs>("externalIPs")};
constexpr std::array service_load_balancer{Field<Service>{"ingress", read_ingress, same_ingress}};
constexpr std::array service_status{section<Service, service_load_balancer>("loadBalancer")};
constexpr std::array namespace_status{field<&Namespace::phase>("phase")};

constexpr Resource service_resource{"", "v1", "services", "Service", true};
constexpr Resource namespace_resource{"", "v1", "namespaces", "Namespace", false};
constexpr Resource pod_resource{"", "v1", "pods", "Pod", true};
constexpr Resource slice_resource{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true};

}  // namespace

template <>
struct Fields<Ingress> {
  static constexpr std::array list{field<&Ingress::ip>("ip")};
};

namespace {

// Entries that have only a hostname are no address and are left out.
bool read_ingress(Value& value, Service& out, Trail& trail) {
  std::vector<Ingress> entries;
  if (!read(value, entries, trail)) return false;
  out.ingress.clear();
  for (Ingress& entry : entries) {
    if (!entry.ip.empty()) out.ingress.push_back(std::move(entry.ip));
  }
  return true;
}

}  // namespace

template <>
struct Fields<Service> {
  static constexpr std::array list{section<Service, service_spec>("spec"), section<Service, service_status>("status")};
  // The API server's defaults, for servers and tests that do not store them.
  static void settle(Service& s) {
    if (s.type.empty()) s.type = "ClusterIP";
    for (ServicePort& port : s.ports) {
      if (port.protocol.empty()) port.protocol = "TCP";
    }
  }
};

template <>
struct Fields<Namespace> {
  static constexpr std::array list{section<Namespace, namespace_status>("status")};
};

template <>
struct Fields<api::Pod> {
  static constexpr std::array<Field<api::Pod>, 0> list{};
};

template <>
struct Fields<api::EndpointSlice> {
  static constexpr std::array<Field<api::EndpointSlice>, 0> list{};
};

}  // namespace kube::json

namespace api {

const kube::Kind& Service::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<Service, kube::json::service_resource>();
  return kind;
}

const kube::Kind& Namespace::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<Namespace, kube::json::namespace_resource>();
  return kind;
}

const kube::Kind& Pod::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<Pod, kube::json::pod_resource>();
  return kind;
}

const kube::Kind& EndpointSlice::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<EndpointSlice, kube::json::slice_resource>();
  return kind;
}

}  // namespace api
