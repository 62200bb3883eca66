// What form an answer is wanted in: the object, a table of columns, or metadata only (of one object or of a
// list). Internal to the sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/failure.h"

namespace sandbox {

enum class Shape : std::uint8_t { object, table, partial, partials };

struct Form {
  Shape shape = Shape::object;
  std::string version = "v1";  // of meta.k8s.io, for tables and partial metadata
};

// The first form of an Accept header that the server has. Nothing, "*/*" and "application/json" mean the object.
// 406 if none of the media types is served.
Outcome<Form> negotiate(std::string_view accept);

// Whether an Accept header asks for aggregated discovery, and in which version: "v2", "v2beta1" or "".
std::string_view aggregated_discovery(std::string_view accept);

}  // namespace sandbox
