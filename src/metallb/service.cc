// Driver design §6: Service → association. The workload's side: when the ledger is told that it gets an address. Holds
// are the address's side (address.cc).
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>

#include "api/names.h"
#include "api/restore.h"
#include "kube/finalizers.h"
#include "metallb/eligibility.h"
#include "metallb/inventory.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/rendering.h"
#include "metallb/restore.h"
#include "metallb/service_pass.h"
#include "metallb/sharing.h"

namespace metallb {
namespace {

namespace json = boost::json;

// A claim is often applied together with its Service: how long that is not worth an event.
constexpr base::Duration k_claim_patience = std::chrono::seconds(10);

Refusal missing_claim(std::string_view ns, std::string_view name) {
  std::string note = fmt::format("there is no IPAddressClaim {} in namespace {}", name, ns);
  if (name.find('/') != std::string_view::npos) {
    note += fmt::format(": annotation {} takes the bare name of a claim in the Service's own namespace",
                        api::claim_annotation);
  }
  return {reason::claim_not_found, std::move(note)};
}

Refusal unbound_claim(const api::IPAddressClaim& claim) {
  const auto refusal = [&](std::string_view reason, std::string_view what) {
    return Refusal{reason, fmt::format("IPAddressClaim {} {}", claim.meta.name, what)};
  };
  if (claim.meta.deleting) return refusal(reason::claim_deleting, "is being deleted: name another one");
  if (claim.phase == api::phase::lost) {
    return refusal(reason::claim_lost,
                   "has lost an address: it is attached when it is Bound again; see its conditions");
  }
  return refusal(reason::claim_not_bound, "has no address to attach yet: see its conditions");
}

}  // namespace

// Contract §9.5. It keeps its pin and its address, and is left alone until it is known whether its claim has them
// again.
bool ServicePass::is_restoring() {
  const Return back = return_of(view_, context_.options, service_);
  const base::Duration wait =
      api::restore_wait(view_, context_.options.restore_grace, "restored", back == Return::awaited);
  if (wait > base::Duration::zero()) plan_.then_look_after(wait);
  if (back == Return::due) take_up();
  return back == Return::due || wait > base::Duration::zero();
}

// The ledger knows first; then the Service is ours under its new uid, in one write, and MetalLB need not look.
void ServicePass::take_up() {
  bool known = true;
  for (const auto* address : pinned_addresses(view_, service_)) {
    if (is_associated(*address, service_)) continue;
    known = false;
    if (!is_busy(*address)) associate(*address);
  }
  if (!known) return;
  json::object metadata{{"annotations", json::object{{api::metallb::service_uid, service_.meta.uid}}}};
  if (!service_.meta.has_finalizer(api::metallb::attached)) {
    metadata["finalizers"] = kube::with_finalizer(service_.meta, api::metallb::attached);
  }
  plan_.writes.push_back(kube::patch(services(), service_, {{"metadata", std::move(metadata)}}, "restore-service"));
}

kube::Plan ServicePass::run() {
  if (is_given_back(mine_, service_)) return std::move(plan_);
  if (is_restoring()) return std::move(plan_);
  const bool keeps = !kept_.empty();
  bool letting_go = false;
  if (is_copy(service_) || (!mine_.empty() && !keeps)) {
    letting_go = carries_our_keys(service_) || keeps_what_it_must_not();
  } else if (keeps) {
    maintain();
    letting_go = !gives_up_.empty();
  } else if (!attach()) {
    letting_go = carries_our_keys(service_);
  }
  if (!keeps) view_.since("barred", false);
  touch_pin(keeps && gives_up_.empty());
  drop_key(keeps);
  joins_ = is_joining();
  joining_ = view_.since("joining", joins_);
  letting_go = letting_go && !pauses();
  judge_sharing(letting_go);
  if (letting_go) {
    let_go();
  } else {
    stay();
  }
  tidy();
  return std::move(plan_);
}

void ServicePass::tell(std::string_view reason, std::string_view action, std::string note, bool warning, bool once) {
  plan_.events.push_back(
      {self(), service_.meta.uid, warning, std::string(reason), std::string(action), std::move(note), once});
}

bool ServicePass::lasts(const std::string& fact, bool holds, base::Duration patience) {
  const base::Duration held = view_.since(fact, holds);
  if (!holds) return false;
  if (held >= patience) return true;
  plan_.then_look_after(patience - held);
  return false;
}

// The claim that the Service names, if it is one to attach to.
const api::IPAddressClaim* ServicePass::bound_claim() {
  const std::string_view name = claim_name_of(service_);
  const auto* claim = view_.get<api::IPAddressClaim>(service_.meta.ns, name);
  const bool missing = claim == nullptr;
  const bool unbound = !missing && (claim->meta.deleting || claim->phase != api::phase::bound);
  if (lasts("claim-missing", missing, k_claim_patience)) refuse(missing_claim(service_.meta.ns, name));
  if (lasts("claim-unbound", unbound, k_claim_patience)) refuse(unbound_claim(*claim));
  return missing || unbound ? nullptr : claim;
}

// True while the Service is, or may at once be, on its way to an address: what it carries of ours stays.
bool ServicePass::attach() {
  if (claim_name_of(service_).empty() || service_.meta.deleting) return false;
  const auto* claim = bound_claim();
  if (claim == nullptr || !is_claim_ours(*claim)) return false;
  const auto chosen = choose(view_, context_, service_, *claim);
  if (!chosen) {
    refuse(chosen.error());
    return false;
  }
  if (way_to(*claim) != Way::free) return false;
  if (const auto refusal = refusal_by_phase(service_, *chosen)) {
    refuse(*refusal);
    return false;
  }
  if (!is_first_in_line(*claim)) return false;
  associate(*chosen);
  return true;
}

// Another driver's addresses are another driver's business.
bool ServicePass::is_claim_ours(const api::IPAddressClaim& claim) {
  const Addresses all = counted(view_, claim).list();
  return !all.empty() &&
         std::ranges::all_of(all, [](const auto* a) { return a->meta.has_finalizer(api::metallb::teardown); });
}

ServicePass::Way ServicePass::way_to(const api::IPAddressClaim& claim) {
  if (const auto* rival = rival_of(view_, context_.options, service_, claim)) {
    refuse(refusal_by_rival(claim, *rival));
    return Way::taken;
  }
  const bool clear = std::ranges::all_of(counted(view_, claim).list(), [&](const auto* address) {
    return !address->associatedTo || is_associated(*address, service_);
  });
  return clear ? Way::free : Way::being_cleared;
}

bool ServicePass::is_first_in_line(const api::IPAddressClaim& claim) {
  const auto* first = first_in_line(view_, context_, claim);
  const bool behind = first != &service_;
  if (lasts("behind", behind, k_claim_patience)) refuse(refusal_by_line(claim, *first));
  return !behind;
}

// Step 1: the ledger knows before MetalLB does.
void ServicePass::associate(const Addresses& chosen) {
  const bool keyed = std::ranges::any_of(chosen, [&](const auto* address) { return is_hold_keyed(*address); });
  if (lasts("hold-keyed", keyed, context_.options.attach_timeout)) {
    tell(reason::handoff_timed_out, "Attach",
         "the address is still on its way from one placeholder, or Service, to another; this one gets it after that",
         true, true);
  }
  if (keyed || std::ranges::any_of(chosen, [&](const auto* address) { return is_busy(*address); })) return;
  const std::string bucket = "handoff/" + service_.meta.uid + "/" + chosen.front()->claimRef->name;
  const base::Duration wait = view_.throttle(bucket, k_handoff_burst, k_handoff_refill);
  if (wait > base::Duration::zero()) {
    tell(reason::handoff_throttled, "Attach",
         fmt::format("the claim and the Service were joined {} times in a row: from now on once in {} s",
                     k_handoff_burst, std::chrono::duration_cast<std::chrono::seconds>(k_handoff_refill).count()),
         true, true);
    return plan_.then_look_after(wait);
  }
  plan_.spends.push_back(bucket);
  for (const auto* address : chosen) {
    if (!is_associated(*address, service_)) associate(*address);
  }
}

// It still shares, or has just shared, with whoever had it before: a key is used once. With this very Service it is in
// the middle of a handoff that the ledger has lost sight of, its claim taken off for a moment: that goes on.
bool ServicePass::is_hold_keyed(const api::IPAddress& address) {
  const Holds holds = find_holds(view_, context_.options, address, *value_of(address));
  const std::string_view key = holds.best == nullptr ? "" : handoff_key(*holds.best);
  return !key.empty() && !(carries_our_keys(service_) && handoff_key(service_) == key);
}

void ServicePass::associate(const api::IPAddress& address) {
  json::object to{
      {"kind", "Service"}, {"namespace", service_.meta.ns}, {"name", service_.meta.name}, {"uid", service_.meta.uid}};
  plan_.writes.push_back(kube::patch_status(
      addresses(), address, {{"status", json::object{{"associatedTo", std::move(to)}}}}, "attach-associate"));
}

// The Service may keep what it is associated with: bring it to the end of attaching, and keep it there.
void ServicePass::maintain() {
  std::ranges::sort(kept_, {}, [](const auto* a) { return value_of(*a); });
  const bool given = is_given(service_, kept_);
  const auto* claim = view_.get<api::IPAddressClaim>(service_.meta.ns, claim_name_of(service_));
  if (claim != nullptr && claim->phase == api::phase::bound) {
    const auto chosen = choose(view_, context_, service_, *claim);
    // A key of its own lets others join the address, also when it comes later.
    const bool has = has_any(service_, kept_);
    if (!chosen && is_worth_telling(has, chosen.error())) refuse(chosen.error());
    const bool barred = !chosen && !has && given && (is_all_held() || is_barred(chosen.error()));
    if (lasts("barred", barred, context_.options.attach_timeout)) {
      gives_up_ = chosen.error().note;
      return;
    }
    const auto refusal = chosen && !given ? refusal_by_phase(service_, *chosen) : std::nullopt;
    if (refusal) refuse(*refusal);
    if (chosen && !refusal && complete(*claim, *chosen)) return;
  }
  if (given) return keep_pin(kept_, true);
  withdraw();
}

// MetalLB has taken the address off and cannot give it back as the Service is now. What only we ask of those who attach
// is no reason: whoever is attached keeps its address.
bool ServicePass::is_barred(const Refusal& refusal) {
  if (refusal.reason == reason::pool_conflict) {
    return pool_of(service_) != pool_name(kept_.front()->className) && pool_of(service_) != api::metallb::awaiting_pool;
  }
  if (refusal.reason == reason::pin_conflict) return !is_pin_ours(service_) && !is_pinned_to_all(service_, kept_);
  return refusal.reason == reason::load_balancer_ip_set || refusal.reason == reason::family_mismatch;
}

// The holds have what it may keep: it loses nothing if it is rid of that.
bool ServicePass::is_all_held() {
  return std::ranges::all_of(kept_, [&](const auto* address) {
    const base::IpAddress ip = *value_of(*address);
    return find_holds(view_, context_.options, *address, ip).landed(ip);
  });
}

// False if what is missing belongs to another Service, which keeps it.
bool ServicePass::complete(const api::IPAddressClaim& claim, const Addresses& chosen) {
  bool waits = false;
  for (const auto* address : chosen) waits = waits || !is_associated(*address, service_);
  if (!waits) {
    keep_pin(chosen, false);
    return true;
  }
  const Way way = way_to(claim);
  if (way != Way::free) return way != Way::taken;
  for (const auto* address : chosen) {
    if (!is_associated(*address, service_) && !is_busy(*address)) associate(*address);
  }
  return true;
}

// It no longer qualifies and has not been given anything yet: let others have the claim.
void ServicePass::withdraw() {
  for (const auto* address : kept_) {
    if (is_busy(*address)) continue;
    plan_.writes.push_back(kube::patch_status(
        addresses(), *address, {{"status", json::object{{"associatedTo", nullptr}}}}, "attach-withdraw"));
  }
}

bool concerns_service_reconciler(const Options& options, const api::Service& service) {
  if (service.meta.ns == options.placeholder_namespace || is_placeholder(service, options)) return false;
  return !claim_name_of(service).empty() || carries_our_keys(service) ||
         service.meta.annotations.get(api::metallb::pool) == api::metallb::awaiting_pool;
}

kube::Plan reconcile_service(const Context& context, const kube::Key& key, kube::View& view) {
  const auto* service = view.get<api::Service>(key.ns, key.name);
  if (service == nullptr || service->meta.ns == context.options.placeholder_namespace ||
      is_placeholder(*service, context.options)) {
    kube::Plan plan;
    plan.forget = true;
    return plan;
  }
  // Never forgotten while it exists: a claim that is taken off and put back must not start with a full throttle.
  return ServicePass(context, view, *service).run();
}

}  // namespace metallb
