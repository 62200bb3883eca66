// Placeholder Services (driver design §1, §4, §5): what they look like, how they are recognised, and what repairs them.
// Pure functions.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "base/ip.h"
#include "kube/view.h"
#include "metallb/controller.h"

namespace metallb {

// One port that no workload is likely to use: sharing an address with one is legal only on another port.
inline constexpr int k_placeholder_port = 65535;
// spec.ports with that one port, TCP.
boost::json::array placeholder_ports(int port);

// The owner is an IPAddress, of whatever version.
bool is_address(const kube::OwnerReference& owner);
// The label, trusted only inside the placeholder namespace and in former ones. Whoever looks at Services asks this.
bool is_placeholder(const api::Service& service, const Options& options);
bool is_placeholder(const api::Service& service, const std::vector<std::string>& trusted);
// Where placeholders are trusted: the placeholder namespace first, then the former ones.
std::vector<std::string> placeholder_namespaces(const Options& options);
// In a former placeholder namespace.
bool is_left_behind(const api::Service& placeholder, const Options& options);
// The object that a placeholder says it holds, by its owner reference; null if it has none.
const kube::OwnerReference* held_object(const api::Service& placeholder);
// It carries the label that names an IPAddress object: it is a hold.
bool is_recorded(const api::Service& placeholder);
// Nothing is assigned to it and MetalLB may give it any address of its pool at any moment.
bool is_unassigned(const api::Service& placeholder);
// MetalLB gives it nothing, and takes off it what it has.
bool is_disarmed(const api::Service& placeholder);
// It is deleted, waits for somebody's finalizer, and neither has nor gets anything at MetalLB: nobody waits for it.
bool is_spent(const api::Service& placeholder);
// Makes MetalLB, which never looks at deletion timestamps, take the address off it and give it nothing any more.
kube::Write emptying(const api::Service& placeholder, std::string step);
// Deletes the version that was judged; what is deleted already, and waits for somebody's finalizer, is emptied.
void dismiss(kube::Plan& plan, const api::Service& placeholder, std::string step);
// The placeholder namespace is there to make placeholders in.
bool has_home(kube::View& view, const Options& options);
// The family a SingleStack Service asks for.
std::optional<base::Family> family_of(const api::Service& service);
// The pool it draws from: MetalLB's annotation under the current key, else under the old one; "" if none.
std::string_view pool_of(const api::Service& service);
// The text of its pin, read as MetalLB reads it; "" if none.
std::string_view pin_of(const api::Service& service);
// The addresses in its pin; empty if there is none or it cannot be read.
std::vector<base::IpAddress> pinned(const api::Service& service);
// The addresses its ingress shows, as a set. Only what can be read.
std::vector<base::IpAddress> shown(const api::Service& service);
bool shows(const api::Service& service, const base::IpAddress& ip);
bool is_pinned_to(const api::Service& service, const base::IpAddress& ip);

// The Service of that name that draws an address from the class's pool for the claim.
boost::json::object allocation_body(const Options& options, const api::IPAddressClaim& claim, std::string name,
                                    std::string_view class_name, base::Family family);
// Where a claim draws an address of the family.
struct Allocation {
  // Never a recorded one: that is the hold of its address, whatever has become of the claim since. Nor one that is
  // spent, unless there are as many of these as a claim may leave behind.
  const api::Service* placeholder = nullptr;
  // Its name; without a placeholder the name for the next one: the first that no hold has kept.
  std::string name;
  // A hold has such a name and its address has not been seen: whether the claim has an address is not known yet.
  bool unclear = false;
};
Allocation find_allocation(kube::View& view, const Options& options, const kube::Meta& claim, base::Family family);
// The Service that holds the address.
boost::json::object hold_body(const Options& options, const api::IPAddress& address, const base::IpAddress& ip,
                              std::string name);

// Merge patch that makes a proper hold of this address out of `hold`; empty if it is one. What it shares by (sharing.h)
// is left as it is.
boost::json::object hold_repair(const api::Service& hold, const api::IPAddress& address, const base::IpAddress& ip);
// What no patch can repair: family or loadBalancerClass. Such a Service is replaced.
bool is_beyond_repair(const Options& options, const api::Service& hold, const base::IpAddress& ip);

// MetalLB looks only once at what it cannot serve, and it forgets to look again when its own write of the Service that
// had the address fails. A Service that has waited in vain for `waited` is touched, so that it is looked at again:
// after 2 s, 6 s, 18 s and so on, and every ten minutes in the end, for as long as it waits. Added to the plan when
// due, otherwise the plan looks again then. The wait is counted from what could have served it: when it has been free.
void touch(kube::Plan& plan, kube::View& view, const api::Service& service, base::Duration waited);

// The placeholders of one address.
struct Holds {
  // The one that is to stay: never one that is being deleted. Null if there is none.
  const api::Service* best = nullptr;
  // All others, also those that are being deleted.
  std::vector<const api::Service*> others;

  bool empty() const { return best == nullptr && others.empty(); }
  bool includes(const api::Service& service) const;
  // MetalLB has given the address to the one that stays.
  bool landed(const base::IpAddress& ip) const { return best != nullptr && shows(*best, ip); }
};
// By label and by name; also the not yet labelled allocation placeholder of the address's claim that shows this IP, so
// that no second hold appears beside it (driver design §4.3).
Holds find_holds(kube::View& view, const Options& options, const api::IPAddress& address, const base::IpAddress& ip);

}  // namespace metallb
