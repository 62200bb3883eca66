#include "api/holds.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/names.h"
#include "api/restore.h"

namespace api {
namespace {

bool is_live(const IPAddressClaim* claim) { return claim != nullptr && !claim->meta.deleting; }

const IPAddressClaim* named_claim(kube::View& view, const IPAddress& address) {
  if (!address.claimRef) return nullptr;
  return view.get<IPAddressClaim>(address.claimRef->ns, address.claimRef->name);
}

// While nothing is reported, an address of another class than the one the claim names does not count.
bool is_of_other_class(const IPAddressClaim& claim, const IPAddress& address) {
  return claim.addresses.empty() && !claim.className.empty() && claim.className != address.className;
}

// Every object for the IP, with the claims they name.
std::vector<Contender> contenders(kube::View& view, const base::IpAddress& value) {
  std::vector<Contender> all;
  view.each<IPAddress>(k_by_value, value.to_string(), [&](const IPAddress& address) {
    all.push_back({&address, named_claim(view, address)});
    return true;
  });
  return all;
}

// The object that stands for the IP of this one; null if that is this one, or if the IP cannot be claimed.
const IPAddress* senior_to(kube::View& view, const IPAddress& address) {
  const auto value = value_of(address);
  if (!value || view.count<IPAddress>(k_by_value, value->to_string()) < 2) return nullptr;
  const std::vector<Contender> all = contenders(view, *value);
  const IPAddress* senior = all[senior_of(all)].address;
  return senior->meta.name == address.meta.name ? nullptr : senior;
}

// §3.3: already reported, then uid complete, then oldest, then name.
auto preference(const IPAddressClaim& claim, const IPAddress& a) {
  return std::tuple(!is_reported(claim, a), a.claimRef->uid.empty(), a.meta.created, std::string_view(a.meta.name));
}

const IPAddress& address_of(const kube::Object& object) { return static_cast<const IPAddress&>(object); }

void by_claim(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  const auto& ref = address_of(object).claimRef;
  if (ref) entries.push_back({claim_bucket(ref->ns, ref->name, ref->uid), ""});
}

void by_value(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  if (const auto value = value_of(address_of(object))) entries.push_back({value->to_string(), ""});
}

}  // namespace

kube::Ref ref_of(const IPAddress& address) { return {&IPAddress::kind().resource, "", address.meta.name}; }

kube::Ref ref_of(const IPAddressClaim& claim) {
  return {&IPAddressClaim::kind().resource, claim.meta.ns, claim.meta.name};
}

kube::Ref claim_ref(const ClaimRef& ref) { return {&IPAddressClaim::kind().resource, ref.ns, ref.name}; }

std::optional<base::IpAddress> value_of(const IPAddress& address) {
  const auto value = base::IpAddress::parse(address.address);
  if (!value || !value->is_claimable()) return std::nullopt;
  return *value;
}

bool asks_for(const IPAddressClaim& claim, base::Family family) {
  if (claim.family == "Dual") return true;
  return (claim.family == "IPv6") == (family == base::Family::v6);
}

const ReportedAddress* reported(const IPAddressClaim& claim, base::Family family) {
  for (const ReportedAddress& entry : claim.addresses) {
    const auto value = base::IpAddress::parse(entry.address);
    // An entry that cannot be read stands for the family that a claim of one family asks for.
    if (value ? value->family() == family : claim.family != "Dual" && asks_for(claim, family)) return &entry;
  }
  return nullptr;
}

bool is_reported(const IPAddressClaim& claim, const IPAddress& address) {
  return std::ranges::any_of(claim.addresses, [&](const ReportedAddress& r) {
    if (r.name != address.meta.name) return false;
    const auto was = base::IpAddress::parse(r.address);
    return r.address == address.address || (was && value_of(address) == *was);
  });
}

bool fits(const IPAddressClaim& claim, const IPAddress& address) {
  const auto value = value_of(address);
  return value && asks_for(claim, value->family()) && !is_of_other_class(claim, address);
}

Grip grip_of(const IPAddress& address, const IPAddressClaim* named) {
  if (!address.claimRef || address.claimRef->uid.empty()) return Grip::loose;
  const bool is_its_claim = named != nullptr && named->meta.uid == address.claimRef->uid;
  if (!is_its_claim && is_restored(address)) return Grip::awaited;
  if (!is_its_claim || !is_live(named) || address.phase == phase::released || !fits(*named, address))
    return Grip::loose;
  return is_reported(*named, address) ? Grip::reported : Grip::claimed;
}

std::size_t senior_of(std::span<const Contender> all) {
  const auto rank = [](const Contender& c) {
    const int firmness = std::to_underlying(grip_of(*c.address, c.named));
    return std::tuple(-firmness, c.address->meta.created, std::string_view(c.address->meta.uid));
  };
  return static_cast<std::size_t>(std::ranges::min_element(all, {}, rank) - all.begin());
}

bool is_as_made(const IPAddress& address) {
  if (!address.from_class || !address.phase.empty() || !address.claimRef || address.claimRef->uid.empty()) return false;
  const auto is_of_driver = [](const std::string& finalizer) { return finalizer != address_protection; };
  if (std::ranges::none_of(address.meta.finalizers, is_of_driver)) return false;
  if (kube::find_condition(address.conditions, condition::reserved) != nullptr) return false;
  const std::string* recorded = address.meta.annotations.find(recorded_uid_annotation);
  return recorded != nullptr ? *recorded == address.meta.uid : !address.meta.has_finalizer(address_protection);
}

bool was_never_promised(const IPAddress& address, const IPAddressClaim* named) {
  if (!is_as_made(address)) return false;
  const bool is_its_claim = named != nullptr && named->meta.uid == address.claimRef->uid;
  return !is_its_claim || (named->meta.deleting && !is_reported(*named, address));
}

std::vector<kube::IndexSpec> holding_indexes() {
  return {{std::string(k_by_claim), by_claim}, {std::string(k_by_value), by_value}};
}

std::string claim_bucket(std::string_view ns, std::string_view name, std::string_view uid) {
  std::string bucket(ns);
  bucket.append("/").append(name).append("/").append(uid);
  return bucket;
}

Usability usability(kube::View& view, const IPAddress& address, Writes writes) {
  const auto value = base::IpAddress::parse(address.address);
  if (!value) return Usability::invalid;
  if (!value->is_claimable()) return Usability::unclaimable;
  if (view.count<IPAddress>(k_by_value, value->to_string()) < 2) return Usability::usable;
  if (writes == Writes::heeded && grip_of(address, named_claim(view, address)) != Grip::reported) {
    bool settled = true;
    view.each<IPAddress>(k_by_value, value->to_string(), [&](const IPAddress& other) {
      if (other.meta.name != address.meta.name && view.busy(ref_of(other))) settled = false;
      return true;
    });
    if (!settled) return Usability::undecided;
  }
  return senior_to(view, address) == nullptr ? Usability::usable : Usability::junior;
}

const Collected* Counting::find(const IPAddress& address) const {
  const auto it =
      std::ranges::find(collected, address.meta.name, [](const Collected& c) { return c.address->meta.name; });
  return it == collected.end() ? nullptr : &*it;
}

Counting count(kube::View& view, const IPAddressClaim& claim, Writes writes) {
  Counting counting;
  const auto collect = [&](const IPAddress& address) {
    if (address.phase == phase::released) return true;
    const Usability use = usability(view, address, writes);
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
  view.each<IPAddress>(k_by_claim, claim_bucket(claim.meta.ns, claim.meta.name, claim.meta.uid), collect);
  view.each<IPAddress>(k_by_claim, claim_bucket(claim.meta.ns, claim.meta.name, ""), collect);
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

Holder holder(kube::View& view, const IPAddress& address, Writes writes) {
  Holder holder;
  if (!address.claimRef) return holder;
  const bool is_signed = !address.claimRef->uid.empty();
  holder.claim = named_claim(view, address);
  if (holder.claim == nullptr || (is_signed && holder.claim->meta.uid != address.claimRef->uid)) {
    holder.relation = is_signed ? Relation::orphaned : Relation::reserved;
    return holder;
  }
  if (holder.claim->meta.deleting) {
    holder.relation = Relation::claim_deleting;
    return holder;
  }
  const Counting counting = count(view, *holder.claim, writes);
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

std::vector<kube::Ref> evidence(kube::View& view, const IPAddress& address, const Holder& found) {
  if (!address.claimRef) return {};
  std::vector<kube::Ref> refs{claim_ref(*address.claimRef)};
  const auto rests_on = [&refs](const kube::Ref& ref) {
    if (std::ranges::find(refs, ref) == refs.end()) refs.push_back(ref);
  };
  if (found.instead != nullptr && found.instead->meta.name != address.meta.name) rests_on(ref_of(*found.instead));
  if (found.claim == nullptr || found.relation == Relation::claim_deleting) return refs;
  if (const IPAddress* senior = senior_to(view, address)) {
    rests_on(ref_of(*senior));
    if (senior->claimRef) rests_on(claim_ref(*senior->claimRef));
  }
  return refs;
}

bool confirm(kube::View& view, kube::Plan& plan, const std::vector<kube::Ref>& refs) {
  plan.confirms.clear();
  if (std::ranges::all_of(refs, [&](const kube::Ref& ref) { return view.confirmed(ref); })) return true;
  for (const kube::Ref& ref : refs) plan.confirms.push_back({ref});
  return false;
}

}  // namespace api
