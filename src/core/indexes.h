// The buckets that the core's passes read, so that no pass lists a collection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "base/ip.h"
#include "kube/store.h"

namespace core {

// Matchable IPAddress (contract §3a, as far as the object itself tells) by class and family, in name order.
inline constexpr std::string_view k_matchable = "matchable";
// "CLASS/IPv4" or "CLASS/IPv6".
std::string pair_bucket(std::string_view class_name, base::Family family);

// IPAddressClass marked as the default and not being deleted; bucket "".
inline constexpr std::string_view k_default_classes = "default";
// IPAddressClass not being deleted, by name: for those who ask only whether it is there.
inline constexpr std::string_view k_class_by_name = "name";

// IPAddressClaim by its uid: whether the one that a copy was made from lives (contract §9.1).
inline constexpr std::string_view k_claim_by_uid = "uid";

// All that the core declares for IPAddress, with what the *holds* rule reads.
std::vector<kube::IndexSpec> address_indexes();
std::vector<kube::IndexSpec> class_indexes();
std::vector<kube::IndexSpec> claim_indexes();

// Whether a claim could be bound to the address as it is: Available, unclaimed, not associated, not being deleted, not
// reported as unreserved by its driver (contract §3a). Seniority and writes in flight are the pass's business.
bool is_matchable(const api::IPAddress& address);

}  // namespace core
