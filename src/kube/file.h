// Small files that hold credentials and configuration.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kube {

// The whole file, at most 16 MiB. The error names the file and the reason.
base::Result<std::string> read_file(const std::string& path);

// Without white space at both ends.
std::string trimmed(std::string_view text);

}  // namespace kube
