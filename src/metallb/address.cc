// Driver design §6 (the ledger's side of the handoff) and §8 (teardown): everything about one address but its hold
// (address_holding.cc), conflict and loss (address_conflict.cc) and what is written on the workload (service.cc).
#include "metallb/address_pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <utility>

#include "api/conditions.h"
#include "api/names.h"
#include "api/restore.h"
#include "metallb/association.h"
#include "metallb/finalizers.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/inventory.h"
#include "metallb/ledger.h"
#include "metallb/metrics.h"
#include "metallb/names.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/restore.h"

namespace metallb {
namespace {

using std::chrono::seconds;

// How long an unclaimed address may be unheld before it is taken off the market.
constexpr base::Duration k_reserve_patience = seconds(5);
// How long a hold that is asked for may be missing until that is said: MetalLB needs a while when it has much to do.
constexpr base::Duration k_silence = seconds(60);
// The same where the pool does not have the address: the class needs much less to be rendered with it.
constexpr base::Duration k_outside = seconds(10);

}  // namespace

AddressPass::AddressPass(const Context& context, kube::View& view, const api::IPAddress& address,
                         const base::IpAddress& ip)
    : context_(context),
      view_(view),
      address_(address),
      ip_(ip),
      service_(workload_of(view, address)),
      as_made_(address.meta.has_finalizer(api::metallb::teardown) && is_as_made(address)),
      holds_(find_holds(view, context.options, address, ip)),
      keeper_(keeper_of(view, context.options, address, ip)) {}

kube::Plan AddressPass::live() {
  futile_ = is_futile(view_, plan_);
  if (was_never_promised()) return std::move(plan_);
  attached_ = is_attached(view_, context_.options, address_);
  shown_ = service_ != nullptr && shows(*service_, ip_);
  if (!is_senior(view_, address_)) {
    reserve(false, reason::duplicate, "another IPAddress object stands for this address");
    clear_association();
    say_who_is_refused();
    write_address();
    return std::move(plan_);
  }
  announcing_ = attached_ && is_announcing(*service_, ip_) && (shown_ || !is_led_astray());
  release_stuck_ = is_release_stuck();
  handing_over_ = announcing_ && !shown_;
  trying_ = view_.since("handing-over", handing_over_);
  released_ = view_.since("released", handing_over_ && holds_.best == nullptr);
  judge_sharing();
  waited_ = view_.since("hold-waits", !is_secured());
  unlanded_ = view_.since("unlanded", holds_.best != nullptr && !holds_.landed(ip_) &&
                                          (is_shown_by_nobody() || (sharing_ && handoff_key(*holds_.best) == key_)));
  if (!handing_over_ || sharing_) forget_question();
  if (handing_over_ && !sharing_) {
    hand_over();
  } else if (announcing_ && !handing_over_) {
    release_holds();
  } else if (!attached_ || !shown_ || !holds_.empty()) {
    hold();
  }  // else its pin was stripped: MetalLB leaves it the address, and the pin comes back
  say_that_it_has_not_landed();
  observe_gap();
  clear_association();
  reserve_while_unheld();
  judge_phase();
  say_who_is_refused();
  write_address();
  return std::move(plan_);
}

kube::Plan AddressPass::teardown() {
  if (!address_.meta.has_finalizer(api::metallb::teardown)) return std::move(plan_);
  if (is_workload_letting_go()) return std::move(plan_);
  if (const api::IPAddress* next = heir(); next != nullptr && !is_left_to(*next)) return std::move(plan_);
  if (!holds_.empty()) {
    const bool gone =
        holds_.best == nullptr && std::ranges::all_of(holds_.others, [&](const auto* hold) {
          // MetalLB does not look at what is of another loadBalancerClass.
          return is_spent(*hold) || (hold->meta.deleting && is_beyond_repair(context_.options, *hold, ip_));
        });
    if (!gone) {
      if (is_confirmed_unheld(view_, plan_, address_, true)) remove_holds("hold-teardown");
      return std::move(plan_);
    }
  }
  if (!is_busy() && is_confirmed_unheld(view_, plan_, address_, false)) {
    plan_.writes.push_back(
        kube::patch(resource(), address_, without_finalizer(address_, api::metallb::teardown), "address-teardown"));
  }
  return std::move(plan_);
}

// Another object for this address that is left: the one that stands, or will when this one is gone.
const api::IPAddress* AddressPass::heir() {
  const api::IPAddress* found = nullptr;
  view_.each<api::IPAddress>(k_address_value_index, ip_.to_string(), [&](const api::IPAddress& other) {
    if (&other == &address_ || !is_ours(view_, other)) return true;
    if (other.meta.deleting && holder_of(view_, other) == nullptr) return true;
    if (found == nullptr || is_senior(view_, other)) found = &other;
    return true;
  });
  return found;
}

// What holds the address becomes the heir's hold in one write; where it cannot, since another class's pool has to have
// the address for that, it goes when no unassigned placeholder is about. True when nothing of it is left to do.
bool AddressPass::is_left_to(const api::IPAddress& heir) {
  if (!holds_.landed(ip_)) return true;
  if (heir.className != address_.className) {
    publish_gap(plan_, address_.className, ip_.family());
    const base::Duration limit = 2 * context_.options.detach_timeout;
    const base::Duration lasted = view_.since("left-by-gap", true);
    if (lasted < limit) plan_.then_look_after(limit - lasted);
    return lasted >= limit || is_gap_opened(view_, address_.className, ip_.family());
  }
  if (!is_busy(*holds_.best)) {
    plan_.writes.push_back(kube::patch(services(), *holds_.best, hold_repair(*holds_.best, heir, ip_), "hold-inherit"));
  }
  return false;
}

// Contract §6.2: the claim went before the address was ever Bound. Nobody has been promised it.
bool AddressPass::was_never_promised() {
  const auto& ref = address_.claimRef;
  if (address_.meta.deleting || !ref || !address_.meta.has_finalizer(api::metallb::teardown)) return false;
  const auto* claim = view_.get<api::IPAddressClaim>(ref->ns, ref->name);
  if (claim != nullptr && claim->meta.uid == ref->uid) return false;
  if (!api::was_never_promised(address_, claim)) return false;
  if (!is_busy() && is_confirmed_unheld(view_, plan_, address_, false)) {
    plan_.writes.push_back(kube::remove(resource(), address_, true, "address-unpromised"));
  }
  return true;
}

// From the moment that nobody shows the address until somebody of ours does.
void AddressPass::observe_gap() {
  const bool held =
      holds_.landed(ip_) || std::ranges::any_of(holds_.others, [&](const auto* h) { return shows(*h, ip_); });
  const base::Duration lasted = view_.since("gap", true);
  if (address_.associatedTo && !held && !shown_) return;
  view_.since("gap", false);
  if (lasted > base::Duration::zero()) {
    plan_.observations.push_back({std::string(k_gap_metric),
                                  std::chrono::duration<double>(lasted).count(),
                                  {{"rule", std::string(rule_.empty() ? rule::none : rule_)}}});
  }
}

// Detach, last but one step: the workload is rid of the address and of our keys, and the hold has it; a junior has no
// hold to wait for. A Service that keeps another address and never had this one is rid of it from the start.
void AddressPass::clear_association() {
  const auto& to = address_.associatedTo;
  const bool letting_go = to && to->kind == "Service" && !attached_;
  const base::Duration lasted = view_.since("letting-go", letting_go);
  if (!letting_go) return;
  // A restored Service is being taken up: the ledger knows first.
  if (service_ != nullptr && return_of(view_, context_.options, *service_) != Return::none) return;
  const bool relates =
      service_ != nullptr && !is_copy(*service_) && !is_unrelated(view_, context_.options, *service_, ip_);
  if (relates && (carries_our_keys(*service_) || draws_from_pool_of(*service_, address_))) return;
  // As long as it shows the address the ledger says so: else nobody would answer if its owner put the pool back.
  // Where MetalLB is not the one who shows it, nobody would ever take it off.
  if (shown_ && !is_copy(*service_) && is_served_by_metallb(context_.options, *service_)) return;
  const bool held = holds_.landed(ip_) || !is_senior(view_, address_);
  if ((!held || shown_) && lasted < context_.options.detach_timeout) {
    return plan_.then_look_after(context_.options.detach_timeout - lasted);
  }
  status_["associatedTo"] = nullptr;
}

// Contract §6.7: nobody is bound to an address that is not reserved yet. What the driver did not make gets `Reserved`
// at first sight whether it is held or not: a restored copy without its status must not look like what nobody was
// promised.
void AddressPass::reserve_while_unheld() {
  const bool secured = is_secured();
  const bool first_sight = !address_.meta.has_finalizer(api::metallb::teardown);
  const bool unclaimed = !address_.claimRef && !address_.associatedTo;
  const base::Duration off_market = view_.since("unheld", !secured && unclaimed);
  const base::Duration silent = view_.since("silent", !secured && !is_shown_by_a_workload());
  if (secured) {
    const auto* current = kube::find_condition(address_.conditions, api::condition::reserved);
    if (current == nullptr ? first_sight : current->status != "True")
      reserve(true, reason::held, "the address is held at MetalLB");
    return;
  }
  const bool due = !handing_over_ || released_ >= context_.options.attach_timeout;
  const base::Duration holdless = view_.since("holdless", due && holds_.best == nullptr);
  const base::Duration patience = is_in_pool() ? k_silence : k_outside;
  if (silent >= patience) return say_that_it_is_unheld(holdless > base::Duration::zero());
  plan_.then_look_after(patience - silent);
  if (unclaimed && !first_sight && off_market < k_reserve_patience)
    plan_.then_look_after(k_reserve_patience - off_market);
  if (first_sight || (unclaimed && off_market >= k_reserve_patience)) {
    reserve(false, reason::awaiting_backend, "the address is not held at MetalLB yet");
  }
}

// MetalLB or the API server keeps us from holding it, for longer than either needs.
void AddressPass::say_that_it_is_unheld(bool holdless) {
  std::string_view why = reason::backend_silent;
  std::string message =
      "MetalLB has not given the address to its placeholder for a minute: see that Service's events, "
      "and whether MetalLB's controller runs. It is made to look again every ten minutes at least";
  if (holdless) {
    why = reason::hold_missing;
    message = "the address has no placeholder in the namespace " + context_.options.placeholder_namespace;
    if (!view_.refusal().empty()) message += ": " + view_.refusal();
  } else if (const api::Service* other = obstacle()) {
    message = fmt::format("the placeholder {} in namespace {} has the address and does not let go of it",
                          other->meta.name, other->meta.ns);
    if (other->meta.deleting)
      message += fmt::format(": it is being deleted, and kept by {}", fmt::join(other->meta.finalizers, ", "));
  } else if (!is_in_pool()) {
    why = reason::outside_pool;
    message = "the pool of class " + address_.className +
              " does not have the address: another class or pool has it, or the class cannot be set up at MetalLB. See "
              "the conditions of the class";
  }
  const auto* current = kube::find_condition(address_.conditions, api::condition::reserved);
  const bool is_said = current != nullptr && current->reason == why;
  if (why == reason::hold_missing) {
    // The server's words are known only after a refusal: what was said with them is not taken back by a new attempt.
    if (is_said && view_.refusal().empty()) return;
    // An event is lost with the other writes of its plan, and this one tells of a write that fails: it waits.
    if (!as_made_ && !is_said && !is_busy()) postpone_writes();
  }
  if (!as_made_ && !is_said) tell({&resource(), "", address_.meta.name}, address_.meta.uid, why, message);
  reserve(false, why, std::move(message));
}

bool AddressPass::is_shown_by_a_workload() {
  bool shown = false;
  view_.each<api::Service>(k_service_shown_index, ip_.to_string(), [&](const api::Service& service) {
    shown = !is_placeholder(service, context_.options);
    return !shown;
  });
  return shown;
}

// A placeholder that is not to have it any more, or never was.
const api::Service* AddressPass::obstacle() {
  const auto showing = view_.all<api::Service>(k_service_shown_index, ip_.to_string());
  const auto found = std::ranges::find_if(showing, [&](const api::Service* s) { return s != holds_.best; });
  return found == showing.end() ? nullptr : *found;
}

// With what rides on them.
void AddressPass::postpone_writes() {
  plan_.writes.clear();
  plan_.spends.clear();
  std::erase_if(plan_.events, [](const kube::EventNote& event) { return !event.once; });
}

void AddressPass::reserve(bool held, std::string_view why, std::string message) {
  if (!as_made_) say({api::condition::reserved, held ? "True" : "False", why, std::move(message)});
}

// The last word about a condition counts.
void AddressPass::say(api::Saying saying) {
  std::erase_if(sayings_, [&](const api::Saying& earlier) { return earlier.type == saying.type; });
  sayings_.push_back(std::move(saying));
}

void AddressPass::tell(kube::Ref regarding, const std::string& uid, std::string_view reason, std::string note) {
  notes_.push_back({std::move(regarding), uid, true, std::string(reason), "Hold", std::move(note), false});
}

void AddressPass::tell_once(kube::Ref regarding, const std::string& uid, std::string_view reason, std::string note) {
  plan_.events.push_back({std::move(regarding), uid, true, std::string(reason), "Hold", std::move(note), true});
}

// One write on one object: its status first, since `Reserved` must be there before the core sees our finalizer.
void AddressPass::write_address() {
  if (is_busy()) return;
  if (auto list = api::updated_conditions(address_.conditions, sayings_, address_.meta.generation, view_.wall_text(),
                                          withdrawn_)) {
    status_["conditions"] = std::move(*list);
  }
  if (!status_.empty()) {
    plan_.writes.push_back(
        kube::patch_status(resource(), address_, {{"status", std::move(status_)}}, "address-status"));
    plan_.events.insert(plan_.events.end(), notes_.begin(), notes_.end());
  } else if (!address_.meta.deleting && !address_.meta.has_finalizer(api::metallb::teardown)) {
    plan_.writes.push_back(
        kube::patch(resource(), address_, with_finalizer(address_, api::metallb::teardown), "address-protect"));
  }
}

// Teardown waits for the workload to be rid of the address, but not for ever.
bool AddressPass::is_workload_letting_go() {
  const bool has_it = service_ != nullptr && (carries_our_keys(*service_) || shows(*service_, ip_)) &&
                      !is_unrelated(view_, context_.options, *service_, ip_);
  const base::Duration limit = 2 * context_.options.detach_timeout;
  const base::Duration lasted = view_.since("teardown", has_it);
  if (!has_it || lasted >= limit) return false;
  plan_.then_look_after(limit - lasted);
  return true;
}

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
  const bool unheld = holder_of(view, *address) == nullptr;
  plan = address->meta.deleting && unheld ? pass.teardown() : pass.live();
  // Contract §9.5: MetalLB must not hand out what is about to be claimed again.
  if (api::note_restored(view, context.options.restore_grace, *address, plan) && unheld && is_restored(*address)) {
    publish_gap(plan, address->className, ip->family(), Gap::restoring);
  }
  return plan;
}

}  // namespace metallb
