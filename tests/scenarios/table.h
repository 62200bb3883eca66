// The table of objects that the API must accept or refuse (tests/crds/table.yaml), and how it is run.
//
//   bases:  {claim: {kind: IPAddressClaim, spec: {…}}, …}       whole objects that rows begin with
//   rows:
//   - name: what the row is about
//     base: claim                                             rows may say `unchecked: {…}` to begin with a stored
//     object of that merge patch steps:                                                  that the rules would refuse,
//     as a server with an older CRD would have stored it
//     - {create: {…merge patch on the base…}, expect: accepted}
//     - {patch: {…}, expect: {field: spec.className, message: part of what the server says}}
//     - {patch-status: {…}, expect: accepted}
//     - {put: {…merge patch on the object as it is now…}, expect: accepted}
//     - {put-status: {…}, expect: accepted}
//     - {select: {field: status.phase, value: Bound}, expect: {finds: 1}}
//     - {holds: {…assertion tree on the object as it is now…}}
//   A row with a single create may say `create` and `expect` itself, without `steps`.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scenarios/backend.h"

namespace scenarios {

struct TableRow {
  std::string name;
  boost::json::object base;
  boost::json::value unchecked;  // null: the row begins with nothing stored
  boost::json::array steps;
};

base::Result<std::vector<TableRow>> load_table(const std::string& path);

// Runs one row on objects of its own, named after `number`, and deletes them. Empty = as expected, else what differs.
std::string run_row(Backend& backend, const TableRow& row, std::size_t number);

}  // namespace scenarios
