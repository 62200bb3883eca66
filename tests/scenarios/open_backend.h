// Which server to run on, as the command lines of the test programs say it.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "scenarios/memory_backend.h"
#include "scenarios/real_backend.h"

namespace scenarios {

struct BackendOptions {
  bool memory = false;
  std::uint64_t seed = 1;
  RealOptions real;
};

void add_options(CLI::App& app, BackendOptions& options);
// Opens and prepares it. `with_controllers`: their rights too.
base::Result<std::unique_ptr<Backend>> open_backend(const BackendOptions& options, bool with_controllers);

}  // namespace scenarios
