// How large an object may be. Internal to the sandbox.
#pragma once

#include <cstddef>

#include "sandbox/failure.h"
#include "sandbox/json.h"

namespace sandbox {

// As etcd has it, of the object's JSON. Bodies are asked too, before anything is made of them: what follows takes its
// time with every field, also with those that are dropped.
inline constexpr std::size_t k_most_stored = 3UL << 19U;

inline bool is_too_large(const json::object& object) { return least_bytes(object, k_most_stored) > k_most_stored; }
inline Failure too_large() { return internal_error("etcdserver: request is too large"); }

}  // namespace sandbox
