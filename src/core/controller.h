// The core as data for the runtime: the kinds it watches, their indexes, and the functions that plan its keys. It is
// class-agnostic: it never allocates, never reads class parameters, never touches a Service or a backend (contract).
#pragma once

#include <string_view>

#include "api/restore.h"
#include "base/clock.h"
#include "kube/controller.h"

namespace core {

// What the command line of the core says.
struct Options {
  // How long a restored claim waits for its addresses (contract §9.4); not more than api::k_longest_restore.
  base::Duration restore_grace = api::k_restore_grace;
};

// Keys: claim/NAMESPACE/NAME, address/NAME, match/CLASS/FAMILY, named/ADDRESS, restore/.
inline constexpr std::string_view k_claim = "claim";
inline constexpr std::string_view k_address = "address";
inline constexpr std::string_view k_match = "match";
inline constexpr std::string_view k_named = "named";

// A controller that keeps nothing outside the cluster; every call gives an independent one.
kube::Controller controller(const Options& options = {});

}  // namespace core
