#include "client/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "api/ipam.h"
#include "api/names.h"

namespace client {
namespace {

struct Known {
  kube::Resource resource;
  std::array<std::string_view, 2> short_names = {};
};

// Ours first, in the order that kubectl has them for their category: the plural ipaddresses also exists in
// networking.k8s.io.
constexpr std::array k_known = std::to_array<Known>({
    {{api::group, "v1alpha1", "ipaddressclaims", "IPAddressClaim", true}, {"ipclaim"}},
    {{api::group, "v1alpha1", "ipaddressclasses", "IPAddressClass", false}, {"ipclass"}},
    {{api::group, "v1alpha1", "ipaddresses", "IPAddress", false}, {"ipaddr"}},
    {{"", "v1", "services", "Service", true}, {"svc"}},
    {{"", "v1", "namespaces", "Namespace", false}, {"ns"}},
    {{"", "v1", "pods", "Pod", true}, {"po"}},
    {{"", "v1", "events", "Event", true}, {"ev"}},
    {{"", "v1", "configmaps", "ConfigMap", true}, {"cm"}},
    {{"", "v1", "serviceaccounts", "ServiceAccount", true}, {"sa"}},
    {{"apps", "v1", "deployments", "Deployment", true}, {"deploy"}},
    {{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true}, {}},
    {{"coordination.k8s.io", "v1", "leases", "Lease", true}, {}},
    {{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false}, {"crd", "crds"}},
    {{"rbac.authorization.k8s.io", "v1", "roles", "Role", true}, {}},
    {{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true}, {}},
    {{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false}, {}},
    {{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false}, {}},
    {{"metallb.io", "v1beta1", "ipaddresspools", "IPAddressPool", true}, {}},
    {{"metallb.io", "v1beta1", "l2advertisements", "L2Advertisement", true}, {}},
    {{"metallb.io", "v1beta1", "bgpadvertisements", "BGPAdvertisement", true}, {}},
});

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool answers_to(const Known& known, std::string_view name) {
  const kube::Resource& r = known.resource;
  const std::string singular = lower(r.kind);
  if (name == r.plural || name == singular) return true;
  if (!r.group.empty() &&
      (name == fmt::format("{}.{}", r.plural, r.group) || name == fmt::format("{}.{}", singular, r.group) ||
       name == fmt::format("{}.{}.{}", r.plural, r.version, r.group))) {
    return true;
  }
  return std::ranges::any_of(known.short_names, [&](std::string_view s) { return !s.empty() && s == name; });
}

}  // namespace

base::Result<const kube::Resource*> kind_named(std::string_view name) {
  const std::string wanted = lower(name);
  for (const Known& known : k_known) {
    if (answers_to(known, wanted)) return &known.resource;
  }
  std::string all;
  for (const Known& known : k_known) all += (all.empty() ? "" : ", ") + std::string(known.resource.plural);
  return base::fail(
      fmt::format("the kind \"{}\" is not among those this program knows: {}; kubectl knows all", name, all));
}

base::Result<std::vector<const kube::Resource*>> kinds_named(std::string_view names) {
  std::vector<const kube::Resource*> kinds;
  while (true) {
    const std::size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    if (lower(name) == "ipam") {
      for (const Known& known : std::span(k_known).first(3)) kinds.push_back(&known.resource);
    } else {
      const auto kind = kind_named(name);
      if (!kind) return std::unexpected(kind.error());
      kinds.push_back(*kind);
    }
    if (comma == std::string_view::npos) return kinds;
    names.remove_prefix(comma + 1);
  }
}

base::Result<const kube::Resource*> kind_of(const json::object& document) {
  const std::string_view version = text_at(document, {"apiVersion"});
  const std::string_view kind = text_at(document, {"kind"});
  if (version.empty()) return base::fail("apiVersion is missing");
  if (kind.empty()) return base::fail("kind is missing");
  for (const Known& known : k_known) {
    if (known.resource.kind == kind && known.resource.api_version() == version) return &known.resource;
  }
  return base::fail(fmt::format("this program does not know the kind {} of {}; kubectl does", kind, version));
}

std::string display_kind(const kube::Resource& resource) {
  const std::string kind = lower(resource.kind);
  return resource.group.empty() ? kind : fmt::format("{}.{}", kind, resource.group);
}

std::string display_name(const kube::Resource& resource, std::string_view name) {
  return fmt::format("{}/{}", display_kind(resource), name);
}

}  // namespace client
