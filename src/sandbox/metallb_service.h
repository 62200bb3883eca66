// How MetalLB reads a Service. Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/metallb_allocator.h"

namespace sandbox::metallb_model {

inline constexpr std::string_view stable_prefix = "metallb.io/";
inline constexpr std::string_view old_prefix = "metallb.universe.tf/";
inline constexpr std::string_view pool_output = "metallb.io/ip-allocated-from-pool";
inline constexpr std::string_view old_pool_output = "metallb.universe.tf/ip-allocated-from-pool";

// The value under the stable key if that is there at all, even empty; else under the old one.
std::string input(const json::object& service, std::string_view name);
// The keys that it carries with the old prefix, whatever follows it.
std::vector<std::string> deprecated_keys(const json::object& service);

bool is_load_balancer(const json::object& service);
std::string key_of(const json::object& service);  // "ns/name"
// Of the given addresses; an error for more than two or two of one family.
base::Result<Families> families_of(const std::vector<base::IpAddress>& ips);
std::vector<base::IpAddress> cluster_ips_of(const json::object& service);
bool prefers_dual(const json::object& service);
bool requires_dual(const json::object& service);
// The ingress addresses; entries that are none are skipped.
std::vector<base::IpAddress> ingress_of(const json::object& service);
// The pin: annotation or spec.loadBalancerIP.
base::Result<std::vector<base::IpAddress>> desired_of(const json::object& service);
Asker asker_of(const json::object& service);

// Sorted by text, as MetalLB compares lists.
void sort_by_text(std::vector<base::IpAddress>& ips);

}  // namespace sandbox::metallb_model
