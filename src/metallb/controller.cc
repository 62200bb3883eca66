#include "metallb/controller.h"

#include "api/names.h"

namespace metallb {

kube::Controller controller(const Options&) {
  kube::Controller driver;
  driver.name = "metallb-iad";
  driver.lease_name = api::driver_lease;
  return driver;
}

}  // namespace metallb
