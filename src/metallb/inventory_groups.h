// Driver design §9, inventory: the address objects of whoever had one name, a group for each Service that had it, and
// one plan for all of them.
#pragma once

#include <string>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/inventory.h"

namespace metallb {

// The address objects that were made because of one Service.
struct Group {
  std::string uid;
  bool is_left = false;  // adopted, and the claim is gone since: of no concern to what is adopted later
  std::vector<const api::IPAddress*> addresses;
  Adoption record;                        // of the first; the state of whichever is furthest from Adopted
  const api::Service* service = nullptr;  // if it is still that one

  // The core has completed the binding of one.
  bool has_signed_claim() const;
  // The core has completed it for another claim, of the same name.
  bool is_of_another(const api::IPAddressClaim& claim) const;
  // What their claimRefs name, each once.
  std::vector<kube::Ref> claims() const;
};
// `service`: who has the name now; may be null.
std::vector<Group> find_groups(kube::View& view, const kube::Key& key, const api::Service* service);

// Each says how it is (facts), and one of those that write or ask for live reads does so: the first, and after each of
// `failures` the next, so that one whose writes are refused does not keep the others from theirs.
kube::Plan one_at_a_time(std::vector<kube::Plan> parts, int failures);

}  // namespace metallb
