// Driver design §5 (holding) and §6 (the address's side of the gap handoff).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "api/builtin.h"
#include "api/metallb.h"
#include "api/names.h"
#include "metallb/address_pass.h"
#include "metallb/association.h"
#include "metallb/eligibility.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/restore.h"

namespace metallb {
namespace {

namespace json = boost::json;

// After a pin that did not land the handoff is tried again when the time it has been tried for has doubled, within
// these bounds: each try keeps the others of the class and family waiting.
constexpr base::Duration k_retry_soonest = std::chrono::minutes(2);
constexpr base::Duration k_retry_latest = std::chrono::minutes(10);
constexpr std::string_view k_retry = "retry";
constexpr std::string_view k_handoff = "handoff";
// The hold, by uid and version, that MetalLB has been asked by whether it is there.
constexpr std::string_view k_asked = "asked";

std::string question(const api::Service& hold) { return hold.meta.uid + "/" + hold.meta.resourceVersion; }

base::Duration retry_pace(base::Duration trying) { return std::clamp(trying, k_retry_soonest, k_retry_latest); }

}  // namespace

void AddressPass::hold() {
  const api::Service* best = holds_.best;
  // A restored Service has it, and keeps it until it is its turn to let go; or one that never claimed it.
  const api::Service* user = best == nullptr ? keeper_ : nullptr;
  if (user == nullptr && best == nullptr) user = restored_user(view_, context_.options, address_, ip_);
  if (user != nullptr && !view_.has_fact(letting_go_bucket(user->meta.ns, user->meta.name))) return;
  if (futile_ || (best == nullptr && !has_home(view_, context_.options)))
    plan_.facts.push_back({unholdable_bucket(address_.meta.name), "", "", {}});
  // Without a key MetalLB would refuse it beside the workload: that gets one first.
  const bool too_early = sharing_ && key_.empty();
  if (best == nullptr) {
    if (!too_early) create_hold("hold-create", service_);
  } else if (is_busy(*best) || is_being_emptied(*best)) {
    // answered soon
  } else if (is_left_behind(*best) && !sharing_) {
    move_home();
  } else if (is_beyond_repair(context_.options, *best, ip_)) {
    replace_hold(*best);
  } else if (boost::json::object repair = repair_of(*best); !repair.empty()) {
    const bool fresh = !is_recorded(*best) && !best->ingress.empty();
    plan_.writes.push_back(kube::patch(services(), *best, std::move(repair), fresh ? "hold-record" : "hold-repair"));
  } else if (unlanded_ > base::Duration::zero() || is_shown_by_nobody()) {
    touch(plan_, view_, *best, unlanded_);
  }
  remove_leftovers();
  if (best != nullptr && is_pinned_to(*best, ip_) && !is_busy(*best)) empty_terminating();
  if (!holds_.landed(ip_) && !sharing_) {
    ask_for_gap(waited_ >= k_gap_patience);
    if (waited_ < k_gap_patience) plan_.then_look_after(k_gap_patience - waited_);
  }
}

void AddressPass::create_hold(std::string step, const api::Service* beside) {
  if (!has_home(view_, context_.options)) return;
  // Earlier ones may wait for somebody's finalizer.
  for (unsigned place = 0;; ++place) {
    std::string name = place == 0 ? hold_name(address_.meta.name) : spare_hold_name(address_.meta.name, place);
    const std::string& ns = context_.options.placeholder_namespace;
    if (view_.busy({&services(), ns, name})) return;
    if (view_.get<api::Service>(ns, name) != nullptr) continue;
    boost::json::object body = hold_body(context_.options, address_, ip_, std::move(name));
    if (!key_.empty()) make_sharing(body, *beside, key_);
    plan_.writes.push_back(kube::create(services(), std::move(body), std::move(step)));
    return;
  }
}

// What it has must not fall to an unassigned placeholder before the next one is there.
void AddressPass::replace_hold(const api::Service& hold) {
  if (shows(hold, ip_)) {
    publish_gap(plan_, address_.className, ip_.family());
    if (!is_gap_opened(view_, address_.className, ip_.family())) return;
  }
  remove_hold(hold, "hold-replace");
}

// For the version that was judged: one that was altered meanwhile may be somebody else's by now.
// One that waits for somebody's finalizer is made to let go, and to get nothing any more.
void AddressPass::remove_hold(const api::Service& hold, std::string step) {
  if (is_busy(hold)) return;
  if (hold.meta.deleting) return empty(hold);
  plan_.writes.push_back(kube::remove(services(), hold, true, std::move(step)));
}

// What is being deleted and waits for somebody's finalizer has the address that the next one is to have.
void AddressPass::empty_terminating() {
  if (holds_.landed(ip_) || !is_gap_opened(view_, address_.className, ip_.family())) return;
  for (const api::Service* other : holds_.others) {
    if (other->meta.deleting && shows(*other, ip_)) empty(*other);
  }
}

void AddressPass::remove_holds(const std::string& step) {
  if (holds_.best != nullptr) remove_hold(*holds_.best, step);
  for (const api::Service* other : holds_.others) remove_hold(*other, step);
}

void AddressPass::hand_over() {
  if (holds_.best == nullptr) {
    ask_for_gap(false);
    empty_terminating();
    return wait_for_pin();
  }
  if (futile_) return;
  if (!is_welcome()) return hold();
  // Until its next try it is an address that is held like any other, and nobody waits for it.
  if (!is_release_due() || is_throttled()) return hold();
  if (holds_.landed(ip_) && !is_answered()) return ask();
  // The plan that opens it says that it is open.
  const bool opened = is_gap_opened(view_, address_.className, ip_.family());
  ask_for_gap(trying_ >= context_.options.attach_timeout && !opened);
  if (trying_ < context_.options.attach_timeout) plan_.then_look_after(context_.options.attach_timeout - trying_);
  if (!opened && trying_ >= context_.options.attach_timeout)
    tell_that_it_has_not_landed("it stays held: a placeholder that is in the way is being deleted and not gone", true);
  if (!opened || is_busy(*service_) || is_busy(*holds_.best)) return;
  if (trying_ >= context_.options.attach_timeout) plan_.spends.emplace_back(k_retry);
  plan_.spends.emplace_back(k_handoff);
  forget_question();
  remove_holds("hold-release");
}

// By what MetalLB writes of itself on whatever it serves: the hold is another version since, and has it. So MetalLB has
// looked at it, lives, and has seen the pin.
bool AddressPass::is_answered() {
  const api::Service& best = *holds_.best;
  if (view_.failures() > 0) forget_question();  // it may not have been put
  const std::string_view asked = view_.noted(k_asked);
  return asked.starts_with(best.meta.uid + "/") && asked != question(best) &&
         !best.meta.annotations.get(api::metallb::allocated_from).empty();
}

void AddressPass::forget_question() { view_.note(k_asked, ""); }

// Without a MetalLB that answers nobody would get what the hold gives up, for as long as that takes.
void AddressPass::ask() {
  const base::Duration limit = context_.options.attach_timeout;
  if (trying_ < limit) plan_.then_look_after(limit - trying_);
  hold();
  const api::Service& best = *holds_.best;
  if (plan_.writes.empty() && !is_busy(best)) {
    view_.note(k_asked, question(best));
    json::object annotations{{api::metallb::allocated_from, nullptr}};
    if (best.meta.annotations.contains(api::metallb::allocated_from))
      plan_.writes.push_back(kube::patch(
          services(), best, {{"metadata", json::object{{"annotations", std::move(annotations)}}}}, "hold-ask"));
  }
  if (trying_ >= limit) tell_that_it_has_not_landed("it stays held, since MetalLB does not answer", true);
}

// Whoever breaks a rule on the way is not released anything for: that is its owner's to mend.
bool AddressPass::is_welcome() {
  const auto* claim = holder_of(view_, address_);
  return claim != nullptr && choose(view_, context_, *service_, *claim).has_value();
}

bool AddressPass::is_release_due() {
  if (trying_ < context_.options.attach_timeout) return true;
  const base::Duration wait = view_.throttle(k_retry, 1, retry_pace(trying_));
  if (wait > base::Duration::zero()) plan_.then_look_after(wait);
  return wait == base::Duration::zero();
}

// Whichever Services it goes to: one that is made anew has no past.
bool AddressPass::is_throttled() {
  const base::Duration wait = view_.throttle(k_handoff, k_handoff_burst, k_handoff_refill);
  if (wait == base::Duration::zero()) return false;
  plan_.then_look_after(wait);
  plan_.events.push_back(
      {{&services(), service_->meta.ns, service_->meta.name},
       service_->meta.uid,
       true,
       std::string(reason::handoff_throttled),
       "Attach",
       fmt::format("the address changed hands {} times in a row: from now on once in {} s", k_handoff_burst,
                   std::chrono::duration_cast<std::chrono::seconds>(k_handoff_refill).count()),
       true});
  return true;
}

// Another pool was written on it, so MetalLB has taken the address from it and cannot give it back: it is held until
// that is repaired, which has its pace.
bool AddressPass::is_led_astray() {
  const std::string_view pool = pool_of(*service_);
  return !pool.empty() && pool != pool_name(address_.className) && !is_busy(*service_);
}

// A pin that does not land is no reason to leave the address to others.
void AddressPass::wait_for_pin() {
  const base::Duration limit = context_.options.attach_timeout;
  if (released_ < limit) return plan_.then_look_after(limit - released_);
  create_hold("hold-again", service_);
  if (plan_.writes.empty()) return;
  if (view_.throttle(k_retry, 1, retry_pace(trying_)) == base::Duration::zero()) plan_.spends.emplace_back(k_retry);
  tell_that_it_has_not_landed("it is held again and will be tried again", false);
}

void AddressPass::tell_that_it_has_not_landed(std::string_view instead, bool once) {
  plan_.events.push_back(
      {{&services(), service_->meta.ns, service_->meta.name},
       service_->meta.uid,
       true,
       std::string(reason::handoff_timed_out),
       "Attach",
       "MetalLB has not given " + ip_.to_string() + " to this Service in time; " + std::string(instead),
       once});
}

// "A hold or a pin has not landed": no unassigned placeholder may exist while MetalLB could give the address to it.
void AddressPass::ask_for_gap(bool patient) {
  if (futile_ || !is_in_pool()) return;
  if (is_taken() || release_stuck_) return;
  publish_gap(plan_, address_.className, ip_.family(), patient ? Gap::patient : Gap::eager);
}

bool AddressPass::is_shown_by_nobody() {
  return view_.count<api::Service>(k_service_shown_index, ip_.to_string()) == 0;
}

// Somebody who will not let go by our doing shows it: it cannot fall to a placeholder of ours.
bool AddressPass::is_taken() {
  bool taken = false;
  view_.each<api::Service>(k_service_shown_index, ip_.to_string(), [&](const api::Service& other) {
    taken = !is_authorised(other, true);
    return !taken;
  });
  return taken;
}

// A workload that refuses our write must not stop its class for good.
bool AddressPass::is_release_stuck() {
  const bool letting_go = service_ != nullptr && !attached_ && shown_ && carries_our_keys(*service_);
  const base::Duration limit = 2 * context_.options.detach_timeout;
  const base::Duration lasted = view_.since("release-stuck", letting_go);
  if (letting_go && lasted < limit) plan_.then_look_after(limit - lasted);
  return letting_go && lasted >= limit;
}

}  // namespace metallb
