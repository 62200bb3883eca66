// Driver design §6: a Service lets go of its addresses.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "kube/finalizers.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/service_pass.h"
#include "metallb/sharing.h"

namespace metallb {
namespace json = boost::json;

namespace {

// Of a Service that lets go: the key that was drawn for it.
constexpr std::string_view k_chosen = "sharing-key";
// The Service, by its uid, whose letting go has been counted as a handoff.
constexpr std::string_view k_counted = "letting-go-counted";

std::string letting_go_throttle(const api::Service& service) { return "letting-go/" + service.meta.uid; }
// How long the hold may take that nobody has refused: the longest time between two tries of a write.
constexpr base::Duration k_holdless_patience = std::chrono::minutes(5);

}  // namespace

// Rid of our keys by somebody else, it still shows what the ledger says it has, which MetalLB leaves it, or would draw
// from that pool. What is not MetalLB's to empty cannot be made to let go.
bool ServicePass::keeps_what_it_must_not() {
  if (has_let_go(service_)) return false;
  if (draws_from_pool()) return true;
  return is_served_by_metallb(context_.options, service_) && std::ranges::any_of(mine_, [&](const auto* address) {
           const auto ip = value_of(*address);
           return ip && shows(service_, *ip);
         });
}

bool ServicePass::draws_from_pool() {
  return std::ranges::any_of(mine_, [&](const auto* address) { return draws_from_pool_of(service_, *address); });
}

// Addresses of the ledger that MetalLB may have given to the Service.
ServicePass::Addresses ServicePass::at_risk() {
  Addresses found = mine_;
  for (const base::IpAddress& ip : shown(service_)) {
    view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
      const bool ours = address.meta.has_finalizer(api::metallb::teardown);
      if (ours && std::ranges::find(found, &address) == found.end()) found.push_back(&address);
      return true;
    });
  }
  // Another object for the same address has no hold of its own.
  std::erase_if(found, [&](const auto* address) {
    const auto value = value_of(*address);
    return !value || !shows(service_, *value) || !is_senior(view_, *address);
  });
  return found;
}

// Where the server refuses the sharing key, or nothing comes of it, the Service lets go by the gap.
void ServicePass::judge_sharing(bool letting_go) {
  const base::Duration refused = refused_for(view_);
  const base::Duration lasted = view_.since("letting-go-answered", letting_go && !is_unanswered(view_));
  const bool late = refused >= k_futile_after || lasted >= context_.options.detach_timeout / 2;
  view_.since("letting-go", letting_go);
  view_.since("late", letting_go && (late || view_.remembers("late")));
  late_ = view_.remembers("late");
}

// For how much longer the Service waits for its hold. Not less than the time of a back-off as long as one may still
// come, and then --detach-timeout. While the server does not answer nobody can do anything, and no time passes.
base::Duration ServicePass::patience(const Addresses& risky) {
  const bool holdless = std::ranges::any_of(risky, [&](const auto* address) { return is_hold_to_come(*address); });
  const bool answered = !is_unanswered(view_);
  const base::Duration without = view_.since("holdless", holdless && answered);
  const base::Duration waited = view_.since("waiting", !holdless && answered);
  if (is_no_hold_possible()) return {};
  const base::Duration left = holdless ? k_holdless_patience - without : context_.options.detach_timeout - waited;
  return std::max(left, base::Duration::zero());
}

// The hold has the address, or stands ready, pinned, and no unassigned placeholder is about when the Service is made to
// drop it.
bool ServicePass::is_hold_ready(const api::IPAddress& address) {
  if (address.meta.deleting && holder_of(view_, address) == nullptr) return true;
  const base::IpAddress ip = *value_of(address);
  const Holds holds = find_holds(view_, context_.options, address, ip);
  if (holds.best != nullptr) hold_keys_.emplace_back(handoff_key(*holds.best));
  // What is being done to it may be its deletion, and what has no pin is on its way out already.
  if (holds.landed(ip) && is_pinned_to(*holds.best, ip))
    return !view_.busy({&services(), holds.best->meta.ns, holds.best->meta.name});
  const bool shares = may_share(address) && (!late_ || is_key_good({&address}));
  shares_ = shares_ || shares;
  if (shares && !late_) return false;
  publish_gap(plan_, address.className, ip.family());
  const bool opened = is_gap_opened(view_, address.className, ip.family());
  return !shares && holds.best != nullptr && is_pinned_to(*holds.best, ip) && opened;
}

// None is pinned to the address, and one may be: the server is still to answer, after a pause, say.
bool ServicePass::is_hold_to_come(const api::IPAddress& address) {
  if (address.meta.deleting && holder_of(view_, address) == nullptr) return false;
  const base::IpAddress ip = *value_of(address);
  const Holds holds = find_holds(view_, context_.options, address, ip);
  return (holds.best == nullptr || !is_pinned_to(*holds.best, ip)) &&
         !view_.has_fact(unholdable_bucket(address.meta.name));
}

bool ServicePass::may_share(const api::IPAddress& address) {
  return is_associated(address, service_) && sharing_forbidden(view_, context_, service_, address.className).empty();
}

// It has been given pin and key, so MetalLB may have it in its books beside the hold and not have shown it yet. Were it
// to let go now, nobody could tell when the hold may stop sharing. What has been taken off it while it lets go has been
// shown.
bool ServicePass::is_joining() {
  if (view_.remembers("letting-go") && !view_.remembers("joining")) return false;
  const std::string_view key = handoff_key(service_);
  if (key.empty() || !is_served_by_metallb(context_.options, service_)) return false;
  return std::ranges::any_of(mine_, [&](const auto* address) {
    const auto ip = value_of(*address);
    if (!ip || shows(service_, *ip) || !is_announcing(service_, *ip)) return false;
    const Holds holds = find_holds(view_, context_.options, *address, *ip);
    return holds.landed(*ip) && handoff_key(*holds.best) == key && is_joinable(*holds.best, service_);
  });
}

// Nothing but its annotation parts it from its addresses, so it can be joined with them again at once.
bool ServicePass::has_changed_its_mind() {
  if (service_.meta.deleting || mine_.empty() || is_copy(service_) || !gives_up_.empty()) return false;
  if (!is_served_by_metallb(context_.options, service_) || !carries_our_keys(service_)) return false;
  return std::ranges::all_of(mine_, [&](const auto* address) {
    const auto* holder = holder_of(view_, *address);
    return holder != nullptr && !holder->meta.deleting && holder->meta.name != claim_name_of(service_);
  });
}

// Who lets go again and again does so at a pace, also where nothing comes of it: each time holds are made.
bool ServicePass::pauses() {
  if (view_.noted(k_counted) == service_.meta.uid || !has_changed_its_mind()) return false;
  const base::Duration wait = view_.throttle(letting_go_throttle(service_), k_handoff_burst, k_handoff_refill);
  pays_ = wait == base::Duration::zero();
  if (pays_) return false;
  tell(reason::handoff_throttled, "Detach",
       fmt::format("the claim was taken off {} times in a row: from now on it has an effect once in {} s",
                   k_handoff_burst, std::chrono::duration_cast<std::chrono::seconds>(k_handoff_refill).count()),
       true, true);
  plan_.then_look_after(wait);
  return true;
}

// A tenant can put on its Service what looks like a key of ours, an old one too: it is ours if one of our holds has it,
// or if it was drawn a moment ago. Beside somebody else it is left, whosever it is: without it the Service would lose
// the address to that one before a hold has joined.
bool ServicePass::is_key_good(const Addresses& risky) {
  const std::string_view key = handoff_key(service_);
  if (key.empty()) return false;
  if (std::ranges::find(hold_keys_, key) != hold_keys_.end()) {
    view_.note(k_chosen, std::string(key));  // that hold may go while another one is being made to join by this key
    return true;
  }
  if (key == view_.noted(k_chosen)) return true;
  return std::ranges::any_of(risky, [&](const auto* address) {
    bool alone = true;
    view_.each<api::Service>(k_service_shown_index, value_of(*address)->to_string(), [&](const api::Service& other) {
      alone = &other == &service_ || is_placeholder(other, context_.options);
      return alone;
    });
    return !alone;
  });
}

// Shared handoff: the key comes first, the hold joins by it, and only then the Service lets go.
void ServicePass::share(const Addresses& risky) {
  if (is_key_good(risky)) {
    plan_.facts.push_back(
        {sharing_bucket(service_.meta.ns, service_.meta.name), "", std::string(handoff_key(service_)), {}});
    return;
  }
  const auto held = std::ranges::find_if(hold_keys_, [](const std::string& key) { return !key.empty(); });
  const std::string key = held == hold_keys_.end() ? new_handoff_key(view_, context_.options.secret) : *held;
  view_.note(k_chosen, key);
  plan_.writes.push_back(kube::patch(
      services(), service_,
      {{"metadata", json::object{{"annotations", json::object{{api::metallb::sharing_key, key}}}}}}, "detach-share"));
}

bool ServicePass::is_no_hold_possible() { return service_.meta.deleting && !has_home(view_, context_.options); }

void ServicePass::wait_for_holds(const Addresses& risky) {
  if (mine_.empty()) plan_.facts.push_back({letting_go_bucket(service_.meta.ns, service_.meta.name), "", "", {}});
  if (shares_) {
    share(risky);
  } else if (late_) {
    plan_.facts.push_back({sharing_bucket(service_.meta.ns, service_.meta.name), "", "", {}});
  }
}

void ServicePass::let_go() {
  part();
  if (!pays_ || plan_.writes.empty()) return;
  plan_.spends.push_back(letting_go_throttle(service_));
  view_.note(k_counted, service_.meta.uid);
}

// Nothing of an earlier letting go is remembered.
void ServicePass::stay() {
  view_.note(k_chosen, "");
  view_.note(k_counted, "");
  for (const char* clock : {"holdless", "waiting"}) view_.since(clock, false);
}

void ServicePass::part() {
  const Addresses risky = at_risk();
  const base::Duration left = patience(risky);
  const bool patient = left > base::Duration::zero();
  bool ready = true;
  for (const auto* address : risky) ready = is_hold_ready(*address) && ready;
  const base::Duration landing = context_.options.attach_timeout - joining_;
  if (joins_ && patient && landing > base::Duration::zero()) return plan_.then_look_after(std::min(landing, left));
  const bool waits = patient && (!ready || (is_being_emptied() && !risky.empty()));
  if (waits) plan_.then_look_after(late_ ? left : std::min(left, context_.options.detach_timeout / 2));
  if (waits) return ready ? void() : wait_for_holds(risky);
  // Our keys where nothing is ours come off at a pace, however often somebody puts them there.
  if (mine_.empty() && risky.empty() && !service_.meta.deleting && carries_our_keys(service_) && !draw_repair()) return;
  release(!risky.empty(), patient);
  if (!ready && !plan_.writes.empty()) {
    tell(reason::detach_timed_out, "Detach",
         "let go before MetalLB could hold the address again; its hold stays pending", true, false);
  }
}

// All but the finalizer of one that is being deleted is off.
bool ServicePass::is_being_emptied() const {
  const kube::StringMap& current = service_.meta.annotations;
  return service_.meta.deleting && service_.meta.has_finalizer(api::metallb::attached) &&
         !current.contains(api::metallb::pinned) && current.get(api::metallb::pool) == api::metallb::awaiting_pool;
}

// Beside a pin of its own nothing tells who wrote the pool: one of the addresses' classes is taken for ours.
bool ServicePass::is_pool_ours() const {
  const std::string_view pool = service_.meta.annotations.get(api::metallb::pool);
  return pool == api::metallb::awaiting_pool ||
         std::ranges::any_of(mine_, [&](const auto* address) { return pool == pool_name(address->className); });
}

// For people: what parts it from its addresses.
std::string ServicePass::why_parted() {
  const std::string_view name = claim_name_of(service_);
  if (!gives_up_.empty()) return gives_up_;
  if (is_copy(service_)) return "its keys are another Service's";
  if (!is_served_by_metallb(context_.options, service_)) return "it is no LoadBalancer Service of MetalLB any more";
  if (name.empty()) return "it names no IPAddressClaim any more";
  const auto* claim = view_.get<api::IPAddressClaim>(service_.meta.ns, name);
  const auto is_of_another = [&](const auto* address) { return address->claimRef && address->claimRef->name != name; };
  if (!mine_.empty() && std::ranges::all_of(mine_, is_of_another)) return "it names another IPAddressClaim";
  if (claim == nullptr) return fmt::format("IPAddressClaim {} is gone", name);
  if (claim->meta.deleting) return fmt::format("IPAddressClaim {} is being deleted", name);
  const auto is_still = [&](const auto* address) { return holder_of(view_, *address) == claim; };
  if (std::ranges::all_of(mine_, is_still)) return "its cluster IPs are not of the same families any more";
  if (std::ranges::any_of(mine_, is_still)) return fmt::format("IPAddressClaim {} has lost an address", name);
  return fmt::format("IPAddressClaim {} has it no more", name);
}

void ServicePass::tell_that_it_parts() {
  if (service_.meta.deleting || pin_of(service_).empty()) return;
  tell(reason::dissociated, "Detach", fmt::format("{} is taken off: {}", pin_of(service_), why_parted()), false, false);
}

// One write takes pin, marker and finalizer off and leaves a pool that does not exist: MetalLB empties the Service by
// itself. A Service that is being deleted and shares stays until that is done.
void ServicePass::release(bool shows_ours, bool may_stay) {
  view_.note(k_chosen, "");
  const bool stays = may_stay && shows_ours && service_.meta.deleting && !handoff_key(service_).empty();
  const kube::StringMap& current = service_.meta.annotations;
  const bool wrote_pin = current.get(api::metallb::pinned) == "true";
  const bool wrote_pool = wrote_pin || draws_from_pool() || is_pool_ours();
  json::object annotations;
  if (wrote_pin && current.contains(api::metallb::pin)) annotations[api::metallb::pin] = nullptr;
  for (const std::string_view key : {api::metallb::pinned, api::metallb::service_uid, api::metallb::touched}) {
    if (current.contains(key)) annotations[key] = nullptr;
  }
  if (!handoff_key(service_).empty()) annotations[api::metallb::sharing_key] = nullptr;
  // A pool under the older prefix would be seen again if ours were taken off.
  const bool stays_hidden =
      is_served_by_metallb(context_.options, service_) || current.contains(api::metallb::old_pool);
  if ((wrote_pool || shows_ours) && stays_hidden) {
    if (current.get(api::metallb::pool) != api::metallb::awaiting_pool)
      annotations[api::metallb::pool] = api::metallb::awaiting_pool;
  } else if (wrote_pool && current.contains(api::metallb::pool)) {
    annotations[api::metallb::pool] = nullptr;
  }
  json::object metadata;
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (service_.meta.has_finalizer(api::metallb::attached) && !stays) {
    metadata["finalizers"] = kube::without_finalizer(service_.meta, api::metallb::attached);
  }
  if (metadata.empty()) return;
  // Whoever puts the pool back again and again is not answered at once each time.
  if (!carries_our_keys(service_) && !draw_repair()) return;
  plan_.writes.push_back(kube::patch(services(), service_, {{"metadata", std::move(metadata)}}, "detach-release"));
  tell_that_it_parts();
}

// By a pin of its own, in either form: it would get the address in the first gap, as it may have done before it was
// evicted.
bool ServicePass::asks_for_reserved() {
  const auto is_reserved = [&](const base::IpAddress& ip) {
    return view_.count<api::IPAddress>(k_address_value_index, ip.to_string()) != 0;
  };
  const auto asked = base::IpAddress::parse(service_.loadBalancerIP);
  return (asked && is_reserved(*asked)) || std::ranges::any_of(pinned(service_), is_reserved);
}

// The last step of detaching: the pool annotation goes, if the claim annotation is gone and the address too.
void ServicePass::tidy() {
  if (!plan_.writes.empty() || service_.meta.deleting || !mine_.empty() || carries_our_keys(service_)) return;
  if (!claim_name_of(service_).empty() || !at_risk().empty()) return;
  if (service_.meta.annotations.get(api::metallb::pool) != api::metallb::awaiting_pool) return;
  if (asks_for_reserved()) return;
  plan_.writes.push_back(kube::patch(
      services(), service_, {{"metadata", json::object{{"annotations", json::object{{api::metallb::pool, nullptr}}}}}},
      "detach-tidy"));
}
}  // namespace metallb
