#include "metallb/gap.h"

#include <algorithm>
#include <utility>

#include "api/ipam.h"
#include "metallb/indexes.h"
#include "metallb/placeholder.h"

namespace metallb {

namespace {

// After k_futile_after, until that is tried anew.
constexpr base::Duration k_futile_pause = std::chrono::minutes(1);
constexpr std::string_view k_futile = "futile";

// What waits for somebody else's finalizer, or for a write that gets no answer, is patient in the end.
Gap gap_of_going(kube::View& view, kube::Plan& plan, const api::Service& placeholder) {
  const auto family = family_of(placeholder);
  const std::string place = "going/" + std::string(family ? base::to_string(*family) : "");
  if (view.noted(place) != placeholder.meta.uid) view.since(place, false);
  view.note(place, placeholder.meta.uid);
  const base::Duration going = view.since(place, true);
  if (going < k_gap_patience) plan.then_look_after(k_gap_patience - going);
  return going < k_gap_patience ? Gap::eager : Gap::patient;
}

}  // namespace

bool is_refused(const kube::View& view) {
  const int code = view.refusal_code();
  // No ClusterIP is left: an error of the server's own by its code, and one that does not pass by itself.
  if (view.failures() > 0 && code == 500 && view.refusal().contains("range is full")) return true;
  return view.failures() > 0 && code >= 400 && code < 500 && code != 409 && code != 429;
}

bool is_unanswered(const kube::View& view) { return view.failures() > 0 && !is_refused(view); }

base::Duration refused_for(kube::View& view) { return view.since("writes-refused", is_refused(view)); }

// The pause is remembered: a plan without writes, as in the pause, ends a row of failures.
bool is_futile(kube::View& view, kube::Plan& plan) {
  const bool lasts = refused_for(view) >= k_futile_after;
  const base::Duration paused = view.since(k_futile, lasts || view.remembers(k_futile));
  if (!view.remembers(k_futile)) return false;
  if (paused >= k_futile_pause) {
    view.since(k_futile, false);
    return false;
  }
  plan.then_look_after(k_futile_pause - paused);
  return true;
}

void publish_gap(kube::Plan& plan, std::string_view class_name, base::Family family, Gap gap) {
  kube::Fact fact = gap_fact(class_name, family, gap);
  const auto there = std::ranges::find(plan.facts, fact.bucket, &kube::Fact::bucket);
  if (there == plan.facts.end()) {
    plan.facts.push_back(std::move(fact));
  } else if (gap_of(there->order) < gap) {
    *there = std::move(fact);
  }
}

bool is_gap_opened(kube::View& view, std::string_view class_name, base::Family family) {
  return view.has_fact(opened_bucket(class_name, family));
}

bool may_give_back(kube::View& view, kube::Plan& plan, const api::Service& placeholder) {
  if (is_futile(view, plan)) return false;
  if (placeholder.ingress.empty()) return true;
  const Gap gap = gap_of_going(view, plan, placeholder);
  bool may = true;
  for (const base::IpAddress& ip : shown(placeholder)) {
    view.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
      publish_gap(plan, address.className, ip.family(), gap);
      may = is_gap_opened(view, address.className, ip.family()) && may;
      return true;
    });
  }
  return may;
}

}  // namespace metallb
