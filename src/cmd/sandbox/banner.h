// What the sandbox says when it has started.
#pragma once

#include <string>
#include <string_view>

#include "cmd/sandbox/options.h"

namespace sandbox_process {

// `url`: of the API server; `picture`: of the page, with its key.
std::string banner(const Options& options, std::string_view url, std::string_view dir, std::string_view picture);

}  // namespace sandbox_process
