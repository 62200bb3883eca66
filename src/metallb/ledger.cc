#include "metallb/ledger.h"

#include <algorithm>
#include <tuple>

#include "api/names.h"
#include "metallb/indexes.h"

namespace metallb {
namespace {

bool is_live(const api::IPAddressClaim* claim) { return claim != nullptr && !claim->meta.deleting; }

bool names_live_claim(kube::View& view, const api::IPAddress& address) {
  if (!address.claimRef || address.claimRef->uid.empty()) return false;
  const auto* claim = view.get<api::IPAddressClaim>(address.claimRef->ns, address.claimRef->name);
  return is_live(claim) && claim->meta.uid == address.claimRef->uid;
}

bool is_reported_by_name(const api::IPAddressClaim& claim, const api::IPAddress& address) {
  return std::ranges::any_of(claim.addresses,
                             [&](const api::ReportedAddress& r) { return r.name == address.meta.name; });
}

// Contract §3.3: already reported, then uid complete, then oldest, then name.
bool is_preferred(const api::IPAddressClaim& claim, const api::IPAddress& a, const api::IPAddress& b) {
  const auto rank = [&](const api::IPAddress& x) {
    return std::tuple(!is_reported_by_name(claim, x), x.claimRef->uid.empty(), x.meta.created,
                      std::string_view(x.meta.name));
  };
  return rank(a) < rank(b);
}

}  // namespace

std::optional<base::IpAddress> value_of(const api::IPAddress& address) {
  const auto parsed = base::IpAddress::parse(address.address);
  if (!parsed || !parsed->is_claimable()) return std::nullopt;
  return *parsed;
}

std::vector<base::Family> families_of(const api::IPAddressClaim& claim) {
  if (claim.family == "Dual") return {base::Family::v4, base::Family::v6};
  return {claim.family == "IPv6" ? base::Family::v6 : base::Family::v4};
}

bool is_reported(const api::IPAddressClaim& claim, base::Family family) {
  return std::ranges::any_of(claim.addresses, [&](const api::ReportedAddress& r) {
    const auto parsed = base::IpAddress::parse(r.address);
    return parsed && parsed->family() == family;
  });
}

std::vector<const api::IPAddress*> Halves::list() const {
  std::vector<const api::IPAddress*> found;
  if (v4 != nullptr) found.push_back(v4);
  if (v6 != nullptr) found.push_back(v6);
  return found;
}

Halves counted(kube::View& view, const api::IPAddressClaim& claim) {
  Halves halves;
  const std::vector<base::Family> asked = families_of(claim);
  view.each<api::IPAddress>(k_address_claim_index, slash(claim.meta.ns, claim.meta.name), [&](const auto& address) {
    if (!address.claimRef->uid.empty() && address.claimRef->uid != claim.meta.uid) return true;
    if (address.phase == api::phase::released) return true;
    if (claim.addresses.empty() && !claim.className.empty() && claim.className != address.className) return true;
    const auto value = value_of(address);
    if (!value || std::ranges::find(asked, value->family()) == asked.end()) return true;
    if (!is_senior(view, address, *value)) return true;
    const api::IPAddress*& best = halves.of(value->family());
    if (best == nullptr || is_preferred(claim, address, *best)) best = &address;
    return true;
  });
  return halves;
}

bool is_senior(kube::View& view, const api::IPAddress& address, const base::IpAddress& value) {
  const std::string text = value.to_string();
  if (view.count<api::IPAddress>(k_address_value_index, text) < 2) return true;
  const auto rank = [&](const api::IPAddress& x) {
    return std::tuple(!names_live_claim(view, x), x.meta.created, std::string_view(x.meta.uid));
  };
  bool senior = true;
  view.each<api::IPAddress>(k_address_value_index, text, [&](const api::IPAddress& other) {
    senior = other.meta.name == address.meta.name || rank(address) < rank(other);
    return senior;
  });
  return senior;
}

const api::IPAddressClaim* holder_of(kube::View& view, const api::IPAddress& address) {
  if (!address.claimRef) return nullptr;
  const auto* claim = view.get<api::IPAddressClaim>(address.claimRef->ns, address.claimRef->name);
  if (!is_live(claim)) return nullptr;
  if (!address.claimRef->uid.empty() && address.claimRef->uid != claim->meta.uid) return nullptr;
  const auto value = value_of(address);
  if (!value || counted(view, *claim).of(value->family()) != &address) return nullptr;
  return claim;
}

}  // namespace metallb
