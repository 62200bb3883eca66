// Driver design §9, inventory: addresses that MetalLB gave to Services on its own become IPAddress objects with a
// generated claim, while the Services keep them; and back. The steps, each a pass of the Service's key that starts from
// facts:
//
//   adopt    address objects, reserved for a claim that is not there yet, with a record of the Service on them
//   (Adopting)
//            → the claim, once the core has seen them → the claim's name on the Service → everything that attaching
//            writes (service.cc) → Adopted
//   revert   Reverting → one write makes the Service what it was → associatedTo → the claim → the address objects
//
// The record is on the address, since tenants cannot write there. Whoever has an address that is on either way needs no
// hold and is no intruder.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "base/ip.h"
#include "kube/plan.h"
#include "kube/store.h"
#include "kube/view.h"
#include "metallb/context.h"

namespace metallb {

inline constexpr std::string_view k_inventory_reconciler = "inventory";
kube::Key inventory_key(std::string_view ns, std::string_view service);

// What is recorded on an address that was adopted.
struct Adoption {
  enum class State : std::uint8_t { adopting, adopted, reverting };
  State state = State::adopting;
  std::string ns;
  std::string service;
  std::string uid;
  // What the Service carried under the keys that adopting it writes; what is not in it was absent.
  std::map<std::string, std::string, std::less<>> before = {};

  std::string text() const;
};
// The same for a Service as it is now.
Adoption adoption_for(const api::Service& service);
// nullopt if there is no record, or none that can be read.
std::optional<Adoption> adoption_of(const api::IPAddress& address);

// IPAddress by "ns/name" of the Service in its record.
inline constexpr std::string_view k_inventory_index = "inventory";
kube::IndexSpec inventory_index();

// The Service that has the address while it is made an object of, or one no more. Null if there is none.
const api::Service* keeper_of(kube::View& view, const Options& options, const api::IPAddress& address,
                              const base::IpAddress& ip);
// Of addresses that are associated with it, one is being given back to the Service with all that it carries.
bool is_given_back(const std::vector<const api::IPAddress*>& associated, const api::Service& service);

// The class whose pool the addresses of a Service are from, "" if none: a Service of MetalLB's class that is no
// placeholder, here or in a former namespace, with nothing of ours on it, and not about to lose them.
std::string class_of_stranger(kube::View& view, const Options& options, const api::Service& service);
// Whether a Service may be one, by what it carries.
bool may_be_stranger(const Options& options, const api::Service& service);

// What adopting such a Service comes to.
struct Survey {
  std::vector<base::IpAddress> ips;
  std::string claim;  // name of the claim that is generated, the same whoever asks
  std::string why;    // it cannot be adopted, and what would be right; "" if it can

  bool can_be() const { return why.empty(); }
};
// `own`: address objects that are there because of it already.
Survey survey(kube::View& view, const Context& context, const api::Service& service, const ServedClass& cls,
              const std::vector<const api::IPAddress*>& own = {});

// What the key of a Service says to its class, in the order of namespace and name, of the Service as it is and of each
// that had the name and an address before. Kept in facts.
struct InventoryEntry {
  enum class State : std::uint8_t { planned, refused, adopting, adopted, reverting, kept };
  State state = State::planned;
  std::string addresses;
  std::string why;  // refused or kept: why; adopting or reverting: what it waits for, "" if for nothing in particular

  std::string text() const;
  static InventoryEntry parse(std::string_view text);
};
std::string inventory_bucket(std::string_view class_name);
// `address`: the first of the address objects it is about; "" for a Service that is not on its way.
std::string inventory_order(std::string_view ns, std::string_view service, std::string_view address);
// "ns/service" again.
std::string_view service_in_order(std::string_view order);
// The reader of these: one key for each class says in a fact what they come to, and its class says it on.
inline constexpr std::string_view k_inventory_summary_reconciler = "inventory-summary";
std::string inventory_summary_bucket(std::string_view class_name);
kube::Plan reconcile_inventory_summary(const Context& context, const kube::Key& key, kube::View& view);

kube::Plan reconcile_inventory(const Context& context, const kube::Key& key, kube::View& view);

}  // namespace metallb
