// Contract §6.8: why a claim waits, said in the condition `Provisioning`.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "api/conditions.h"
#include "api/names.h"
#include "metallb/claim_pass.h"
#include "metallb/indexes.h"
#include "metallb/reasons.h"

namespace metallb {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

// How long a claim may wait before it says why: longer than the straight path takes.
constexpr base::Duration k_turn_patience = seconds(2);
// A wait that is only for one's turn ends by itself, and a thousand claims that say so are as many writes that
// everybody waits for.
constexpr base::Duration k_queue_patience = seconds(13);
// Whether a class is exhausted is an estimate, so that a placeholder is brought to MetalLB's notice all the same.
constexpr base::Duration k_estimate_patience = std::chrono::minutes(10);

}  // namespace

ClaimPass::Trouble ClaimPass::why_no_pool(const api::IPAddressClass& cls) {
  const kube::Condition* verdict = kube::find_condition(cls.conditions, "BackendReady");
  const std::string why = verdict != nullptr && verdict->status == "False" ? verdict->reason : "";
  const std::string name = "class " + cls.meta.name;
  if (why == reason::pool_overlap)
    return {why, name + " waits for addresses that are still in use under another class"};
  if (why == reason::foreign_object)
    return {why, name +
                     " cannot be set up at MetalLB, since its name is taken there: an administrator has to rename "
                     "or remove what has it"};
  if (why == reason::metallb_missing || why == reason::metallb_terminating)
    return {why, name + " has no backend: MetalLB is not installed, or is being removed"};
  if (why == reason::write_refused || why == reason::not_kept)
    return {why, name + " cannot be set up at MetalLB: an administrator finds the reason in the class's conditions"};
  return {std::string(reason::pool_missing), name + " is not set up at MetalLB yet"};
}

std::string ClaimPass::wait_name(std::string_view what, base::Family family) {
  return slash(what, base::to_string(family));
}

std::string ClaimPass::state_in(const std::string& bucket) {
  std::string state;
  view_.each_fact(bucket, [&](std::string_view, const auto& fact) {
    state = fact.value;
    return false;
  });
  return state;
}

// True once `fact` has held for `patience`; otherwise asks for another look when it will have.
bool ClaimPass::lasts(const std::string& fact, base::Duration patience) {
  waits_.push_back(fact);
  const base::Duration held = view_.since(fact, true);
  if (held >= patience) return true;
  plan_.then_look_after(patience - held);
  return false;
}

void ClaimPass::wait_for_turn(base::Family family) {
  if (!lasts(wait_name("turn", family), k_turn_patience)) return;
  const std::string state = state_in(queue_bucket(claim_->status_className, family));
  if (state == k_supply_exhausted) return exhausted(family);
  if (state == reason::pool_missing) {
    Trouble trouble = why_no_pool(*class_.object);
    return complain(trouble.reason, std::move(trouble.message));
  }
  if (state == k_supply_refused) {
    return complain(reason::placeholder_refused,
                    "no address can be asked for: the API server refuses the driver's placeholders, which is in the "
                    "driver's log, or their namespace is being deleted");
  }
  if (state == reason::placeholder_limit) {
    return complain(state,
                    "the driver holds as many placeholders as it may (--max-placeholders): an administrator "
                    "has to raise the limit, or addresses have to be given up");
  }
  if (!lasts(wait_name("queued", family), k_queue_patience)) return;  // a gap is no news to those who wait anyway
  complain(reason::queued, "waits for its turn among the claims of class " + claim_->status_className);
}

void ClaimPass::wait_for_deletion(base::Family family) {
  if (lasts(wait_name("deletion", family), context_.options.backend_patience))
    complain(reason::queued,
             "an earlier placeholder of this claim is being deleted and waits for somebody else's finalizer");
}

void ClaimPass::wait_for_backend(base::Family family, const api::Service& placeholder) {
  const std::string name = wait_name("backend", family);
  const std::string state = state_in(supply_bucket(claim_->status_className, family));
  if (state == k_supply_exhausted) {
    if (lasts(name, k_turn_patience)) exhausted(family);
    if (lasts(name, k_estimate_patience) && !view_.busy(ref(placeholder)))
      touch(plan_, view_, placeholder, k_estimate_patience);
    return;
  }
  const bool silent = lasts(name, context_.options.backend_patience);
  if (state == k_supply_crowded && !silent) return;
  // What counts for a touch is how long something has been there to be given.
  const std::string served = wait_name("served", family);
  waits_.push_back(served);
  const base::Duration waited = view_.since(served, true);
  if (!view_.busy(ref(placeholder))) touch(plan_, view_, placeholder, waited);
  if (silent) {
    complain(reason::backend_silent,
             "MetalLB has not assigned an address of class " + claim_->status_className +
                 " yet: see whether its controller is running. It is made to look again every ten minutes at least");
  }
}

// MetalLB has it back already; in the ledger the last finalizer is still there.
void ClaimPass::wait_for_ledger(const base::IpAddress& ip) {
  if (lasts(wait_name("turn", ip.family()), k_turn_patience))
    complain(reason::queued, "MetalLB assigned " + ip.to_string() + ", whose earlier IPAddress object is not gone yet");
}

// It is bound to this claim, is not held by us, and does not count for the claim: the core says there why.
void ClaimPass::wait_for_own(const api::IPAddress& address, base::Family family) {
  if (lasts(wait_name("turn", family), k_turn_patience))
    complain(reason::ledger_mismatch, "MetalLB assigned " + address.address + ", and IPAddress " + address.meta.name +
                                          " stands for that already: it names this claim and does not count for it. "
                                          "See its conditions");
}

void ClaimPass::exhausted(base::Family family) {
  complain(reason::exhausted,
           "class " + claim_->status_className + " has no free " + std::string(base::to_string(family)) + " address");
}

// What is not waited for in this pass starts anew when it is waited for again.
void ClaimPass::forget_waits() {
  for (const std::string_view what : {"turn", "queued", "deletion", "backend", "served"}) {
    for (const base::Family family : {base::Family::v4, base::Family::v6}) {
      const std::string name = wait_name(what, family);
      if (std::ranges::find(waits_, name) == waits_.end()) view_.since(name, false);
    }
  }
}

void ClaimPass::tell(const Trouble& trouble) {
  plan_.events.push_back({{&api::IPAddressClaim::kind().resource, claim_->meta.ns, claim_->meta.name},
                          claim_->meta.uid,
                          true,
                          trouble.reason,
                          "Provision",
                          trouble.message,
                          false});
}

void ClaimPass::complain(std::string_view reason, std::string message) {
  if (!trouble_) trouble_ = Trouble{std::string(reason), std::move(message)};
}

// It is of whoever serves the claim. When the stamp names another driver, what we have said is taken back; what is
// said when that is done is the other one's.
bool ClaimPass::is_condition_ours(const kube::Condition* current) {
  const std::string* stamp = claim_->meta.annotations.find(api::provisioner_annotation);
  const bool stamped = stamp == nullptr || *stamp == api::metallb::provisioner;
  const bool left = view_.remembers("said") && current != nullptr && current->status != "True";
  view_.since("said", stamped || left);
  return stamped || left;
}

// Contract §6.8: why the claim waits, taken back when it no longer does. The straight path writes nothing here.
void ClaimPass::report() {
  plan_.writes.insert(plan_.writes.end(), std::make_move_iterator(creates_.begin()),
                      std::make_move_iterator(creates_.end()));
  if (!plan_.writes.empty()) plan_.confirms.clear();  // asked for again by the next pass
  const kube::Condition* current = kube::find_condition(claim_->conditions, api::condition::provisioning);
  const bool may_withdraw = is_condition_ours(current);
  if (claim_->meta.deleting || !plan_.confirms.empty()) return;
  std::vector<api::Saying> sayings;
  std::vector<std::string_view> withdrawn;
  if (trouble_) {
    if (trouble_->reason == reason::backend_silent && (current == nullptr || current->reason != trouble_->reason))
      tell(*trouble_);
    sayings.push_back({api::condition::provisioning, "False", trouble_->reason, trouble_->message});
  } else if (current == nullptr || current->status == "True") {
    return;
  } else if (class_ && missing_.empty() && !changes_class_) {
    sayings.push_back({api::condition::provisioning, "True", reason::provisioned, "all addresses are reserved"});
  } else if (class_) {
    return;  // on its way: what was said stays until it is known to be over
  } else if (!may_withdraw) {
    return;
  } else {
    withdrawn.push_back(api::condition::provisioning);
  }
  auto list =
      api::updated_conditions(claim_->conditions, sayings, claim_->meta.generation, view_.wall_text(), withdrawn);
  if (!list) return;
  plan_.writes.push_back(kube::patch_status(api::IPAddressClaim::kind().resource, *claim_,
                                            {{"status", json::object{{"conditions", std::move(*list)}}}},
                                            "claim-provisioning"));
}

}  // namespace metallb
