#include "core/reclaim.h"

#include <fmt/format.h>

#include "api/names.h"
#include "core/edits.h"
#include "core/holds.h"
#include "core/indexes.h"
#include "core/matching.h"
#include "core/reasons.h"

namespace core {
namespace {

bool deletes(const api::IPAddress& address) { return address.reclaimPolicy == "Delete"; }

// The fact alone may be old news: the key that published it may be backing off, and a deletion must not wait for that.
bool is_binding_in_flight(kube::View& view, const api::IPAddressClaim& claim) {
  bool in_flight = false;
  for (const base::Family family : k_families) {
    view.each_fact(binding_bucket(claim, family), [&](std::string_view, const kube::FactBucket::Value& address) {
      in_flight = in_flight || view.busy({&api::IPAddress::kind().resource, "", address.value});
      return true;
    });
  }
  return in_flight;
}

}  // namespace

bool is_left_to_driver(const api::IPAddress& address, const api::IPAddressClaim* named) {
  return !deletes(address) && was_never_promised(address, named);
}

bool needs_reclaim(const api::IPAddress& address, const api::IPAddressClaim* named) {
  if (address.meta.deleting) return false;
  if (deletes(address)) return true;
  if (was_never_promised(address, named)) return false;
  return address.phase != api::phase::released && address.phase != api::phase::conflict &&
         address.phase != api::phase::lost;
}

void reclaim_address(kube::Plan& plan, const api::IPAddress& address, std::string_view why) {
  const kube::Resource& resource = api::IPAddress::kind().resource;
  if (deletes(address)) {
    // The verdict depends on claimRef and policy, hence on the version.
    plan.writes.push_back(kube::remove(resource, address, true, "reclaim-delete"));
  } else {
    plan.writes.push_back(
        kube::patch_status(resource, address, {{"status", {{"phase", api::phase::released}}}}, "reclaim-release"));
  }
  plan.events.push_back(
      {.regarding = ref_of(address),
       .regarding_uid = address.meta.uid,
       .reason = std::string(deletes(address) ? reason::reclaimed : reason::released),
       .action = "Reclaim",
       .note = fmt::format("{}: {}", why,
                           deletes(address) ? "deleted, as its reclaimPolicy is Delete"
                                            : "released, and kept until an administrator clears its claimRef")});
}

kube::Plan reclaim_claim(kube::View& view, const api::IPAddressClaim& claim) {
  kube::Plan plan;
  // A match that is under way must be answered first, or its address would be left behind.
  if (is_binding_in_flight(view, claim)) return plan;
  bool waiting = false;
  // All that carry our uid, whether they counted or not. Pre-bindings never completed are left as they are.
  view.each<api::IPAddress>(k_by_claim, claim_bucket(claim.meta.ns, claim.meta.name, claim.meta.uid),
                            [&](const api::IPAddress& address) {
                              const bool left = is_left_to_driver(address, &claim);
                              if (!left && !needs_reclaim(address, &claim)) return true;
                              if (view.busy(ref_of(address))) {
                                waiting = true;  // it may be Bound by now
                              } else if (!left) {
                                reclaim_address(plan, address, "its claim has been deleted");
                              }
                              return true;
                            });
  if (waiting || !plan.writes.empty() || !claim.meta.has_finalizer(api::claim_protection)) return plan;
  plan.writes.push_back(kube::patch(
      api::IPAddressClaim::kind().resource, claim,
      {{"metadata", {{"finalizers", without_finalizer(claim.meta, api::claim_protection)}}}}, "claim-release"));
  return plan;
}

}  // namespace core
