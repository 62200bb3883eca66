// YAML documents as JSON values, by YAML's core schema (what kubectl and the API server do with them). Internal to the
// sandbox.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/json.h"

namespace sandbox {

// Every document of a stream; empty documents are left out.
base::Result<std::vector<json::value>> parse_yaml(std::string_view text);

}  // namespace sandbox
