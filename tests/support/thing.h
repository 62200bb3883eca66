// A kind for the runtime's own tests: {metadata, spec: {value, group, links: []}, status: {state}}.
#pragma once

#include <string>
#include <vector>

#include "kube/types.h"

namespace kube::testing {

struct Thing : Object {
  std::string value;
  std::string group;
  std::vector<std::string> links;
  std::string state;
  static const Kind& kind();  // tests.example/v1 things, namespaced
};

// The same fields, cluster-scoped.
struct Place : Object {
  std::string value;
  static const Kind& kind();
};

// A Thing "ns/NAME" in namespace "ns"; the uid defaults to "uid-NAME".
std::shared_ptr<Thing> thing(std::string name, int version, std::string value = "", std::string uid = "");

}  // namespace kube::testing
