// What a class comes to in MetalLB's namespace (driver design §3): wanted objects, and the least that must change.
// Pure.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/metallb.h"
#include "base/ip.h"
#include "kube/types.h"
#include "metallb/parameters.h"

namespace metallb {

// "iad-<class>", the name of the pool and the advertisements of a class. Total: where that would be longer than the 253
// characters of an object's name, the end is replaced by a hash.
std::string pool_name(std::string_view class_name);
// Value of the label that tells whose class an object is rendered for: the class name, hashed at the end where a
// label's 63 characters do not take it.
std::string class_label_value(std::string_view class_name);
// Labels (and, where the label does not hold the whole name, the annotation) of everything that is rendered for a
// class.
boost::json::object rendered_metadata(std::string_view ns, std::string_view class_name);
// The class whose rendering this would be, if its name and marks agree; nullopt if it is not ours.
std::optional<std::string> rendered_for(const kube::Meta& meta);
// Whether an object of the name pool_name(class) was rendered for it: by our label, or by the owner reference that an
// older implementation left. Anything else of that name is somebody else's and is not taken over.
bool is_rendering_of(const kube::Meta& meta, std::string_view class_name);

// MetalLB's own reading of a pool's entries: host bits are masked, blanks around the dash are allowed, what it would
// refuse counts as nothing.
base::IpRangeSet pool_ranges(const std::vector<std::string>& addresses);
std::optional<base::IpRange> pool_entry(std::string_view entry);

// One line of spec.addresses: a CIDR where the range is one, else "first-last".
std::string entry_text(const base::IpRange& range);

// spec.addresses: the pieces in their order, then each outsider as a single address, ascending.
std::vector<std::string> render_addresses(const std::vector<base::IpRange>& pieces,
                                          const std::vector<base::IpAddress>& outsiders);

// The widest aggregation MetalLB accepts for these entries (driver design §3): no route may be wider than the widest
// block of any entry.
struct AggregationLimits {
  int v4 = 1;
  int v6 = 1;
};
AggregationLimits aggregation_limits(const std::vector<std::string>& addresses);

// Specs of the advertisements. They always name the class's pool: an empty list would advertise every pool.
boost::json::object l2_spec(std::string_view class_name, const L2Options& options);
// An aggregation wider than `limits` allows is left out (MetalLB's default is one route for each address).
boost::json::object bgp_spec(std::string_view class_name, const BgpOptions& options, const AggregationLimits& limits);

// Merge patch that turns `current` (JSON text of an object, "" = {}) into `wanted`, touching only what differs; empty
// if they mean the same.
boost::json::object difference(std::string_view current, const boost::json::object& wanted);

}  // namespace metallb
