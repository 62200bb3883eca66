#include "metallb/gap.h"

#include <algorithm>
#include <utility>

#include "api/ipam.h"
#include "metallb/indexes.h"
#include "metallb/placeholder.h"

namespace metallb {

namespace {

// After k_futile_writes, until that is tried anew.
constexpr base::Duration k_futile_pause = std::chrono::minutes(1);

// One that waits for somebody else's finalizer is patient in the end.
Gap gap_of_going(kube::View& view, kube::Plan& plan, const api::Service& placeholder) {
  const base::Duration going = view.since("going/" + placeholder.meta.name, placeholder.meta.deleting);
  if (!placeholder.meta.deleting) return Gap::eager;
  if (going < k_gap_patience) plan.then_look_after(k_gap_patience - going);
  return going < k_gap_patience ? Gap::eager : Gap::patient;
}

}  // namespace

bool is_futile(const kube::View& view, kube::Plan& plan) {
  if (view.failures() < k_futile_writes) return false;
  plan.then_look_after(k_futile_pause);
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
