// Reclaim: what becomes of an address when its claim goes (contract §5, and §4.6 for claims that are gone already).
#pragma once

#include <string>
#include <string_view>

#include "api/ipam.h"
#include "kube/plan.h"
#include "kube/view.h"

namespace core {

// §5: the pass of a claim that is being deleted. Addresses first, each by its own policy; the claim's finalizer last.
kube::Plan reclaim_claim(kube::View& view, const api::IPAddressClaim& claim);

// §6.2: promised to nobody, and not ours to delete by its policy: its driver does it. Released would make it look
// promised. `named` is the claim of the claimRef's namespace and name, null if there is none.
bool is_left_to_driver(const api::IPAddress& address, const api::IPAddressClaim* named);
// Whether reclaiming the address by its policy still has something to do.
bool needs_reclaim(const api::IPAddress& address, const api::IPAddressClaim* named);
// Adds what its policy asks for to the plan: DELETE, or phase Released. Retain never deletes; in Conflict and Lost the
// phase stays.
void reclaim_address(kube::Plan& plan, const api::IPAddress& address, std::string_view why);

}  // namespace core
