// Sets of fields of a document, as managedFields keeps them. Internal to the sandbox.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/json.h"

namespace sandbox {

// A tree of path elements: "f:name" a member, "k:{…}" a list item by its keys, "v:…" one by its value. A path is in the
// set if its node says `member`; that says nothing of what is below or above it.
struct FieldSet {
  bool member = false;
  std::map<std::string, FieldSet, std::less<>> children;

  bool empty() const { return !member && children.empty(); }
  const FieldSet* child(std::string_view element) const;
  void insert(const std::vector<std::string>& path);
  void erase(const std::vector<std::string>& path);
  friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

// Sets may hold a hundred thousand fields: these change `set` in place.
void unite(FieldSet& set, FieldSet more);
void subtract(FieldSet& set, const FieldSet& removed);
// Whether all of `part` is in `set`.
bool covers(const FieldSet& set, const FieldSet& part);
FieldSet common(const FieldSet& a, const FieldSet& b);

// The FieldsV1 form: {"f:spec": {".": {}, "f:x": {}}}.
FieldSet read_fields(const json::object& fields);
json::object write_fields(const FieldSet& set);

// Every path in the set as messages show it: ".spec.ports[port=80,protocol=\"TCP\"].name".
std::vector<std::string> printed_paths(const FieldSet& set);

}  // namespace sandbox
