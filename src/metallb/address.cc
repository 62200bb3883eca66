// Driver design §5 (holding), §6 (the ledger's side of the handoff), §7 (conflict) and §8 (teardown): everything about
// one address but what is written on the workload.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.h"
#include "api/conditions.h"
#include "api/metallb.h"
#include "api/names.h"
#include "metallb/association.h"
#include "metallb/finalizers.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/metrics.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

// How long an unclaimed address may be unheld before it is taken off the market.
constexpr base::Duration k_reserve_patience = seconds(5);
// After a pin that did not land: how often the handoff is tried again.
constexpr base::Duration k_retry_refill = seconds(120);

class AddressPass {
 public:
  AddressPass(const Context& context, kube::View& view, const api::IPAddress& address, const base::IpAddress& ip)
      : context_(context),
        view_(view),
        address_(address),
        ip_(ip),
        service_(workload_of(view, address)),
        holds_(find_holds(view, context.options, address, ip)) {}

  kube::Plan live() {
    if (!is_senior(view_, address_)) {
      reserve(false, reason::duplicate, "another IPAddress object stands for this address");
      write_address();
      return std::move(plan_);
    }
    if (was_never_promised()) return std::move(plan_);
    attached_ = service_ != nullptr && may_keep(view_, context_.options, *service_);
    announcing_ = attached_ && is_announcing(*service_, ip_);
    shown_ = service_ != nullptr && shows(*service_, ip_);
    release_stuck_ = is_release_stuck();
    const bool handing_over = announcing_ && !shown_;
    const base::Duration trying = view_.since("handing-over", handing_over);
    const base::Duration released = view_.since("released", handing_over && holds_.best == nullptr);
    const base::Duration unlanded = view_.since("unlanded", holds_.best != nullptr && is_shown_by_nobody());
    if (handing_over) {
      hand_over(trying, released);
    } else if (announcing_) {
      remove_holds("hold-release");
    } else if (!attached_ || !shown_ || !holds_.empty()) {
      hold(unlanded);
    }  // else its pin was stripped: MetalLB leaves it the address, and the pin comes back
    observe_gap();
    clear_association();
    reserve_while_unheld();
    judge_phase();
    write_address();
    return std::move(plan_);
  }

  // Driver design §8. The caller has seen that no live claim holds the address.
  kube::Plan teardown() {
    if (!address_.meta.has_finalizer(api::metallb::teardown)) return std::move(plan_);
    if (is_workload_letting_go()) return std::move(plan_);
    if (!holds_.empty()) {
      if (holds_.best != nullptr ||
          std::ranges::any_of(holds_.others, [](const auto* h) { return !h->meta.deleting; })) {
        if (is_confirmed_unheld(view_, plan_, address_, true)) remove_holds("hold-teardown");
      }
      return std::move(plan_);
    }
    if (!is_busy() && is_confirmed_unheld(view_, plan_, address_, false)) {
      plan_.writes.push_back(
          kube::patch(resource(), address_, without_finalizer(address_, api::metallb::teardown), "address-teardown"));
    }
    return std::move(plan_);
  }

 private:
  static const kube::Resource& resource() { return api::IPAddress::kind().resource; }
  static const kube::Resource& services() { return api::Service::kind().resource; }

  bool is_busy() { return view_.busy({&resource(), "", address_.meta.name}); }
  bool is_busy(const api::Service& hold) { return view_.busy({&services(), hold.meta.ns, hold.meta.name}); }

  // Contract §6.2: the claim went before the address was ever Bound. Nobody has been promised it.
  bool was_never_promised() {
    const auto& ref = address_.claimRef;
    if (address_.meta.deleting || !address_.from_class || !address_.phase.empty() || !ref || ref->uid.empty())
      return false;
    if (!address_.meta.has_finalizer(api::metallb::teardown)) return false;
    // A restored copy was Bound under another uid, whatever its status says (contract §9.2).
    const std::string* recorded = address_.meta.annotations.find(api::recorded_uid_annotation);
    if (recorded != nullptr && *recorded != address_.meta.uid) return false;
    const auto* claim = view_.get<api::IPAddressClaim>(ref->ns, ref->name);
    if (claim != nullptr && claim->meta.uid == ref->uid) return false;
    if (!is_busy() && is_confirmed_unheld(view_, plan_, address_, false)) {
      plan_.writes.push_back(kube::remove(resource(), address_, true, "address-unpromised"));
    }
    return true;
  }

  // Driver design §5: the hold exists, is what it should be, and is the only one.
  void hold(base::Duration unlanded) {
    const api::Service* best = holds_.best;
    if (best == nullptr) {
      create_hold("hold-create");
    } else if (is_busy(*best)) {
      // answered soon
    } else if (is_beyond_repair(context_.options, *best, ip_)) {
      plan_.writes.push_back(kube::remove(services(), *best, false, "hold-replace"));
    } else if (json::object repair = hold_repair(*best, address_, ip_); !repair.empty()) {
      const bool fresh = !is_recorded(*best) && !best->ingress.empty();
      plan_.writes.push_back(kube::patch(services(), *best, std::move(repair), fresh ? "hold-record" : "hold-repair"));
    } else if (is_shown_by_nobody()) {
      touch(plan_, *best, unlanded);
    }
    for (const api::Service* other : holds_.others) {
      if (holds_.landed(ip_) || !shows(*other, ip_)) remove_hold(*other, "hold-surplus");
    }
    if (!holds_.landed(ip_)) publish_gap();
  }

  void create_hold(std::string step) {
    const auto* home = view_.get<api::Namespace>(context_.options.placeholder_namespace);
    if (home == nullptr || home->meta.deleting || home->phase == "Terminating") return;
    for (std::string name : {hold_name(address_.meta.name), spare_hold_name(address_.meta.name)}) {
      const std::string& ns = context_.options.placeholder_namespace;
      if (view_.busy({&services(), ns, name})) return;
      if (view_.get<api::Service>(ns, name) != nullptr) continue;
      plan_.writes.push_back(
          kube::create(services(), hold_body(context_.options, address_, ip_, std::move(name)), std::move(step)));
      return;
    }
  }

  void remove_hold(const api::Service& hold, std::string step) {
    if (hold.meta.deleting || is_busy(hold)) return;
    plan_.writes.push_back(kube::remove(services(), hold, false, std::move(step)));
  }

  void remove_holds(const std::string& step) {
    if (holds_.best != nullptr) remove_hold(*holds_.best, step);
    for (const api::Service* other : holds_.others) remove_hold(*other, step);
  }

  // Driver design §6, gap handoff: the workload carries the pin and waits for the hold to go.
  void hand_over(base::Duration trying, base::Duration released) {
    publish_gap();
    if (holds_.best == nullptr) return wait_for_pin(released);
    if (!view_.has_fact(opened_bucket(address_.className, ip_.family()))) return;
    if (trying >= context_.options.attach_timeout) {
      const base::Duration wait = view_.throttle("retry", 1, k_retry_refill);
      if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
      plan_.spends.emplace_back("retry");
    }
    remove_holds("hold-release");
  }

  // A pin that does not land is no reason to leave the address to others.
  void wait_for_pin(base::Duration released) {
    const base::Duration limit = context_.options.attach_timeout;
    if (released < limit) return plan_.then_look_after(limit - released);
    create_hold("hold-again");
    if (plan_.writes.empty()) return;
    if (view_.throttle("retry", 1, k_retry_refill) == base::Duration::zero()) plan_.spends.emplace_back("retry");
    plan_.events.push_back({{&services(), service_->meta.ns, service_->meta.name},
                            service_->meta.uid,
                            true,
                            std::string(reason::handoff_timed_out),
                            "Attach",
                            "MetalLB has not given " + ip_.to_string() +
                                " to this Service in time; it is held again and will be tried again",
                            false});
  }

  // "A hold or a pin has not landed": no unassigned placeholder may exist while MetalLB could give the address to it.
  void publish_gap() {
    const auto* pool = view_.get<api::IPAddressPool>(context_.options.metallb_namespace, pool_name(address_.className));
    if (pool == nullptr || !pool_ranges(pool->addresses).contains(ip_)) return;
    if (is_taken() || release_stuck_) return;
    plan_.facts.push_back(gap_fact(address_.className, ip_.family()));
  }

  bool is_shown_by_nobody() { return view_.count<api::Service>(k_service_shown_index, ip_.to_string()) == 0; }

  // Somebody who will not let go by our doing shows it: it cannot fall to a placeholder of ours.
  bool is_taken() {
    bool taken = false;
    view_.each<api::Service>(k_service_shown_index, ip_.to_string(), [&](const api::Service& other) {
      const bool drawn = is_placeholder(other, context_.options.placeholder_namespace) && !is_recorded(other);
      taken = !holds_.includes(other) && !drawn && !is_authorised(other);
      return !taken;
    });
    return taken;
  }

  // Driver design §7: the attached Service, and one that carries our keys and is made to let go.
  bool is_authorised(const api::Service& other) const { return &other == service_ || carries_our_keys(other); }

  // A Service of others that MetalLB lets show the address.
  const api::Service* intruder() {
    const api::Service* found = nullptr;
    view_.each<api::Service>(k_service_shown_index, ip_.to_string(), [&](const api::Service& other) {
      if (other.meta.ns != context_.options.placeholder_namespace && !is_authorised(other)) found = &other;
      return found == nullptr;
    });
    return found;
  }

  // A workload that refuses our write must not stop its class for good.
  bool is_release_stuck() {
    const bool letting_go = service_ != nullptr && !attached_ && shown_ && carries_our_keys(*service_);
    const base::Duration limit = 2 * context_.options.detach_timeout;
    const base::Duration lasted = view_.since("release-stuck", letting_go);
    if (letting_go && lasted < limit) plan_.then_look_after(limit - lasted);
    return letting_go && lasted >= limit;
  }

  // From the moment that nobody shows the address until somebody of ours does.
  void observe_gap() {
    const bool held =
        holds_.landed(ip_) || std::ranges::any_of(holds_.others, [&](const auto* h) { return shows(*h, ip_); });
    const base::Duration lasted = view_.since("gap", true);
    if (address_.associatedTo && !held && !shown_) return;
    view_.since("gap", false);
    if (lasted > base::Duration::zero()) {
      plan_.observations.push_back({std::string(k_gap_metric), std::chrono::duration<double>(lasted).count(), {}});
    }
  }

  // Detach, last but one step: the workload is rid of our keys, and the hold has the address.
  void clear_association() {
    const auto& to = address_.associatedTo;
    const bool letting_go = to && to->kind == "Service" && !attached_;
    const base::Duration lasted = view_.since("letting-go", letting_go);
    if (!letting_go) return;
    if (service_ != nullptr && carries_our_keys(*service_) && !is_copy(*service_)) return;
    if (!holds_.landed(ip_) && lasted < context_.options.detach_timeout) {
      return plan_.then_look_after(context_.options.detach_timeout - lasted);
    }
    status_["associatedTo"] = nullptr;
  }

  // Contract §6.7: nobody is bound to an address that is not reserved yet.
  void reserve_while_unheld() {
    if (is_secured()) {
      view_.since("unheld", false);
      const auto* current = kube::find_condition(address_.conditions, api::condition::reserved);
      if (current != nullptr && current->status != "True")
        reserve(true, reason::held, "the address is held at MetalLB");
      return;
    }
    const bool first_sight = !address_.meta.has_finalizer(api::metallb::teardown);
    const bool unclaimed = !address_.claimRef && !address_.associatedTo;
    const base::Duration lasted = view_.since("unheld", unclaimed);
    if (unclaimed && !first_sight && lasted < k_reserve_patience) plan_.then_look_after(k_reserve_patience - lasted);
    if (first_sight || (unclaimed && lasted >= k_reserve_patience)) {
      reserve(false, reason::awaiting_backend, "the address is not held at MetalLB yet");
    }
  }

  bool is_secured() const { return holds_.landed(ip_) || (attached_ && shown_); }

  void reserve(bool held, std::string_view why, std::string message) {
    auto list = api::updated_conditions(address_.conditions,
                                        {{api::condition::reserved, held ? "True" : "False", why, std::move(message)}},
                                        address_.meta.generation, view_.wall_text());
    if (list) status_["conditions"] = std::move(*list);
  }

  // Contract §6.6: Conflict is entered when somebody else shows the address, and handed back when nobody does any more
  // and the reservation is there. The core derives the rest.
  void judge_phase() {
    const api::Service* other = intruder();
    const bool out = address_.phase == api::phase::conflict || address_.phase == api::phase::lost;
    if (out && other == nullptr && is_secured()) {
      status_["phase"] = api::phase::pending;
    } else if (!out && other != nullptr) {
      status_["phase"] = api::phase::conflict;
      tell({&resource(), "", address_.meta.name}, address_.meta.uid,
           "the address is in use by Service " + other->meta.ns + "/" + other->meta.name + " without a claim to it");
      tell({&services(), other->meta.ns, other->meta.name}, other->meta.uid,
           ip_.to_string() + " is reserved: this Service uses it without a claim to it");
    }
  }

  void tell(kube::Ref regarding, const std::string& uid, std::string note) {
    conflict_.push_back(
        {std::move(regarding), uid, true, std::string(reason::address_conflict), "Hold", std::move(note), false});
  }

  // One write on one object: its status first, since `Reserved` must be there before the core sees our finalizer.
  void write_address() {
    if (is_busy()) return;
    if (!status_.empty()) {
      plan_.writes.push_back(
          kube::patch_status(resource(), address_, {{"status", std::move(status_)}}, "address-status"));
      plan_.events.insert(plan_.events.end(), conflict_.begin(), conflict_.end());
    } else if (!address_.meta.deleting && !address_.meta.has_finalizer(api::metallb::teardown)) {
      plan_.writes.push_back(
          kube::patch(resource(), address_, with_finalizer(address_, api::metallb::teardown), "address-protect"));
    }
  }

  // Teardown waits for the workload to be rid of the address, but not for ever.
  bool is_workload_letting_go() {
    const bool has_it = service_ != nullptr && (carries_our_keys(*service_) || shows(*service_, ip_));
    const base::Duration limit = 2 * context_.options.detach_timeout;
    const base::Duration lasted = view_.since("teardown", has_it);
    if (!has_it || lasted >= limit) return false;
    plan_.then_look_after(limit - lasted);
    return true;
  }

  const Context& context_;
  kube::View& view_;
  const api::IPAddress& address_;
  const base::IpAddress ip_;
  const api::Service* service_;  // what associatedTo names, if it is still there
  const Holds holds_;
  bool attached_ = false;    // that Service may keep the address
  bool announcing_ = false;  // and carries our pin
  bool shown_ = false;       // and MetalLB has given it the address
  bool release_stuck_ = false;
  json::object status_;
  std::vector<kube::EventNote> conflict_;  // ride on the phase
  kube::Plan plan_;
};

bool is_ours(kube::View& view, const api::IPAddress& address) {
  if (address.meta.has_finalizer(api::metallb::teardown)) return true;
  const auto* object = view.get<api::IPAddressClass>(address.className);
  return object != nullptr && object->provisioner == api::metallb::provisioner;
}

}  // namespace

kube::Plan reconcile_address(const Context& context, const kube::Key& key, kube::View& view) {
  kube::Plan plan;
  const auto* address = view.get<api::IPAddress>(key.name);
  if (address == nullptr) {
    plan.forget = true;
    return plan;
  }
  if (!is_ours(view, *address)) return plan;
  const auto ip = value_of(*address);
  if (!ip) {
    // Stored under an older schema: there is nothing to hold, and its deletion does not wait for us.
    if (address->meta.deleting && address->meta.has_finalizer(api::metallb::teardown)) {
      plan.writes.push_back(kube::patch(api::IPAddress::kind().resource, *address,
                                        without_finalizer(*address, api::metallb::teardown), "address-teardown"));
    }
    return plan;
  }
  AddressPass pass(context, view, *address, *ip);
  return address->meta.deleting && holder_of(view, *address) == nullptr ? pass.teardown() : pass.live();
}

}  // namespace metallb
