#include "core/holds.h"

#include <algorithm>
#include <tuple>

#include "api/names.h"
#include "core/indexes.h"

namespace core {
namespace {

bool is_live(const api::IPAddressClaim* claim) { return claim != nullptr && !claim->meta.deleting; }

// While nothing is reported, an address of another class than the one the claim names does not count.
bool is_of_other_class(const api::IPAddressClaim& claim, const api::IPAddress& address) {
  return claim.addresses.empty() && !claim.className.empty() && claim.className != address.className;
}

bool is_reported(const api::IPAddressClaim& claim, const api::IPAddress& address) {
  return std::ranges::any_of(claim.addresses, [&](const api::ReportedAddress& r) {
    if (r.name != address.meta.name) return false;
    const auto was = base::IpAddress::parse(r.address);
    return r.address == address.address || (was && value_of(address) == *was);
  });
}

// How firmly an object has its IP, among several for the same one: 2 if its claim has reported it, 1 if a live claim
// has it and would count it, else 0.
int firmness(kube::View& view, const api::IPAddress& address, base::Family family) {
  if (!address.claimRef || address.claimRef->uid.empty() || address.phase == api::phase::released) return 0;
  const auto* claim = view.get<api::IPAddressClaim>(address.claimRef->ns, address.claimRef->name);
  if (!is_live(claim) || claim->meta.uid != address.claimRef->uid) return 0;
  if (!asks_for(*claim, family) || is_of_other_class(*claim, address)) return 0;
  return is_reported(*claim, address) ? 2 : 1;
}

// §4.3: held by a live claim, then creationTimestamp, then uid. Of two that live claims name, the one that was reported
// stays.
Usability seniority(kube::View& view, const api::IPAddress& address, const base::IpAddress& value) {
  const std::string text = value.to_string();
  if (view.count<api::IPAddress>(k_by_value, text) < 2) return Usability::usable;
  const auto rank = [&](const api::IPAddress& a) {
    return std::tuple(-firmness(view, a, value.family()), a.meta.created, std::string_view(a.meta.uid));
  };
  const auto own = rank(address);
  bool senior = true;
  bool settled = true;
  view.each<api::IPAddress>(k_by_value, text, [&](const api::IPAddress& other) {
    if (other.meta.name == address.meta.name) return true;
    if (view.busy(ref_of(other))) settled = false;
    if (rank(other) < own) senior = false;
    return true;
  });
  if (!settled && std::get<0>(own) != -2) return Usability::undecided;
  return senior ? Usability::usable : Usability::junior;
}

// §3.3: already reported, then uid complete, then oldest, then name.
auto preference(const api::IPAddressClaim& claim, const api::IPAddress& a) {
  return std::tuple(!is_reported(claim, a), a.claimRef->uid.empty(), a.meta.created, std::string_view(a.meta.name));
}

}  // namespace

kube::Ref ref_of(const api::IPAddress& address) { return {&api::IPAddress::kind().resource, "", address.meta.name}; }

kube::Ref ref_of(const api::IPAddressClaim& claim) {
  return {&api::IPAddressClaim::kind().resource, claim.meta.ns, claim.meta.name};
}

kube::Ref claim_ref(const api::ClaimRef& ref) { return {&api::IPAddressClaim::kind().resource, ref.ns, ref.name}; }

std::optional<base::IpAddress> value_of(const api::IPAddress& address) {
  const auto value = base::IpAddress::parse(address.address);
  if (!value || !value->is_claimable()) return std::nullopt;
  return *value;
}

Usability usability(kube::View& view, const api::IPAddress& address) {
  const auto value = base::IpAddress::parse(address.address);
  if (!value) return Usability::invalid;
  if (!value->is_claimable()) return Usability::unclaimable;
  return seniority(view, address, *value);
}

bool asks_for(const api::IPAddressClaim& claim, base::Family family) {
  if (claim.family == "Dual") return true;
  return (claim.family == "IPv6") == (family == base::Family::v6);
}

const api::ReportedAddress* reported(const api::IPAddressClaim& claim, base::Family family) {
  for (const api::ReportedAddress& entry : claim.addresses) {
    const auto value = base::IpAddress::parse(entry.address);
    // An entry that cannot be read stands for the family that a claim of one family asks for.
    if (value ? value->family() == family : claim.family != "Dual" && asks_for(claim, family)) return &entry;
  }
  return nullptr;
}

const Collected* Counting::find(const api::IPAddress& address) const {
  const auto it =
      std::ranges::find(collected, address.meta.name, [](const Collected& c) { return c.address->meta.name; });
  return it == collected.end() ? nullptr : &*it;
}

Counting count(kube::View& view, const api::IPAddressClaim& claim) {
  Counting counting;
  const auto collect = [&](const api::IPAddress& address) {
    if (address.phase == api::phase::released) return true;
    const Usability use = usability(view, address);
    if (use != Usability::usable && use != Usability::undecided) return true;
    const base::Family family = value_of(address)->family();
    Verdict verdict = Verdict::surplus;  // until it is found to be the one that counts
    if (use == Usability::undecided) {
      verdict = Verdict::undecided;
    } else if (!asks_for(claim, family)) {
      verdict = Verdict::other_family;
    } else if (is_of_other_class(claim, address)) {
      verdict = Verdict::other_class;
    }
    counting.collected.push_back({&address, family, verdict});
    return true;
  };
  view.each<api::IPAddress>(k_by_claim, claim_bucket(claim.meta.ns, claim.meta.name, claim.meta.uid), collect);
  view.each<api::IPAddress>(k_by_claim, claim_bucket(claim.meta.ns, claim.meta.name, ""), collect);
  for (const base::Family family : k_families) {
    Collected* best = nullptr;
    for (Collected& c : counting.collected) {
      if (c.family != family || c.verdict != Verdict::surplus) continue;
      if (best == nullptr || preference(claim, *c.address) < preference(claim, *best->address)) best = &c;
    }
    if (best == nullptr) continue;
    best->verdict = Verdict::counts;
    (family == base::Family::v4 ? counting.v4 : counting.v6) = best->address;
  }
  return counting;
}

Holder holder_of(kube::View& view, const api::IPAddress& address) {
  Holder holder;
  if (!address.claimRef) return holder;
  const bool is_signed = !address.claimRef->uid.empty();
  holder.claim = view.get<api::IPAddressClaim>(address.claimRef->ns, address.claimRef->name);
  if (holder.claim == nullptr || (is_signed && holder.claim->meta.uid != address.claimRef->uid)) {
    holder.relation = is_signed ? Relation::orphaned : Relation::reserved;
    return holder;
  }
  if (holder.claim->meta.deleting) {
    holder.relation = Relation::claim_deleting;
    return holder;
  }
  const Counting counting = count(view, *holder.claim);
  const Collected* found = counting.find(address);
  holder.collected = found != nullptr;
  holder.relation = is_signed ? Relation::not_counted : Relation::not_signed;
  if (found == nullptr) return holder;
  holder.verdict = found->verdict;
  holder.instead = counting.of(found->family);
  if (found->verdict == Verdict::counts) holder.relation = is_signed ? Relation::held : Relation::held_unsigned;
  if (found->verdict == Verdict::undecided) holder.relation = Relation::undecided;
  return holder;
}

}  // namespace core
