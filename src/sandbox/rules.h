// The validation rules (CEL) that the sandbox knows: each rule text has a native function here. There is no CEL
// interpreter; a schema with a rule that is not in this table cannot be loaded. Internal to the sandbox.
#pragma once

#include <string_view>

#include "sandbox/json.h"

namespace sandbox {

// `old` is nullptr where there is no earlier value.
using NativeRule = bool (*)(const json::value& self, const json::value* old);

// nullptr if nobody has written that rule down yet.
NativeRule native_rule(std::string_view text);

// Whether CEL's isIP accepts the text: no zone, no prefix, no leading zeros, no IPv4-mapped form.
bool is_ip(std::string_view text);

}  // namespace sandbox
