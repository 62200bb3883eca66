// What reads of one object and of lists have in common. Internal to the sandbox.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "sandbox/failure.h"
#include "sandbox/kind.h"
#include "sandbox/request.h"

namespace sandbox {

// A query parameter that is a number; `otherwise` without it.
template <class N>
Outcome<N> number_param(const RequestInfo& info, std::string_view name, N otherwise) {
  const std::string_view text = info.param(name);
  if (text.empty()) return otherwise;
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    if (name == "resourceVersion") {
      return refuse(
          bad_request(fmt::format("invalid resource version: resourceVersion: Invalid value: {0}: strconv.ParseUint: "
                                  "parsing {0}: invalid syntax",
                                  quote(text))));
    }
    return refuse(bad_request(fmt::format("strconv.ParseInt: parsing {}: invalid syntax", quote(text))));
  }
  return value;
}

// A kind's type as messages of the real server print it.
inline std::string go_type(const Kind& kind) {
  if (kind.custom) return "*unstructured.Unstructured";
  const std::string_view group =
      kind.group.empty() ? "core" : std::string_view(kind.group).substr(0, kind.group.find('.'));
  return fmt::format("*{}.{}", group, kind.name);
}

inline Failure not_acceptable(std::string message) {
  return {.code = 406, .reason = "NotAcceptable", .message = std::move(message), .bare = true};
}

}  // namespace sandbox
