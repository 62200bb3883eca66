// The core as data for the runtime: the kinds it watches, their indexes, and the functions that plan its keys. It is
// class-agnostic: it never allocates, never reads class parameters, never touches a Service or a backend (contract).
#pragma once

#include <string_view>

#include "kube/controller.h"

namespace core {

// Keys: claim/NAMESPACE/NAME, address/NAME, match/CLASS/FAMILY, named/ADDRESS.
inline constexpr std::string_view k_claim = "claim";
inline constexpr std::string_view k_address = "address";
inline constexpr std::string_view k_match = "match";
inline constexpr std::string_view k_named = "named";

// A controller that keeps nothing outside the cluster; every call gives an independent one.
kube::Controller controller();

}  // namespace core
