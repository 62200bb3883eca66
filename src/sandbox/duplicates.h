// Members that a JSON text names twice, which a parsed document no longer shows. Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

// The paths ("data.a", "spec.ports[0].name") of repeated members in the order of their repetitions. `text` is valid
// JSON.
std::vector<std::string> duplicate_fields(std::string_view text);

}  // namespace sandbox
