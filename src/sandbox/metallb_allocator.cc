#include "sandbox/metallb_allocator.h"

#include <fmt/format.h>

#include <algorithm>

namespace sandbox::metallb_model {

std::string quoted_list(const std::vector<base::IpAddress>& ips) {
  std::vector<std::string> texts;
  for (const base::IpAddress& ip : ips) texts.push_back("\"" + ip.to_string() + "\"");
  return fmt::format("[{}]", fmt::join(texts, " "));
}

std::string plain_list(const std::vector<base::IpAddress>& ips) {
  std::vector<std::string> texts;
  for (const base::IpAddress& ip : ips) texts.push_back(ip.to_string());
  return fmt::format("[{}]", fmt::join(texts, " "));
}

void Allocator::set_pools(Pools pools) {
  pools_ = std::move(pools);
  std::vector<std::string> homeless;
  for (auto& [service, entry] : entries_) {
    const Pool* pool = pool_of(entry.ips);
    if (pool == nullptr) {
      homeless.push_back(service);
    } else {
      entry.pool = pool->name;
    }
  }
  for (const std::string& service : homeless) release(service);
}

const Allocator::Entry* Allocator::entry(const std::string& service) const {
  const auto found = entries_.find(service);
  return found == entries_.end() ? nullptr : &found->second;
}

const Pool* Allocator::pool_of(const std::vector<base::IpAddress>& ips) const {
  for (const auto& [name, pool] : pools_) {
    if (std::ranges::all_of(ips, [&pool = pool](const base::IpAddress& ip) { return pool.contains(ip); })) return &pool;
  }
  return nullptr;
}

base::Result<void> Allocator::check_sharing(const Asker& asker, const base::IpAddress& ip) const {
  const auto holders = holders_.find(ip);
  if (holders == holders_.end()) return {};
  std::vector<std::string> others;
  for (const std::string& holder : holders->second) {
    if (holder != asker.name) others.push_back(holder);
  }
  const SharingKey& existing = keys_.at(ip);
  const bool legal = !existing.key.empty() && existing == asker.sharing;
  if (!legal && !others.empty()) {
    return base::fail(fmt::format("can't change sharing key for \"{}\", address also in use by {}", asker.name,
                                  fmt::join(others, ",")));
  }
  for (const Port& port : asker.ports) {
    for (const std::string& other : others) {
      const auto& taken = entries_.at(other).ports;
      if (std::ranges::find(taken, port) != taken.end()) {
        return base::fail(
            fmt::format("port {}/{} is already in use on \"{}\"", port.first, port.second, ip.to_string()));
      }
    }
  }
  return {};
}

base::Result<void> Allocator::assign(const Asker& asker, const std::vector<base::IpAddress>& ips) {
  const Pool* pool = pool_of(ips);
  if (pool == nullptr) return base::fail(fmt::format("{} is not allowed in config", quoted_list(ips)));
  if (!pool->compatible(asker.ns, asker.labels)) {
    return base::fail(fmt::format("pool {} not compatible for ip assignment", pool->name));
  }
  for (const base::IpAddress& ip : ips) {
    if (auto legal = check_sharing(asker, ip); !legal) return legal;
  }
  release(asker.name);
  entries_[asker.name] = {pool->name, ips, asker.ports, asker.sharing};
  for (const base::IpAddress& ip : ips) {
    holders_[ip].insert(asker.name);
    keys_[ip] = asker.sharing;
  }
  return {};
}

std::optional<base::IpAddress> Allocator::first_free(const Asker& asker, const Pool& pool, base::Family family) const {
  for (const base::IpRange& range : pool.ranges) {
    if (range.family() != family) continue;
    for (std::optional<base::IpAddress> ip = range.first; ip && *ip <= range.last; ip = ip->next()) {
      if (pool.avoid_buggy && is_buggy(*ip)) continue;
      if (check_sharing(asker, *ip)) return ip;
    }
  }
  return std::nullopt;
}

Allocator::Free Allocator::free_in(const Asker& asker, const Pool& pool) const {
  return {first_free(asker, pool, base::Family::v4), first_free(asker, pool, base::Family::v6)};
}

base::Result<std::vector<base::IpAddress>> Allocator::allocate_from(const Asker& asker, const std::string& name) {
  const auto found = pools_.find(name);
  if (found == pools_.end()) return base::fail(fmt::format("unknown pool \"{}\"", name));
  const auto [v4, v6] = free_in(asker, found->second);
  if (!v0_15_ && !v4 && !v6) return base::fail(fmt::format("no available IPs in pool {}", name));
  std::vector<base::IpAddress> ips;
  if (asker.families == Families::dual) {
    if (v4 && v6) {
      ips = {*v4, *v6};
    } else if (asker.prefer_dual && (v4 || v6)) {
      ips = {v4 ? *v4 : *v6};
    } else {
      return base::fail(fmt::format("no available IPs in pool {} for dual IPFamily", name));
    }
  } else if (const auto& wanted = asker.families == Families::v6 ? v6 : v4; wanted) {
    ips = {*wanted};
  } else {
    return base::fail("[\"<nil>\"] is not allowed in config");
  }
  if (auto assigned = assign(asker, ips); !assigned) return std::unexpected(assigned.error());
  return ips;
}

// The first one with all that is wanted. Who only prefers two families also takes one, of the first pool that has the
// family which comes first for the Service, else of the first that has the other.
const Pool* Allocator::best_of(const Asker& asker, const std::vector<const Pool*>& pools) const {
  const Pool* primary = nullptr;
  const Pool* secondary = nullptr;
  for (const Pool* pool : pools) {
    const auto [v4, v6] = free_in(asker, *pool);
    if (v4 && v6) return pool;
    if (asker.families == Families::dual) {
      if (!asker.prefer_dual || (!v4 && !v6)) continue;
      const Pool*& candidate = v6.has_value() == asker.v6_first ? primary : secondary;
      if (candidate == nullptr) candidate = pool;
    } else if (asker.families == Families::v6 ? v6 : v4) {
      return pool;
    }
  }
  return primary != nullptr ? primary : secondary;
}

base::Result<std::vector<base::IpAddress>> Allocator::allocate(const Asker& asker) {
  // pools made for such Services first, by priority (1 is best, 0 means none); ties and the rest in no particular order
  std::vector<const Pool*> special;
  std::vector<const Pool*> general;
  for (const auto& [name, pool] : pools_) {
    if (!pool.auto_assign) continue;
    if (!pool.has_allocation) {
      general.push_back(&pool);
    } else if (pool.is_for(asker.ns) && pool.compatible(asker.ns, asker.labels)) {
      special.push_back(&pool);
    }
  }
  const auto shuffle = [this](std::vector<const Pool*>& pools) {
    for (std::size_t i = pools.size(); i > 1; --i) std::swap(pools[i - 1], pools[random_.below(i)]);
  };
  shuffle(special);
  shuffle(general);
  std::ranges::stable_sort(special, [](const Pool* a, const Pool* b) {
    if ((a->priority == 0) != (b->priority == 0)) return b->priority == 0;
    return a->priority < b->priority;
  });
  for (const auto* pools : {&special, &general}) {
    const Pool* best = best_of(asker, *pools);
    if (best == nullptr) continue;
    if (auto ips = allocate_from(asker, best->name)) return ips;
  }
  return base::fail("no available IPs");
}

base::Result<base::IpAddress> Allocator::allocate_other(const Asker& asker, const base::IpAddress& has) {
  const Entry* held = entry(asker.name);
  const auto pool = held == nullptr ? pools_.end() : pools_.find(held->pool);
  if (pool == pools_.end()) return base::fail("no pool");
  const auto [v4, v6] = free_in(asker, pool->second);
  if (!v0_15_ && !v4 && !v6) return base::fail(fmt::format("no available IPs in pool {}", pool->first));
  const auto& other = has.family() == base::Family::v4 ? v6 : v4;
  if (!other) return base::fail(fmt::format("[\"{}\" \"<nil>\"] is not allowed in config", has.to_string()));
  if (auto assigned = assign(asker, {has, *other}); !assigned) return std::unexpected(assigned.error());
  return *other;
}

bool Allocator::release(const std::string& service) {
  const auto found = entries_.find(service);
  if (found == entries_.end()) return false;
  for (const base::IpAddress& ip : found->second.ips) {
    const auto holders = holders_.find(ip);
    holders->second.erase(service);
    if (!holders->second.empty()) continue;
    holders_.erase(holders);
    keys_.erase(ip);
  }
  entries_.erase(found);
  return true;
}

}  // namespace sandbox::metallb_model
