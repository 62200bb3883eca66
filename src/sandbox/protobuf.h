// Kubernetes' protobuf bodies, which kubectl's imperative commands send: read into JSON by the numbers in a kind's
// fields. Answers are always JSON. Internal to the sandbox.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sandbox/json.h"

namespace sandbox {

inline constexpr std::string_view protobuf_type = "application/vnd.kubernetes.protobuf";

std::string base64(std::string_view bytes);

// What is in the envelope.
struct ProtobufBody {
  std::string api_version;
  std::string kind;
  std::string raw;
};
base::Result<ProtobufBody> open_envelope(std::string_view bytes);

// A message as JSON; fields that `schema` (OpenAPI with numbers) does not know are left out.
base::Result<json::object> read_message(std::string_view bytes, const json::object& schema);

}  // namespace sandbox
