// Driver design §9, inventory: what the driver would do, told from lists by a program that is not the driver.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/types.h"
#include "metallb/controller.h"

namespace metallb {

struct ReportRow {
  std::string ns;
  std::string service;
  std::string addresses;
  std::string claim;  // that there is, or that there would be
  std::string plan;   // "adopt", "no", "adopting", "adopted", "reverting"
  std::string why;    // "no": why not
};

// All objects of a kind.
struct ReportList {
  const kube::Kind* kind = nullptr;
  std::vector<kube::ObjectPtr> objects;
};

// The Services that have addresses of a class without a claim, or had when they were adopted, by namespace and name. By
// the same functions as the driver's. `lists`: IPAddressClass, IPAddressClaim, IPAddress, Service, and IPAddressPool of
// MetalLB's namespace. An error if the class is none to adopt for.
base::Result<std::vector<ReportRow>> report_inventory(const Options& options, std::string_view class_name,
                                                      std::vector<ReportList> lists);

}  // namespace metallb
