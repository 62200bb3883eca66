// Scenarios as they are written: files of Tests in a subset of the Chainsaw format (docs/scenarios.md).
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "scenarios/backend.h"

namespace scenarios {

// Bindings by name, in the order they are to be evaluated.
using BindingList = std::vector<std::pair<std::string, boost::json::value>>;

struct Step {
  std::string name;
  BindingList bindings;
  boost::json::array operations;  // objects with one member: {create: {…}}
};

struct Scenario {
  std::string name;
  std::string where;                      // "file:line"
  std::vector<Process> needs;             // processes that run while it does; the others do not
  std::vector<std::string> only;          // backends it makes sense on; empty = all
  std::vector<std::string> driver_flags;  // of its command line, besides the usual ones
  bool remembers = false;                 // is about what controllers remember: not restarted between its lines
  bool takes_rights = false;              // from the controllers: what is forbidden then is no fault of theirs
  bool webhook = false;                   // MetalLB's admission webhook is asked
  std::vector<std::string> namespaces;    // besides the one that every scenario has
  BindingList bindings;
  std::vector<Step> steps;

  bool runs_on(std::string_view backend) const;
};

// All scenarios of a file, or of all *.yaml files directly in a folder, in order of their names. Step templates are
// looked for in `templates`.
base::Result<std::vector<Scenario>> load_scenarios(const std::string& path, const std::string& templates);

// "1500ms", "30s", "5m" or a sum of such; an error otherwise.
base::Result<base::Duration> parse_duration(std::string_view text);

}  // namespace scenarios
