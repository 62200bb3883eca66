// What lies outside a class's ranges and must stay, and what lies inside them and belongs to others (driver design §3).
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/builtin.h"
#include "api/names.h"
#include "metallb/class_pass.h"

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
    if (!read_) read();
    if (ours_.contains(ip)) return false;
    return pools_.contains(ip) || (!is_held && classes_.contains(ip));
  }

 private:
  void read() {
    read_ = true;
    if (pass_.pool != nullptr) ours_ = pool_ranges(pass_.pool->addresses);
    pass_.view.each<api::IPAddressPool>(k_pools_index, "", [&](const api::IPAddressPool& pool) {
      if (pool.meta.name != pool_name(pass_.name)) add(pools_, pool_ranges(pool.addresses));
      return true;
    });
    pass_.view.each<api::IPAddressClass>(k_own_classes_index, "", [&](const api::IPAddressClass& other) {
      if (other.meta.name == pass_.name) return true;
      if (const auto parsed = pass_.cache.get(other.parameters); *parsed) add(classes_, (*parsed)->ranges);
      return true;
    });
  }
  static void add(IpRangeSet& set, const IpRangeSet& more) {
    for (const IpRange& range : more.ranges()) set.add(range);
  }

  ClassPass& pass_;
  bool read_ = false;
  IpRangeSet ours_;
  IpRangeSet pools_;
  IpRangeSet classes_;
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
  const auto* pool = pass.view.get<api::IPAddressPool>(pass.settings.metallb_namespace, pool_name(cls.meta.name));
  if (pool == nullptr || !is_rendering_of(pool->meta, cls.meta.name)) return {&cls.meta};
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

std::string seniority(const kube::Meta& meta) { return fmt::format("{:020}/{}", meta.created, meta.uid); }

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

std::optional<Overlap> find_overlap(ClassPass& pass, const ClassParameters& parameters) {
  std::optional<Overlap> found;
  const Standing own = standing_of(pass, *pass.cls);
  // What older classes want comes before what this one wants, rendered or not.
  pass.view.each<api::IPAddressClass>(k_own_classes_index, "", [&](const api::IPAddressClass& other) {
    if (other.meta.name == pass.name) return true;
    const auto parsed = pass.cache.get(other.parameters);
    if (!*parsed) return true;
    const IpRangeSet common = common_part(parameters.ranges, (*parsed)->ranges);
    if (!common.empty() && goes_before_somewhere(common, standing_of(pass, other), own)) {
      found = {fmt::format("{} overlaps with class {}, which is older: no address may be in two classes",
                           entry_text(common.ranges().front()), other.meta.name),
               true};
    }
    return !found;
  });
  if (found) return found;
  pass.view.each<api::IPAddressPool>(k_pools_index, "", [&](const api::IPAddressPool& pool) {
    if (pool.meta.name == pool_name(pass.name)) return true;
    const IpRangeSet common = common_part(parameters.ranges, pool_ranges(pool.addresses));
    if (common.empty()) return true;
    const auto owner = rendered_for(pool.meta);
    const auto* other = owner ? pass.view.get<api::IPAddressClass>(*owner) : nullptr;
    const bool lives = other != nullptr && other->provisioner == api::metallb::provisioner;
    if (!owner) {
      found = {fmt::format("{} overlaps with the pool {}, which is not ours: no address may be in two pools",
                           entry_text(common.ranges().front()), pool.meta.name),
               true};
    } else if (!lives) {
      found = {fmt::format("{} overlaps with the pool {}, which still holds addresses of the class {} that is gone: it "
                           "will be rendered when they are",
                           entry_text(common.ranges().front()), pool.meta.name, *owner),
               false};
    } else {
      found = {fmt::format("{} overlaps with the pool {} of class {}: it can be rendered when that class gives the "
                           "addresses up",
                           entry_text(common.ranges().front()), pool.meta.name, *owner),
               goes_before_somewhere(common, standing_of(pass, *other), own)};
    }
    return false;
  });
  return found;
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
