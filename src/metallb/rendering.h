// What a class comes to in MetalLB's namespace (driver design §3): wanted objects, and the least that must change.
// Pure.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "kube/types.h"
#include "metallb/parameters.h"

namespace metallb {

// "iad-<class>", the name of the pool and the advertisements of a class. Total and legal for every class name: where it
// would be longer than the 253 characters of an object's name, the end is replaced by a hash.
std::string pool_name(std::string_view class_name);
// Value of the label that tells whose class an object is rendered for: the class name, with a hash at its end where it
// is longer than a label's 63 characters.
std::string class_label_value(std::string_view class_name);
// The metadata of everything that is rendered for a class: name, namespace and label. Where the label does not hold the
// whole class name, an annotation of the same key does.
boost::json::object rendered_metadata(std::string_view ns, std::string_view class_name);
// The class that an object was rendered for, by its name and marks; nullopt if it is not ours.
std::optional<std::string> rendered_for(const kube::Meta& meta);
// Whether an object of the name pool_name(class) was rendered for it: told by our label, without that by our note on
// how it is advertised, or by the owner reference that an older implementation left. Anything else of that name is
// somebody else's and is not taken over.
bool is_rendering_of(const kube::Meta& meta, std::string_view class_name);

// MetalLB's own reading of one entry of a pool: host bits are masked, blanks around the dash are allowed; nullopt where
// MetalLB refuses it or gets nothing from it.
std::optional<base::IpRange> pool_entry(std::string_view entry);
// All entries together; what cannot be read counts as nothing.
base::IpRangeSet pool_ranges(const std::vector<std::string>& addresses);

// One line of spec.addresses: a CIDR if the range is one, else "first-last" and not several CIDRs, since the narrowest
// line limits the aggregation of routes.
std::string entry_text(const base::IpRange& range);
// spec.addresses: the pieces in their order, then each outsider as a single address, ascending.
std::vector<std::string> render_addresses(const std::vector<base::IpRange>& pieces,
                                          std::vector<base::IpAddress> outsiders);

boost::json::object pool_spec(const std::vector<std::string>& addresses);

// The smallest lengths MetalLB accepts for aggregated routes: none may be wider than the widest block of any entry of
// its pool.
struct Aggregation {
  int v4 = 1;
  int v6 = 1;
  friend bool operator==(const Aggregation&, const Aggregation&) = default;
};
Aggregation aggregation_limits(const std::vector<base::IpRange>& entries);
// MetalLB's defaults: a route of its own for every address.
inline constexpr Aggregation k_no_aggregation{32, 128};
// What the options ask for, with no aggregation in a family whose limit does not allow it.
Aggregation effective_aggregation(const BgpOptions& options, const Aggregation& limits);

// Specs of the advertisements. They always name the class's pool: an empty list would advertise every pool there is.
boost::json::object l2_spec(std::string_view class_name, const L2Options& options);
boost::json::object bgp_spec(std::string_view class_name, const BgpOptions& options, const Aggregation& aggregation);
// The lengths in a BGPAdvertisement's spec.
Aggregation aggregation_of(std::string_view spec);

// The merge patch that turns `current` (JSON text of an object; "" = {}) into `wanted`, touching only what differs;
// empty if they mean the same. What only `current` has counts as a difference unless it is empty (null, false, 0, "",
// [], {}), which is how newer versions of a kind show fields that nobody set. Lists are compared in order.
boost::json::object difference(std::string_view current, const boost::json::object& wanted);

}  // namespace metallb
