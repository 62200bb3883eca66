// The *holds* rule (api/holds.h) as the core asks for it: the core's keys bind addresses at the same time, so that a
// write in flight on another object for the same IP leaves the verdict open.
#pragma once

#include "api/holds.h"

namespace core {

using api::claim_bucket;
using api::Collected;
using api::Counting;
using api::Holder;
using api::k_by_claim;
using api::k_families;
using api::Relation;
using api::Usability;
using api::Verdict;

inline Usability usability(kube::View& view, const api::IPAddress& address) {
  return api::usability(view, address, api::Writes::heeded);
}
inline Counting count(kube::View& view, const api::IPAddressClaim& claim) {
  return api::count(view, claim, api::Writes::heeded);
}
inline Holder holder_of(kube::View& view, const api::IPAddress& address) {
  return api::holder(view, address, api::Writes::heeded);
}

}  // namespace core
