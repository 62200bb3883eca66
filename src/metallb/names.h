// Names of what the driver creates (driver design §1), and the facts its keys publish to one another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/ipam.h"
#include "base/ip.h"
#include "kube/plan.h"

namespace metallb {

// "iad-<claim uid>-v4" or "-v6": deterministic, so that racing passes collide instead of allocating twice. A
// placeholder keeps its name as the hold of what it was given; while the address exists although it no longer counts
// for the claim, the next one has the next `place` in its name: "iad-<claim uid>-v4-2", and so on.
std::string allocation_name(std::string_view claim_uid, base::Family family, unsigned place = 1);

struct AllocationName {
  std::string claim_uid;
  base::Family family = base::Family::v4;
};
// nullopt if the name cannot be that of an allocation placeholder. Any place.
std::optional<AllocationName> parse_allocation_name(std::string_view name);

// "iad-<address object name>", shortened or cleaned with a hash where a Service's name would be too long or illegal.
std::string hold_name(std::string_view address_name);
// The name of a hold while that of hold_name() is taken by one that is going and cannot be revived; of the next
// `place` if that is too.
std::string spare_hold_name(std::string_view address_name, unsigned place = 1);

// Value of the label `ip-address` on a placeholder: the object's name, hashed where it is longer than a label allows.
std::string address_label(std::string_view address_name);

// Reconcilers of the driver.
inline constexpr std::string_view k_claim_reconciler = "claim";
inline constexpr std::string_view k_pool_reconciler = "pool";
inline constexpr std::string_view k_address_reconciler = "address";
inline constexpr std::string_view k_service_reconciler = "service";
inline constexpr std::string_view k_placeholder_reconciler = "placeholder";
inline constexpr std::string_view k_namespace_reconciler = "namespace";

// "<class>/IPv4": what allocation is planned for, and the tail of every fact bucket below.
std::string pool_key_name(std::string_view class_name, base::Family family);
struct PoolOfKey {
  std::string class_name;
  base::Family family = base::Family::v4;
};
std::optional<PoolOfKey> parse_pool_key_name(std::string_view name);
kube::Key pool_key(std::string_view class_name, base::Family family);
kube::Key claim_key(std::string_view ns, std::string_view name);
kube::Key service_key(std::string_view ns, std::string_view name);
kube::Key address_key(std::string_view name);

// Fact buckets of one class and family (driver design §4). Claims without an assigned placeholder publish `wants`, in
// age order, and whether they have an unassigned one. Whoever wants to open a gap, or sees one open, publishes `gaps`.
// The pool's key answers with `opened` once no unassigned placeholder exists, and creates none while there is a gap.
// `supply` tells those who have a placeholder whether addresses are left; `queue` tells those who have none why.
std::string wants_bucket(std::string_view class_name, base::Family family);
std::string gaps_bucket(std::string_view class_name, base::Family family);
std::string opened_bucket(std::string_view class_name, base::Family family);
std::string supply_bucket(std::string_view class_name, base::Family family);
std::string queue_bucket(std::string_view class_name, base::Family family);
// Addresses of the class that MetalLB gives to nobody although somebody waits for them: text of the address, in order.
std::string forgotten_bucket(std::string_view class_name);
// One that the class has taken out of its pool for a moment, to make MetalLB give it up.
std::string held_out_bucket(std::string_view address);
// Published by a Service that the ledger does not have and that waits for holds to be made before it lets go.
std::string letting_go_bucket(std::string_view ns, std::string_view service);
// The key by which a Service that lets go shares with its holds, as the driver has chosen it; "" if it gets none, and
// lets go by the gap.
std::string sharing_bucket(std::string_view ns, std::string_view service);
// Published by an address that has no hold and cannot get one: nobody waits for that.
std::string unholdable_bucket(std::string_view address_name);
inline constexpr std::string_view k_want_new = "new";
inline constexpr std::string_view k_want_placed = "placed";
inline constexpr std::string_view k_supply_free = "free";
inline constexpr std::string_view k_supply_crowded = "crowded";  // free, and many wait for MetalLB
inline constexpr std::string_view k_supply_exhausted = "exhausted";
inline constexpr std::string_view k_supply_refused = "refused";

// How a gap stands to the claims that wait meanwhile; the later ones come before the earlier ones.
enum class Gap : std::uint8_t {
  patient,    // wanted once more after it got nowhere: the claims have their turn first
  eager,      // the claims have their turn when there have been such gaps for long
  restoring,  // what is being restored must not be drawn (contract §9.5): the claims have no turn
};
// "A gap of this class and family is wanted or open." One per key, class and family: publish_gap().
kube::Fact gap_fact(std::string_view class_name, base::Family family, Gap gap = Gap::eager);
Gap gap_of(std::string_view fact_order);

// Position among claims: oldest first, then by uid.
std::string age_order(const kube::Meta& meta);

}  // namespace metallb
