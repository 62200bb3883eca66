// metadata.managedFields: who set which fields. Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/apply/field_set.h"
#include "sandbox/failure.h"
#include "sandbox/json.h"

namespace sandbox {

struct Manager {
  std::string name;
  std::string operation = "Update";  // or "Apply"
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;

  // An applier is the same in whatever version it speaks.
  bool is(const Manager& other) const {
    return name == other.name && operation == other.operation && subresource == other.subresource &&
           (operation == "Apply" || api_version == other.api_version);
  }
};
using Managers = std::vector<Manager>;

// An error names what is wrong with an entry. No list is no managers.
base::Result<Managers> read_managers(const json::value* list);
// In the server's order: appliers first, then by time and name.
json::array write_managers(Managers managers);

// The managers after `self` (whose fields are not looked at) has written `after` in place of `before`: what it changed
// is its own and nobody else's.
Managers updated(Managers managers, Manager self, const json::object& before, const json::object& after,
                 const json::object& schema);

struct Applied {
  json::object document;
  Managers managers;
};
// Server-side apply of `config`: the new document and managers, or the conflicts (unless `force`). `ignored` are fields
// that this endpoint does not write.
Outcome<Applied> apply(const json::object& live, const json::object& config, Managers managers, Manager self,
                       bool force, const json::object& schema, const FieldSet& ignored);

// What of a document managedFields does not speak of: its type, name, version and the like.
const FieldSet& unmanaged_fields();

}  // namespace sandbox
