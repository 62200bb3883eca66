#include "metallb/association.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/sharing.h"

namespace metallb {
namespace {

using Addresses = std::vector<const api::IPAddress*>;

std::string families_text(const std::vector<base::Family>& families) {
  std::string text;
  for (const base::Family family : families) {
    if (!text.empty()) text += " and ";
    text += base::to_string(family);
  }
  return text.empty() ? "no family" : text;
}

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

std::expected<Addresses, Refusal> matching_half(kube::View& view, const api::Service& service,
                                                const api::IPAddressClaim& claim) {
  const Halves halves = counted(view, claim);
  const std::vector<base::Family> families = cluster_families(service);
  Addresses chosen;
  for (const base::Family family : families) {
    if (halves.of(family) != nullptr) chosen.push_back(halves.of(family));
  }
  if (!families.empty() && chosen.size() == families.size()) return chosen;
  std::vector<base::Family> has;
  for (const base::Family family : {base::Family::v4, base::Family::v6}) {
    if (halves.of(family) != nullptr) has.push_back(family);
  }
  return std::unexpected(Refusal{
      reason::family_mismatch,
      fmt::format(
          "the Service has cluster IPs of {}, claim {} has addresses of {}: set ipFamilies and ipFamilyPolicy to "
          "match, or use a claim of family {}",
          families_text(families), claim.meta.name, families_text(has),
          families.size() == 2 ? "Dual" : families_text(families))});
}

std::vector<base::IpAddress> parsed_pin(const std::string& text) {
  api::Service probe;
  probe.meta.annotations.set(std::string(api::metallb::pin), text);
  return pinned(probe);
}

bool is_same_set(std::vector<base::IpAddress> ips, const Addresses& addresses) {
  std::vector<base::IpAddress> wanted;
  for (const auto* address : addresses) {
    if (const auto value = value_of(*address)) wanted.push_back(*value);
  }
  std::ranges::sort(ips);
  std::ranges::sort(wanted);
  return ips == wanted;
}

std::optional<Refusal> pool_refusal(const api::Service& service, std::string_view pool) {
  for (const std::string_view key : {api::metallb::pool, api::metallb::old_pool}) {
    if (key == api::metallb::pool && is_pin_ours(service)) continue;
    const std::string_view named = service.meta.annotations.get(key);
    if (named.empty() || named == pool || named == api::metallb::awaiting_pool) continue;
    return Refusal{reason::pool_conflict,
                   fmt::format("annotation {} names pool {}, the claim's address is in {}: remove the annotation", key,
                               named, pool)};
  }
  return std::nullopt;
}

std::optional<Refusal> pin_refusal(const api::Service& service, const Addresses& chosen) {
  for (const std::string_view key : {api::metallb::pin, api::metallb::old_pin}) {
    if (key == api::metallb::pin && is_pin_ours(service)) continue;
    const std::string* text = service.meta.annotations.find(key);
    if (text == nullptr || text->empty() || is_same_set(parsed_pin(*text), chosen)) continue;
    return Refusal{reason::pin_conflict,
                   fmt::format("annotation {} asks for {}, the claim has {}: remove the annotation", key, *text,
                               pin_text(chosen))};
  }
  return std::nullopt;
}

std::optional<Refusal> sharing_refusal(kube::View& view, const Context& context, const api::Service& service,
                                       std::string_view class_name) {
  for (const std::string_view key : {api::metallb::sharing_key, api::metallb::old_sharing_key}) {
    if (service.meta.annotations.get(key).empty()) continue;
    if (key == api::metallb::sharing_key && !handoff_key(service).empty()) continue;
    const ServedClass served = served_class(view, context, class_name);
    if (served.valid() && served.parameters().allow_sharing) return std::nullopt;
    return Refusal{reason::sharing_key_set,
                   fmt::format("annotation {} is set and class {} does not allow sharing: remove the annotation", key,
                               class_name)};
  }
  return std::nullopt;
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

std::expected<Addresses, Refusal> choose(kube::View& view, const Context& context, const api::Service& service,
                                         const api::IPAddressClaim& claim) {
  auto chosen = matching_half(view, service, claim);
  if (!chosen) return chosen;
  const std::string& class_name = chosen->front()->className;
  if (chosen->back()->className != class_name) {
    return std::unexpected(Refusal{reason::different_classes,
                                   fmt::format("the addresses of claim {} are of classes {} and {}: MetalLB gives a "
                                               "Service addresses of one pool only",
                                               claim.meta.name, class_name, chosen->back()->className)});
  }
  if (!service.loadBalancerIP.empty()) {
    return std::unexpected(Refusal{reason::load_balancer_ip_set,
                                   "spec.loadBalancerIP is set, which cannot be combined with a claim: remove it"});
  }
  if (auto refusal = pool_refusal(service, pool_name(class_name))) return std::unexpected(*refusal);
  if (auto refusal = pin_refusal(service, *chosen)) return std::unexpected(*refusal);
  if (auto refusal = sharing_refusal(view, context, service, class_name)) return std::unexpected(*refusal);
  return chosen;
}

std::string pin_text(const Addresses& addresses) {
  std::string text;
  for (const auto* address : addresses) {
    const auto value = value_of(*address);
    if (!value) continue;
    if (!text.empty()) text += ',';
    text += value->to_string();
  }
  return text;
}

bool is_pinned_to_all(const api::Service& service, const Addresses& addresses) {
  return is_same_set(pinned(service), addresses);
}

}  // namespace metallb
