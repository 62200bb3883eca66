#include "base/ip.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace base {
namespace {

__extension__ typedef unsigned __int128 Bits;

Bits to_bits(const IpAddress& a) {
  Bits bits = 0;
  for (const std::uint8_t byte : a.bytes()) bits = bits << 8 | byte;
  return bits;
}

IpAddress from_bits(Family family, Bits bits) {
  if (family == Family::v4) return IpAddress::v4(static_cast<std::uint32_t>(bits));
  std::array<std::uint8_t, 16> bytes{};
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte, bits >>= 8) *byte = static_cast<std::uint8_t>(bits);
  return IpAddress::v6(bytes);
}

int width(Family family) { return family == Family::v4 ? 32 : 128; }

// All ones in the lowest `count` bits.
Bits low_mask(int count) { return count >= 128 ? ~Bits{0} : (Bits{1} << count) - 1; }

int trailing_zeros(Bits bits) {
  const auto low = static_cast<std::uint64_t>(bits);
  if (low != 0) return std::countr_zero(low);
  return 64 + std::countr_zero(static_cast<std::uint64_t>(bits >> 64));
}

// Highest k with 2^k <= n, for n > 0.
int floor_log2(Bits n) {
  const auto high = static_cast<std::uint64_t>(n >> 64);
  if (high != 0) return 127 - std::countl_zero(high);
  return 63 - std::countl_zero(static_cast<std::uint64_t>(n));
}

// ::ffff:0:0/96, the IPv6 values that are IPv4 addresses and so do not exist in the IPv6 family.
constexpr Bits k_mapped_first = Bits{0xffff} << 32;
constexpr Bits k_mapped_last = k_mapped_first | 0xffffffffU;

// Quotes what a person typed, cut to a length that a condition can carry.
std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text.substr(0, 64)); }

std::optional<std::uint32_t> parse_dotted_quad(std::string_view text) {
  std::uint32_t value = 0;
  for (int field = 0; field < 4; ++field) {
    const std::size_t dot = text.find('.');
    const std::string_view digits = text.substr(0, dot);
    if ((dot == std::string_view::npos) != (field == 3)) return std::nullopt;
    if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
    std::uint32_t octet = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      octet = octet * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (octet > 255) return std::nullopt;
    value = value << 8 | octet;
    if (dot != std::string_view::npos) text.remove_prefix(dot + 1);
  }
  return value;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Groups of an IPv6 text as they are read, and where "::" stood.
struct Groups {
  std::array<std::uint16_t, 8> value{};
  std::size_t count = 0;
  std::optional<std::size_t> gap;
};

// One group of one to four hex digits at the start of `text`, which is cut off.
bool take_group(std::string_view& text, Groups& groups) {
  unsigned group = 0;
  std::size_t digits = 0;
  while (digits < text.size() && hex_digit(text[digits]) >= 0) {
    if (digits == 4) return false;
    group = group << 4 | static_cast<unsigned>(hex_digit(text[digits++]));
  }
  if (digits == 0) return false;
  groups.value[groups.count++] = static_cast<std::uint16_t>(group);
  text.remove_prefix(digits);
  return true;
}

bool read_groups(std::string_view text, Groups& groups) {
  if (text.starts_with("::")) {
    groups.gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (groups.count == 8) return false;
    if (text.find(':') == std::string_view::npos && text.find('.') != std::string_view::npos) {
      const auto quad = parse_dotted_quad(text);
      if (!quad || groups.count > 6) return false;
      groups.value[groups.count++] = static_cast<std::uint16_t>(*quad >> 16);
      groups.value[groups.count++] = static_cast<std::uint16_t>(*quad);
      return true;
    }
    if (!take_group(text, groups)) return false;
    if (text.empty()) return true;
    if (text[0] != ':') return false;
    text.remove_prefix(1);
    if (text.empty()) return false;
    if (text[0] == ':') {
      if (groups.gap) return false;
      groups.gap = groups.count;
      text.remove_prefix(1);
    }
  }
  return true;
}

std::optional<std::array<std::uint8_t, 16>> parse_v6(std::string_view text) {
  Groups groups;
  if (!read_groups(text, groups)) return std::nullopt;
  // "::" stands for at least one group.
  if (groups.gap ? groups.count > 7 : groups.count != 8) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < groups.count; ++i) {
    const std::size_t at = groups.gap && i >= *groups.gap ? 8 - groups.count + i : i;
    bytes[2 * at] = static_cast<std::uint8_t>(groups.value[i] >> 8);
    bytes[2 * at + 1] = static_cast<std::uint8_t>(groups.value[i]);
  }
  return bytes;
}

bool is_v4_mapped(const std::array<std::uint8_t, 16>& bytes) {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) && bytes[10] == 0xff &&
         bytes[11] == 0xff;
}

std::string v6_text(const std::array<std::uint8_t, 16>& bytes) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<unsigned>(bytes[2 * i]) << 8 | bytes[2 * i + 1];
  // The first of the longest runs of zero groups, if longer than one.
  std::size_t gap = 8;
  std::size_t gap_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t run = 0;
    while (i + run < 8 && groups[i + run] == 0) ++run;
    if (run > gap_length) {
      gap = i;
      gap_length = run;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == gap) {
      text += "::";
      i += gap_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", groups[i]);
  }
  return text;
}

}  // namespace

std::string_view to_string(Family family) { return family == Family::v4 ? "IPv4" : "IPv6"; }

IpAddress IpAddress::v4(std::uint32_t host_order) {
  IpAddress a;
  for (std::size_t i = 16; i-- > 12; host_order >>= 8) a.bytes_[i] = static_cast<std::uint8_t>(host_order);
  return a;
}

IpAddress IpAddress::v6(const std::array<std::uint8_t, 16>& bytes) {
  IpAddress a;
  a.bytes_ = bytes;
  if (is_v4_mapped(bytes)) {
    a.bytes_[10] = a.bytes_[11] = 0;
  } else {
    a.family_ = Family::v6;
  }
  return a;
}

Result<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.find(':') != std::string_view::npos) {
    if (const auto bytes = parse_v6(text)) return v6(*bytes);
  } else if (const auto value = parse_dotted_quad(text)) {
    return v4(*value);
  }
  return fail(in_quotes(text) + " is not an IP address");
}

std::string IpAddress::to_string() const {
  if (family_ == Family::v6) return v6_text(bytes_);
  return fmt::format("{}.{}.{}.{}", bytes_[12], bytes_[13], bytes_[14], bytes_[15]);
}

std::optional<IpAddress> IpAddress::next() const {
  const Bits bits = to_bits(*this);
  if (bits == low_mask(width(family_))) return std::nullopt;
  if (family_ == Family::v6 && bits + 1 == k_mapped_first) return from_bits(family_, k_mapped_last + 1);
  return from_bits(family_, bits + 1);
}

std::optional<IpAddress> IpAddress::previous() const {
  const Bits bits = to_bits(*this);
  if (bits == 0) return std::nullopt;
  if (family_ == Family::v6 && bits - 1 == k_mapped_last) return from_bits(family_, k_mapped_first - 1);
  return from_bits(family_, bits - 1);
}

bool IpAddress::is_unspecified() const { return to_bits(*this) == 0; }

bool IpAddress::is_loopback() const { return family_ == Family::v4 ? bytes_[12] == 127 : to_bits(*this) == 1; }

bool IpAddress::is_multicast() const { return family_ == Family::v4 ? (bytes_[12] & 0xf0) == 0xe0 : bytes_[0] == 0xff; }

bool IpAddress::is_limited_broadcast() const { return family_ == Family::v4 && to_bits(*this) == 0xffffffffU; }

bool IpAddress::is_claimable() const {
  return !is_unspecified() && !is_loopback() && !is_multicast() && !is_limited_broadcast();
}

Result<IpPrefix> IpPrefix::parse(std::string_view text, bool mask_host_bits) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return fail(in_quotes(text) + " has no prefix length, such as /24");
  const std::string_view address = text.substr(0, slash);
  const std::string_view digits = text.substr(slash + 1);
  const auto base = IpAddress::parse(address);
  if (!base) return std::unexpected(base.error());
  if (base->family() == Family::v4 && address.find(':') != std::string_view::npos)
    return fail(in_quotes(text) + " is an IPv4 network in IPv6 form: write it as IPv4");
  const int bits = width(base->family());
  int length = digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0') ? -1 : 0;
  for (const char c : digits) {
    if (length >= 0) length = c < '0' || c > '9' ? -1 : length * 10 + (c - '0');
  }
  if (length < 0 || length > bits)
    return fail(fmt::format("{} has no valid prefix length: 0 to {} is possible", in_quotes(text), bits));
  IpPrefix prefix{from_bits(base->family(), to_bits(*base) & ~low_mask(bits - length)), length};
  if (!mask_host_bits && prefix.base != *base)
    return fail(fmt::format("{} has host bits set: {} was probably meant", in_quotes(text), prefix.to_string()));
  return prefix;
}

IpRange IpPrefix::range() const {
  const Bits last = to_bits(base) | low_mask(width(base.family()) - length);
  if (base.family() == Family::v6 && last == k_mapped_last) return {base, from_bits(Family::v6, k_mapped_first - 1)};
  return {base, from_bits(base.family(), last)};
}

std::string IpPrefix::to_string() const { return fmt::format("{}/{}", base.to_string(), length); }

void IpRangeSet::add(const IpRange& range) {
  IpRange merged = range;
  // Ranges that overlap or touch the new one melt into it.
  const auto touches = [&](const IpRange& r) {
    if (r.family() != merged.family()) return false;
    const auto before = merged.first.previous();
    const auto after = merged.last.next();
    return (!before || r.last >= *before) && (!after || r.first <= *after);
  };
  const auto begin = std::ranges::find_if(ranges_, touches);
  auto end = begin;
  while (end != ranges_.end() && touches(*end)) {
    merged.first = std::min(merged.first, end->first);
    merged.last = std::max(merged.last, end->last);
    ++end;
  }
  const auto at = ranges_.erase(begin, end);
  const auto place = begin == end ? std::ranges::lower_bound(ranges_, merged.first, {}, &IpRange::first) : at;
  ranges_.insert(place, merged);
}

void IpRangeSet::remove(const IpRange& range) {
  std::vector<IpRange> kept;
  kept.reserve(ranges_.size() + 1);
  for (const IpRange& r : ranges_) {
    if (r.family() != range.family() || r.last < range.first || r.first > range.last) {
      kept.push_back(r);
      continue;
    }
    if (r.first < range.first) kept.push_back({r.first, *range.first.previous()});
    if (r.last > range.last) kept.push_back({*range.last.next(), r.last});
  }
  ranges_ = std::move(kept);
}

bool IpRangeSet::contains(const IpAddress& a) const { return intersects({a, a}); }

bool IpRangeSet::intersects(const IpRange& range) const {
  // The first range that does not end before the wanted one begins.
  const auto it = std::ranges::lower_bound(ranges_, range.first, {}, &IpRange::last);
  return it != ranges_.end() && it->family() == range.family() && it->first <= range.last;
}

std::vector<IpPrefix> IpRangeSet::prefixes() const {
  std::vector<IpPrefix> blocks;
  for (const IpRange& r : ranges_) {
    const int bits = width(r.family());
    Bits first = to_bits(r.first);
    const Bits last = to_bits(r.last);
    while (true) {
      // The largest block that starts here, by alignment and by what is left; `left` is one less than the count.
      const Bits left = last - first;
      const int aligned = first == 0 ? bits : std::min(bits, trailing_zeros(first));
      const int fits = left == ~Bits{0} ? 128 : floor_log2(left + 1);
      const int size = std::min(aligned, fits);
      // A block inside ::ffff:0:0/96 holds no IPv6 address.
      const IpAddress base = from_bits(r.family(), first);
      if (base.family() == r.family()) blocks.push_back({base, bits - size});
      const Bits block_last = first | low_mask(size);
      if (block_last == last) break;
      first = block_last + 1;
    }
  }
  return blocks;
}

IpCount IpRangeSet::count(Family family) const {
  constexpr auto most = static_cast<Bits>(std::numeric_limits<std::int64_t>::max());
  IpCount count;
  Bits total = 0;
  for (const IpRange& r : ranges_) {
    if (r.family() != family) continue;
    const Bits beyond_first = to_bits(r.last) - to_bits(r.first);
    const bool over_mapped =
        family == Family::v6 && to_bits(r.first) < k_mapped_first && to_bits(r.last) > k_mapped_last;
    const Bits addresses = over_mapped ? beyond_first - (Bits{1} << 32) : beyond_first;  // without the first
    if (addresses >= most || total + addresses >= most) return {std::numeric_limits<std::int64_t>::max(), true};
    total += addresses + 1;
  }
  count.value = static_cast<std::int64_t>(total);
  return count;
}

std::string object_name(const IpAddress& a) {
  std::string name = "ip-" + a.to_string();
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == ':'; }, '-');
  if (name.back() == '-') name += '0';
  return name;
}

}  // namespace base
