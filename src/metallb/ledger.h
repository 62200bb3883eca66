// The ledger (IPAddress objects) as the driver reads it: which address counts for which claim (contract §2 "Holds",
// §3.3, §4.3). Pure functions of what the view shows.
#pragma once

#include <optional>
#include <vector>

#include "api/ipam.h"
#include "base/ip.h"
#include "kube/view.h"

namespace metallb {

// The address as a value; nullopt where the text is no address that a claim may get.
std::optional<base::IpAddress> value_of(const api::IPAddress& address);

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

// Of several objects for one IP, whether this is the one that stands (contract §4.3).
bool is_senior(kube::View& view, const api::IPAddress& address, const base::IpAddress& value);

// The live claim that holds the address, or null.
const api::IPAddressClaim* holder_of(kube::View& view, const api::IPAddress& address);

}  // namespace metallb
