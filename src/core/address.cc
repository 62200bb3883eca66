#include "core/address.h"

#include <fmt/format.h>

#include "api/names.h"
#include "core/indexes.h"
#include "core/reasons.h"
#include "core/reclaim.h"
#include "core/restore.h"

namespace core {
namespace {

// An address is often applied together with its class: how long that is not worth a condition.
constexpr base::Duration k_class_patience = std::chrono::seconds(10);

const kube::Resource& resource() { return api::IPAddress::kind().resource; }

}  // namespace

kube::Plan reconcile_address(const Options& options, const kube::Key& key, kube::View& view) {
  kube::Plan plan;
  const auto* address = view.get<api::IPAddress>(key.name);
  if (address == nullptr) {
    plan.forget = true;
    return plan;
  }
  // A claim or a pair is writing it: what it becomes is seen when that is answered.
  if (!view.busy(ref_of(*address))) plan = AddressPass(view, *address).run();
  api::note_restored(view, options.restore_grace, *address, plan);
  return plan;
}

AddressPass::AddressPass(kube::View& view, const api::IPAddress& address)
    : view_(view),
      address_(address),
      holder_(holder_of(view, address)),
      use_(usability(view, address)),
      conditions_(address.conditions, address.meta.generation, view.wall_text()) {}

kube::Plan AddressPass::run() {
  if (use_ == Usability::undecided || holder_.relation == Relation::undecided) return {};
  if (address_.meta.deleting) {
    if (release_deleted()) return std::move(plan_);
  } else if (is_left_to_driver(address_, holder_.claim)) {
    return {};
  } else if (protect()) {
    return std::move(plan_);
  }
  validate();
  judge_class();
  if (reclaim()) return std::move(plan_);
  explain();
  write_status(derive_phase());
  return std::move(plan_);
}

// A live claim that holds it keeps it, whatever its phase.
bool AddressPass::release_deleted() {
  if (holder_.holds()) {
    conditions_.set(condition::deletion_blocked, true, reason::deletion_blocked,
                    "deletion waits until the claim that holds this address is deleted");
    return false;
  }
  if (!address_.meta.has_finalizer(api::address_protection)) return true;
  // Without claimRef the patch's version is the proof. A claim that is being deleted never lives again; but another of
  // its name may, which a reference without uid names too.
  const bool certain = holder_.relation == Relation::none || (holder_.relation == Relation::claim_deleting &&
                                                              holder_.claim->meta.uid == address_.claimRef->uid);
  if (!certain && !confirmed()) return true;
  plan_.writes.push_back(kube::patch(
      resource(), address_, {{"metadata", {{"finalizers", without_finalizer(address_.meta, api::address_protection)}}}},
      "address-release"));
  return true;
}

bool AddressPass::protect() {
  boost::json::object metadata;
  if (!address_.meta.has_finalizer(api::address_protection))
    metadata["finalizers"] = with_finalizer(address_.meta, api::address_protection);
  // §9.6: objects from before the annotation get it while their binding is intact. On others it would be a lie.
  const bool is_recorded = address_.meta.annotations.contains(api::recorded_uid_annotation);
  const bool is_intact = is_recorded ? !is_restored() : holder_.relation != Relation::orphaned;
  if (is_intact && address_.meta.annotations.get(api::recorded_uid_annotation) != address_.meta.uid)
    metadata["annotations"] = {{api::recorded_uid_annotation, address_.meta.uid}};
  if (metadata.empty()) return false;
  plan_.writes.push_back(kube::patch(resource(), address_, {{"metadata", std::move(metadata)}}, "address-protect"));
  return true;
}

void AddressPass::validate() {
  switch (use_) {
    case Usability::usable:
    case Usability::undecided:
      conditions_.clear(condition::usable);
      return;
    case Usability::invalid:
      conditions_.set(condition::usable, false, reason::invalid_address, "spec.address is not an IP address");
      return;
    case Usability::unclaimable:
      conditions_.set(condition::usable, false, reason::unclaimable_address,
                      "unspecified, loopback, multicast and broadcast addresses cannot be claimed");
      return;
    case Usability::junior:
      conditions_.set(condition::usable, false, reason::duplicate_address,
                      "another IPAddress object for the same IP takes precedence");
      return;
  }
}

// Whoever names a claim keeps it or gets it without one (§3.5). Only whether the class is there is asked for, since its
// status changes all the time.
void AddressPass::judge_class() {
  const bool waits = is_usable() && !address_.claimRef && !address_.meta.deleting;
  const bool missing = waits && view_.count<api::ClassRead>(k_class_by_name, address_.className) == 0;
  const base::Duration lasted = view_.since("classless", missing);
  if (!missing) return conditions_.clear(api::condition::class_resolved);
  if (lasted < k_class_patience) plan_.then_look_after(k_class_patience - lasted);
  if (lasted < k_class_patience && !kube::find_condition(address_.conditions, api::condition::class_resolved)) return;
  conditions_.set(api::condition::class_resolved, false, reason::class_not_found,
                  fmt::format("IPAddressClass \"{}\" does not exist or is being deleted: until it does no claim gets "
                              "the address, and no driver reserves it",
                              address_.className));
}

bool AddressPass::confirmed() { return api::confirm(view_, plan_, api::evidence(view_, address_, holder_)); }

// Claim gone, another uid, or a live claim that does not count it: by this address's own policy, after live reads.
bool AddressPass::reclaim() {
  const bool surplus = holder_.relation == Relation::not_counted && is_usable();
  if (holder_.relation != Relation::orphaned && !surplus) return false;
  if (is_restored()) return false;
  if (!needs_reclaim(address_, holder_.claim)) return false;
  // What cannot be used stays Pending; only DELETE has something to do for it.
  if (!is_usable() && address_.reclaimPolicy != "Delete") return false;
  if (!confirmed()) return true;
  if (surplus) {
    explain();
    write_status(address_.phase);
    if (!plan_.writes.empty()) return true;
  }
  reclaim_address(plan_, address_,
                  surplus ? "its claim has another address or asks for none of its kind" : "its claim is gone");
  return true;
}

// Named neutrally: the claim's owner and this object's reader need not be the same.
void AddressPass::explain() {
  if (!is_restored()) {
    conditions_.clear(condition::restored);
  } else if (!is_returning()) {
    conditions_.set(condition::restored, true, reason::restored,
                    "a restored copy whose claim is not back: kept for it until it is restored too, or until an "
                    "administrator clears claimRef, or sets claimRef.uid to that of the claim that is to have it");
  }
  if (holder_.holds() || holder_.relation == Relation::none || holder_.relation == Relation::reserved) {
    conditions_.clear(api::condition::bound);
    return;
  }
  // What was said last stays: a released address says why to whoever wonders later.
  if (!holder_.collected) return;
  switch (holder_.verdict) {
    case Verdict::other_class:
      conditions_.set(api::condition::bound, false, reason::claim_of_other_class,
                      "the claim in claimRef asks for another class");
      return;
    case Verdict::other_family:
      conditions_.set(api::condition::bound, false, reason::family_not_requested,
                      "the claim in claimRef does not ask for this address family");
      return;
    case Verdict::counts:
    case Verdict::undecided:
    case Verdict::surplus:
      conditions_.set(api::condition::bound, false, reason::surplus,
                      "the claim in claimRef already has an address of this family");
      return;
  }
}

std::string_view AddressPass::derive_phase() {
  const std::string_view now = address_.phase;
  if (now == api::phase::conflict || now == api::phase::lost) return now;  // §4.4
  if (is_restored()) return phase_of_restored();
  if (!is_usable()) {
    const bool stays = now == api::phase::released && address_.claimRef;
    return stays ? now : api::phase::pending;
  }
  return address_.claimRef ? phase_with_claim() : phase_without_claim();
}

bool AddressPass::is_returning() const {
  const api::IPAddressClaim* claim = holder_.claim;
  if (claim == nullptr || !api::goes_back_to(address_, *claim) || !core::is_restored(view_, *claim)) return false;
  const auto value = value_of(address_);
  return value && returning_to(view_, *claim, count(view_, *claim)).of(value->family()) == &address_;
}

// As it was; without a status nobody knows what that was. As Released it would not be collected for the claim that it
// goes back to, nor for the one that an administrator gave it to by uid (§9.7).
std::string_view AddressPass::phase_of_restored() const {
  const std::string_view now = address_.phase;
  if (!now.empty() && now != api::phase::released) return now;
  const bool is_given = holder_.relation == Relation::not_counted;
  return is_given || is_returning() ? api::phase::pending : api::phase::released;
}

std::string_view AddressPass::phase_without_claim() const {
  if (!address_.associatedTo) return api::phase::available;
  return address_.phase.empty() ? api::phase::pending : std::string_view(address_.phase);
}

std::string_view AddressPass::phase_with_claim() const {
  const std::string_view now = address_.phase;
  switch (holder_.relation) {
    case Relation::held:
      return api::phase::bound;
    case Relation::reserved:
      return phase_without_claim();
    case Relation::held_unsigned:
      return now;  // the claim's pass signs it
    case Relation::not_signed:
      // An administrator handed a Released one on without our seeing it unclaimed: it is collected once it is
      // Available.
      if (now == api::phase::released) return phase_without_claim();
      return now == api::phase::available ? now : api::phase::pending;
    case Relation::none:
    case Relation::not_counted:
    case Relation::claim_deleting:
    case Relation::orphaned:
    case Relation::undecided:
      return now;
  }
  return now;
}

void AddressPass::write_status(std::string_view phase) {
  boost::json::object status;
  if (phase != address_.phase) status["phase"] = phase;
  if (auto conditions = conditions_.json()) status["conditions"] = std::move(*conditions);
  if (status.empty()) return;
  plan_.writes.push_back(kube::patch_status(resource(), address_, {{"status", std::move(status)}}, "address-status"));
  for (const api::Saying* news : conditions_.news()) {
    plan_.events.push_back({.regarding = ref_of(address_),
                            .regarding_uid = address_.meta.uid,
                            .warning = true,
                            .reason = std::string(news->reason),
                            .action = news->type == condition::deletion_blocked ? "Delete" : "Bind",
                            .note = news->message});
  }
}

}  // namespace core
