// Reasons of the driver's conditions and events, once each. All are listed in the reference documentation.
#pragma once

#include <string_view>

namespace metallb::reason {

// Condition ParametersValid of a class (driver design §2).
inline constexpr std::string_view parameters_valid = "Valid";
inline constexpr std::string_view parameters_invalid = "InvalidParameters";
inline constexpr std::string_view overlap = "Overlap";

// Condition BackendReady of a class (driver design §3).
inline constexpr std::string_view rendered = "Rendered";
inline constexpr std::string_view kept_as_before = "KeptAsBefore";
inline constexpr std::string_view nothing_rendered = "NothingRendered";
inline constexpr std::string_view metallb_missing = "MetalLBMissing";
inline constexpr std::string_view metallb_terminating = "MetalLBTerminating";
inline constexpr std::string_view foreign_object = "ForeignObject";
inline constexpr std::string_view pool_overlap = "PoolOverlap";
inline constexpr std::string_view pool_terminating = "PoolTerminating";
inline constexpr std::string_view not_kept = "NotKept";
inline constexpr std::string_view write_refused = "WriteRefused";
inline constexpr std::string_view configuration_rejected = "ConfigurationRejected";

// Events about the pool of a class that is gone.
inline constexpr std::string_view last_pool_kept = "LastPoolKept";
inline constexpr std::string_view not_advertised = "NotAdvertised";

// Condition Provisioning of a claim (contract §6.8). The straight path writes none.
inline constexpr std::string_view provisioned = "Provisioned";
inline constexpr std::string_view exhausted = "Exhausted";
inline constexpr std::string_view queued = "Queued";
inline constexpr std::string_view backend_silent = "BackendSilent";
inline constexpr std::string_view pool_missing = "PoolMissing";
inline constexpr std::string_view class_invalid = "ClassParametersInvalid";
inline constexpr std::string_view family_unserved = "FamilyUnserved";
inline constexpr std::string_view ledger_mismatch = "LedgerMismatch";
inline constexpr std::string_view outside_class = "OutsideClass";
inline constexpr std::string_view name_taken = "AddressNameTaken";
inline constexpr std::string_view placeholder_limit = "PlaceholderLimit";
inline constexpr std::string_view placeholder_refused = "PlaceholderRefused";

// Condition Reserved of an address (contract §6.7).
inline constexpr std::string_view held = "Held";
inline constexpr std::string_view awaiting_backend = "AwaitingBackend";
inline constexpr std::string_view duplicate = "DuplicateAddress";
inline constexpr std::string_view hold_missing = "HoldMissing";
inline constexpr std::string_view outside_pool = "OutsidePool";

// Events about an address and about the Service that shows it.
inline constexpr std::string_view address_conflict = "AddressConflict";
inline constexpr std::string_view address_lost = "AddressLost";
inline constexpr std::string_view evicted = "IntruderEvicted";
inline constexpr std::string_view untracked = "UntrackedAddress";

// Events about a placeholder.
inline constexpr std::string_view foreign_endpoints = "ForeignEndpoints";

// Condition Inventory of a class, and events about the Services it is about (driver design §9).
inline constexpr std::string_view planned = "Planned";
inline constexpr std::string_view adopting = "Adopting";
inline constexpr std::string_view adopted = "Adopted";
inline constexpr std::string_view not_adopted = "NotAdopted";
inline constexpr std::string_view reverting = "Reverting";
inline constexpr std::string_view reverted = "Reverted";
inline constexpr std::string_view not_enabled = "NotEnabled";

// Events about Services.
inline constexpr std::string_view associated = "Associated";
inline constexpr std::string_view dissociated = "Dissociated";
inline constexpr std::string_view association_rejected = "AssociationRejected";
inline constexpr std::string_view handoff_throttled = "HandoffThrottled";
inline constexpr std::string_view handoff_timed_out = "HandoffTimedOut";
inline constexpr std::string_view detach_timed_out = "DetachTimedOut";
inline constexpr std::string_view claim_not_found = "ClaimNotFound";
inline constexpr std::string_view claim_not_bound = "ClaimNotBound";
inline constexpr std::string_view claim_lost = "ClaimLost";
inline constexpr std::string_view claim_deleting = "ClaimDeleting";
inline constexpr std::string_view not_load_balancer = "NotLoadBalancer";
inline constexpr std::string_view other_load_balancer_class = "OtherLoadBalancerClass";
inline constexpr std::string_view family_mismatch = "FamilyMismatch";
inline constexpr std::string_view load_balancer_ip_set = "LoadBalancerIPSet";
inline constexpr std::string_view pool_conflict = "PoolConflict";
inline constexpr std::string_view pin_conflict = "PinConflict";
inline constexpr std::string_view sharing_key_set = "SharingKeySet";
inline constexpr std::string_view different_classes = "DifferentClasses";

}  // namespace metallb::reason
