// The MetalLB model's pool configuration: parsed all at once or not at all, as MetalLB does. Internal to the sandbox.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "sandbox/json.h"

namespace sandbox::metallb_model {

// A Kubernetes label selector (matchLabels, matchExpressions) on a set of labels.
bool selects(const json::object& selector, const json::object* labels);

struct Pool {
  std::string name;
  std::vector<base::IpRange> ranges;  // in the order of spec.addresses
  bool has_v4_network = false;        // one of the entries is an IPv4 CIDR
  bool auto_assign = true;
  bool avoid_buggy = false;
  bool has_allocation = false;  // spec.serviceAllocation is there
  std::int64_t priority = 0;
  std::set<std::string> namespaces;  // listed ones and those that the selectors match
  std::vector<json::object> service_selectors;

  // In a range, and not one of the addresses that avoidBuggyIPs keeps out.
  bool contains(const base::IpAddress& ip) const;
  bool compatible(std::string_view ns, const json::object* labels) const;
  // Looked at for Services of this namespace that name no pool. One whose namespace selectors match no namespace is for
  // none, although it is compatible with all.
  bool is_for(std::string_view ns) const { return !service_selectors.empty() || namespaces.contains(std::string(ns)); }
  friend bool operator==(const Pool& a, const Pool& b);
};
using Pools = std::map<std::string, Pool>;

bool is_buggy(const base::IpAddress& ip);

// The ranges of one entry of spec.addresses: CIDR (host bits are masked) or "a-b". A range of mixed families is
// accepted and empty.
base::Result<std::vector<base::IpRange>> parse_entry(std::string_view text);
// All pools of the given documents; the first error names the pool.
base::Result<Pools> parse_pools(const std::vector<const json::object*>& pools,
                                const std::vector<const json::object*>& namespaces);

}  // namespace sandbox::metallb_model
