// What the product's commands see of claims, addresses, classes and Services (docs/contract.md). Read views of
// documents.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "client/session.h"

namespace client {

extern const kube::Resource& claim_kind;
extern const kube::Resource& address_kind;
extern const kube::Resource& class_kind;
extern const kube::Resource& service_kind;

struct Identity {
  std::string ns;
  std::string name;
  std::string uid;
  std::string version;  // resourceVersion
  std::string created;
  bool deleting = false;
};

struct Reported {
  std::string name;  // of the IPAddress object
  std::string address;
};

struct Claim : Identity {
  std::string family;
  std::string wanted_class;  // spec.className
  std::string class_name;    // status.className
  std::string wanted_address;
  std::string phase;  // "Pending" before the core has seen it
  std::vector<Reported> addresses;
  std::string reason;  // of the condition that says why it is not bound, the driver's before the core's
  std::string message;

  std::string texts() const;  // its addresses, separated by commas
};

struct Service : Identity {
  std::string type;
  std::string claim;  // the claim it names, "" if none
  std::vector<std::string> families;
  std::vector<std::string> ingress;

  bool shows(std::string_view address) const;
};

struct Address : Identity {
  std::string text;
  std::string class_name;
  std::string policy;
  std::string phase;
  std::string claim_ns;
  std::string claim;
  std::string claim_uid;
  std::string attached_ns;
  std::string attached_kind;
  std::string attached;
  std::string reason;  // of a condition that says what is wrong with it
  std::string message;
};

Claim claim_of(const json::object& object);
Service service_of(const json::object& object);
Address address_of(const json::object& object);

// The addresses of `claim` that a Service of these families can show.
std::vector<std::string> servable(const Claim& claim, const Service& service);

// Reads one; after a failure the message is printed, with what there is instead when it is not found.
std::optional<Claim> need_claim(const Session& session, std::string_view name);
std::optional<Service> need_service(const Session& session, std::string_view name);

// The object that stands for an address, by whatever name: of several the one that is no duplicate. nullopt: there is
// none.
std::expected<std::optional<Address>, kube::ApiError> address_for(const Session& session, const base::IpAddress& ip);

// Services of the namespace that name the claim; nothing where Services may not be listed.
std::vector<Service> services_of(const Session& session, std::string_view claim);

// The latest warning about each Service of the namespace ("" is all of them), "Reason: message" by the Service's uid.
// What was said before a driver gave it its address is over.
// Nothing where events may not be listed. `name` narrows it to Services of that name.
std::map<std::string, std::string> service_warnings(const Session& session, const std::string& ns,
                                                    std::string_view name = {});

// Why a claim is not Bound, for somebody who has waited so long.
std::string why_unbound(const Claim& claim, base::Duration waited);

// "0.4 s", for telling how long something took.
std::string seconds_text(base::Duration time);

}  // namespace client
