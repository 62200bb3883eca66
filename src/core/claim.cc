#include "core/claim.h"

#include <algorithm>
#include <chrono>

#include "api/names.h"
#include "api/restore.h"
#include "core/matching.h"
#include "core/reasons.h"
#include "core/reclaim.h"

namespace core {
namespace {

// How often the stamp is restored when somebody keeps changing it.
constexpr std::string_view k_stamp_throttle = "stamp";
constexpr int k_stamp_burst = 5;
constexpr base::Duration k_stamp_refill = std::chrono::seconds(30);

bool is_signed(const api::IPAddress& address) { return address.claimRef && !address.claimRef->uid.empty(); }

}  // namespace

kube::Plan reconcile_claim(const Options& options, const kube::Key& key, kube::View& view) {
  const auto* claim = view.get<api::IPAddressClaim>(key.ns, key.name);
  if (claim == nullptr) {
    kube::Plan plan;
    plan.forget = true;
    return plan;
  }
  if (claim->meta.deleting) return reclaim_claim(view, *claim);  // §3.1
  return ClaimPass(options, view, *claim).run();
}

kube::Plan ClaimPass::run() {
  waited_ = view_.since("unbound", claim_.phase != api::phase::bound);
  collect();
  await_restore();
  find_missing();
  resolve();
  match();
  const base::Duration refused = view_.since("refused", view_.failures() > 0 && !view_.refusal().empty());
  if (protect_and_stamp() || complete() || take_back()) {
    tell_refusal(refused);
    return std::move(plan_);
  }
  report();
  return std::move(plan_);
}

void ClaimPass::collect() { counting_ = count(view_, claim_); }

void ClaimPass::await_restore() {
  const bool restored = is_restored(view_, claim_);
  if (restored) returning_ = returning_to(view_, claim_, counting_);
  const bool incomplete =
      restored && std::ranges::any_of(k_families, [&](base::Family family) {
        return asks_for(claim_, family) && counting_.of(family) == nullptr && returning_.of(family) == nullptr;
      });
  const std::string name = "restored/" + claim_.meta.uid;
  restore_wait_ = api::restore_wait(view_, options_.restore_grace, name, incomplete);
  if (!is_waiting_for_restore()) return;
  plan_.then_look_after(restore_wait_);
  wait(restored_waiting(view_.since(name, true)));
}

bool ClaimPass::is_served(base::Family family) const {
  const api::IPAddress* address = counting_.of(family);
  return address != nullptr && address->phase != api::phase::lost &&
         (is_signed(*address) || is_reported(claim_, *address));
}

// A reported family is never matched again: it comes back only with its address, or with one that an admin pre-binds.
// Nothing is matched to a claim while what it had may come back.
void ClaimPass::find_missing() {
  if (is_waiting_for_restore()) return;
  for (const base::Family family : k_families) {
    const bool undecided = std::ranges::any_of(
        counting_.collected, [&](const Collected& c) { return c.family == family && c.verdict == Verdict::undecided; });
    if (asks_for(claim_, family) && counting_.of(family) == nullptr && returning_.of(family) == nullptr &&
        reported(claim_, family) == nullptr && !undecided)
      open_.push_back(family);
  }
}

void ClaimPass::resolve() {
  if (!open_.empty()) class_ = resolve_class(view_, claim_, counting_);
}

bool ClaimPass::is_protected() const {
  return claim_.meta.has_finalizer(api::claim_protection) &&
         claim_.meta.annotations.get(api::recorded_uid_annotation) == claim_.meta.uid;
}

// The stamp mirrors the class that serves the claim. Of a claim that misses nothing it is restored if the class exists,
// else left. A claim that waits to be restored has none, and is recorded under its new uid when all its addresses are.
bool ClaimPass::protect_and_stamp() {
  boost::json::object metadata;
  boost::json::object annotations;
  if (!claim_.meta.has_finalizer(api::claim_protection))
    metadata["finalizers"] = with_finalizer(claim_.meta, api::claim_protection);
  if (!is_waiting_for_restore() && !returning_.any() &&
      claim_.meta.annotations.get(api::recorded_uid_annotation) != claim_.meta.uid)
    annotations[api::recorded_uid_annotation] = claim_.meta.uid;

  const std::string* stamp = claim_.meta.annotations.find(api::provisioner_annotation);
  const api::ClassRead* wanted = class_ ? class_->found : nullptr;
  if (!class_ && !is_waiting_for_restore() && !returning_.any()) {
    const std::string name = settled_class(claim_, counting_);
    if (!name.empty()) wanted = view_.get<api::ClassRead>(name);
  }
  const bool withdraw = (class_ || is_waiting_for_restore()) && wanted == nullptr && stamp != nullptr;
  const bool differs = wanted != nullptr && (stamp == nullptr || *stamp != wanted->provisioner);
  if (withdraw || differs) {
    const bool alone = metadata.empty() && annotations.empty();
    const base::Duration delay =
        alone ? view_.throttle(k_stamp_throttle, k_stamp_burst, k_stamp_refill) : base::Duration::zero();
    if (delay > base::Duration::zero()) {
      plan_.then_look_after(delay);
    } else {
      if (alone) plan_.spends.emplace_back(k_stamp_throttle);
      annotations[api::provisioner_annotation] =
          withdraw ? boost::json::value(nullptr) : boost::json::value(wanted->provisioner);
    }
  }
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (metadata.empty()) return false;
  plan_.writes.push_back(kube::patch(api::IPAddressClaim::kind().resource, claim_, {{"metadata", std::move(metadata)}},
                                     "claim-protect-and-stamp"));
  return true;
}

bool ClaimPass::complete() {
  for (const base::Family family : k_families) {
    const api::IPAddress* address = counting_.of(family);
    if (address == nullptr || is_signed(*address)) continue;
    if (address->associatedTo) {
      wait({reason::address_still_attached,
            "IPAddress \"" + address->meta.name + "\" is still attached to a workload of its former holder"});
    } else if (view_.busy(ref_of(*address))) {
      wait({reason::address_still_attached, "", true});
    } else {
      plan_.writes.push_back(kube::patch(api::IPAddress::kind().resource, *address,
                                         {{"spec", {{"claimRef", {{"uid", claim_.meta.uid}}}}}},
                                         "claim-complete-binding"));
    }
  }
  return !plan_.writes.empty();
}

bool ClaimPass::take_back() {
  for (const base::Family family : k_families) {
    const api::IPAddress* address = returning_.of(family);
    // Its own key gives it a phase at once.
    if (address == nullptr || !can_return(*address) || view_.busy(ref_of(*address))) continue;
    if (usability(view_, *address) == Usability::usable) plan_.writes.push_back(give_back(*address, claim_));
  }
  return !plan_.writes.empty();
}

void ClaimPass::wait(Wait wait) {
  if (!wait_ || (wait_->quiet && !wait.quiet)) wait_ = std::move(wait);
}

}  // namespace core
