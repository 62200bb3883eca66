// Kubeconfig files: reading, merging, choosing a context.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/client_config.h"

namespace kube {

// Reads and merges `files` as kubectl does: the first file that names a cluster, user or context wins, and so does the
// first current-context; relative paths are relative to the file they stand in. Files that do not exist are skipped,
// unless none does. An empty `context` means the merged current-context.
base::Result<ClientConfig> load_kubeconfig(const std::vector<std::string>& files, std::string_view context = {});

}  // namespace kube
