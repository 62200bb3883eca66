// The shared handoff (driver design §6): for as long as it takes, a hold and a Service share the address by one of
// MetalLB's sharing keys, so that it is never without one of the two. What forbids it, and what the two must look like.
// Functions of what the view shows.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "api/builtin.h"
#include "kube/store.h"
#include "kube/view.h"
#include "metallb/context.h"

namespace metallb {

// Rules of MetalLB, or ours, that forbid sharing: values of the label `rule` of the gaps' histogram.
namespace rule {
inline constexpr std::string_view none = "none";          // allowed: the gap came unforeseen
inline constexpr std::string_view gone = "service-gone";  // the Service went, or stopped being one that could share
inline constexpr std::string_view own_key = "own-key";    // it has a sharing key of its own
inline constexpr std::string_view pods = "pods-in-namespace";       // its hold must not have a selector now
inline constexpr std::string_view selectors = "service-selectors";  // MetalLB does not announce who shares
}  // namespace rule

// The rule that forbids the Service to share an address of this class with its hold; "" if it may.
std::string_view sharing_forbidden(kube::View& view, const Context& context, const api::Service& service,
                                   std::string_view class_name);

// The sharing key of the Service if it is one of the driver's, "" otherwise. On a tenant's Service it may be a copy.
std::string_view handoff_key(const api::Service& service);
// A new one. Nobody can guess it who does not know the secret, not even from earlier ones: who knows a key may join the
// address.
std::string new_handoff_key(kube::View& view, std::string_view secret);

// Merge patch that lets the hold share with the workload by this key; empty if it does already. Ports must differ, and
// what MetalLB calls the backend must not: the selector, under policy Local.
boost::json::object sharing_patch(const api::Service& hold, const api::Service& workload, std::string_view key);
// Merge patch that makes it a hold that shares with nobody; empty if it is one.
boost::json::object unsharing_patch(const api::Service& hold);
// Merge patch that takes the sharing key off a Service; empty if it has none.
boost::json::object keyless_patch(const api::Service& service);
// The same for one that is to be created.
void make_sharing(boost::json::object& hold, const api::Service& workload, std::string_view key);
// Whether the two can have one address by one key: ports and backend are as they must be. Where they are not, and both
// show it, MetalLB is about to take it from one of them, and nobody knows from which.
bool is_joinable(const api::Service& hold, const api::Service& workload);
// Adds what the fields of `patch` are to those of `into`, objects member by member.
void merge_into(boost::json::object& into, boost::json::object patch);

// How long ago must MetalLB have been made to take somebody off an address before the other one may change its key?
// MetalLB does not say when it has seen a deletion; until then a changed key would cost the address. `keyed` is for how
// long the two have been at it, `alone` for how long one is alone. Zero if that is over, else how long to wait.
base::Duration until_alone_for_sure(base::Duration keyed, base::Duration alone);

// L2Advertisements that select Services, by pool; in bucket "" those that may concern any pool.
inline constexpr std::string_view k_selecting_index = "selecting";
kube::IndexSpec selecting_index();

}  // namespace metallb
