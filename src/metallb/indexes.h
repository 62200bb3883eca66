// The indexes of claims' addresses, Services and placeholders that the driver's passes read, beside those of the class
// reconciler. Buckets "ns/name" are built with slash().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/holds.h"
#include "base/ip.h"
#include "kube/store.h"
#include "metallb/controller.h"

namespace metallb {

std::string slash(std::string_view ns, std::string_view name);

// IPAddress by canonical text of its value.
inline constexpr std::string_view k_address_value_index = api::k_by_value;
// IPAddress by "ns/name" of the Service in associatedTo.
inline constexpr std::string_view k_address_service_index = "service";
// IPAddress by every label value that a placeholder of it may carry (driver design §1, `ip-address`).
inline constexpr std::string_view k_address_label_index = "label";
// With what the *holds* rule reads.
std::vector<kube::IndexSpec> address_indexes();

// Service by "ns/name" of the claim it names, copies before all others, then oldest first. Not for placeholders.
inline constexpr std::string_view k_service_claim_index = "names-claim";
// Of these, in the same order, those that MetalLB would serve: the line for the claim's addresses. A Service that costs
// its owner nothing, not even a cluster IP, is not looked at by all who wait behind it.
inline constexpr std::string_view k_service_line_index = "in-line";
// Service by canonical text of each address its ingress shows.
inline constexpr std::string_view k_service_shown_index = "shown";
// Service by its own uid, if it is recorded on it: the original of copies.
inline constexpr std::string_view k_service_uid_index = "recorded-uid";
// Placeholder by its label `ip-address`.
inline constexpr std::string_view k_placeholder_address_index = "placeholder-address";
// Any Service of the placeholder namespace by the uid of each IPAddress that owns it: what somebody has taken the
// labels off is still found by it.
inline constexpr std::string_view k_owned_index = "owned";
// Placeholder without that label, by "ns/name" of the claim in its annotations.
inline constexpr std::string_view k_placeholder_claim_index = "placeholder-claim";
// Allocation placeholder that shows nothing and has no pin, by "<pool>/<family>", oldest first.
inline constexpr std::string_view k_unassigned_index = "unassigned";
// Allocation placeholder that shows an address and has no label `ip-address` yet, by "<pool>/<family>".
inline constexpr std::string_view k_unrecorded_index = "unrecorded";
// All placeholders, in bucket "".
inline constexpr std::string_view k_placeholders_index = "placeholders";
std::vector<kube::IndexSpec> service_indexes(const Options& options);
std::string pool_bucket(std::string_view pool, base::Family family);

}  // namespace metallb
