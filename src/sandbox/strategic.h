// Strategic merge patch for the built-in kinds. Internal to the sandbox.
#pragma once

#include "sandbox/json.h"

namespace sandbox {

// Like a merge patch, but lists that have a merge key in the built-in types (conditions by type, container ports, …)
// are merged by it, finalizers as a set; `$patch: replace|delete`, `$deleteFromPrimitiveList/…` and
// `$setElementOrder/…` are understood.
void strategic_merge(json::value& target, const json::value& patch);

}  // namespace sandbox
