// MetalLB's kinds (metallb.io/v1beta1), as far as the driver reads them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/types.h"

namespace api {

struct IPAddressPool : kube::Object {
  std::vector<std::string> addresses;
  std::optional<bool> autoAssign;
  bool avoidBuggyIPs = false;
  std::string spec;  // the whole spec as JSON text, for drift
  static const kube::Kind& kind();
};

// Advertisements are compared as a whole with what would be rendered.
struct L2Advertisement : kube::Object {
  std::string spec;  // as JSON text
  static const kube::Kind& kind();
};

struct BGPAdvertisement : kube::Object {
  std::string spec;  // as JSON text
  static const kube::Kind& kind();
};

// What one of MetalLB's processes thinks of the configuration as a whole: "controller", or "speaker-<node>". MetalLB
// 0.15.3 and later.
struct ConfigurationState : kube::Object {
  std::string result;  // "Valid", "Invalid", "Unknown"
  std::string errorSummary;
  static const kube::Kind& kind();
};

}  // namespace api
