// An OpenAPI v2 document in protobuf, the form in which clients written in Go ask for it. Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/json.h"

namespace sandbox {

// The media type it is asked for with, and whether `accept` names it before JSON.
inline constexpr std::string_view openapi_protobuf_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
bool wants_openapi_protobuf(std::string_view accept);

// `document` as gnostic's message openapi.v2.Document. What that message has no field for is left out.
std::string openapi_protobuf(const json::object& document);

}  // namespace sandbox
