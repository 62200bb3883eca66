// The cluster around one scenario: its namespaces, and the removal of whatever it has made.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scenarios/resources.h"
#include "scenarios/run.h"

namespace scenarios {

class Cluster {
 public:
  Cluster(Backend& backend, const RunOptions& options) : backend_(backend), client_(backend), options_(options) {}

  // A new namespace "prefix-<number>", with the next number that is free (those of an earlier run may still be on their
  // way out).
  base::Result<std::string> make_namespace(const std::string& prefix, int number);
  // An object to remove at the end, besides those of our own kinds. Rights stay, and the namespaces that they are in:
  // what a scenario puts back is put back for the next one, too.
  void remember(const Target& target) {
    const bool home = target.name == options_.placeholder_namespace || target.name == options_.metallb_namespace;
    const bool rights = target.resource->group == "rbac.authorization.k8s.io";
    if (!rights && !(home && target.resource->kind == "Namespace")) created_.push_back(target);
  }

  // Deletes what the scenario may have made and waits until it is gone. "" or what is still there; that is then removed
  // by force. `forgiving`: not all controllers run, so finalizers are stripped at once.
  std::string clean_up(bool forgiving);
  // Everything of interest as JSON lines, for the logs.
  std::string dump();

 private:
  std::vector<Target> remaining();
  std::vector<Target> all(std::string_view kind, const std::string& ns);
  void force(const Target& target);
  void forget_events();

  Backend& backend_;
  Client client_;
  RunOptions options_;
  std::vector<std::string> namespaces_;
  std::vector<Target> created_;
};

}  // namespace scenarios
