// Metrics of the driver beside those of the runtime.
#pragma once

#include <string_view>

namespace metallb {

// How long nobody had an address that was handed over by the gap handoff (driver design §6), as this process saw it.
inline constexpr std::string_view k_gap_metric = "metallb_iad_handoff_gap_seconds";

}  // namespace metallb
