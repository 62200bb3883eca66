// Which credential plugins may be run: whoever starts the process says so, not the kubeconfig that names the plugin.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client_config.h"

namespace kube {

// Where a command is found, as an absolute path: a name in the folders of PATH, anything with a slash as it stands.
// Nothing if there is no executable file.
std::optional<std::string> look_path(std::string_view command);

// What is to be run for `exec`, if its policy permits it: with an allowlist, the path that was compared. As in
// client-go, entries and command are equal if they are found as the same absolute path.
// Blocking file look-ups.
base::Result<std::string> permitted_command(const ExecConfig& exec);

}  // namespace kube
