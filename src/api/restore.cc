#include "api/restore.h"

#include <algorithm>

#include "api/names.h"

namespace api {
namespace {

constexpr std::string_view k_restored_bucket = "restored";
constexpr std::string_view k_restoring_bucket = "restoring";

}  // namespace

bool is_copy(const kube::Meta& meta) {
  const std::string* recorded = meta.annotations.find(recorded_uid_annotation);
  return recorded != nullptr && *recorded != meta.uid;
}

bool is_restored(const IPAddress& address) {
  return is_copy(address.meta) && address.claimRef && !address.claimRef->uid.empty();
}

bool goes_back_to(const IPAddress& address, const IPAddressClaim& claim) {
  if (!is_restored(address) || address.meta.deleting || !is_copy(claim.meta) || claim.meta.deleting) return false;
  return address.claimRef->ns == claim.meta.ns && address.claimRef->name == claim.meta.name &&
         address.claimRef->uid == claim.meta.annotations.get(recorded_uid_annotation);
}

kube::Plan reconcile_restore(const kube::Key&, kube::View& view) {
  kube::Plan plan;
  plan.forget = !view.has_fact(k_restored_bucket);
  if (!plan.forget) plan.facts.push_back({std::string(k_restoring_bucket), "", "", {}});
  return plan;
}

bool note_restored(kube::View& view, base::Duration grace, const IPAddress& address, kube::Plan& plan) {
  const std::string seen = "restored/" + address.meta.uid;
  const bool waits = is_restored(address);
  // Also when it is back with its claim: the others' may be on their way.
  const base::Duration since = view.since(seen, waits || view.remembers(seen));
  if (!view.remembers(seen)) return false;
  if (since < grace) {
    plan.facts.push_back({std::string(k_restored_bucket), "", "", {std::string(k_restore), "", ""}});
    plan.then_look_after(grace - since);
    return true;
  }
  if (!waits) view.since(seen, false);
  return false;
}

base::Duration restore_wait(kube::View& view, base::Duration grace, const std::string& name, bool waits) {
  const base::Duration waited = view.since(name, waits);
  if (!waits || waited >= k_longest_restore) return {};
  if (waited < grace) return grace - waited;
  if (!view.has_fact(k_restoring_bucket)) return {};
  return std::min(grace, k_longest_restore - waited);
}

}  // namespace api
