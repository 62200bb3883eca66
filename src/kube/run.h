// The main() of a controller.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "kube/controller.h"

namespace CLI {
class App;
}

namespace kube {

// Where the process runs, for defaults of flags.
struct Surroundings {
  std::string pod_namespace;  // "" outside of a cluster
};

struct ControllerMain {
  std::string name;         // of the binary
  std::string description;  // for --help: what it does, in a few sentences
  std::string version;
  // Adds the controller's own flags; may be empty. What they fill must live until run() returns.
  std::function<void(CLI::App&)> add_flags;
  // Builds the controller after the flags have been parsed. An error is one sentence that names the flag.
  std::function<base::Result<Controller>(const Surroundings&)> build;
  // What stays behind after --drain, for people: sentences. Without it there is no such flag.
  std::string after_drain;
};

// Parses the command line, connects and runs until a signal or the loss of the lease. Returns the exit status: 0 after
// a shutdown in good order or --help, 2 for a wrong command line, 1 for everything else (each with one line that says
// what and why). With --drain it runs releasing() of the controller until all is done, and ends. A server that cannot
// be reached, kinds it does not serve and missing rights are no reason to end: they are logged, shown by /readyz, and
// tried again.
int run(const ControllerMain& what, int argc, const char* const* argv);

}  // namespace kube
