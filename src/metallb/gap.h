// The exclusion of gaps and unassigned placeholders (driver design §4), for those who open gaps: MetalLB would give the
// one what falls into the other. Functions of what the view shows.
#pragma once

#include <chrono>
#include <string_view>

#include "api/builtin.h"
#include "base/clock.h"
#include "base/ip.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/names.h"

namespace metallb {

// Writes in a row that failed until what they are for keeps nobody waiting any more.
inline constexpr int k_futile_writes = 5;
// How long something that does not get its address, or does not go, comes before all others.
inline constexpr base::Duration k_gap_patience = std::chrono::minutes(5);

// The key's writes are refused again and again: nobody else is kept waiting for it, and it is tried anew in a while.
bool is_futile(const kube::View& view, kube::Plan& plan);

// Publishes, once in a plan, that a gap of this class and family is wanted or open. Of several the one that comes first
// counts.
void publish_gap(kube::Plan& plan, std::string_view class_name, base::Family family, Gap gap = Gap::eager);
// No unassigned placeholder is about, and none comes while the gap is published.
bool is_gap_opened(kube::View& view, std::string_view class_name, base::Family family);

// Whether the Service may go: what it shows and the ledger has for somebody must not fall to a placeholder of ours.
// Until then the plan asks for the gap, unless that gets nowhere.
bool may_give_back(kube::View& view, kube::Plan& plan, const api::Service& placeholder);

}  // namespace metallb
