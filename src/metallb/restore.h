// Restore (contract §9.5): Services that a backup tool made again keep pin and address until it is known whether their
// claims have the addresses again. Functions of what the view shows.
#pragma once

#include <cstdint>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "base/ip.h"
#include "kube/view.h"
#include "metallb/controller.h"

namespace metallb {

// How a Service with the uid of another one stands to the addresses that it is pinned to.
enum class Return : std::uint8_t {
  none,     // it is none that was restored with a pin of ours, or something of that is not its claim's any more
  awaited,  // not all of that is its claim's again
  due,      // all is: it may be made theirs under its new uid
};
// A copy of a live Service's manifest is no restored one.
Return return_of(kube::View& view, const Options& options, const api::Service& service);

// The addresses of the ledger that a restored Service is pinned to, as far as they are there.
std::vector<const api::IPAddress*> pinned_addresses(kube::View& view, const api::Service& service);

// The restored Service that shows the address of its claim: it needs no hold beside it. Null if there is none.
const api::Service* restored_user(kube::View& view, const Options& options, const api::IPAddress& address,
                                  const base::IpAddress& ip);

}  // namespace metallb
