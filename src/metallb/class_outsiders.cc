// What lies outside a class's ranges and must stay, and what lies inside them and belongs to others (driver design §3).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "api/builtin.h"
#include "api/holds.h"
#include "api/names.h"
#include "metallb/association.h"
#include "metallb/class_pass.h"
#include "metallb/overlap_index.h"
#include "metallb/reasons.h"

namespace metallb {
namespace {

using base::Family;
using base::IpAddress;
using base::IpRange;
using base::IpRangeSet;

constexpr std::size_t k_named_addresses = 5;

IpAddress lowest(Family family) { return family == Family::v4 ? IpAddress() : IpAddress::v6({}); }
IpAddress highest(Family family) {
  std::array<std::uint8_t, 16> ones{};
  ones.fill(0xff);
  return family == Family::v4 ? IpAddress::v4(0xffffffffU) : IpAddress::v6(ones);
}

// The addresses of a family that are not in the set.
std::vector<IpRange> gaps(const IpRangeSet& set, Family family) {
  std::vector<IpRange> result;
  std::optional<IpAddress> next = lowest(family);
  for (const IpRange& range : set.ranges()) {
    if (range.family() != family) continue;
    if (next && *next < range.first) result.push_back({*next, *range.first.previous()});
    next = range.last.next();
  }
  if (next) result.push_back({*next, highest(family)});
  return result;
}

// The member's address in that family, read from the object.
std::optional<IpAddress> address_in(const api::IPAddress& address, const IpRange& gap) {
  const auto ip = IpAddress::parse(address.address);
  return ip && gap.contains(*ip) ? std::optional(*ip) : std::nullopt;
}
std::optional<IpAddress> address_in(const api::Service& service, const IpRange& gap) {
  for (const std::string& text : service.ingress) {
    const auto ip = IpAddress::parse(text);
    if (ip && gap.contains(*ip)) return *ip;
  }
  return std::nullopt;
}

// Members of a bucket in the order of addresses that lie in the gaps: one seek for each gap.
template <class T>
std::vector<IpAddress> members_in(kube::View& view, std::string_view index, const std::string& bucket,
                                  const std::vector<IpRange>& spaces) {
  std::vector<IpAddress> found;
  if (view.count<T>(index, bucket) == 0) return found;
  for (const IpRange& space : spaces) {
    view.each_from<T>(index, bucket, address_order(space.first), [&](const T& object) {
      const auto ip = address_in(object, space);
      if (ip) found.push_back(*ip);
      return ip.has_value();
    });
  }
  return found;
}

// What others have: rendering an address in two pools would make MetalLB refuse all of them. What is in our pool
// already is nobody else's.
class Elsewhere {
 public:
  explicit Elsewhere(ClassPass& pass) : pass_(pass) {}

  // Another pool has it; or, for an address that is not held yet, another class wants it.
  bool contains(const IpAddress& ip, bool is_held) {
    if (!ours_) ours_ = pass_.pool == nullptr ? IpRangeSet() : pool_ranges(pass_.pool->addresses);
    if (ours_->contains(ip)) return false;
    IpRangeSet just_it;
    just_it.add({ip, ip});
    return is_in_other_pool(ip, just_it) || (!is_held && is_in_other_class(ip, just_it));
  }

 private:
  bool is_in_other_pool(const IpAddress& ip, const IpRangeSet& just_it) {
    const auto pools = overlap_candidates<api::IPAddressPool>(pass_.view, k_pool_overlap_index, just_it);
    return std::ranges::any_of(pools, [&](const api::IPAddressPool* pool) {
      if (pool->meta.name == pool_name(pass_.name)) return false;
      const auto [known, fresh] = pools_.try_emplace(pool);
      if (fresh) known->second = pool_ranges(pool->addresses);
      return known->second.contains(ip);
    });
  }
  bool is_in_other_class(const IpAddress& ip, const IpRangeSet& just_it) {
    const auto classes = overlap_candidates<api::IPAddressClass>(pass_.view, k_class_overlap_index, just_it);
    return std::ranges::any_of(classes, [&](const api::IPAddressClass* other) {
      if (other->meta.name == pass_.name) return false;
      const auto parsed = pass_.cache.get(other->parameters);
      return *parsed && (*parsed)->ranges.contains(ip);
    });
  }

  ClassPass& pass_;
  std::optional<IpRangeSet> ours_;
  std::map<const api::IPAddressPool*, IpRangeSet> pools_;  // as read in this pass
};

// What is in both.
IpRangeSet common_part(const IpRangeSet& a, const IpRangeSet& b) {
  IpRangeSet common;
  for (const IpRange& x : a.ranges()) {
    for (const IpRange& y : b.ranges()) {
      if (x.family() != y.family()) continue;
      const IpRange both{std::max(x.first, y.first), std::min(x.last, y.last)};
      if (both.first <= both.last) common.add(both);
    }
  }
  return common;
}

IpRangeSet without(IpRangeSet set, const IpRangeSet& others) {
  for (const IpRange& range : others.ranges()) set.remove(range);
  return set;
}

// What one class brings to a comparison with another one.
struct Standing {
  const kube::Meta* meta;
  const kube::Meta* pool = nullptr;  // null if nothing is rendered for it
  IpRangeSet rendered = {};
};

Standing standing_of(ClassPass& pass, const api::IPAddressClass& cls) {
  const auto* pool = pool_of_class(pass.view, pass.settings.metallb_namespace, cls.meta.name);
  if (pool == nullptr) return {&cls.meta};
  return {&cls.meta, &pool->meta, pool_ranges(pool->addresses)};
}

// Whether the first one goes before the other, for addresses that each of them has rendered or has not. A class that
// comes back finds its pool in place, with live addresses in it: for those it is as old as that pool. Otherwise it and
// a class that waits for the pool would each wait for the other. Of two classes of the same second, the one that is
// rendered goes first, for the same reason.
bool goes_before(const Standing& a, bool a_rendered, const Standing& b, bool b_rendered) {
  const auto rank = [](const Standing& s, bool rendered) {
    const std::int64_t created = rendered ? std::min(s.meta->created, s.pool->created) : s.meta->created;
    return std::tuple(created, !rendered, std::string_view(s.meta->uid));
  };
  return rank(a, a_rendered) < rank(b, b_rendered);
}

// Whether `a` goes before `b` for any of these addresses.
bool goes_before_somewhere(const IpRangeSet& common, const Standing& a, const Standing& b) {
  const IpRangeSet in_a = common_part(common, a.rendered);
  const IpRangeSet rest = without(common, a.rendered);
  const auto anywhere = [&](const IpRangeSet& part, bool a_rendered) {
    return (!common_part(part, b.rendered).empty() && goes_before(a, a_rendered, b, true)) ||
           (!without(part, b.rendered).empty() && goes_before(a, a_rendered, b, false));
  };
  return anywhere(in_a, true) || anywhere(rest, false);
}

}  // namespace

Outsiders find_outsiders(ClassPass& pass, const IpRangeSet& ranges, bool held_only) {
  Outsiders result;
  Elsewhere elsewhere(pass);
  for (const Family family : {Family::v4, Family::v6}) {
    const std::vector<IpRange> spaces = gaps(ranges, family);
    const auto ledger = [&](const std::string& bucket) {
      return members_in<api::IPAddress>(pass.view, k_ledger_index, bucket, spaces);
    };
    std::vector<IpAddress> held = ledger(held_bucket(pass.name, family));
    const std::vector<IpAddress> all = held_only ? held : ledger(ledger_bucket(pass.name, family));
    (family == Family::v4 ? result.ledger_v4 : result.ledger_v6) = all.size();
    const auto assigned = members_in<api::Service>(pass.view, k_placeholder_pool_index,
                                                   placeholder_bucket(pool_name(pass.name), family), spaces);
    held.insert(held.end(), assigned.begin(), assigned.end());
    std::ranges::sort(held);
    std::vector<IpAddress> found = all;
    found.insert(found.end(), assigned.begin(), assigned.end());
    std::ranges::sort(found);
    const auto repeated = std::ranges::unique(found);
    found.erase(repeated.begin(), repeated.end());
    for (const IpAddress& ip : found) {
      const bool is_held = std::ranges::binary_search(held, ip);
      (elsewhere.contains(ip, is_held) ? result.left_out : result.rendered).push_back(ip);
    }
  }
  return result;
}

namespace {

// Addresses of a pool that Services show and the ledger does not have.
void each_untracked(kube::View& view, const std::string& pool,
                    const std::function<void(const api::Service&, const IpAddress&)>& visit) {
  view.each<api::Service>(k_strangers_index, pool, [&](const api::Service& service) {
    for (const std::string& text : service.ingress) {
      const auto ip = IpAddress::parse(text);
      if (ip && view.count<api::IPAddress>(api::k_by_value, ip->to_string()) == 0) visit(service, *ip);
    }
    return true;
  });
}

// Adopting, the driver says itself why it does not keep an address for a Service; but for one that names a claim.
bool is_told_by_inventory(const ClassPass& pass, const api::Service& service) {
  const bool adopts = pass.wanted != nullptr && pass.wanted->inventory == Inventory::adopt && pass.settings.inventory;
  return adopts && claim_name_of(service).empty();
}

}  // namespace

std::int64_t count_taken(kube::View& view, std::string_view class_name, const IpRangeSet& ranges, Family family) {
  const std::string ledger = ledger_bucket(class_name, family);
  const std::size_t outside = members_in<api::IPAddress>(view, k_ledger_index, ledger, gaps(ranges, family)).size();
  std::set<IpAddress> untracked;
  each_untracked(view, pool_name(class_name), [&](const api::Service&, const IpAddress& ip) {
    if (ip.family() == family && ranges.contains(ip)) untracked.insert(ip);
  });
  return static_cast<std::int64_t>(view.count<api::IPAddress>(k_ledger_index, ledger) - outside + untracked.size());
}

std::vector<IpAddress> find_untracked(ClassPass& pass) {
  std::set<IpAddress> found;
  each_untracked(pass.view, pool_name(pass.name), [&](const api::Service& service, const IpAddress& ip) {
    found.insert(ip);
    if (is_told_by_inventory(pass, service)) return;
    pass.plan.events.push_back(
        {.regarding = {&api::Service::kind().resource, service.meta.ns, service.meta.name},
         .regarding_uid = service.meta.uid,
         .warning = true,
         .reason = std::string(reason::untracked),
         .action = "Render",
         .note = fmt::format("{} is of class {} and in use without a claim: nobody keeps it for this Service",
                             ip.to_string(), pass.name),
         .once = true});
  });
  return {found.begin(), found.end()};
}

namespace {

// The older one keeps what two classes want.
std::string seniority(const kube::Meta& meta) { return fmt::format("{:020}/{}", meta.created, meta.uid); }

std::optional<Overlap> overlap_with_older_class(ClassPass& pass, const ClassParameters& parameters,
                                                const Standing& own) {
  auto classes = overlap_candidates<api::IPAddressClass>(pass.view, k_class_overlap_index, parameters.ranges);
  std::ranges::sort(classes, {}, [](const api::IPAddressClass* cls) { return seniority(cls->meta); });
  for (const api::IPAddressClass* other : classes) {
    if (other->meta.name == pass.name) continue;
    const auto parsed = pass.cache.get(other->parameters);
    if (!*parsed) continue;
    const IpRangeSet common = common_part(parameters.ranges, (*parsed)->ranges);
    if (common.empty() || !goes_before_somewhere(common, standing_of(pass, *other), own)) continue;
    return Overlap{fmt::format("{} overlaps with class {}, which is older: no address may be in two classes",
                               entry_text(common.ranges().front()), other->meta.name),
                   true};
  }
  return std::nullopt;
}

Overlap overlap_with_pool(ClassPass& pass, const api::IPAddressPool& pool, const IpRangeSet& common,
                          const Standing& own) {
  const std::string what = entry_text(common.ranges().front());
  const auto owner = rendered_for(pool.meta);
  const auto* other = owner ? pass.view.get<api::IPAddressClass>(*owner) : nullptr;
  const bool lives = other != nullptr && other->provisioner == api::metallb::provisioner;
  if (!owner) {
    return {fmt::format("{} overlaps with the pool {}, which is not ours: no address may be in two pools", what,
                        pool.meta.name),
            true};
  }
  if (!lives) {
    return {fmt::format("{} overlaps with the pool {}, which still holds addresses of the class {} that is gone: it "
                        "will be rendered when they are",
                        what, pool.meta.name, *owner),
            false};
  }
  return {fmt::format("{} overlaps with the pool {} of class {}: it can be rendered when that class gives the "
                      "addresses up",
                      what, pool.meta.name, *owner),
          goes_before_somewhere(common, standing_of(pass, *other), own)};
}

// The first address that is held for another class and that this class's pool does not have yet: with that other pool
// gone, by whomever, nothing but the ledger speaks for it.
const api::IPAddress* held_for_another(ClassPass& pass, const IpRangeSet& fresh) {
  const api::IPAddress* found = nullptr;
  for (const IpRange& range : fresh.ranges()) {
    pass.view.each_from<api::IPAddress>(k_ledger_index, held_bucket(range.family()), address_order(range.first),
                                        [&](const api::IPAddress& address) {
                                          if (!address_in(address, range)) return false;
                                          if (address.className != pass.name) found = &address;
                                          return found == nullptr;
                                        });
    if (found != nullptr) break;
  }
  return found;
}

Overlap overlap_with_held(ClassPass& pass, const api::IPAddress& address) {
  const auto* other = pass.view.get<api::IPAddressClass>(address.className);
  const bool lives = other != nullptr && other->provisioner == api::metallb::provisioner;
  return {fmt::format("{} is held for class {}{}: it will be rendered when all such addresses are released",
                      address.address, address.className, lives ? "" : ", which is gone"),
          false};
}

}  // namespace

std::optional<Overlap> find_overlap(ClassPass& pass, const ClassParameters& parameters) {
  const Standing own = standing_of(pass, *pass.cls);
  // What older classes want comes before what this one wants, rendered or not.
  if (auto found = overlap_with_older_class(pass, parameters, own)) return found;
  auto pools = overlap_candidates<api::IPAddressPool>(pass.view, k_pool_overlap_index, parameters.ranges);
  std::ranges::sort(pools, {}, [](const api::IPAddressPool* pool) { return std::string_view(pool->meta.name); });
  for (const api::IPAddressPool* pool : pools) {
    if (pool->meta.name == pool_name(pass.name)) continue;
    const IpRangeSet common = common_part(parameters.ranges, pool_ranges(pool->addresses));
    if (!common.empty()) return overlap_with_pool(pass, *pool, common, own);
  }
  const auto* held = held_for_another(pass, without(parameters.ranges, own.rendered));
  return held == nullptr ? std::nullopt : std::optional(overlap_with_held(pass, *held));
}

std::string some_of(const std::vector<IpAddress>& addresses) {
  std::string text;
  for (std::size_t i = 0; i < addresses.size() && i < k_named_addresses; ++i) {
    if (i > 0) text += i + 1 == addresses.size() ? " and " : ", ";
    text += addresses[i].to_string();
  }
  if (addresses.size() > k_named_addresses) text += fmt::format(" and {} more", addresses.size() - k_named_addresses);
  return text;
}

}  // namespace metallb
