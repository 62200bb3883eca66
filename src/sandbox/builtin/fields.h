// The fields of the built-in kinds: one description each, from which come pruning, types, defaults, list keys for
// merging and applying, the OpenAPI document and `kubectl explain`. Internal to the sandbox.
//
// A line is a field, indented by two spaces below the field it belongs to: NAME TYPE [#NUMBER] [= DEFAULT] [|
// DESCRIPTION], NUMBER without a space; it is the field's number in protobuf, a field without one is not read from
// there. Types:
//   s string, y bytes, i int32, l int64, b boolean, t time, x integer or string, q quantity, any: whatever comes
//   {}  object, fields follow   {!} the same, always there in the server's own representation   {~} replaced as a whole
//   []TYPE list, replaced as a whole   [=]TYPE set   [a,b]TYPE list of objects told apart by their members a and b
//   []!TYPE, [a,b]!TYPE  a list that is always there, perhaps empty
//   {*}TYPE map of anything to TYPE   {*~}TYPE replaced as a whole
//   @Name  a shape that several kinds share
#pragma once

#include <memory>
#include <string_view>

#include "sandbox/json.h"
#include "sandbox/schema.h"

namespace sandbox {

// Texts in the language above: a line without indentation, "# Name description", begins a kind or a shared shape.
extern const std::string_view core_fields;
extern const std::string_view pod_fields;
extern const std::string_view workload_fields;
extern const std::string_view policy_fields;

// Members of a schema that only the sandbox knows.
inline constexpr std::string_view number_keyword = "x-sandbox-number";      // the field's number in protobuf
inline constexpr std::string_view embedded_keyword = "x-sandbox-embedded";  // never absent in the server's own form

struct BuiltinFields {
  json::object openapi;                  // the structural schema, with metadata
  std::shared_ptr<const Schema> schema;  // without metadata, which has rules of its own
};
// nullptr if there is no such kind ("Service", "Event.events.k8s.io"). Valid for the life of the process, thread-safe.
const BuiltinFields* builtin_fields(std::string_view kind);
// The schema of metadata, for every kind.
const json::object& metadata_openapi();

}  // namespace sandbox
