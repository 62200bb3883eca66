// The core's own metrics, beside those of the runtime.
#pragma once

#include <string_view>

namespace core {

// Counter, label class: claims that became Bound.
inline constexpr std::string_view k_claims_bound_metric = "ipam_claims_bound_total";
// Histogram, seconds: from this process's first sight of a claim until it became Bound.
inline constexpr std::string_view k_bind_seconds_metric = "ipam_claim_bind_duration_seconds";

// Gauges, labels class and phase: how many there are. Every replica has them, not only the one that leads.
inline constexpr std::string_view k_addresses_metric = "ipam_addresses";
inline constexpr std::string_view k_claims_metric = "ipam_claims";

}  // namespace core
