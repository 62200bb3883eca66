// Every reason and condition type of the core, once: each cause has its own. Wire format where the contract names it
// (§1); the reference documentation lists all of them with what to do about each.
#pragma once

#include <string_view>

namespace core {

// Condition types on addresses, beside api::condition::bound. They are there while there is something to say.
namespace condition {
// False: the object can never be used as it is (its text, or an elder object for the same IP).
inline constexpr std::string_view usable = "Usable";
// True: deletion waits because a live claim holds the address.
inline constexpr std::string_view deletion_blocked = "DeletionBlocked";
// True: the object is a restored copy (its recorded uid is not its own); it is kept as it is (contract §9.2).
inline constexpr std::string_view restored = "Restored";
}  // namespace condition

namespace reason {
// --- claims, ClassResolved ---
inline constexpr std::string_view resolved = "Resolved";
// The named class does not exist or is being deleted.
inline constexpr std::string_view class_not_found = "ClassNotFound";
// The claim names no class and none is marked as the default.
inline constexpr std::string_view no_default_class = "NoDefaultClass";
// The claim names no class and several are marked as the default.
inline constexpr std::string_view multiple_default_classes = "MultipleDefaultClasses";

// --- claims, Bound ---
inline constexpr std::string_view bound = "Bound";
// No free address of the class and family is there; the provisioner may make one.
inline constexpr std::string_view waiting_for_provisioning = "WaitingForProvisioning";
// An address that had been reported is gone, Lost at its backend, or no longer bound to the claim.
inline constexpr std::string_view address_lost = "AddressLost";
// The address that was pre-bound to the claim is still attached to a workload of its former holder.
inline constexpr std::string_view address_still_attached = "AddressStillAttached";
// What the core has to write on the claim itself before it is served is refused by the API server.
inline constexpr std::string_view claim_refused = "ClaimRefused";
// The same, of the address that was pre-bound to the claim or that comes back to it.
inline constexpr std::string_view address_refused = "AddressRefused";
// A restored copy, and what it had is not back yet (§9.4).
inline constexpr std::string_view restored_waiting = "RestoredWaiting";
// spec.addressName cannot be served, one reason for each cause (contract §3.7).
inline constexpr std::string_view address_not_found = "AddressNotFound";
inline constexpr std::string_view address_of_other_class = "AddressOfOtherClass";
inline constexpr std::string_view address_of_other_family = "AddressOfOtherFamily";
inline constexpr std::string_view address_bound_elsewhere = "AddressBoundElsewhere";
inline constexpr std::string_view address_not_available = "AddressNotAvailable";
inline constexpr std::string_view address_name_with_dual = "AddressNameWithDual";

// --- addresses, Usable ---
inline constexpr std::string_view invalid_address = "InvalidAddress";
inline constexpr std::string_view unclaimable_address = "UnclaimableAddress";
// Another object for the same IP takes precedence.
inline constexpr std::string_view duplicate_address = "DuplicateAddress";

// --- addresses, Bound ---
// The claim in claimRef names another class.
inline constexpr std::string_view claim_of_other_class = "ClaimOfOtherClass";
// The claim in claimRef does not ask for this family.
inline constexpr std::string_view family_not_requested = "FamilyNotRequested";
// The claim in claimRef already has an address of this family.
inline constexpr std::string_view surplus = "Surplus";

// --- addresses, DeletionBlocked, Restored, and events without a condition ---
inline constexpr std::string_view deletion_blocked = "DeletionBlocked";
inline constexpr std::string_view restored = "Restored";
inline constexpr std::string_view released = "Released";
inline constexpr std::string_view reclaimed = "Reclaimed";
}  // namespace reason

}  // namespace core
