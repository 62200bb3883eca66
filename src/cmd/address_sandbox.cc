// The whole system without a cluster (docs/sandbox.md).
#include <string_view>

#include "base/log.h"
#include "cmd/sandbox/options.h"
#include "cmd/sandbox/parts.h"
#include "cmd/sandbox/process.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "part") return sandbox_process::run_part(argc - 2, argv + 2);
  const auto options = sandbox_process::parse_options(argc, argv);
  if (!options) return options.error();
  base::log::configure(options->log_level, options->log_format);
  return sandbox_process::run(*options);
}
