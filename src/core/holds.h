// Who holds an address: the one function of contract §2 that every rule and every driver uses, and what it rests on:
// which objects may be used at all (§4.3) and which of a claim's addresses count (§3.3). Pure functions of what the
// view shows.
//
// Reads the indexes of holding_indexes() (core/indexes.h), IPAddress and IPAddressClaim.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "base/ip.h"
#include "kube/view.h"

namespace core {

inline constexpr base::Family k_families[] = {base::Family::v4, base::Family::v6};

kube::Ref ref_of(const api::IPAddress& address);
kube::Ref ref_of(const api::IPAddressClaim& claim);
kube::Ref claim_ref(const api::ClaimRef& ref);

// The address as a value; nullopt where the text is no address that a claim may get.
std::optional<base::IpAddress> value_of(const api::IPAddress& address);

// §4.3. `undecided`: another object for the same IP has a write in flight; look again when it is answered.
enum class Usability : std::uint8_t { usable, invalid, unclaimable, junior, undecided };
Usability usability(kube::View& view, const api::IPAddress& address);

bool asks_for(const api::IPAddressClaim& claim, base::Family family);
// The entry of status.addresses for a family, or null. What was reported is the record of which families were served.
const api::ReportedAddress* reported(const api::IPAddressClaim& claim, base::Family family);

// What is collected for a claim (§3.3), and why it does or does not count.
enum class Verdict : std::uint8_t { counts, other_class, other_family, surplus, undecided };
struct Collected {
  const api::IPAddress* address = nullptr;
  base::Family family = base::Family::v4;
  Verdict verdict = Verdict::counts;
};
struct Counting {
  std::vector<Collected> collected;
  const api::IPAddress* v4 = nullptr;
  const api::IPAddress* v6 = nullptr;

  const api::IPAddress* of(base::Family family) const { return family == base::Family::v4 ? v4 : v6; }
  bool any() const { return v4 != nullptr || v6 != nullptr; }
  // Null if the address was not collected.
  const Collected* find(const api::IPAddress& address) const;
};
Counting count(kube::View& view, const api::IPAddressClaim& claim);

// How an address stands to the claim that its claimRef names.
enum class Relation : std::uint8_t {
  none,            // no claimRef
  held,            // a live claim holds it, uid complete
  held_unsigned,   // a live claim would count it, uid still empty: held too
  not_counted,     // a live claim of that uid that does not count it
  not_signed,      // a live claim of that name that would not count it; uid empty
  reserved,        // uid empty and no such claim: kept for a future one
  claim_deleting,  // the claim is being deleted and decides what becomes of it
  orphaned,        // uid complete, but the claim is gone or another one has its name
  undecided,       // see Usability::undecided
};
struct Holder {
  Relation relation = Relation::none;
  const api::IPAddressClaim* claim = nullptr;  // the claim of that name, if any
  Verdict verdict = Verdict::counts;           // for not_counted and not_signed, if it was collected
  const api::IPAddress* instead = nullptr;     // the address that counts in its place, if any
  bool collected = false;

  bool holds() const { return relation == Relation::held || relation == Relation::held_unsigned; }
};
Holder holder_of(kube::View& view, const api::IPAddress& address);

}  // namespace core
