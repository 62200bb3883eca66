// Every name on the wire (contract §1, driver design §1), once. None of them may change: other implementations use
// them.
#pragma once

#include <string_view>

namespace api {

inline constexpr std::string_view group = "local.sdn.cozystack.io";

// Contract §1, well-known strings.
inline constexpr std::string_view provisioner_annotation = "local.sdn.cozystack.io/provisioner";
inline constexpr std::string_view claim_annotation = "local.sdn.cozystack.io/ip-address-claim";
inline constexpr std::string_view claim_protection = "local.sdn.cozystack.io/claim-protection";
inline constexpr std::string_view address_protection = "local.sdn.cozystack.io/address-protection";
inline constexpr std::string_view recorded_uid_annotation = "local.sdn.cozystack.io/recorded-uid";
inline constexpr std::string_view default_class_annotation = "ipaddressclass.local.sdn.cozystack.io/is-default-class";
inline constexpr std::string_view core_lease = "a4cfeeab.sdn.cozystack.io";
inline constexpr std::string_view driver_lease = "e1633266.iad.cozystack.io";

namespace phase {
inline constexpr std::string_view pending = "Pending";
inline constexpr std::string_view available = "Available";
inline constexpr std::string_view bound = "Bound";
inline constexpr std::string_view released = "Released";
inline constexpr std::string_view conflict = "Conflict";
inline constexpr std::string_view lost = "Lost";
}  // namespace phase

namespace condition {
inline constexpr std::string_view class_resolved = "ClassResolved";
inline constexpr std::string_view bound = "Bound";
inline constexpr std::string_view provisioning = "Provisioning";
inline constexpr std::string_view reserved = "Reserved";
}  // namespace condition

// Driver design §1.
namespace metallb {
inline constexpr std::string_view provisioner = "metallb.drivers.local.sdn.cozystack.io";
inline constexpr std::string_view teardown = "metallb.drivers.local.sdn.cozystack.io/teardown";
inline constexpr std::string_view pinned = "metallb.drivers.local.sdn.cozystack.io/pinned";
inline constexpr std::string_view attached = "metallb.drivers.local.sdn.cozystack.io/attached";
inline constexpr std::string_view service_uid = "metallb.drivers.local.sdn.cozystack.io/service-uid";
inline constexpr std::string_view placeholder = "metallb.drivers.local.sdn.cozystack.io/placeholder";
inline constexpr std::string_view ip_address = "metallb.drivers.local.sdn.cozystack.io/ip-address";
inline constexpr std::string_view claim_namespace = "metallb.drivers.local.sdn.cozystack.io/claim-namespace";
inline constexpr std::string_view claim_name = "metallb.drivers.local.sdn.cozystack.io/claim-name";
inline constexpr std::string_view class_label = "metallb.drivers.local.sdn.cozystack.io/class";
// On what is rendered for a class: its parameters.advertise as JSON, for when the class is gone and addresses are not.
inline constexpr std::string_view advertise = "metallb.drivers.local.sdn.cozystack.io/advertise";
// Condition of an address.
inline constexpr std::string_view service_refused = "metallb.drivers.local.sdn.cozystack.io/ServiceRefused";
// How often the driver has made MetalLB look at this Service again. Only that it changes matters.
inline constexpr std::string_view touched = "metallb.drivers.local.sdn.cozystack.io/touched";
// On an IPAddress of a Service that had it before it was claimed: who that is, what it carried, and how far it is
// (JSON). As a label, "true" on the claim that was made for it.
inline constexpr std::string_view inventory = "metallb.drivers.local.sdn.cozystack.io/inventory";
inline constexpr std::string_view awaiting_pool = "iad-awaiting-claim";

// MetalLB's own keys: the current prefix, and the old one that it still reads.
inline constexpr std::string_view pin = "metallb.io/loadBalancerIPs";
inline constexpr std::string_view pool = "metallb.io/address-pool";
inline constexpr std::string_view sharing_key = "metallb.io/allow-shared-ip";
inline constexpr std::string_view allocated_from = "metallb.io/ip-allocated-from-pool";
inline constexpr std::string_view old_pin = "metallb.universe.tf/loadBalancerIPs";
inline constexpr std::string_view old_pool = "metallb.universe.tf/address-pool";
inline constexpr std::string_view old_sharing_key = "metallb.universe.tf/allow-shared-ip";
}  // namespace metallb

}  // namespace api
