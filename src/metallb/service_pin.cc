// Driver design §6: what is written on a Service that has, or gets, an address.
#include <fmt/format.h>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "kube/finalizers.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/service_pass.h"
#include "metallb/sharing.h"

namespace metallb {
namespace {

namespace json = boost::json;

// Repair of keys that somebody strips.
constexpr int k_repair_burst = 5;
constexpr base::Duration k_repair_refill = std::chrono::seconds(10);

}  // namespace

// A dual-stack Service that lost one half keeps the other only as long as its pin names two: taking the dead one out
// would make MetalLB take both. It stays unless the ledger has it for somebody else.
bool ServicePass::is_pin_good(const Addresses& wanted, bool partial) {
  if (is_pinned_to_all(service_, wanted)) return true;
  if (!partial) return false;
  const std::vector<base::IpAddress> ips = pinned(service_);
  for (const auto* address : wanted) {
    if (std::ranges::find(ips, *value_of(*address)) == ips.end()) return false;
  }
  return std::ranges::all_of(ips, [&](const base::IpAddress& ip) {
    bool free = true;
    view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& a) {
      free = is_associated(a, service_);
      return free;
    });
    return free;
  });
}

ServicePass::Joint ServicePass::joint_with_holds(const Addresses& wanted) {
  Joint joint;
  if (!sharing_forbidden(view_, context_, service_, wanted.front()->className).empty()) return joint;
  for (const auto* address : wanted) {
    const base::IpAddress ip = *value_of(*address);
    if (shows(service_, ip)) continue;
    const Holds holds = find_holds(view_, context_.options, *address, ip);
    if (!holds.landed(ip)) continue;
    const std::string_view key = handoff_key(*holds.best);
    if (joint.key.empty()) joint.key = key;
    joint.ready = joint.ready && !key.empty() && key == joint.key && is_joinable(*holds.best, service_) &&
                  !view_.busy({&services(), holds.best->meta.ns, holds.best->meta.name});
  }
  return joint;
}

// Step 3: pin, pool, key, marker, finalizer and service-uid in one write.
void ServicePass::keep_pin(const Addresses& wanted, bool partial) {
  const std::string pool = pool_name(wanted.front()->className);
  const bool protected_already = service_.meta.has_finalizer(api::metallb::attached);
  const Joint joint = joint_with_holds(wanted);
  if (!joint.ready && !lasts("keyless", true, context_.options.attach_timeout)) return;
  if (joint.ready) view_.since("keyless", false);
  json::object annotations;
  if (joint.ready && !joint.key.empty() && handoff_key(service_) != joint.key) {
    annotations[api::metallb::sharing_key] = joint.key;
  }
  if (!is_pin_good(wanted, partial)) {
    annotations[api::metallb::pin] = pin_text(wanted);
    annotations[api::metallb::pinned] = "true";
  }
  if (pool_of(service_) != pool) annotations[api::metallb::pool] = pool;
  if (service_.meta.annotations.get(api::metallb::service_uid) != service_.meta.uid) {
    annotations[api::metallb::service_uid] = service_.meta.uid;
  }
  json::object metadata;
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!protected_already) metadata["finalizers"] = kube::with_finalizer(service_.meta, api::metallb::attached);
  if (metadata.empty()) return;
  const bool repair = protected_already || shows(service_, *value_of(*wanted.front()));
  if (repair && !draw_repair()) return;
  plan_.writes.push_back(
      kube::patch(services(), service_, {{"metadata", std::move(metadata)}}, repair ? "attach-repair" : "attach-pin"));
  if (!repair) {
    tell(reason::associated, "Attach",
         fmt::format("{} of IPAddressClaim {}", pin_text(wanted), claim_name_of(service_)), false, false);
  }
}

bool ServicePass::draw_repair() {
  const std::string bucket = "repair";
  const base::Duration wait = view_.throttle(bucket, k_repair_burst, k_repair_refill);
  if (wait > base::Duration::zero()) {
    plan_.then_look_after(wait);
    return false;
  }
  plan_.spends.push_back(bucket);
  return true;
}

// The pin is there, the hold is gone or shares, and nothing happens.
void ServicePass::touch_pin(bool keeps) {
  const auto is_waiting = [&](const api::IPAddress* address) {
    const base::IpAddress ip = *value_of(*address);
    if (!is_announcing(service_, ip) || shows(service_, ip)) return false;
    const Holds holds = find_holds(view_, context_.options, *address, ip);
    if (holds.landed(ip)) {
      const std::string_view key = handoff_key(service_);
      return !key.empty() && key == handoff_key(*holds.best);
    }
    return holds.empty() && view_.count<api::Service>(k_service_shown_index, ip.to_string()) == 0;
  };
  const bool waits = keeps && plan_.writes.empty() && std::ranges::any_of(kept_, is_waiting);
  const base::Duration waited = view_.since("unlanded", waits);
  if (waits) touch(plan_, view_, service_, waited);
}

// The last step of attaching: the key goes, once MetalLB knows that the Service is alone.
void ServicePass::drop_key(bool keeps) {
  const bool keyed = !handoff_key(service_).empty();
  const bool alone = keyed && keeps && plan_.writes.empty() && std::ranges::all_of(kept_, [&](const auto* address) {
                       const base::IpAddress ip = *value_of(*address);
                       return shows(service_, ip) &&
                              view_.count<api::Service>(k_service_shown_index, ip.to_string()) == 1 &&
                              find_holds(view_, context_.options, *address, ip).empty();
                     });
  const base::Duration keyed_for = view_.since("keyed", keyed);
  const base::Duration alone_for = view_.since("alone", alone);
  if (!alone) return;
  const base::Duration wait = until_alone_for_sure(keyed_for, alone_for);
  if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
  plan_.writes.push_back(kube::patch(services(), service_, keyless_patch(service_), "attach-unshare"));
}
}  // namespace metallb
