// The buckets that the core's passes read, so that no pass lists a collection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "base/ip.h"
#include "kube/store.h"

namespace core {

// IPAddress by the claim that its claimRef names; bucket claim_bucket(). Addresses that former claims of the same name
// left behind are in other buckets and cost nothing.
inline constexpr std::string_view k_by_claim = "claim";
// `uid` is empty for pre-bindings that are not completed.
std::string claim_bucket(std::string_view ns, std::string_view name, std::string_view uid);

// IPAddress by canonical text of its value.
inline constexpr std::string_view k_by_value = "value";

// Matchable IPAddress (contract §3a, as far as the object itself tells) by class and family, in name order.
inline constexpr std::string_view k_matchable = "matchable";
// "CLASS/IPv4" or "CLASS/IPv6".
std::string pair_bucket(std::string_view class_name, base::Family family);

// IPAddressClass marked as the default and not being deleted; bucket "".
inline constexpr std::string_view k_default_classes = "default";

// What holds.h reads. A controller that asks who holds an address declares these for its IPAddress watch.
std::vector<kube::IndexSpec> holding_indexes();
// All that the core declares for IPAddress.
std::vector<kube::IndexSpec> address_indexes();
std::vector<kube::IndexSpec> class_indexes();

// Whether a claim could be bound to the address as it is: Available, unclaimed, not associated, not being deleted, not
// reported as unreserved by its driver (contract §3a). Seniority and writes in flight are the pass's business.
bool is_matchable(const api::IPAddress& address);

}  // namespace core
