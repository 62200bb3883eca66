// Driver design §6: the address's side of the shared handoff.
#include <string>
#include <utility>

#include "api/names.h"
#include "metallb/address_pass.h"
#include "metallb/association.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/reasons.h"

namespace metallb {

void AddressPass::judge_sharing() {
  if (service_ != nullptr) rule_ = sharing_forbidden(view_, context_, *service_, address_.className);
  const bool arriving = rule_.empty() && attached_ && !shown_ && holds_.landed(ip_);
  const bool leaving = rule_.empty() && !attached_ && shown_ && !has_let_go(*service_);
  if (arriving) key_ = attach_key();
  if (leaving) key_ = leaving_key();
  // Whoever must put its key on first is not waited for for ever.
  const bool awaits = leaving && key_.empty() && !goes_by_gap();
  const base::Duration waited = view_.since("awaiting-key", awaits);
  const base::Duration limit = context_.options.detach_timeout;
  if (awaits && waited < limit) plan_.then_look_after(limit - waited);
  sharing_ = arriving || (leaving && (!key_.empty() || (awaits && waited < limit)));
  const bool keyed = holds_.best != nullptr && !handoff_key(*holds_.best).empty();
  keyed_ = view_.since("keyed", keyed);
  joining_ = view_.since("joining", is_joining());
  is_alone_ = keyed && !sharing_ && holds_.landed(ip_) && (service_ == nullptr || handoff_key(*service_).empty()) &&
              view_.count<api::Service>(k_service_shown_index, ip_.to_string()) == 1;
  alone_ = view_.since("alone", is_alone_);
}

// All addresses of one Service go with one key, and the first that has a hold chooses it, unless there is one already:
// after a restart it is read back from where it was put.
std::string AddressPass::attach_key() {
  const api::IPAddress* first = nullptr;
  std::string_view chosen;
  std::string_view other;  // never the Service's: whatever it looks like, a tenant may have put it there
  for (const auto* address : kept(view_, context_.options, *service_)) {
    const base::IpAddress ip = *value_of(*address);
    const Holds holds = find_holds(view_, context_.options, *address, ip);
    if (!holds.landed(ip)) continue;
    const std::string_view key = handoff_key(*holds.best);
    if (first == nullptr || address->meta.name < first->meta.name) {
      first = address;
      chosen = key;
    }
    if (other.empty()) other = key;
  }
  if (!chosen.empty() || first != &address_) return std::string(chosen);
  return other.empty() ? new_handoff_key(view_, context_.options.secret) : std::string(other);
}

// The Service chooses it, and says so: what stands there without that is somebody else's.
std::string AddressPass::leaving_key() {
  const std::string_view key = handoff_key(*service_);
  bool chosen = !key.empty() && holds_.best != nullptr && handoff_key(*holds_.best) == key;
  view_.each_fact(sharing_bucket(service_->meta.ns, service_->meta.name), [&](std::string_view, const auto& fact) {
    chosen = chosen || (!key.empty() && fact.value == key);
    return !chosen;
  });
  return chosen ? std::string(key) : std::string();
}

// The Service has said that it gets no key.
bool AddressPass::goes_by_gap() {
  bool said = false;
  view_.each_fact(sharing_bucket(service_->meta.ns, service_->meta.name), [&](std::string_view, const auto& fact) {
    said = fact.value.empty();
    return !said;
  });
  return said;
}

// A hold whose key goes while MetalLB has somebody else beside it would lose the address.
bool AddressPass::may_stop_sharing() {
  if (!is_alone_) return false;
  const base::Duration wait = until_alone_for_sure(keyed_, alone_);
  if (wait > base::Duration::zero()) plan_.then_look_after(wait);
  return wait == base::Duration::zero();
}

// MetalLB has been told to take it off, and the workload has the address: made good before MetalLB has done so, nobody
// could tell whether it still will.
bool AddressPass::is_being_emptied(const api::Service& hold) const {
  return shown_ && shows(hold, ip_) && pool_of(hold) == api::metallb::awaiting_pool;
}

// It may join the workload in MetalLB's books at any moment, or has done so and it does not show yet.
bool AddressPass::is_joining() {
  const api::Service* best = holds_.best;
  return service_ != nullptr && best != nullptr && !holds_.landed(ip_) && is_pinned_to(*best, ip_) && is_joined(*best);
}

bool AddressPass::is_joined(const api::Service& hold) const {
  const std::string_view key = handoff_key(hold);
  return !key.empty() && key == handoff_key(*service_) && is_joinable(hold, *service_);
}

// The workload has the address, and the hold is to go: by being emptied first, since only what was shown can be seen to
// be taken off. MetalLB forgets who is deleted, but late, and not at all while it loads: as long as the hold is in its
// books it takes the address from a workload that does not share any more.
void AddressPass::release_holds() {
  if (is_busy(*service_)) return;  // it may be letting go
  const api::Service* best = holds_.best;
  if (is_joining() && joining_ < context_.options.attach_timeout) {
    plan_.then_look_after(context_.options.attach_timeout - joining_);
    return touch(plan_, view_, *best, joining_);
  }
  if (!holds_.landed(ip_) || handoff_key(*best).empty()) return remove_holds("hold-release");
  // If they do not fit each other any more MetalLB takes it from one of the two: until then it is not known who has it.
  if (is_joined(*best)) empty(*best);
}

// It does not share any more, and if it lost the address by that it would be to the workload that is to have it.
// Otherwise the key is left until it is known to be alone with it: a write to a hold that MetalLB is about to serve
// only puts that off. What could send traffic anywhere is not left.
bool AddressPass::is_free_to_lose() {
  if (sharing_) return false;
  return handing_over_ ? is_welcome() : !holds_.landed(ip_) && holds_.best->has_selector;
}

boost::json::object AddressPass::repair_of(const api::Service& hold) {
  boost::json::object repair = hold_repair(hold, address_, ip_);
  if (!key_.empty()) {
    merge_into(repair, sharing_patch(hold, *service_, key_));
  } else if (handoff_key(hold).empty() || is_free_to_lose() || may_stop_sharing()) {
    merge_into(repair, unsharing_patch(hold));
  }
  return repair;
}

// The hold is kept all the while, so there is nothing to take back: it is said, and MetalLB is made to look again.
void AddressPass::say_that_it_has_not_landed() {
  if (!handing_over_ || !sharing_) return;
  const base::Duration limit = context_.options.attach_timeout;
  if (trying_ < limit) return plan_.then_look_after(limit - trying_);
  if (!plan_.writes.empty()) return;
  tell_that_it_has_not_landed("it stays held, and MetalLB is made to look again", true);
}

}  // namespace metallb
