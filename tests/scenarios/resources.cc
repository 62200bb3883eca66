#include "scenarios/resources.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace scenarios {
namespace json = boost::json;

const std::vector<kube::Resource>& known_resources() {
  static constexpr std::string_view ipam = "local.sdn.cozystack.io";
  static constexpr std::string_view admission = "admissionregistration.k8s.io";
  static constexpr std::string_view rbac = "rbac.authorization.k8s.io";
  static const std::vector<kube::Resource> resources = {
      {ipam, "v1alpha1", "ipaddressclasses", "IPAddressClass", false},
      {ipam, "v1alpha1", "ipaddresses", "IPAddress", false},
      {ipam, "v1alpha1", "ipaddressclaims", "IPAddressClaim", true},
      {"", "v1", "services", "Service", true},
      {"", "v1", "namespaces", "Namespace", false},
      {"events.k8s.io", "v1", "events", "Event", true},
      {"", "v1", "pods", "Pod", true},
      {"", "v1", "configmaps", "ConfigMap", true},
      {"", "v1", "serviceaccounts", "ServiceAccount", true},
      {"", "v1", "resourcequotas", "ResourceQuota", true},
      {"metallb.io", "v1beta1", "ipaddresspools", "IPAddressPool", true},
      {"metallb.io", "v1beta1", "l2advertisements", "L2Advertisement", true},
      {"metallb.io", "v1beta1", "bgpadvertisements", "BGPAdvertisement", true},
      {"metallb.io", "v1beta1", "configurationstates", "ConfigurationState", true},
      {"coordination.k8s.io", "v1", "leases", "Lease", true},
      {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true},
      {"apps", "v1", "deployments", "Deployment", true},
      {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false},
      {admission, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false},
      {admission, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false},
      {rbac, "v1", "clusterroles", "ClusterRole", false},
      {rbac, "v1", "clusterrolebindings", "ClusterRoleBinding", false},
      {rbac, "v1", "roles", "Role", true},
      {rbac, "v1", "rolebindings", "RoleBinding", true},
  };
  return resources;
}

base::Result<const kube::Resource*> resource_of(std::string_view kind, std::string_view api_version) {
  for (const auto& resource : known_resources()) {
    if (resource.kind == kind && (api_version.empty() || resource.api_version() == api_version)) return &resource;
  }
  return base::fail(
      fmt::format("kind {} {} is not known here; add it to tests/scenarios/resources.cc", api_version, kind));
}

std::string Target::path(std::string_view subresource) const {
  std::string out = name.empty() ? resource->collection_path(ns) : resource->object_path(ns, name);
  if (!subresource.empty()) out += fmt::format("/{}", subresource);
  return out;
}

std::string Target::to_string() const {
  return fmt::format("{} {}{}{}", resource->kind, ns, ns.empty() ? "" : "/", name);
}

namespace {
std::string text_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}
}  // namespace

base::Result<Target> target_of(json::object& document, std::string_view default_ns) {
  auto resource = resource_of(text_at(document, "kind"), text_at(document, "apiVersion"));
  if (!resource) return base::fail(resource.error().message);
  document["apiVersion"] = (*resource)->api_version();
  auto& meta = document["metadata"];
  if (!meta.is_object()) meta = json::object{};
  auto& fields = meta.as_object();
  Target target{*resource, {}, text_at(fields, "name")};
  if ((*resource)->namespaced) {
    if (!fields.contains("namespace")) fields["namespace"] = default_ns;
    target.ns = text_at(fields, "namespace");
  }
  return target;
}

std::string Outcome::message() const {
  const auto* object = body.if_object();
  const auto* text = object ? object->if_contains("message") : nullptr;
  return text && text->is_string() ? std::string(text->as_string()) : json::serialize(body);
}

std::vector<std::string> Outcome::fields() const {
  std::vector<std::string> out;
  boost::system::error_code error;
  const auto* causes = body.find_pointer("/details/causes", error);
  if (!causes || !causes->is_array()) return out;
  for (const auto& cause : causes->as_array()) {
    if (cause.is_object()) out.push_back(text_at(cause.as_object(), "field"));
  }
  return out;
}

namespace {
// Nobody reads them, and they make every message unreadable.
void forget_managed_fields(json::value& body) {
  auto* object = body.if_object();
  if (!object) return;
  if (auto* meta = object->if_contains("metadata"); meta && meta->is_object()) meta->as_object().erase("managedFields");
  if (auto* items = object->if_contains("items"); items && items->is_array()) {
    for (auto& item : items->as_array()) forget_managed_fields(item);
  }
}
}  // namespace

Outcome Client::send(kube::Request request) {
  const kube::Answer answer = backend_.send(user_, request);
  if (!answer) return {0, json::value(fmt::format("no answer: {}", answer.error().message)), {}};
  boost::system::error_code error;
  json::value body = json::parse(answer->body, error);
  if (error) body = json::value(answer->body);
  forget_managed_fields(body);
  return {answer->status, std::move(body), answer->warnings};
}

namespace {
kube::Request request(std::string_view method, std::string path) {
  kube::Request out;
  out.method = method;
  out.path = std::move(path);
  return out;
}
kube::Request request(std::string_view method, std::string path, std::string_view content_type,
                      const json::value& body) {
  kube::Request out = request(method, std::move(path));
  out.content_type = content_type;
  out.body = json::serialize(body);
  return out;
}
}  // namespace

Outcome Client::get(const Target& target) { return send(request("GET", target.path())); }

Outcome Client::list(const Target& target, std::vector<std::pair<std::string, std::string>> query) {
  kube::Request list = request("GET", target.resource->collection_path(target.ns));
  list.query = std::move(query);
  return send(std::move(list));
}

Outcome Client::create(const Target& target, const json::value& object, bool dry_run) {
  kube::Request create = request("POST", target.resource->collection_path(target.ns), "application/json", object);
  if (dry_run) create.query.emplace_back("dryRun", "All");
  return send(std::move(create));
}

Outcome Client::apply(const Target& target, const json::value& object) {
  Outcome outcome = create(target, object);
  return outcome.status == 409 ? merge_patch(target, object) : outcome;
}

Outcome Client::merge_patch(const Target& target, const json::value& patch, std::string_view subresource) {
  return send(request("PATCH", target.path(subresource), "application/merge-patch+json", patch));
}

Outcome Client::put(const Target& target, const json::value& object, std::string_view subresource) {
  return send(request("PUT", target.path(subresource), "application/json", object));
}

Outcome Client::remove(const Target& target) { return send(request("DELETE", target.path())); }

}  // namespace scenarios
