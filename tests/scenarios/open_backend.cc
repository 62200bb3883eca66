#include "scenarios/open_backend.h"

namespace scenarios {

void add_options(CLI::App& app, BackendOptions& options) {
  auto& real = options.real;
  real.sources = ".";
  app.add_flag("--memory", options.memory, "run on the in-memory server");
  app.add_option("--seed", options.seed, "seed of the in-memory server");
  app.add_option("--plane", real.plane,
                 "run on the real control plane that `tests/real/plane start` was given this folder for");
  app.add_option("--sources", real.sources, "root of the source tree");
  app.add_option("--binaries", real.binaries, "folder of address-controller and metallb-iad");
  app.add_option("--sandbox", real.sandbox,
                 "instead of a real control plane, start this address-sandbox in the folder of --plane");
  app.add_option("--metallb", real.metallb, "MetalLB: 0.15 or 0.16");
  app.add_option("--logs", real.logs, "where the logs of failing scenarios go");
  app.add_option("--port", real.port, "first of four ports for the controllers' probes and metrics; 0: free ones");
}

base::Result<std::unique_ptr<Backend>> open_backend(const BackendOptions& options, bool with_controllers) {
  if (options.memory) {
    auto backend = MemoryBackend::open({options.real.sources, options.seed, options.real.metallb});
    if (!backend) return base::fail(backend.error().message);
    return std::move(*backend);
  }
  if (options.real.plane.empty()) return base::fail("say --memory or --plane FOLDER");
  auto backend = RealBackend::open(options.real);
  if (!backend) return base::fail(backend.error().message);
  if (auto prepared = (*backend)->prepare(with_controllers); !prepared) return base::fail(prepared.error().message);
  return std::move(*backend);
}

}  // namespace scenarios
