// Restore (contract §9): claims that were made again with other uids wait for the addresses that were theirs, and get
// them back.
#pragma once

#include "api/ipam.h"
#include "core/holds.h"
#include "kube/plan.h"
#include "kube/view.h"

namespace core {

// §9.1: a copy of a claim that is no more. One that was copied from a live claim is an ordinary claim made from the
// same manifest, and no such copy.
bool is_restored(kube::View& view, const api::IPAddressClaim& claim);

// The restored addresses that go back to the claim (§9.3), at most one for each family that nothing counts for.
struct Returning {
  const api::IPAddress* v4 = nullptr;
  const api::IPAddress* v6 = nullptr;

  const api::IPAddress*& of(base::Family family) { return family == base::Family::v4 ? v4 : v6; }
  const api::IPAddress* of(base::Family family) const { return family == base::Family::v4 ? v4 : v6; }
  bool any() const { return v4 != nullptr || v6 != nullptr; }
};
// For a restored claim. An address that is the claim's own already stays so, whatever else comes.
Returning returning_to(kube::View& view, const api::IPAddressClaim& claim, const Counting& counting);

// Whether the address is settled enough to be given back: the core has given it a phase other than Released. Without
// one it would look like what its driver made and nobody was promised (§6.2); as Released it would not be collected.
bool can_return(const api::IPAddress& address);
// The one write by which it goes back: claimRef gets the new uid, and its own uid is recorded.
kube::Write give_back(const api::IPAddress& address, const api::IPAddressClaim& claim);

}  // namespace core
