#include "metallb/ledger.h"

#include "api/names.h"

namespace metallb {

// The driver binds nothing to an object that exists: writes in flight on addresses do not change the verdict.
constexpr api::Writes k_writes = api::Writes::ignored;

std::vector<base::Family> families_of(const api::IPAddressClaim& claim) {
  std::vector<base::Family> families;
  for (const base::Family family : api::k_families) {
    if (asks_for(claim, family)) families.push_back(family);
  }
  return families;
}

bool is_reported(const api::IPAddressClaim& claim, base::Family family) { return reported(claim, family) != nullptr; }

std::vector<const api::IPAddress*> Halves::list() const {
  std::vector<const api::IPAddress*> found;
  if (v4 != nullptr) found.push_back(v4);
  if (v6 != nullptr) found.push_back(v6);
  return found;
}

Halves counted(kube::View& view, const api::IPAddressClaim& claim) {
  const api::Counting counting = count(view, claim, k_writes);
  return {counting.v4, counting.v6};
}

bool is_ours(kube::View& view, const api::IPAddress& address) {
  if (address.meta.has_finalizer(api::metallb::teardown)) return true;
  const auto* object = view.get<api::IPAddressClass>(address.className);
  return object != nullptr && object->provisioner == api::metallb::provisioner;
}

bool is_senior(kube::View& view, const api::IPAddress& address) {
  return usability(view, address, k_writes) == api::Usability::usable;
}

const api::IPAddressClaim* holder_of(kube::View& view, const api::IPAddress& address) {
  const api::Holder found = holder(view, address, k_writes);
  return found.holds() ? found.claim : nullptr;
}

bool is_confirmed_unheld(kube::View& view, kube::Plan& plan, const api::IPAddress& address, bool itself) {
  std::vector<kube::Ref> refs = evidence(view, address, holder(view, address, k_writes));
  if (itself) refs.push_back(ref_of(address));
  return api::confirm(view, plan, refs);
}

}  // namespace metallb
