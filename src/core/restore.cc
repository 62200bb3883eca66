#include "core/restore.h"

#include <tuple>

#include "api/names.h"
#include "api/restore.h"
#include "core/indexes.h"

namespace core {
namespace {

std::string_view recorded_uid(const api::IPAddressClaim& claim) {
  return claim.meta.annotations.get(api::recorded_uid_annotation);
}

}  // namespace

bool is_restored(kube::View& view, const api::IPAddressClaim& claim) {
  if (!api::is_copy(claim.meta)) return false;
  bool lives = false;
  view.each<api::IPAddressClaim>(k_claim_by_uid, recorded_uid(claim), [&](const api::IPAddressClaim& original) {
    lives = lives || !original.meta.deleting;
    return !lives;
  });
  return !lives;
}

Returning returning_to(kube::View& view, const api::IPAddressClaim& claim, const Counting& counting) {
  Returning returning;
  // What was in use comes before what was not, as far as anything was restored that tells.
  const auto rank = [&](const api::IPAddress& a) {
    const bool was_in_use =
        a.phase == api::phase::bound || a.phase == api::phase::conflict || a.phase == api::phase::lost;
    return std::tuple(!is_reported(claim, a), !was_in_use, a.meta.created, std::string_view(a.meta.name));
  };
  const std::string bucket = claim_bucket(claim.meta.ns, claim.meta.name, recorded_uid(claim));
  view.each<api::IPAddress>(k_by_claim, bucket, [&](const api::IPAddress& address) {
    if (!api::goes_back_to(address, claim) || !api::fits(claim, address)) return true;
    const Usability use = usability(view, address);
    if (use != Usability::usable && use != Usability::undecided) return true;
    const base::Family family = value_of(address)->family();
    if (counting.of(family) != nullptr) return true;
    const api::IPAddress*& best = returning.of(family);
    if (best == nullptr || rank(address) < rank(*best)) best = &address;
    return true;
  });
  return returning;
}

bool can_return(const api::IPAddress& address) {
  return !address.phase.empty() && address.phase != api::phase::released;
}

kube::Write give_back(const api::IPAddress& address, const api::IPAddressClaim& claim) {
  return kube::patch(api::IPAddress::kind().resource, address,
                     {{"metadata", {{"annotations", {{api::recorded_uid_annotation, address.meta.uid}}}}},
                      {"spec", {{"claimRef", {{"uid", claim.meta.uid}}}}}},
                     "restore-binding");
}

}  // namespace core
