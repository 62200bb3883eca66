// YAML as the sandbox reads it. Internal to the sandbox.
#pragma once

#include "kube/yaml.h"

namespace sandbox {

using kube::parse_yaml;

}  // namespace sandbox
