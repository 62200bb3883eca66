// Driver design §7: somebody else shows the address (Conflict), or MetalLB will not hold it again (Lost); both end by
// themselves.
#include <algorithm>
#include <string>
#include <utility>

#include "api/builtin.h"
#include "api/metallb.h"
#include "api/names.h"
#include "metallb/address_pass.h"
#include "metallb/association.h"
#include "metallb/class.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/names.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/restore.h"

namespace metallb {
namespace {

// From when on an address without hold, or outside of its pool, counts as lost: by then neither a restart nor an edit
// of the class explains it.
constexpr base::Duration k_lost = std::chrono::minutes(2);
// How long something may wait in vain for an address that nobody shows; touching it has not helped by then.
constexpr base::Duration k_forgotten = std::chrono::seconds(15);
// Somebody may put back what evicted his Service.
constexpr int k_evict_burst = 3;
constexpr base::Duration k_evict_refill = std::chrono::seconds(30);
// How long an eviction may take; MetalLB needs milliseconds.
constexpr base::Duration k_evict_patience = std::chrono::seconds(10);

}  // namespace

// Placeholders of ours, whosever; the attached Service; a restored one that waits for its addresses (contract §9.5);
// one that carries our keys and is made to let go, which does not take for ever. Our label alone, elsewhere than in our
// namespace, is nothing.
bool AddressPass::is_authorised(const api::Service& other, bool may_be_detaching) const {
  if (is_placeholder(other, context_.options) || holds_.includes(other)) return true;
  if (&other == service_ || &other == keeper_ || (may_be_detaching && carries_our_keys(other))) return true;
  return return_of(view_, context_.options, other) != Return::none;
}

std::vector<const api::Service*> AddressPass::intruders() {
  std::vector<const api::Service*> all;
  bool detaching = false;
  view_.each<api::Service>(k_service_shown_index, ip_.to_string(), [&](const api::Service& other) {
    if (is_authorised(other, false)) return true;
    detaching = detaching || carries_our_keys(other);
    all.push_back(&other);
    return true;
  });
  const base::Duration limit = 2 * context_.options.detach_timeout;
  const base::Duration lasted = view_.since("detaching", detaching);
  if (detaching && lasted < limit) {
    plan_.then_look_after(limit - lasted);
    std::erase_if(all, [](const api::Service* other) { return carries_our_keys(*other); });
  }
  return all;
}

bool AddressPass::is_in_pool() {
  const auto* pool = pool_of_class(view_, context_.options.metallb_namespace, address_.className);
  if (pool == nullptr) return false;
  return pool_ranges(pool->addresses).contains(ip_) || view_.has_fact(held_out_bucket(ip_.to_string()));
}

// Contract §6.6. What becomes of an address that is handed back is the core's to derive; that it is not held yet is
// told by `Reserved`.
void AddressPass::judge_phase() {
  const std::vector<const api::Service*> others = intruders();
  const bool lost = is_lost();
  tell_that_it_is_forgotten();
  if (!others.empty()) {
    report_conflict(others);
    evict(others);
  } else if (address_.phase == api::phase::conflict) {
    status_["phase"] = api::phase::pending;
    if (!is_secured()) reserve(false, reason::awaiting_backend, "the address is not held at MetalLB yet");
  } else if (address_.phase == api::phase::lost) {
    if (is_secured()) status_["phase"] = api::phase::pending;
  } else if (lost) {
    status_["phase"] = api::phase::lost;
    tell({&resource(), "", address_.meta.name}, address_.meta.uid, reason::address_lost,
         "the address is not held any more, and cannot be: see the condition Reserved");
  }
}

// Tenants read conditions of addresses, and their Services' events: neither names what is another one's.
void AddressPass::report_conflict(const std::vector<const api::Service*>& others) {
  if (as_made_) return;
  if (address_.phase != api::phase::conflict) status_["phase"] = api::phase::conflict;
  reserve(false, reason::address_conflict, "a Service shows the address without a claim to it");
  for (const api::Service* other : others) {
    tell_once({&resource(), "", address_.meta.name}, address_.meta.uid, reason::address_conflict,
              "the address is in use by Service " + other->meta.ns + "/" + other->meta.name + " without a claim to it");
    tell_once({&services(), other->meta.ns, other->meta.name}, other->meta.uid, reason::address_conflict,
              ip_.to_string() + " is reserved: this Service uses it without a claim to it");
  }
}

// --evict-intruders: MetalLB takes the address from a Service whose pool does not exist, whatever its pin says. What
// becomes free must not fall to a placeholder of ours, so it is a gap like any other.
void AddressPass::evict(const std::vector<const api::Service*>& others) {
  const auto is_evictable = [&](const api::Service* other) {
    return is_served_by_metallb(context_.options, *other) && !other->meta.deleting;
  };
  const bool evicting = context_.options.evict_intruders && !as_made_ && std::ranges::any_of(others, is_evictable);
  const base::Duration lasted = view_.since("evicting", evicting);
  if (!evicting) return;
  if (lasted < k_evict_patience) {
    plan_.then_look_after(k_evict_patience - lasted);
    publish_gap(plan_, address_.className, ip_.family());
    if (!is_gap_opened(view_, address_.className, ip_.family())) return;
  }
  for (const api::Service* other : others) {
    if (!is_evictable(other) || pool_of(*other) == api::metallb::awaiting_pool || is_busy(*other)) continue;
    const base::Duration wait = view_.throttle("evict", k_evict_burst, k_evict_refill);
    if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
    plan_.spends.emplace_back("evict");
    plan_.writes.push_back(kube::patch(
        services(), *other,
        {{"metadata", boost::json::object{{"annotations",
                                           boost::json::object{{api::metallb::pool, api::metallb::awaiting_pool}}}}}},
        "intruder-evict"));
    tell_once({&services(), other->meta.ns, other->meta.name}, other->meta.uid, reason::evicted,
              ip_.to_string() + " is reserved and was taken from this Service: use an IPAddressClaim");
    return;
  }
}

// MetalLB does not hear of what is deleted between its start and the end of its first whole look at all Services. It
// keeps such an address for a Service that is gone, until the address leaves its pool: the class's pass sees to that.
void AddressPass::tell_that_it_is_forgotten() {
  const bool waits = (holds_.best != nullptr || announcing_) && is_shown_by_nobody() && is_in_pool();
  const base::Duration lasted = view_.since("forgotten", waits);
  if (!waits) return;
  if (lasted < k_forgotten) return plan_.then_look_after(k_forgotten - lasted);
  const std::string text = ip_.to_string();
  plan_.facts.push_back({forgotten_bucket(address_.className), text, text, {}});
}

// MetalLB being silent is a condition and no loss: it may hold the address again at any moment.
bool AddressPass::is_lost() {
  const bool unheld = !as_made_ && !is_secured() && is_shown_by_nobody();
  const base::Duration without_hold = view_.since("without-hold", unheld && holds_.best == nullptr);
  const base::Duration outside = view_.since("outside-pool", unheld && !is_in_pool());
  const base::Duration longest = std::max(without_hold, outside);
  if (!unheld || longest >= k_lost) return unheld;
  if (longest > base::Duration::zero() || holds_.best == nullptr || !is_in_pool())
    plan_.then_look_after(k_lost - longest);
  return false;
}

}  // namespace metallb
