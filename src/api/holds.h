// Who holds an address: the one function of contract §2 that every rule and every driver uses, and what it rests on:
// which of several objects for one IP stands (§4.3), which objects may be used at all (§4.3) and which of a claim's
// addresses count (§3.3). The core and all drivers call these, so that they cannot judge one cluster differently.
// Functions of what they are given or of what the view shows; they write nothing. Not thread-safe: one pass, one view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "base/ip.h"
#include "kube/store.h"
#include "kube/view.h"

namespace api {

inline constexpr base::Family k_families[] = {base::Family::v4, base::Family::v6};

kube::Ref ref_of(const IPAddress& address);
kube::Ref ref_of(const IPAddressClaim& claim);
// The claim of that namespace and name, whatever its uid.
kube::Ref claim_ref(const ClaimRef& ref);

// The address as a value; nullopt where the text is no address that a claim may get.
std::optional<base::IpAddress> value_of(const IPAddress& address);

bool asks_for(const IPAddressClaim& claim, base::Family family);
// Whether the address is of a family and class that can count for the claim (§3.3). False where its text cannot be
// read.
bool fits(const IPAddressClaim& claim, const IPAddress& address);
// The entry of status.addresses for a family, or null. What was reported is the record of which families were served.
const ReportedAddress* reported(const IPAddressClaim& claim, base::Family family);
// Whether the claim reports this very object: the same name with the same IP.
bool is_reported(const IPAddressClaim& claim, const IPAddress& address);

// §4.3: how firmly an object has its IP, beside others for the same one.
enum class Grip : std::uint8_t {
  loose,    // nobody has been promised it: unclaimed, Released, pre-bound only, or its claim is gone or would not count
            // it
  awaited,  // a restored copy, kept for its claim (§9.2)
  claimed,  // a live claim of that uid would count it
  reported,  // and has reported it
};
// `named` is the claim of the claimRef's namespace and name, whatever its uid; null if there is none or no claimRef.
Grip grip_of(const IPAddress& address, const IPAddressClaim* named);

// §4.3: held by a live claim, then creationTimestamp, then uid. Of two that live claims name, the one that was reported
// stays. Position of the one that stands; `all` is not empty.
struct Contender {
  const IPAddress* address = nullptr;
  const IPAddressClaim* named = nullptr;  // as for grip_of()
};
std::size_t senior_of(std::span<const Contender> all);

// §6.2: whether the address is promised to nobody, as its claim went, or is going, before it was ever Bound: its driver
// deletes it whatever its policy, and the core leaves it to the driver. Known by what its maker left on it: made from
// its class, with a driver's finalizer from the start and hence no `Reserved`, no phase yet, and never reported. A
// restored copy is none (§9), nor is what may be one: what has the core's finalizer without the annotation that goes
// with it. `named` as for grip_of().
bool was_never_promised(const IPAddress& address, const IPAddressClaim* named);
// What was_never_promised() sees on the object itself: it is as its driver made it for a claim, and the core has not
// given it a phase yet. A driver keeps both kinds apart: on what it did not make it writes `Reserved` before its
// finalizer, held or not, and on what is as it made it neither `Reserved` nor a phase.
bool is_as_made(const IPAddress& address);

// --- on a view ---

// The buckets that are read: a controller that asks who holds an address declares these for its IPAddress watch.
std::vector<kube::IndexSpec> holding_indexes();
// IPAddress by the claim that its claimRef names; bucket claim_bucket(). Addresses that former claims of the same name
// left behind are in other buckets and cost nothing.
inline constexpr std::string_view k_by_claim = "by-claim";
// `uid` is empty for pre-bindings that are not completed.
std::string claim_bucket(std::string_view ns, std::string_view name, std::string_view uid);
// IPAddress by canonical text of its value, in name order.
inline constexpr std::string_view k_by_value = "by-value";

// What is made of a write in flight on another object for the same IP. Who binds addresses heeds them, or two keys
// could bind two objects for one IP at the same time.
enum class Writes : std::uint8_t { ignored, heeded };

// `undecided`: such a write is heeded; look again when it is answered.
enum class Usability : std::uint8_t { usable, invalid, unclaimable, junior, undecided };
Usability usability(kube::View& view, const IPAddress& address, Writes writes);

// What is collected for a claim (§3.3), and why it does or does not count.
enum class Verdict : std::uint8_t { counts, other_class, other_family, surplus, undecided };
struct Collected {
  const IPAddress* address = nullptr;
  base::Family family = base::Family::v4;
  Verdict verdict = Verdict::counts;
};
struct Counting {
  std::vector<Collected> collected;
  const IPAddress* v4 = nullptr;
  const IPAddress* v6 = nullptr;

  const IPAddress* of(base::Family family) const { return family == base::Family::v4 ? v4 : v6; }
  bool any() const { return v4 != nullptr || v6 != nullptr; }
  // Null if the address was not collected.
  const Collected* find(const IPAddress& address) const;
};
// Whether or not the claim is being deleted.
Counting count(kube::View& view, const IPAddressClaim& claim, Writes writes);

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
  const IPAddressClaim* claim = nullptr;  // the claim of that name, if any
  Verdict verdict = Verdict::counts;      // for not_counted and not_signed, if it was collected
  const IPAddress* instead = nullptr;     // the address that counts in its place, if any
  bool collected = false;

  bool holds() const { return relation == Relation::held || relation == Relation::held_unsigned; }
};
Holder holder(kube::View& view, const IPAddress& address, Writes writes);

// What must be read live before something final is done to the address because `found` says that nobody holds it
// (§4.6, §6.4): its claim, what counts in its place, and what makes another object for its IP the senior. The address
// itself is not among them: a guarded write proves it. Empty without claimRef.
std::vector<kube::Ref> evidence(kube::View& view, const IPAddress& address, const Holder& found);
// True if all of these were read live for this pass; otherwise the plan asks for it, and is to be left without writes.
bool confirm(kube::View& view, kube::Plan& plan, const std::vector<kube::Ref>& refs);

}  // namespace api
