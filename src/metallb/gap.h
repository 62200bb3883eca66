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

// How long the server may refuse a key's writes until what they are for keeps nobody waiting any more.
inline constexpr base::Duration k_futile_after = std::chrono::seconds(10);
// How long something that does not get its address, or does not go, comes before all others.
inline constexpr base::Duration k_gap_patience = std::chrono::minutes(5);

// The write that failed last was refused, by rights, a quota or a policy: neither a conflict nor what passes by itself.
bool is_refused(const kube::View& view);
// It has failed otherwise: no answer, an error of the server's own (a webhook that is down is one), too many requests.
// That says nothing about the next try.
bool is_unanswered(const kube::View& view);
// For how long the key's writes have been refused without one that was not. Must be asked in every pass of the key.
base::Duration refused_for(kube::View& view);
// They have been refused for so long that nobody else is kept waiting for them; they are tried anew in a while. Must be
// asked in every pass of the key, or refused_for() where it is not.
bool is_futile(kube::View& view, kube::Plan& plan);

// Publishes, once in a plan, that a gap of this class and family is wanted or open. Of several the one that comes first
// counts.
void publish_gap(kube::Plan& plan, std::string_view class_name, base::Family family, Gap gap = Gap::eager);
// No unassigned placeholder is about, and none comes while the gap is published.
bool is_gap_opened(kube::View& view, std::string_view class_name, base::Family family);

// Whether the Service may go: what it shows and the ledger has for somebody must not fall to a placeholder of ours.
// Until then the plan asks for the gap, unless that gets nowhere.
bool may_give_back(kube::View& view, kube::Plan& plan, const api::Service& placeholder);

}  // namespace metallb
