// IP addresses, prefixes and sets of ranges, with the one canonical text form of contract §7 (RFC 5952 as Go and CEL
// print it).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace base {

enum class Family : std::uint8_t { v4, v6 };
// "IPv4" or "IPv6", as Kubernetes writes it.
std::string_view to_string(Family family);

// An address as a value: an IPv4-mapped IPv6 address *is* the IPv4 address (contract §4.3), so equality is by value.
class IpAddress {
 public:
  // 0.0.0.0
  IpAddress() = default;
  static IpAddress v4(std::uint32_t host_order);
  static IpAddress v6(const std::array<std::uint8_t, 16>& bytes);
  // Reads what Go's netip.ParseAddr reads, without zones: no prefix length, no leading zeros. IPv4-mapped text gives
  // the IPv4 address.
  static Result<IpAddress> parse(std::string_view text);

  Family family() const { return family_; }
  // RFC 5952, lower case, never with an embedded dotted quad: parse(to_string()) == *this.
  std::string to_string() const;
  // The 128 bits; an IPv4 address is in the low 32.
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  // The address after / before this one in its family; nullopt past the end.
  std::optional<IpAddress> next() const;
  std::optional<IpAddress> previous() const;
  bool is_unspecified() const;
  bool is_loopback() const;
  bool is_multicast() const;
  bool is_limited_broadcast() const;
  // Whether a claim may ever get it: none of the four above.
  bool is_claimable() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  Family family_ = Family::v4;
  std::array<std::uint8_t, 16> bytes_{};
};

// first..last inclusive, one family, first <= last.
struct IpRange {
  IpAddress first;
  IpAddress last;
  Family family() const { return first.family(); }
  bool contains(const IpAddress& a) const { return a.family() == family() && first <= a && a <= last; }
  friend bool operator==(const IpRange&, const IpRange&) = default;
};

// A network. `base` has no host bits.
struct IpPrefix {
  IpAddress base;
  int length = 0;
  // "a.b.c.d/n". With `mask_host_bits` false, host bits are an error that names the network that was probably meant.
  static Result<IpPrefix> parse(std::string_view text, bool mask_host_bits = false);
  IpRange range() const;
  std::string to_string() const;
  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
};

// A number of addresses that does not overflow: saturates at int64's maximum and says so.
struct IpCount {
  std::int64_t value = 0;
  bool saturated = false;
};

// A set of addresses of both families, kept as sorted disjoint ranges. Value type.
class IpRangeSet {
 public:
  void add(const IpRange& range);
  void remove(const IpRange& range);
  bool contains(const IpAddress& a) const;
  bool intersects(const IpRange& range) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<IpRange>& ranges() const { return ranges_; }
  // The fewest CIDR blocks that cover exactly this set, IPv4 first, ascending.
  std::vector<IpPrefix> prefixes() const;
  IpCount count(Family family) const;
  friend bool operator==(const IpRangeSet&, const IpRangeSet&) = default;

 private:
  std::vector<IpRange> ranges_;
};

// Name of the IPAddress object for an address (contract §7): "ip-203-0-113-7", "ip-2001-db8--7"; total and injective.
std::string object_name(const IpAddress& a);

}  // namespace base
