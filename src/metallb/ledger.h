// The ledger (IPAddress objects) as the driver reads it: which address counts for which claim (contract §2 "Holds",
// §3.3, §4.3). The rule itself is api/holds.h, the same for all. Pure functions of what the view shows.
#pragma once

#include <vector>

#include "api/holds.h"
#include "api/ipam.h"
#include "base/ip.h"
#include "kube/view.h"

namespace metallb {

using api::value_of;

// The families that a claim asks for, IPv4 first.
std::vector<base::Family> families_of(const api::IPAddressClaim& claim);

// Whether the claim's status reports an address of this family: it is never provisioned again (contract §3.7).
bool is_reported(const api::IPAddressClaim& claim, base::Family family);

// At most one address for each family.
struct Halves {
  const api::IPAddress* v4 = nullptr;
  const api::IPAddress* v6 = nullptr;

  const api::IPAddress*& of(base::Family family) { return family == base::Family::v4 ? v4 : v6; }
  const api::IPAddress* of(base::Family family) const { return family == base::Family::v4 ? v4 : v6; }
  // Those that are there, IPv4 first.
  std::vector<const api::IPAddress*> list() const;
};

// The addresses that count for the claim (contract §3.3), whether or not it is being deleted.
Halves counted(kube::View& view, const api::IPAddressClaim& claim);

// Whether this driver serves the address: it has once (its finalizer tells), or the class is its own.
bool is_ours(kube::View& view, const api::IPAddress& address);

// Of several objects for one IP, whether this is the one that stands (contract §4.3).
bool is_senior(kube::View& view, const api::IPAddress& address);

// The live claim that holds the address, or null.
const api::IPAddressClaim* holder_of(kube::View& view, const api::IPAddress& address);

// Contract §6.4: whether live reads have shown, for this pass, that no live claim holds the address; else the plan asks
// for them. `itself`: read the address live as well, which a write guarded by its version makes needless.
bool is_confirmed_unheld(kube::View& view, kube::Plan& plan, const api::IPAddress& address, bool itself);

}  // namespace metallb
