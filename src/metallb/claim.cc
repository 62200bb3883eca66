// Driver design §4: claim → reservation, per missing family.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.h"
#include "api/conditions.h"
#include "api/names.h"
#include "base/ip.h"
#include "metallb/class.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/rendering.h"

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
// A placeholder that was given what it must not keep is replaced at this pace.
constexpr int k_replace_burst = 3;
constexpr base::Duration k_replace_refill = seconds(30);

struct Trouble {
  std::string reason;
  std::string message;
};

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

// Why a class whose parameters are fine has no pool: its own reason, in words for a tenant. The class's message may
// name what belongs to others.
Trouble why_no_pool(const api::IPAddressClass& cls) {
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

class ClaimPass {
 public:
  ClaimPass(const Context& context, kube::View& view, const kube::Key& key)
      : context_(context), view_(view), key_(key), claim_(view.get<api::IPAddressClaim>(key.ns, key.name)) {}

  kube::Plan run() {
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

 private:
  // Families that were never reported and that no address counts for (contract §3.7, §6.1).
  void find_missing() {
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
  bool is_about_to_be_of_other_class() const {
    return claim_->addresses.empty() && std::ranges::any_of(halves_.list(), [&](const api::IPAddress* half) {
             return half->className != claim_->status_className;
           });
  }

  Allocation allocation_for(base::Family family) {
    return find_allocation(view_, context_.options, claim_->meta, family);
  }

  // Driver design §4.1: an unrecorded placeholder exists only while this claim is ours to serve, that family is missing
  // and its pool is that of the claim's class. Once its address is in the ledger it is that address's hold, whatever
  // the claim asks for by now.
  bool is_needed(const api::Service& placeholder) {
    if (claim_ != nullptr) {
      for (const base::Family family : missing_) {
        if (allocation_for(family).placeholder != &placeholder) continue;
        if (pool_of(placeholder) == pool_name(claim_->status_className)) return true;
      }
    }
    return is_being_recorded(placeholder);
  }

  // Its address is in the ledger already: labelling it is the address's next step.
  bool is_being_recorded(const api::Service& placeholder) {
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

  void remove_unneeded() {
    view_.each<api::Service>(k_placeholder_claim_index, slash(key_.ns, key_.name),
                             [&](const api::Service& placeholder) {
                               ++leftover_;
                               if (!is_needed(placeholder)) remove(placeholder, "placeholder-unneeded");
                               return true;
                             });
  }

  void remove(const api::Service& placeholder, std::string step) {
    // First, so that the gap stays until the deletion has been answered and is over.
    if (!may_give_back(view_, plan_, placeholder) || placeholder.meta.deleting || view_.busy(ref(placeholder))) return;
    plan_.writes.push_back(kube::remove(api::Service::kind().resource, placeholder, true, std::move(step)));
  }

  static kube::Ref ref(const api::Service& service) {
    return {&api::Service::kind().resource, service.meta.ns, service.meta.name};
  }

  void serve(base::Family family) {
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
    if (placeholder->meta.deleting) return wait_for_deletion(family);
    if (is_being_recorded(*placeholder)) return;
    if (placeholder->ingress.empty()) want(family, k_want_placed);
    // Without its label it is in no index, and the exclusion of gaps would miss it.
    if (!is_placeholder(*placeholder, context_.options)) {
      return remove(*placeholder, "placeholder-stripped");
    }
    if (!is_needed(*placeholder)) return;
    if (placeholder->ingress.empty()) return wait_for_backend(family, *placeholder);
    observe(family, *placeholder);
  }

  void want(base::Family family, std::string_view value) {
    plan_.facts.push_back({wants_bucket(claim_->status_className, family), age_order(claim_->meta), std::string(value),
                           pool_key(claim_->status_className, family)});
  }

  std::string state_in(const std::string& bucket) {
    std::string state;
    view_.each_fact(bucket, [&](std::string_view, const auto& fact) {
      state = fact.value;
      return false;
    });
    return state;
  }

  // True once `fact` has held for `patience`; otherwise asks for another look when it will have.
  bool lasts(const std::string& fact, base::Duration patience) {
    waits_.push_back(fact);
    const base::Duration held = view_.since(fact, true);
    if (held >= patience) return true;
    plan_.then_look_after(patience - held);
    return false;
  }

  void wait_for_turn(base::Family family) {
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

  void wait_for_deletion(base::Family family) {
    if (lasts(wait_name("deletion", family), context_.options.backend_patience))
      complain(reason::queued,
               "an earlier placeholder of this claim is being deleted and waits for somebody else's finalizer");
  }

  void wait_for_backend(base::Family family, const api::Service& placeholder) {
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

  void exhausted(base::Family family) {
    complain(reason::exhausted,
             "class " + claim_->status_className + " has no free " + std::string(base::to_string(family)) + " address");
  }

  static std::string wait_name(std::string_view what, base::Family family) {
    return slash(what, base::to_string(family));
  }

  // What is not waited for in this pass starts anew when it is waited for again.
  void forget_waits() {
    for (const std::string_view what : {"turn", "queued", "deletion", "backend", "served"}) {
      for (const base::Family family : {base::Family::v4, base::Family::v6}) {
        const std::string name = wait_name(what, family);
        if (std::ranges::find(waits_, name) == waits_.end()) view_.since(name, false);
      }
    }
  }

  // Driver design §4.2, by value: one address of the family, of this class, out of this pool.
  void observe(base::Family family, const api::Service& placeholder) {
    const std::vector<base::IpAddress> ips = shown(placeholder);
    const std::string pool = pool_name(claim_->status_className);
    const bool right = ips.size() == 1 && placeholder.ingress.size() == 1 && ips.front().family() == family &&
                       class_.parameters().ranges.contains(ips.front()) &&
                       placeholder.meta.annotations.get(api::metallb::allocated_from) == pool && !is_pool_foreign();
    if (right) return record(placeholder, ips.front());
    complain(reason::outside_class, "MetalLB assigned an address that is not of class " + claim_->status_className +
                                        ": it is given back and another one asked for");
    replace(placeholder);
  }

  // Somebody else's pool has the name of the class's.
  bool is_pool_foreign() {
    const std::string& ns = context_.options.metallb_namespace;
    const std::string& name = claim_->status_className;
    return pool_of_class(view_, ns, name) == nullptr && view_.get<api::IPAddressPool>(ns, pool_name(name)) != nullptr;
  }

  void replace(const api::Service& placeholder) {
    const base::Duration wait = view_.throttle("replace", k_replace_burst, k_replace_refill);
    if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
    if (std::ranges::find(plan_.spends, "replace") == plan_.spends.end()) plan_.spends.emplace_back("replace");
    remove(placeholder, "placeholder-replace");
  }

  // Driver design §4.3 and §4.4.
  void record(const api::Service& placeholder, const base::IpAddress& ip) {
    bool ours = false;
    bool others = false;
    bool going = false;
    view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
      const bool is_of_claim = address.claimRef && address.claimRef->uid == claim_->meta.uid;
      const bool is_going = address.meta.deleting && holder_of(view_, address) == nullptr;
      (is_going ? going : is_of_claim ? ours : others) = true;
      return true;
    });
    if (others) return mismatch(placeholder, ip);
    if (ours) return;  // not held by us, and it does not count for the claim: the core says why
    if (going) return wait_for_ledger(ip);
    const std::string name = base::object_name(ip);
    if (view_.get<api::IPAddress>(name) != nullptr) {
      return complain(reason::name_taken, "an IPAddress object named " + name + " exists for another address");
    }
    const kube::Ref self{&api::IPAddressClaim::kind().resource, claim_->meta.ns, claim_->meta.name};
    if (view_.busy({&api::IPAddress::kind().resource, "", name})) return;
    if (view_.confirmed(self)) {
      creates_.push_back(kube::create(api::IPAddress::kind().resource, address_body(ip), "address-record"));
    } else {
      plan_.confirms = {{self}};
    }
  }

  // MetalLB has it back already; in the ledger the last finalizer is still there.
  void wait_for_ledger(const base::IpAddress& ip) {
    if (lasts(wait_name("turn", ip.family()), k_turn_patience))
      complain(reason::queued,
               "MetalLB assigned " + ip.to_string() + ", whose earlier IPAddress object is not gone yet");
  }

  json::object address_body(const base::IpAddress& ip) const {
    return {{"metadata", json::object{{"name", base::object_name(ip)},
                                      {"finalizers", json::array{json::string(api::metallb::teardown)}}}},
            {"spec", json::object{{"address", ip.to_string()},
                                  {"className", claim_->status_className},
                                  {"reclaimPolicy", class_.object->reclaimPolicy},
                                  {"claimRef", json::object{{"namespace", claim_->meta.ns},
                                                            {"name", claim_->meta.name},
                                                            {"uid", claim_->meta.uid}}},
                                  {"source", json::object{{"fromClass", json::object{}}}}}}};
  }

  // Driver design §4.4: MetalLB and the ledger disagree. The owner's hold gets the address back when the placeholder is
  // gone.
  void mismatch(const api::Service& placeholder, const base::IpAddress& ip) {
    const std::string message = "MetalLB assigned " + ip.to_string() +
                                ", which is reserved already: it is given back and another one asked for";
    complain(reason::ledger_mismatch, message);
    const std::size_t before = plan_.writes.size();
    replace(placeholder);
    if (plan_.writes.size() > before) tell({std::string(reason::ledger_mismatch), message});
  }

  void tell(const Trouble& trouble) {
    plan_.events.push_back({{&api::IPAddressClaim::kind().resource, claim_->meta.ns, claim_->meta.name},
                            claim_->meta.uid,
                            true,
                            trouble.reason,
                            "Provision",
                            trouble.message,
                            false});
  }

  void complain(std::string_view reason, std::string message) {
    if (!trouble_) trouble_ = Trouble{std::string(reason), std::move(message)};
  }

  // It is of whoever serves the claim. When the stamp names another driver, what we have said is taken back; what is
  // said when that is done is the other one's.
  bool is_condition_ours(const kube::Condition* current) {
    const std::string* stamp = claim_->meta.annotations.find(api::provisioner_annotation);
    const bool stamped = stamp == nullptr || *stamp == api::metallb::provisioner;
    const bool left = view_.remembers("said") && current != nullptr && current->status != "True";
    view_.since("said", stamped || left);
    return stamped || left;
  }

  // Contract §6.8: why the claim waits, taken back when it no longer does. The straight path writes nothing here.
  void report() {
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

  const Context& context_;
  kube::View& view_;
  const kube::Key& key_;
  const api::IPAddressClaim* claim_;
  ServedClass class_;  // only while the claim is ours to serve
  Halves halves_;
  std::vector<base::Family> missing_;
  bool changes_class_ = false;  // a family is missing, and is not to be served before the core resolves another class
  std::optional<Trouble> trouble_;
  std::vector<std::string> waits_;
  std::vector<kube::Write> creates_;
  std::size_t leftover_ = 0;
  kube::Plan plan_;
};

}  // namespace

kube::Plan reconcile_claim(const Context& context, const kube::Key& key, kube::View& view) {
  return ClaimPass(context, view, key).run();
}

}  // namespace metallb
