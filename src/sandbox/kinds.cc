// The built-in kinds, as data.
#include <algorithm>

#include "sandbox/server_impl.h"
#include "sandbox/strategies.h"

namespace sandbox {
namespace {

constexpr std::string_view object_reference =
    "{apiVersion:s,fieldPath:s,kind:s,name:s,namespace:s,resourceVersion:s,uid:s}";

std::string event_schema() {
  std::string fields =
      "action:s,count:i,eventTime:v,firstTimestamp:v,lastTimestamp:v,message:s,reason:s,reportingComponent:s,";
  fields += "reportingInstance:s,series{count:i,lastObservedTime:v},source{component:s,host:s},type:s,involvedObject";
  fields += object_reference;
  fields += ",related";
  return fields += object_reference;
}

constexpr std::string_view condition_list =
    "conditions[]{type:s,status:s,observedGeneration:i,lastTransitionTime:v,lastProbeTime:v,lastUpdateTime:v,reason:s,"
    "message:s}";

std::string service_schema() {
  std::string fields =
      "spec{allocateLoadBalancerNodePorts:b,clusterIP:s,clusterIPs[]:s,externalIPs[]:s,externalName:s,"
      "externalTrafficPolicy:s,"
      "healthCheckNodePort:i,internalTrafficPolicy:s,ipFamilies[]:s,ipFamilyPolicy:s,loadBalancerClass:s,"
      "loadBalancerIP:s,"
      "loadBalancerSourceRanges[]:s,ports[]{appProtocol:s,name:s,nodePort:i,port:i,protocol:s,targetPort:v},"
      "publishNotReadyAddresses:b,selector{*:s},sessionAffinity:s,sessionAffinityConfig{clientIP{timeoutSeconds:i}},"
      "trafficDistribution:s,type:s},status{loadBalancer{ingress[]{hostname:s,ip:s,ipMode:s,ports[]{error:s,port:i,"
      "protocol:s}}},";
  fields += condition_list;
  return fields += "}";
}

constexpr std::string_view slice_schema =
    "addressType:s,endpoints[]{addresses[]:s,conditions{ready:b,serving:b,terminating:b},deprecatedTopology{*:s},hints:"
    "v,hostname:s,"
    "nodeName:s,targetRef:v,zone:s},ports[]{appProtocol:s,name:s,port:i,protocol:s}";
constexpr std::string_view lease_schema =
    "spec{acquireTime:v,holderIdentity:s,leaseDurationSeconds:i,leaseTransitions:i,preferredHolder:s,renewTime:v,"
    "strategy:s}";

}  // namespace

const Kind& ApiServer::Impl::add_kind(Kind kind) {
  if (kind.strategy == nullptr) kind.strategy = plain_strategy();
  auto key = std::tuple(kind.group, kind.version, kind.plural);
  auto stored = std::make_shared<Kind>(std::move(kind));
  auto& slot = kinds[std::move(key)];
  if (slot != nullptr) retired.push_back(slot);
  slot = std::move(stored);
  return *slot;
}

const Kind* ApiServer::Impl::find_kind(std::string_view group, std::string_view version,
                                       std::string_view plural) const {
  const auto found = kinds.find(std::tuple(std::string(group), std::string(version), std::string(plural)));
  return found == kinds.end() ? nullptr : found->second.get();
}

const Kind* ApiServer::Impl::find_kind_of(const json::object& document) const {
  const std::string_view api_version = text_at(document, {"apiVersion"});
  const std::string_view name = text_at(document, {"kind"});
  const auto found = std::ranges::find_if(kinds, [&](const auto& entry) {
    return entry.second->name == name && entry.second->api_version() == api_version;
  });
  return found == kinds.end() ? nullptr : found->second.get();
}

void ApiServer::Impl::register_builtin_kinds() {
  const auto fields = [](std::string_view text) -> std::shared_ptr<const Schema> { return Schema::of_fields(text); };
  namespaces = &add_kind({.version = "v1",
                          .plural = "namespaces",
                          .singular = "namespace",
                          .name = "Namespace",
                          .short_names = {"ns"},
                          .namespaced = false,
                          .status = true,
                          .unconditional_update = true,
                          .name_rule = NameRule::label,
                          .selectable = {"status.phase"},
                          .schema = fields("spec{finalizers[]:s},status{phase:s," + std::string(condition_list) + "}"),
                          .strategy = namespace_strategy()});
  add_kind({.version = "v1",
            .plural = "configmaps",
            .singular = "configmap",
            .name = "ConfigMap",
            .short_names = {"cm"},
            .unconditional_update = true,
            .schema = fields("data{*:s},binaryData{*:s},immutable:b")});
  add_kind({.version = "v1",
            .plural = "secrets",
            .singular = "secret",
            .name = "Secret",
            .unconditional_update = true,
            .selectable = {"type"},
            .schema = fields("data{*:s},stringData{*:s},immutable:b,type:s")});
  add_kind({.version = "v1",
            .plural = "serviceaccounts",
            .singular = "serviceaccount",
            .name = "ServiceAccount",
            .short_names = {"sa"},
            .unconditional_update = true,
            .returns_deleted = true,
            .schema = fields("secrets[]:v,imagePullSecrets[]:v,automountServiceAccountToken:b")});
  add_kind({.version = "v1",
            .plural = "services",
            .singular = "service",
            .name = "Service",
            .short_names = {"svc"},
            .categories = {"all"},
            .status = true,
            .unconditional_update = true,
            .returns_deleted = true,
            .name_rule = NameRule::label,
            .selectable = {"spec.clusterIP", "spec.type"},
            .schema = fields(service_schema()),
            .strategy = service_strategy(config, random)});
  add_kind({.version = "v1",
            .plural = "pods",
            .singular = "pod",
            .name = "Pod",
            .short_names = {"po"},
            .categories = {"all"},
            .status = true,
            .generation = true,
            .unconditional_update = true,
            .returns_deleted = true,
            .selectable = {"spec.nodeName", "spec.serviceAccountName", "status.phase", "status.podIP"},
            .schema = fields("spec:v,status:v")});
  const Kind& events =
      add_kind({.version = "v1",
                .plural = "events",
                .singular = "event",
                .name = "Event",
                .short_names = {"ev"},
                .unconditional_update = true,
                .selectable = {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                               "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
                               "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"},
                .schema = fields(event_schema()),
                .strategy = event_strategy()});
  add_kind({.group = "events.k8s.io",
            .version = "v1",
            .plural = "events",
            .singular = "event",
            .name = "Event",
            .short_names = {"ev"},
            .unconditional_update = true,
            .selectable = {"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "reason",
                           "reportingController", "type"},
            .strategy = event_view_strategy(),
            .storage = &events,
            .to_storage = event_to_core,
            .from_storage = event_from_core});
  add_kind({.group = "coordination.k8s.io",
            .version = "v1",
            .plural = "leases",
            .singular = "lease",
            .name = "Lease",
            .schema = fields(lease_schema),
            .strategy = lease_strategy()});
  add_kind({.group = "discovery.k8s.io",
            .version = "v1",
            .plural = "endpointslices",
            .singular = "endpointslice",
            .name = "EndpointSlice",
            .generation = true,
            .unconditional_update = true,
            .schema = fields(slice_schema),
            .strategy = slice_strategy()});
  add_kind({.group = "apps",
            .version = "v1",
            .plural = "deployments",
            .singular = "deployment",
            .name = "Deployment",
            .short_names = {"deploy"},
            .categories = {"all"},
            .status = true,
            .generation = true,
            .unconditional_update = true,
            .schema = fields("spec:v,status:v")});
  definitions = &add_kind({.group = "apiextensions.k8s.io",
                           .version = "v1",
                           .plural = "customresourcedefinitions",
                           .singular = "customresourcedefinition",
                           .name = "CustomResourceDefinition",
                           .short_names = {"crd", "crds"},
                           .categories = {"api-extensions"},
                           .namespaced = false,
                           .status = true,
                           .generation = true,
                           .schema = fields("spec:v,status:v"),
                           .strategy = definition_strategy()});
}

}  // namespace sandbox
