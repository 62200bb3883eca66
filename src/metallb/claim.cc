// Driver design §4: claim → reservation, per missing family. What is missing, and its placeholders.
#include <algorithm>
#include <string>
#include <utility>

#include "api/conditions.h"
#include "api/names.h"
#include "metallb/claim_pass.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

// Contract §6.1, apart from the class.
bool is_stamped_for_us(const api::IPAddressClaim& claim) {
  if (claim.meta.deleting || claim.status_className.empty() || !claim.addressName.empty()) return false;
  if (claim.meta.annotations.get(api::provisioner_annotation) != api::metallb::provisioner) return false;
  const auto* resolved = kube::find_condition(claim.conditions, api::condition::class_resolved);
  if (resolved == nullptr || resolved->status != "True" || resolved->observedGeneration != claim.meta.generation) {
    return false;
  }
  const std::string* recorded = claim.meta.annotations.find(api::recorded_uid_annotation);
  return recorded == nullptr || *recorded == claim.meta.uid;
}

// The class has been judged as it is now, and overlaps with another one.
bool is_refused(const api::IPAddressClass& cls) {
  const kube::Condition* verdict = kube::find_condition(cls.conditions, "ParametersValid");
  return verdict != nullptr && verdict->status == "False" && verdict->reason == reason::overlap &&
         verdict->observedGeneration == cls.meta.generation;
}

}  // namespace

kube::Plan ClaimPass::run() {
  refused_for(view_);
  if (claim_ != nullptr) {
    halves_ = counted(view_, *claim_);
    if (is_stamped_for_us(*claim_)) class_ = served_class(view_, context_, claim_->status_className);
    find_missing();
  }
  remove_unneeded();
  if (claim_ == nullptr) {
    plan_.forget = plan_.writes.empty() && leftover_ == 0;
    return std::move(plan_);
  }
  for (const base::Family family : missing_) serve(family);
  forget_waits();
  report();
  return std::move(plan_);
}

// Families that were never reported and that no address counts for (contract §3.7, §6.1).
void ClaimPass::find_missing() {
  if (!class_) return;
  for (const base::Family family : families_of(*claim_)) {
    if (!is_reported(*claim_, family) && halves_.of(family) == nullptr) missing_.push_back(family);
  }
  if (is_about_to_be_of_other_class()) {
    changes_class_ = !missing_.empty();
    missing_.clear();
  }
  if (missing_.empty()) return;
  if (!class_.valid()) {
    complain(reason::class_invalid, "the parameters of class " + class_.object->meta.name +
                                        " cannot be used: " + join_sentences(class_.parsed->error()));
    return;
  }
  for (const base::Family family : families_of(*claim_)) {
    if (class_.parameters().serves(family) || is_reported(*claim_, family) || halves_.of(family) != nullptr) continue;
    complain(reason::family_unserved,
             "class " + class_.object->meta.name + " has no " + std::string(base::to_string(family)) + " addresses");
    missing_.clear();  // nothing is reserved for the other family either (driver design §4.5)
    return;
  }
}

// One half is there and is of another class than the core resolved before it saw that: both halves of a claim are of
// one class, and the core is about to say so.
bool ClaimPass::is_about_to_be_of_other_class() const {
  return claim_->addresses.empty() && std::ranges::any_of(halves_.list(), [&](const api::IPAddress* half) {
           return half->className != claim_->status_className;
         });
}

Allocation ClaimPass::allocation_for(base::Family family) {
  return find_allocation(view_, context_.options, claim_->meta, family);
}

// Driver design §4.1: an unrecorded placeholder exists only while this claim is ours to serve, that family is missing
// and its pool is that of the claim's class. Once its address is in the ledger it is that address's hold, whatever
// the claim asks for by now.
bool ClaimPass::is_needed(const api::Service& placeholder) {
  // One that has nothing yet is drawn again at home, or a former namespace would be needed for as long as a class is
  // exhausted.
  const bool moves =
      is_left_behind(placeholder, context_.options) && is_unassigned(placeholder) && has_home(view_, context_.options);
  if (claim_ != nullptr && !placeholder.meta.deleting && !moves) {
    for (const base::Family family : missing_) {
      if (allocation_for(family).placeholder != &placeholder) continue;
      if (pool_of(placeholder) == pool_name(claim_->status_className)) return true;
    }
  }
  return is_being_recorded(placeholder);
}

// Its address is in the ledger already: labelling it is the address's next step.
bool ClaimPass::is_being_recorded(const api::Service& placeholder) {
  const auto name = parse_allocation_name(placeholder.meta.name);
  if (!name) return false;
  bool found = false;
  for (const base::IpAddress& ip : shown(placeholder)) {
    view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
      found = found || (address.claimRef && address.claimRef->uid == name->claim_uid &&
                        address.meta.has_finalizer(api::metallb::teardown) && is_senior(view_, address));
      return true;
    });
  }
  return found;
}

void ClaimPass::remove_unneeded() {
  view_.each<api::Service>(k_placeholder_claim_index, slash(key_.ns, key_.name), [&](const api::Service& placeholder) {
    ++leftover_;
    if (!is_needed(placeholder)) remove(placeholder, "placeholder-unneeded");
    return true;
  });
}

void ClaimPass::remove(const api::Service& placeholder, std::string step) {
  // First, so that the gap stays until the deletion has been answered and is over.
  if (!may_give_back(view_, plan_, placeholder) || view_.busy(ref(placeholder))) return;
  dismiss(plan_, placeholder, std::move(step));
}

void ClaimPass::serve(base::Family family) {
  if (!class_.valid()) return;
  if (is_refused(*class_.object)) {
    return complain(reason::overlap, "class " + class_.object->meta.name +
                                         " is not served, since some of its addresses are in another class or pool: "
                                         "an administrator has to change its parameters");
  }
  const Allocation allocation = allocation_for(family);
  const api::Service* placeholder = allocation.placeholder;
  if (placeholder == nullptr) {
    if (allocation.unclear) return;  // the address shows up, or its hold goes: either brings us back
    want(family, k_want_new);
    return wait_for_turn(family);
  }
  if (is_being_recorded(*placeholder)) return;
  if (placeholder->ingress.empty() && !placeholder->meta.deleting) want(family, k_want_placed);
  // Without its label it is in no index, and the exclusion of gaps would miss it.
  if (!is_placeholder(*placeholder, context_.options)) remove(*placeholder, "placeholder-stripped");
  if (placeholder->meta.deleting) return wait_for_deletion(family);
  if (!is_needed(*placeholder)) return;
  if (placeholder->ingress.empty()) return wait_for_backend(family, *placeholder);
  observe(family, *placeholder);
}

void ClaimPass::want(base::Family family, std::string_view value) {
  plan_.facts.push_back({wants_bucket(claim_->status_className, family), age_order(claim_->meta), std::string(value),
                         pool_key(claim_->status_className, family)});
}

kube::Plan reconcile_claim(const Context& context, const kube::Key& key, kube::View& view) {
  return ClaimPass(context, view, key).run();
}

}  // namespace metallb
