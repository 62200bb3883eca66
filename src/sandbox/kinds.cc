// The built-in kinds, as data.
#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "sandbox/builtin/fields.h"
#include "sandbox/server_impl.h"
#include "sandbox/strategies.h"

namespace sandbox {
namespace {

void use_fields(Kind& kind, std::string_view of = {}) {
  const BuiltinFields* fields = builtin_fields(of.empty() ? kind.name : of);
  if (fields == nullptr) throw std::logic_error("no fields for " + kind.name);
  kind.openapi = std::shared_ptr<const json::object>(std::shared_ptr<void>(), &fields->openapi);  // lives for ever
  if (kind.storage == nullptr) kind.schema = fields->schema;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

Subresource scale() { return {"scale", "Scale", "autoscaling", "v1", {"get", "patch", "update"}}; }

}  // namespace

const Kind& ApiServer::Impl::add_kind(Kind kind) {
  if (kind.strategy == nullptr) kind.strategy = plain_strategy();
  if (kind.openapi == nullptr) use_fields(kind, kind.storage == nullptr ? kind.name : kind.name + "." + kind.group);
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
                          .strategy = namespace_strategy()});
  add_kind({.version = "v1",
            .plural = "configmaps",
            .singular = "configmap",
            .name = "ConfigMap",
            .short_names = {"cm"},
            .unconditional_update = true});
  add_kind({.version = "v1",
            .plural = "secrets",
            .singular = "secret",
            .name = "Secret",
            .unconditional_update = true,
            .selectable = {"type"},
            .strategy = secret_strategy()});
  add_kind({.version = "v1",
            .plural = "serviceaccounts",
            .singular = "serviceaccount",
            .name = "ServiceAccount",
            .short_names = {"sa"},
            .absent = {{"token",
                        "the sandbox gives no tokens to service accounts; "
                        "--as=system:serviceaccount:NAMESPACE:NAME speaks as one"}},
            .unconditional_update = true,
            .returns_deleted = true});
  add_kind({.version = "v1",
            .plural = "services",
            .singular = "service",
            .name = "Service",
            .short_names = {"svc"},
            .categories = {"all"},
            .absent = {{"proxy", "the sandbox passes no traffic: nothing listens behind Services"}},
            .status = true,
            .unconditional_update = true,
            .returns_deleted = true,
            .name_rule = NameRule::label,
            .selectable = {"spec.clusterIP", "spec.type"},
            .strategy = service_strategy(config, random)});
  add_kind({.version = "v1",
            .plural = "pods",
            .singular = "pod",
            .name = "Pod",
            .short_names = {"po"},
            .categories = {"all"},
            .absent = {{"log", "the sandbox keeps pods but runs no containers: there are no logs"},
                       {"exec", "the sandbox keeps pods but runs no containers: there is none to run a command in"},
                       {"attach", "the sandbox keeps pods but runs no containers: there is none to attach to"},
                       {"portforward", "the sandbox keeps pods but runs no containers: nothing listens on any port"},
                       {"proxy", "the sandbox keeps pods but runs no containers: nothing listens on any port"},
                       {"ephemeralcontainers", "the sandbox keeps pods but runs no containers: none can be added"},
                       {"eviction", "the sandbox evicts no pods; delete them"}},
            .status = true,
            .generation = true,
            .unconditional_update = true,
            .returns_deleted = true,
            .selectable = {"spec.nodeName", "spec.serviceAccountName", "status.phase", "status.podIP"},
            .strategy = pod_strategy()});
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
            .strategy = lease_strategy()});
  add_kind({.group = "discovery.k8s.io",
            .version = "v1",
            .plural = "endpointslices",
            .singular = "endpointslice",
            .name = "EndpointSlice",
            .generation = true,
            .unconditional_update = true,
            .strategy = slice_strategy()});
  add_kind({.group = "apps",
            .version = "v1",
            .plural = "deployments",
            .singular = "deployment",
            .name = "Deployment",
            .short_names = {"deploy"},
            .categories = {"all"},
            .subresources = {scale()},
            .status = true,
            .generation = true,
            .unconditional_update = true,
            .strategy = workload_strategy()});
  register_more_kinds();
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
                           .strategy = definition_strategy()});
}

// Kinds that charts have and kubectl asks for; the sandbox keeps them and does nothing about them.
void ApiServer::Impl::register_more_kinds() {
  add_kind({.version = "v1",
            .plural = "nodes",
            .singular = "node",
            .name = "Node",
            .short_names = {"no"},
            .absent = {{"proxy", "the sandbox has no kubelet: its node is a name that pods are kept under"}},
            .namespaced = false,
            .status = true,
            .unconditional_update = true,
            .selectable = {"spec.unschedulable"}});
  add_kind({.version = "v1",
            .plural = "endpoints",
            .singular = "endpoints",
            .name = "Endpoints",
            .short_names = {"ep"},
            .unconditional_update = true,
            .warning = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"});
  add_kind({.group = "apps",
            .version = "v1",
            .plural = "replicasets",
            .singular = "replicaset",
            .name = "ReplicaSet",
            .short_names = {"rs"},
            .categories = {"all"},
            .subresources = {scale()},
            .status = true,
            .generation = true,
            .unconditional_update = true,
            .selectable = {"status.replicas"},
            .strategy = workload_strategy()});
  add_kind({.group = "policy",
            .version = "v1",
            .plural = "poddisruptionbudgets",
            .singular = "poddisruptionbudget",
            .name = "PodDisruptionBudget",
            .short_names = {"pdb"},
            .status = true,
            .generation = true});
  add_kind({.group = "networking.k8s.io",
            .version = "v1",
            .plural = "networkpolicies",
            .singular = "networkpolicy",
            .name = "NetworkPolicy",
            .short_names = {"netpol"},
            .generation = true,
            .unconditional_update = true});
  for (const std::string_view name : {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}) {
    const bool cluster = name.starts_with("Cluster");
    add_kind({.group = "rbac.authorization.k8s.io",
              .version = "v1",
              .plural = lower(name) + "s",
              .singular = lower(name),
              .name = std::string(name),
              .namespaced = !cluster,
              .unconditional_update = true,
              .name_rule = NameRule::path});
  }
  for (const std::string_view name :
       {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}) {
    const std::string singular = lower(name);
    const bool plain = !singular.ends_with('y');
    add_kind({.group = "admissionregistration.k8s.io",
              .version = "v1",
              .plural = plain ? singular + "s" : singular.substr(0, singular.size() - 1) + "ies",
              .singular = singular,
              .name = std::string(name),
              .categories = {"api-extensions"},
              .namespaced = false,
              .status = name == "ValidatingAdmissionPolicy",
              .generation = true,
              .unconditional_update = true,
              .strategy = policy_strategy()});
  }
  for (const std::string_view name :
       {"SelfSubjectAccessReview", "SubjectAccessReview", "SelfSubjectRulesReview", "SelfSubjectReview"}) {
    add_kind({.group = name == "SelfSubjectReview" ? "authentication.k8s.io" : "authorization.k8s.io",
              .version = "v1",
              .plural = lower(name) + "s",
              .singular = lower(name),
              .name = std::string(name),
              .verbs = {"create"},
              .namespaced = false,
              .review = true});
  }
}

}  // namespace sandbox
