#include "metallb/restore.h"

#include <algorithm>

#include "api/names.h"
#include "metallb/association.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"

namespace metallb {
namespace {

// Of the claim that the Service names, with whatever uid.
bool is_of_its_claim(const api::Service& service, const api::IPAddress& address) {
  return address.claimRef && address.claimRef->ns == service.meta.ns &&
         address.claimRef->name == claim_name_of(service);
}

// Another Service has it by now.
bool is_in_other_use(kube::View& view, const api::Service& service, const api::IPAddress& address) {
  const api::Service* user = workload_of(view, address);
  return user != nullptr && user != &service;
}

// Copied from a Service that is no more, and with a pin that we wrote on that one.
bool was_restored(kube::View& view, const Options& options, const api::Service& service) {
  if (!is_copy(service) || service.meta.deleting || !is_served_by_metallb(options, service)) return false;
  if (claim_name_of(service).empty() || service.meta.annotations.get(api::metallb::pinned) != "true") return false;
  const std::string_view former = service.meta.annotations.get(api::metallb::service_uid);
  return view.count<api::Service>(k_service_uid_index, former) == 0;
}

}  // namespace

std::vector<const api::IPAddress*> pinned_addresses(kube::View& view, const api::Service& service) {
  std::vector<const api::IPAddress*> found;
  for (const base::IpAddress& ip : pinned(service)) {
    view.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
      // A pin may name it twice.
      if (is_of_its_claim(service, address) && std::ranges::find(found, &address) == found.end()) {
        found.push_back(&address);
      }
      return true;
    });
  }
  return found;
}

Return return_of(kube::View& view, const Options& options, const api::Service& service) {
  if (!was_restored(view, options, service)) return Return::none;
  const std::vector<base::IpAddress> ips = pinned(service);
  if (ips.empty()) return Return::none;
  const auto* claim = view.get<api::IPAddressClaim>(service.meta.ns, claim_name_of(service));
  if (claim != nullptr && claim->meta.deleting) return Return::none;
  const std::vector<const api::IPAddress*> found = pinned_addresses(view, service);
  bool all_back = true;
  for (const base::IpAddress& ip : ips) {
    const auto own = std::ranges::find_if(found, [&](const auto* address) { return value_of(*address) == ip; });
    if (own != found.end()) {
      if (is_in_other_use(view, service, **own)) return Return::none;
      all_back = all_back && holder_of(view, **own) != nullptr;
      continue;
    }
    if (view.count<api::IPAddress>(k_address_value_index, ip.to_string()) != 0) return Return::none;
    all_back = false;
  }
  return all_back ? Return::due : Return::awaited;
}

const api::Service* restored_user(kube::View& view, const Options& options, const api::IPAddress& address,
                                  const base::IpAddress& ip) {
  if (!address.claimRef) return nullptr;
  const api::Service* found = nullptr;
  view.each<api::Service>(k_service_shown_index, ip.to_string(), [&](const api::Service& service) {
    if (is_of_its_claim(service, address) && return_of(view, options, service) != Return::none) found = &service;
    return found == nullptr;
  });
  return found;
}

}  // namespace metallb
