// Driver design §5: what is held in a former placeholder namespace goes over to the present one by the shared handoff:
// somebody shows the address at every moment.
#include <string>
#include <utility>

#include "api/names.h"
#include "metallb/address_pass.h"
#include "metallb/sharing.h"

namespace metallb {

namespace json = boost::json;

bool AddressPass::is_left_behind(const api::Service& hold) const {
  return metallb::is_left_behind(hold, context_.options);
}

// What is to hold the address instead of the one that is left behind; null if there is none yet.
const api::Service* AddressPass::successor() const {
  if (holds_.best == nullptr || !is_left_behind(*holds_.best)) return nullptr;
  for (const api::Service* other : holds_.others) {
    if (!other->meta.deleting && !is_left_behind(*other)) return other;
  }
  return nullptr;
}

// The one that is left behind gets a sharing key, the other one joins by it. From the moment that MetalLB has given it
// the address it is the hold, and the first one is a leftover.
void AddressPass::move_home() {
  const api::Service& old = *holds_.best;
  const api::Service* next = successor();
  const base::Duration waited = view_.since("moving", next != nullptr);
  if (next != nullptr && is_busy(*next)) return;
  if (holds_.landed(ip_)) {
    key_ = handoff_key(old);
    json::object patch = hold_repair(old, address_, ip_);
    if (key_.empty()) {
      std::string key = new_handoff_key(view_, context_.options.secret);
      merge_into(patch, {{"metadata",
                          json::object{{"annotations", json::object{{api::metallb::sharing_key, std::move(key)}}}}}});
    }
    if (!patch.empty()) {
      plan_.writes.push_back(kube::patch(services(), old, std::move(patch), "hold-move-share"));
      return;
    }
  }
  if (next == nullptr) return create_hold("hold-move", &old);
  json::object repair = hold_repair(*next, address_, ip_);
  if (!key_.empty()) merge_into(repair, sharing_patch(*next, old, key_));
  if (!repair.empty()) {
    plan_.writes.push_back(kube::patch(services(), *next, std::move(repair), "hold-repair"));
  } else {
    touch(plan_, view_, *next, waited);
  }
}

// A leftover that shares is made to let go first: a MetalLB that loads overlooks deletions, and then the other one
// could never share with nobody again.
void AddressPass::remove_leftovers() {
  const api::Service* next = successor();
  for (const api::Service* other : holds_.others) {
    if (other == next) continue;
    // MetalLB does not look at what is of another loadBalancerClass.
    if (is_left_behind(*other) && shows(*other, ip_) && !is_beyond_repair(context_.options, *other, ip_)) {
      if (holds_.landed(ip_)) empty(*other);
    } else if (holds_.landed(ip_) || !shows(*other, ip_)) {
      remove_hold(*other, "hold-surplus");
    }
  }
}

// MetalLB takes the address off it by itself.
void AddressPass::empty(const api::Service& hold) {
  if (is_busy(hold) || pool_of(hold) == api::metallb::awaiting_pool) return;
  json::object annotations{{api::metallb::pool, api::metallb::awaiting_pool}, {api::metallb::pin, nullptr}};
  plan_.writes.push_back(kube::patch(
      services(), hold, {{"metadata", json::object{{"annotations", std::move(annotations)}}}}, "hold-empty"));
}

}  // namespace metallb
