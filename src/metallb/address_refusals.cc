// Driver design §6: what a refused Service was told once by an event lasts as a condition of the addresses that it asks
// for. A Service has no place for it: its conditions are in `services/status`, which the driver has no right to write.
#include <string>

#include "api/names.h"
#include "metallb/address_pass.h"
#include "metallb/eligibility.h"
#include "metallb/ledger.h"

namespace metallb {
namespace {

// How long a refusal must last to be worth a write: one Service often takes over from another within that.
constexpr base::Duration k_refusal_patience = std::chrono::seconds(2);
// Somebody may do something else wrong all the time.
constexpr int k_saying_burst = 10;
constexpr base::Duration k_saying_refill = std::chrono::seconds(10);

}  // namespace

void AddressPass::say_who_is_refused() {
  const auto* said = kube::find_condition(address_.conditions, api::metallb::service_refused);
  const auto* claim = address_.claimRef ? holder_of(view_, address_) : nullptr;
  const auto refused = claim != nullptr && !as_made_ ? oldest_refused(view_, context_, *claim) : std::nullopt;
  const base::Duration lasted = view_.since("refused", refused.has_value());
  if (!refused && said == nullptr) return;
  if (refused && said == nullptr && lasted < k_refusal_patience) {
    return plan_.then_look_after(k_refusal_patience - lasted);
  }
  const std::string message =
      refused ? "Service " + refused->service->meta.name + ": " + refused->refusal.note : std::string();
  if (refused && said != nullptr && said->reason == refused->refusal.reason && said->message == message) return;
  if (status_.empty()) {  // else it rides on what is written anyway
    const bool changes_hands = address_.associatedTo && !(attached_ && shown_);
    if (changes_hands) return;
    if (refused) {
      const base::Duration wait = view_.throttle("refusal", k_saying_burst, k_saying_refill);
      if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
      plan_.spends.emplace_back("refusal");
    }
  }
  if (refused) {
    say({api::metallb::service_refused, "True", refused->refusal.reason, message});
  } else {
    withdrawn_.push_back(api::metallb::service_refused);
  }
}

}  // namespace metallb
