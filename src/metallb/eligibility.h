// Which Service may get the addresses of a claim, and the rule that one does not meet (driver design §6). Pure
// functions of what the view shows: the Service's pass tells the Service by an event, the address's pass keeps a
// condition.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "kube/view.h"
#include "metallb/context.h"

namespace metallb {

// The rule that a Service does not meet.
struct Refusal {
  std::string_view reason;
  std::string note;  // what is wrong and what would be right, for the tenant
};

// The addresses of the claim that the Service would get, IPv4 first, or the first rule it does not meet. Looks neither
// at the claim's phase nor at who has the addresses now.
std::expected<std::vector<const api::IPAddress*>, Refusal> choose(kube::View& view, const Context& context,
                                                                  const api::Service& service,
                                                                  const api::IPAddressClaim& claim);

// What on the Service keeps it from getting these addresses of a class, whatever claim they are of.
std::optional<Refusal> refusal_by_service(kube::View& view, const Context& context, const api::Service& service,
                                          std::string_view class_name, const std::vector<base::IpAddress>& ips);

// Another Service that may keep an address of the claim: one claim serves one workload at a time, whichever half it
// uses. Null if there is none.
const api::Service* rival_of(kube::View& view, const Options& options, const api::Service& service,
                             const api::IPAddressClaim& claim);
Refusal refusal_by_rival(const api::IPAddressClaim& claim, const api::Service& rival);

// An address that somebody else has, or that the backend has not, is not given to anybody; unless it is this very
// Service that has it.
std::optional<Refusal> refusal_by_phase(const api::Service& service, const std::vector<const api::IPAddress*>& chosen);

// Of several that could attach now, the oldest does; of a Dual claim it thus gets both halves. A restored one that had
// it comes before all. Null if none could.
const api::Service* first_in_line(kube::View& view, const Context& context, const api::IPAddressClaim& claim);
Refusal refusal_by_line(const api::IPAddressClaim& claim, const api::Service& first);

// It carries our pin for one of the addresses it is associated with, or shows it.
bool is_given(const api::Service& service, const std::vector<const api::IPAddress*>& addresses);
// It shows one of them.
bool has_any(const api::Service& service, const std::vector<const api::IPAddress*>& addresses);
// Whether a Service is told of a rule that it does not meet although it is associated: one that has something keeps it,
// and only a key of its own, by which others may join it, is worth a word.
bool is_worth_telling(bool has, const Refusal& refusal);

// The oldest Service that names the claim and is refused it; nullopt if there is none. A Service that has what it gets,
// or that may have it next, is not refused.
struct Refused {
  const api::Service* service = nullptr;
  Refusal refusal;
};
std::optional<Refused> oldest_refused(kube::View& view, const Context& context, const api::IPAddressClaim& claim);

}  // namespace metallb
