// Driver design §5: what is held in a former placeholder namespace goes over to the present one by the shared handoff:
// somebody shows the address at every moment.
#include <string>
#include <utility>

#include "api/names.h"
#include "metallb/address_pass.h"
#include "metallb/sharing.h"

namespace metallb {

namespace json = boost::json;
namespace {

// After the server has not taken what is to hold the address at home.
constexpr base::Duration k_move_pause = std::chrono::minutes(1);
constexpr std::string_view k_move_paused = "move-paused";

}  // namespace

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

// The other one comes first, with the sharing key by which it is to join; then the one that is left behind gets the
// key. From the moment that MetalLB has given the other one the address it is the hold, and the first one is a
// leftover.
void AddressPass::move_home() {
  const api::Service& old = *holds_.best;
  const api::Service* next = successor();
  const base::Duration waited = view_.since("moving", next != nullptr);
  if (next == nullptr) return begin_move(old);
  if (is_busy(*next)) return;
  if (holds_.landed(ip_)) {
    json::object patch = hold_repair(old, address_, ip_);
    key_ = handoff_key(old);
    if (key_.empty()) {
      key_ = handoff_key(*next);
      if (key_.empty()) key_ = new_handoff_key(view_, context_.options.secret);
      merge_into(patch, {{"metadata", json::object{{"annotations", json::object{{api::metallb::sharing_key, key_}}}}}});
    }
    if (!patch.empty()) {
      plan_.writes.push_back(kube::patch(services(), old, std::move(patch), "hold-move-share"));
      return;
    }
  }
  json::object repair = hold_repair(*next, address_, ip_);
  if (!key_.empty()) merge_into(repair, sharing_patch(*next, old, key_));
  if (!repair.empty()) {
    plan_.writes.push_back(kube::patch(services(), *next, std::move(repair), "hold-repair"));
  } else {
    touch(plan_, view_, *next, waited);
  }
}

// With a key it could not be attached, so it gets none before its successor is there. What keeps the server from taking
// that may last, and a key of ours whose writes fail again and again would be slow for those who want the address.
void AddressPass::begin_move(const api::Service& old) {
  const bool failed = view_.failures() > 0;
  const base::Duration paused = view_.since(k_move_paused, failed || view_.remembers(k_move_paused));
  const bool pauses = view_.remembers(k_move_paused) && paused < k_move_pause;
  if (!pauses) view_.since(k_move_paused, false);
  if (pauses) plan_.then_look_after(k_move_pause - paused);
  if (!pauses && has_home(view_, context_.options)) {
    if (holds_.landed(ip_)) key_ = handoff_key(old);
    if (holds_.landed(ip_) && key_.empty()) key_ = new_handoff_key(view_, context_.options.secret);
    return create_hold("hold-move", &old);
  }
  if (json::object repair = repair_of(old); !repair.empty())
    plan_.writes.push_back(kube::patch(services(), old, std::move(repair), "hold-repair"));
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
  if (!is_busy(hold) && !is_disarmed(hold)) plan_.writes.push_back(emptying(hold, "hold-empty"));
}

}  // namespace metallb
