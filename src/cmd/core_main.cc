#include "cmd/core_main.h"

#include <CLI/CLI.hpp>

#include "api/restore.h"
#include "core/controller.h"
#include "kube/flags.h"
#include "kube/run.h"

int core_main(int argc, const char* const* argv) {
  core::Options options;
  kube::ControllerMain what;
  what.name = "address-controller";
  what.description =
      "Binds IPAddressClaims to IPAddresses, as Kubernetes binds volume claims to volumes. It allocates nothing and "
      "touches no "
      "Service: that is the work of a driver for each IPAddressClass.";
  what.version = PROJECT_VERSION;
  what.after_drain =
      "All IPAddressClaims, IPAddresses and IPAddressClasses stay as they are. Nothing protects them from deletion "
      "now, "
      "and nothing binds claims or reclaims addresses until the controller runs again.";
  what.add_flags = [&](CLI::App& app) {
    kube::add_duration(app, "--restore-grace", options.restore_grace, {},
                       "How long a claim that a backup tool made again waits for its addresses, counted from the last "
                       "restored address; 30m at most");
    app.get_options().back()->group("Restore");
  };
  what.build = [&](const kube::Surroundings&) -> base::Result<kube::Controller> {
    if (options.restore_grace > api::k_longest_restore) return base::fail("--restore-grace must not be more than 30m");
    return core::controller(options);
  };
  return kube::run(what, argc, argv);
}
