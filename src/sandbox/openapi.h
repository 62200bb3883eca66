// The API described for machines: /openapi/v3 and /openapi/v2. Internal to the sandbox.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/kind.h"

namespace sandbox {

// The v3 document of one group and version.
json::object openapi_v3(const std::vector<const Kind*>& kinds);
// The v2 document of all of them.
json::object openapi_v2(const std::vector<const Kind*>& kinds);
// A short text that changes when `document` does.
std::string content_hash(std::string_view document);

}  // namespace sandbox
