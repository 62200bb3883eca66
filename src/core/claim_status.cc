// Contract §3.8: what a claim's status says.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/names.h"
#include "core/claim.h"
#include "core/metrics.h"
#include "core/reasons.h"
#include "kube/event_recorder.h"
#include "kube/flags.h"

namespace core {
namespace {

boost::json::array json_of(const std::vector<api::ReportedAddress>& addresses) {
  boost::json::array list;
  for (const api::ReportedAddress& a : addresses) list.push_back({{"name", a.name}, {"address", a.address}});
  return list;
}

// A claim that gets its addresses back says nothing meanwhile, unless that takes longer than this.
constexpr base::Duration k_restore_patience = std::chrono::seconds(5);

constexpr std::string_view k_refusal_throttle = "refusal";
constexpr int k_refusal_burst = 3;
constexpr base::Duration k_refusal_refill = std::chrono::minutes(10);
constexpr std::size_t k_longest_refusal = 500;
// A webhook that is down, or a server that restarts, is worth a word only after this.
constexpr base::Duration k_refusal_patience = std::chrono::seconds(10);

// Somebody decided against it, rather than that something went wrong on the way.
bool is_final(int code) { return code >= 400 && code < 500 && code != 401 && code != 429; }

std::string joined(const std::vector<api::ReportedAddress>& addresses) {
  std::string text;
  for (const api::ReportedAddress& a : addresses) text += (text.empty() ? "" : ", ") + a.address;
  return text;
}

}  // namespace

// Each family that was ever served has an entry: the address that counts, or what was reported before.
ClaimPass::Report ClaimPass::reported_addresses() const {
  Report report;
  for (const base::Family family : k_families) {
    if (!asks_for(claim_, family)) continue;
    const api::IPAddress* address = counting_.of(family);
    const api::ReportedAddress* before = reported(claim_, family);
    const bool served = is_served(family);
    if (!served) report.all_served = false;
    // Reported even if it is Lost by now: the family was served, and nothing must be provisioned in its place.
    // One that an administrator put in its place is reported when it is completed (§3.4), not while it is attached for
    // somebody else.
    const bool counts = address != nullptr && (is_reported(claim_, *address) || !address->claimRef->uid.empty());
    if (!counts && before == nullptr) continue;
    report.addresses.push_back(counts ? api::ReportedAddress{address->meta.name, address->address} : *before);
    if (served) continue;
    report.lost +=
        (report.lost.empty() ? "" : "; ") + loss(report.addresses.back().name, report.addresses.back().address);
  }
  std::ranges::sort(report.addresses, {}, &api::ReportedAddress::name);
  return report;
}

std::string ClaimPass::loss(const std::string& name, const std::string& address) const {
  const auto* object = view_.get<api::IPAddress>(name);
  const std::string_view what = object == nullptr                       ? "is gone"
                                : object->phase == api::phase::lost     ? "is lost at its backend"
                                : object->phase == api::phase::released ? "has been released"
                                                                        : "is no longer bound to this claim";
  return fmt::format("IPAddress \"{}\" ({}) {}", name, address, what);
}

// Said once when the waiting begins, and once more when it goes on only because others are being restored: the end
// moves with each address that comes, and with a restart.
ClaimPass::Wait ClaimPass::restored_waiting(base::Duration waited) const {
  constexpr std::string_view begins = "restored, and waits until ";
  constexpr std::string_view goes_on = "restored, and waits as others are still being restored, until ";
  const bool is_late = waited >= options_.restore_grace;
  const kube::Condition* said = kube::find_condition(claim_.conditions, api::condition::bound);
  if (said != nullptr && said->reason == reason::restored_waiting &&
      (said->message.starts_with(goes_on) || (!is_late && said->message.starts_with(begins))))
    return {reason::restored_waiting, said->message};
  const std::string until =
      is_late
          ? fmt::format("{}no address has come for {}, {} at the latest,", goes_on,
                        kube::format_duration(options_.restore_grace), view_.wall_text(api::k_longest_restore - waited))
          : fmt::format("{}{}, and longer while others are being restored or after a restart of the core,", begins,
                        view_.wall_text(options_.restore_grace - waited));
  return {reason::restored_waiting,
          fmt::format("{} for the addresses that it had. To end that, remove the annotation {}", until,
                      api::recorded_uid_annotation)};
}

void ClaimPass::set_class_condition(ConditionEdit& conditions) {
  if (class_) {
    conditions.set(api::condition::class_resolved, class_->found != nullptr, class_->reason, class_->message);
    return;
  }
  // Nothing is missing: the class is not consulted, except to fill in what is absent.
  const kube::Condition* before = kube::find_condition(claim_.conditions, api::condition::class_resolved);
  if (before != nullptr && before->status == "True") return;
  const std::string name = settled_class(claim_, counting_);
  if (name.empty() || view_.get<api::ClassRead>(name) == nullptr) return;
  conditions.settle(api::condition::class_resolved, reason::resolved,
                    fmt::format("served by IPAddressClass \"{}\"", name));
}

void ClaimPass::report() {
  const bool undecided =
      std::ranges::any_of(counting_.collected, [](const Collected& c) { return c.verdict == Verdict::undecided; });
  if (undecided) return;
  const base::Duration returning = view_.since("returning", returning_.any());
  if (returning_.any()) {
    if (returning < k_restore_patience) return plan_.then_look_after(k_restore_patience - returning);
    wait({reason::restored_waiting, "restored, and about to get back the addresses that it had: see these"});
  }
  const Report report = reported_addresses();
  std::string_view phase = !report.lost.empty() ? api::phase::lost
                           : report.all_served  ? api::phase::bound
                                                : api::phase::pending;
  if (phase == api::phase::pending && wait_ && wait_->quiet) return;
  // Never back to Pending (§1): a claim whose record somebody removed is Lost until it is served again.
  if (phase == api::phase::pending && !claim_.phase.empty() && claim_.phase != api::phase::pending)
    phase = api::phase::lost;

  ConditionEdit conditions(claim_.conditions, claim_.meta.generation, view_.wall_text());
  set_class_condition(conditions);
  if (phase == api::phase::bound) {
    conditions.settle(api::condition::bound, reason::bound, "bound to " + joined(report.addresses));
  } else if (wait_ && wait_->reason == reason::restored_waiting) {
    conditions.set(api::condition::bound, false, wait_->reason, wait_->message);
  } else if (!report.lost.empty()) {
    conditions.set(api::condition::bound, false, reason::address_lost, report.lost);
  } else if (wait_) {
    conditions.set(api::condition::bound, false, wait_->reason, wait_->message);
  }

  std::string class_name = settled_class(claim_, counting_);
  if (class_) {
    if (class_->found != nullptr) {
      class_name = class_->found->meta.name;
    } else if (report.addresses.empty()) {
      class_name.clear();
    }
  }
  auto changed = conditions.json();
  if (claim_.phase == phase && claim_.status_className == class_name && claim_.addresses == report.addresses &&
      !changed)
    return;
  boost::json::object status{{"phase", phase}, {"addresses", json_of(report.addresses)}};
  status["className"] = class_name.empty() ? boost::json::value(nullptr) : boost::json::value(class_name);
  if (changed) status["conditions"] = std::move(*changed);
  plan_.writes.push_back(kube::patch_status(api::IPAddressClaim::kind().resource, claim_,
                                            {{"status", std::move(status)}}, "claim-status"));
  tell(conditions);
  if (phase == api::phase::bound && claim_.phase != phase) {
    plan_.observations.push_back({std::string(k_claims_bound_metric), 1, {{"class", class_name}}});
    plan_.observations.push_back(
        {std::string(k_bind_seconds_metric), std::chrono::duration<double>(waited_).count(), {}});
  }
}

// Each status that is taken makes the next try of the refused write come at once, and each refusal makes the status
// look different to a policy whose words differ each time: hence the throttle. Where the status is refused too, the
// tries take turns.
void ClaimPass::tell_refusal(base::Duration refused) {
  if (view_.failures() % 2 == 0 || view_.refusal().empty()) return;
  if (!is_final(view_.refusal_code()) && refused < k_refusal_patience)
    return plan_.then_look_after(k_refusal_patience - refused);
  const bool own = kube::same_resource(*plan_.writes.front().target.resource, api::IPAddressClaim::kind().resource);
  Wait refusal{own ? reason::claim_refused : reason::address_refused,
               fmt::format("the API server refuses what has to be written on {}: {}",
                           own ? "this claim before it is served" : "the address of this claim",
                           kube::cut(view_.refusal(), k_longest_refusal))};
  const kube::Condition* said = kube::find_condition(claim_.conditions, api::condition::bound);
  const bool again = said != nullptr && said->reason == refusal.reason;
  const base::Duration delay = view_.throttle(k_refusal_throttle, k_refusal_burst, k_refusal_refill);
  if (delay > base::Duration::zero()) {
    if (!again) return;
    refusal.message = said->message;
  }
  std::vector<kube::Write> writes = std::exchange(plan_.writes, {});
  std::vector<std::string> spends = std::exchange(plan_.spends, {});
  wait_ = std::move(refusal);
  report();
  if (plan_.writes.empty()) {
    plan_.writes = std::move(writes);
    plan_.spends = std::move(spends);
  } else if (delay == base::Duration::zero()) {
    plan_.spends.emplace_back(k_refusal_throttle);
  }
}

// Events ride on what the condition newly says. That a claim waits for its provisioner is no news.
void ClaimPass::tell(const ConditionEdit& conditions) {
  for (const api::Saying* news : conditions.news()) {
    if (news->type != api::condition::bound || news->reason == reason::waiting_for_provisioning) continue;
    plan_.events.push_back({.regarding = ref_of(claim_),
                            .regarding_uid = claim_.meta.uid,
                            .warning = news->status != "True",
                            .reason = std::string(news->reason),
                            .action = "Bind",
                            .note = news->message});
  }
}

}  // namespace core
