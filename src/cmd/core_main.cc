#include "cmd/core_main.h"

#include "core/controller.h"
#include "kube/run.h"

int core_main(int argc, const char* const* argv) {
  kube::ControllerMain what;
  what.name = "address-controller";
  what.description =
      "Binds IPAddressClaims to IPAddresses, as Kubernetes binds volume claims to volumes. It allocates nothing and "
      "touches no "
      "Service: that is the work of a driver for each IPAddressClass.";
  what.version = PROJECT_VERSION;
  what.build = [](const kube::Surroundings&) { return core::controller(); };
  what.after_drain =
      "All IPAddressClaims, IPAddresses and IPAddressClasses stay as they are. Nothing protects them from deletion "
      "now, "
      "and nothing binds claims or reclaims addresses until the controller runs again.";
  return kube::run(what, argc, argv);
}
