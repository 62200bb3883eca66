// The MetalLB model's table: who holds which address, with which sharing key and ports. Pure: no clock, no I/O.
// Internal.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/random.h"
#include "base/result.h"
#include "sandbox/metallb_pools.h"

namespace sandbox::metallb_model {

enum class Families : char { none, v4, v6, dual };

using Port = std::pair<std::string, std::int64_t>;  // protocol, port

struct SharingKey {
  std::string key;      // of allow-shared-ip
  std::string backend;  // "" unless externalTrafficPolicy is Local
  // What MetalLB notices changes of the two by.
  std::string text() const { return backend + key; }
  friend bool operator==(const SharingKey&, const SharingKey&) = default;
};

// What the allocator must know of a Service.
struct Asker {
  std::string name;  // "ns/name"
  std::string ns;
  const json::object* labels = nullptr;
  std::vector<Port> ports;
  SharingKey sharing;
  Families families = Families::none;  // of its cluster IPs
  bool prefer_dual = false;
  bool v6_first = false;
};

class Allocator {
 public:
  struct Entry {
    std::string pool;
    std::vector<base::IpAddress> ips;
    std::vector<Port> ports;
    SharingKey sharing;
  };

  // `v0_15`: the words of 0.15 where a pool is full.
  Allocator(base::Random& random, bool v0_15) : random_(random), v0_15_(v0_15) {}
  bool is_v0_15() const { return v0_15_; }

  // Entries are moved to the pool that has their addresses now; those whose addresses are in none are released.
  void set_pools(Pools pools);
  const Pools& pools() const { return pools_; }
  const Entry* entry(const std::string& service) const;
  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool in_a_pool(const std::vector<base::IpAddress>& ips) const { return pool_of(ips) != nullptr; }

  // Takes exactly these. On an error nothing has changed.
  base::Result<void> assign(const Asker& asker, const std::vector<base::IpAddress>& ips);
  base::Result<std::vector<base::IpAddress>> allocate_from(const Asker& asker, const std::string& pool);
  base::Result<std::vector<base::IpAddress>> allocate(const Asker& asker);
  // A second address, of the family that `has` is not.
  base::Result<base::IpAddress> allocate_other(const Asker& asker, const base::IpAddress& has);
  // Whether it held something.
  bool release(const std::string& service);

 private:
  // The first free address of each family in a pool.
  struct Free {
    std::optional<base::IpAddress> v4;
    std::optional<base::IpAddress> v6;
  };
  const Pool* pool_of(const std::vector<base::IpAddress>& ips) const;
  base::Result<void> check_sharing(const Asker& asker, const base::IpAddress& ip) const;
  std::optional<base::IpAddress> first_free(const Asker& asker, const Pool& pool, base::Family family) const;
  Free free_in(const Asker& asker, const Pool& pool) const;
  const Pool* best_of(const Asker& asker, const std::vector<const Pool*>& pools) const;

  base::Random& random_;
  bool v0_15_;
  Pools pools_;
  std::map<std::string, Entry> entries_;
  std::map<base::IpAddress, std::set<std::string>> holders_;
  std::map<base::IpAddress, SharingKey> keys_;  // of the last grant
};

// Go's %q of a list of addresses: ["203.0.113.1" "2001:db8::1"]; and its %v: [203.0.113.1 2001:db8::1].
std::string quoted_list(const std::vector<base::IpAddress>& ips);
std::string plain_list(const std::vector<base::IpAddress>& ips);

}  // namespace sandbox::metallb_model
