// The kinds of local.sdn.cozystack.io/v1alpha1 (contract §1) as read views: the fields the controllers read, nothing
// else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/types.h"

namespace api {

struct IPAddressClass : kube::Object {
  std::string provisioner;
  std::string reclaimPolicy;  // "Retain" (default) or "Delete"
  // spec.parameters as JSON text; "" if absent. Opaque to the core, which does not decode it (see ClassRead).
  std::string parameters;
  // status, the driver's own.
  std::vector<kube::Condition> conditions;
  std::string status;  // the whole status as JSON text, for comparing before writing; "" if absent
  bool is_default() const;
  static const kube::Kind& kind();
};

// The same resource as the core sees it: parameters and status are not decoded, and only a change to uid, deletion,
// default mark or provisioner is one there.
struct ClassRead : IPAddressClass {
  static const kube::Kind& kind();
};

struct ClaimRef {
  std::string ns;
  std::string name;
  std::string uid;  // "" until completed
  friend bool operator==(const ClaimRef&, const ClaimRef&) = default;
};

struct Association {
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const Association&, const Association&) = default;
};

struct IPAddress : kube::Object {
  std::string address;  // as stored; parse before comparing (contract §4.3)
  std::string className;
  std::string reclaimPolicy;  // "Retain" (default) or "Delete"
  std::optional<ClaimRef> claimRef;
  bool from_class = false;  // spec.source.fromClass
  std::string provider_id;  // spec.source.providerRef.id
  std::string phase;        // "" until the core's first write
  std::optional<Association> associatedTo;
  std::vector<kube::Condition> conditions;
  static const kube::Kind& kind();
};

struct ReportedAddress {
  std::string name;
  std::string address;
  friend bool operator==(const ReportedAddress&, const ReportedAddress&) = default;
};

struct IPAddressClaim : kube::Object {
  std::string className;    // spec.className, "" if absent
  std::string addressName;  // spec.addressName, "" if absent
  std::string family;       // "IPv4" (default), "IPv6" or "Dual"
  std::string phase;        // "" until the core's first write
  std::string status_className;
  std::vector<ReportedAddress> addresses;
  std::vector<kube::Condition> conditions;
  static const kube::Kind& kind();
};

}  // namespace api
