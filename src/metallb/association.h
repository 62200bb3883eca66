// Which Service may hold an address, and what a Service carries of ours (driver design §6).
// Pure functions of what the view shows.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "base/clock.h"
#include "base/ip.h"
#include "kube/view.h"
#include "metallb/context.h"

namespace metallb {

// Flapping (driver design §6), of one Service and of one address alike: burst, then one handoff in this time.
inline constexpr int k_handoff_burst = 5;
inline constexpr base::Duration k_handoff_refill = std::chrono::seconds(30);

// type LoadBalancer, of MetalLB's class.
bool is_served_by_metallb(const Options& options, const api::Service& service);
// Families of its cluster IPs, IPv4 first; of ipFamilies where it has none yet.
std::vector<base::Family> cluster_families(const api::Service& service);
// The annotation's claim name, "" if absent.
std::string_view claim_name_of(const api::Service& service);

// Its `service-uid` is not its own: what it carries of ours was copied from another Service.
bool is_copy(const api::Service& service);
// The pin was written by us.
bool is_pin_ours(const api::Service& service);
// Anything that only we write: marker, finalizer, service-uid.
bool carries_our_keys(const api::Service& service);
// It names this address's pool without a pin: MetalLB gives it whatever is free there, which no claim has. Whoever
// strips our keys can leave that behind.
bool draws_from_pool_of(const api::Service& service, const api::IPAddress& address);
// The write is done that makes MetalLB take its addresses off it.
bool has_let_go(const api::Service& service);
// Our pin write is done: from then on MetalLB may give it the address.
bool is_announcing(const api::Service& service, const base::IpAddress& ip);

// associatedTo names this very Service.
bool is_associated(const api::IPAddress& address, const api::Service& service);
// The Service that associatedTo names, if it is still that one. It may be on its way out.
const api::Service* workload_of(kube::View& view, const api::IPAddress& address);
// The addresses whose associatedTo names this very Service.
std::vector<const api::IPAddress*> associated_with(kube::View& view, const api::Service& service);

// What the Service may keep of its association; the claim need only live and hold the addresses. A pin is one: if it
// may not keep one address that it is pinned to or shows, it keeps none. An association with one that it has nothing of
// costs it nothing.
std::vector<const api::IPAddress*> kept(kube::View& view, const Options& options, const api::Service& service);
bool may_keep(kube::View& view, const Options& options, const api::Service& service);
// It keeps something, and has nothing of this address.
bool is_unrelated(kube::View& view, const Options& options, const api::Service& service, const base::IpAddress& ip);
// The address is associated with a Service that may keep it.
bool is_attached(kube::View& view, const Options& options, const api::IPAddress& address);

// Those that can be read.
std::vector<base::IpAddress> values_of(const std::vector<const api::IPAddress*>& addresses);
// "203.0.113.7,2001:db8::7"
std::string pin_text(const std::vector<base::IpAddress>& ips);
std::string pin_text(const std::vector<const api::IPAddress*>& addresses);
// The same addresses, in any order.
bool is_same_set(std::vector<base::IpAddress> ips, std::vector<base::IpAddress> others);
// Whether the Service's pin is exactly these addresses, in any order.
bool is_pinned_to_all(const api::Service& service, const std::vector<const api::IPAddress*>& addresses);

}  // namespace metallb
