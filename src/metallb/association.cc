#include "metallb/association.h"

#include <algorithm>

#include "api/names.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

using Addresses = std::vector<const api::IPAddress*>;

bool may_keep_one(kube::View& view, const api::Service& service, const api::IPAddress& address) {
  if (!address.claimRef || address.claimRef->ns != service.meta.ns) return false;
  if (address.claimRef->name != claim_name_of(service)) return false;
  const auto value = value_of(address);
  const std::vector<base::Family> families = cluster_families(service);
  if (!value || std::ranges::find(families, value->family()) == families.end()) return false;
  return holder_of(view, address) != nullptr;
}

// It is pinned to the address or shows it.
bool has(const api::Service& service, const base::IpAddress& ip) {
  const auto ips = pinned(service);
  return std::ranges::find(ips, ip) != ips.end() || shows(service, ip);
}

}  // namespace

bool is_served_by_metallb(const Options& options, const api::Service& service) {
  return service.type == "LoadBalancer" && service.loadBalancerClass.value_or("") == options.load_balancer_class;
}

std::vector<base::Family> cluster_families(const api::Service& service) {
  bool v4 = false;
  bool v6 = false;
  for (const std::string& text : service.clusterIPs) {
    if (const auto ip = base::IpAddress::parse(text)) (ip->family() == base::Family::v4 ? v4 : v6) = true;
  }
  if (!v4 && !v6) {
    for (const std::string& family : service.ipFamilies) (family == "IPv6" ? v6 : v4) = true;
  }
  std::vector<base::Family> families;
  if (v4) families.push_back(base::Family::v4);
  if (v6) families.push_back(base::Family::v6);
  return families;
}

std::string_view claim_name_of(const api::Service& service) {
  return service.meta.annotations.get(api::claim_annotation);
}

bool is_copy(const api::Service& service) {
  const std::string* uid = service.meta.annotations.find(api::metallb::service_uid);
  return uid != nullptr && *uid != service.meta.uid;
}

bool is_pin_ours(const api::Service& service) {
  return service.meta.annotations.get(api::metallb::pinned) == "true" && !is_copy(service);
}

bool carries_our_keys(const api::Service& service) {
  return service.meta.annotations.contains(api::metallb::pinned) ||
         service.meta.annotations.contains(api::metallb::service_uid) ||
         service.meta.has_finalizer(api::metallb::attached);
}

bool draws_from_pool_of(const api::Service& service, const api::IPAddress& address) {
  return pinned(service).empty() && pool_of(service) == pool_name(address.className);
}

bool has_let_go(const api::Service& service) {
  return !carries_our_keys(service) && service.meta.annotations.get(api::metallb::pool) == api::metallb::awaiting_pool;
}

bool is_announcing(const api::Service& service, const base::IpAddress& ip) {
  if (is_copy(service)) return false;
  const auto ips = pinned(service);
  return std::ranges::find(ips, ip) != ips.end() && carries_our_keys(service);
}

bool is_associated(const api::IPAddress& address, const api::Service& service) {
  const auto& to = address.associatedTo;
  return to && to->kind == "Service" && to->ns == service.meta.ns && to->name == service.meta.name &&
         (to->uid.empty() || to->uid == service.meta.uid);
}

const api::Service* workload_of(kube::View& view, const api::IPAddress& address) {
  if (!address.associatedTo || address.associatedTo->kind != "Service") return nullptr;
  const auto* service = view.get<api::Service>(address.associatedTo->ns, address.associatedTo->name);
  return service != nullptr && is_associated(address, *service) ? service : nullptr;
}

Addresses associated_with(kube::View& view, const api::Service& service) {
  Addresses found;
  view.each<api::IPAddress>(k_address_service_index, slash(service.meta.ns, service.meta.name), [&](const auto& a) {
    if (is_associated(a, service)) found.push_back(&a);
    return true;
  });
  return found;
}

Addresses kept(kube::View& view, const Options& options, const api::Service& service) {
  if (service.meta.deleting || !is_served_by_metallb(options, service) || is_copy(service)) return {};
  Addresses found;
  for (const auto* address : associated_with(view, service)) {
    if (may_keep_one(view, service, *address)) {
      found.push_back(address);
    } else if (const auto value = value_of(*address); value && has(service, *value)) {
      return {};
    }
  }
  return found;
}

bool may_keep(kube::View& view, const Options& options, const api::Service& service) {
  return !kept(view, options, service).empty();
}

bool is_unrelated(kube::View& view, const Options& options, const api::Service& service, const base::IpAddress& ip) {
  return !has(service, ip) && may_keep(view, options, service);
}

bool is_attached(kube::View& view, const Options& options, const api::IPAddress& address) {
  const auto* service = workload_of(view, address);
  if (service == nullptr) return false;
  const Addresses all = kept(view, options, *service);
  return std::ranges::find(all, &address) != all.end();
}

std::vector<base::IpAddress> values_of(const Addresses& addresses) {
  std::vector<base::IpAddress> ips;
  for (const auto* address : addresses) {
    if (const auto value = value_of(*address)) ips.push_back(*value);
  }
  return ips;
}

std::string pin_text(const std::vector<base::IpAddress>& ips) {
  std::string text;
  for (const base::IpAddress& ip : ips) {
    if (!text.empty()) text += ',';
    text += ip.to_string();
  }
  return text;
}

std::string pin_text(const Addresses& addresses) { return pin_text(values_of(addresses)); }

bool is_same_set(std::vector<base::IpAddress> ips, std::vector<base::IpAddress> others) {
  std::ranges::sort(ips);
  std::ranges::sort(others);
  return ips == others;
}

bool is_pinned_to_all(const api::Service& service, const Addresses& addresses) {
  return is_same_set(pinned(service), values_of(addresses));
}

}  // namespace metallb
