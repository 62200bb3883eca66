// What the sandbox says when it has started.
#pragma once

#include <string>
#include <string_view>

#include "cmd/sandbox/options.h"

namespace sandbox_process {

std::string banner(const Options& options, std::string_view url, std::string_view dir);

}  // namespace sandbox_process
