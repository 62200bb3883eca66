// Documents as their schema structures them: which fields there are, what differs, how two become one. What server-side
// apply is made of. Schemas are OpenAPI with x-kubernetes-list-type, -list-map-keys and -map-type. Internal to the
// sandbox.
#pragma once

#include "sandbox/apply/field_set.h"
#include "sandbox/json.h"

namespace sandbox {

// The fields that a document sets.
FieldSet fields_of(const json::object& document, const json::object& schema);

struct Difference {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
  bool none() const { return added.empty() && modified.empty() && removed.empty(); }
};
Difference compare(const json::object& before, const json::object& after, const json::object& schema);

// `live` with everything that `config` says.
json::object merged(const json::object& live, const json::object& config, const json::object& schema);

// Removes from `document` what is in `last` and neither in `kept` nor holds something that is.
void prune(json::object& document, const FieldSet& last, const FieldSet& kept, const json::object& schema);

// Adds the objects that the server's own form of a built-in kind always has.
void add_embedded(json::value& value, const json::object& schema);

// The first member of `document` that the schema does not describe, as ".spec.x"; "" if there is none.
std::string undeclared_field(const json::object& document, const json::object& schema);

}  // namespace sandbox
