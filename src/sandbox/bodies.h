// What clients send, and the words for what is wrong with it. Internal to the folder.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/failure.h"
#include "sandbox/kind.h"

namespace sandbox {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view yaml_type = "application/yaml";
inline constexpr std::string_view merge_type = "application/merge-patch+json";
inline constexpr std::string_view json_patch_type = "application/json-patch+json";
inline constexpr std::string_view strategic_type = "application/strategic-merge-patch+json";

// A content type without its parameters.
std::string_view media_type(std::string_view content_type);

Failure wrong_type_in_patch(const json::object& document, std::string_view what);
// `stated` is the kind that a document says it is of.
std::string unknown_conversion(const Kind& kind, std::string_view stated);

}  // namespace sandbox
