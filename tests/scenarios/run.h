// Runs one scenario on a backend.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string>

#include "scenarios/backend.h"
#include "scenarios/scenario.h"

namespace scenarios {

struct RunOptions {
  // Kill and restart core and driver before every operation.
  bool restart_between = false;
  // Bindings of these names have these values, whatever the scenarios say: longer runs than there is time for every
  // day.
  std::map<std::string, boost::json::value> bindings;
  std::string placeholder_namespace = "metallb-iad-system";
  std::string metallb_namespace = "metallb-system";
};

struct Verdict {
  std::string problem;  // empty: passed
  std::string state;    // on failure: all objects of interest as JSON lines
  bool passed() const { return problem.empty(); }
};

// Begins with nothing of ours in the cluster and leaves nothing behind, also when it fails; what could not be cleaned
// up in time is a failure of its own. `number` makes its namespaces unique.
Verdict run_scenario(Backend& backend, const Scenario& scenario, const RunOptions& options, int number);

}  // namespace scenarios
