// parameters.addresses and parameters.exclude (driver design §2).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "metallb/parameters_read.h"

namespace metallb::reading {
namespace {

using base::Family;
using base::IpAddress;
using base::IpPrefix;
using base::IpRange;

constexpr std::string_view k_forms =
    "write a network (203.0.113.0/24), first and last address (203.0.113.10-203.0.113.40) or one address";
// More would make objects that the API server refuses for their size.
constexpr std::size_t k_most_entries = 4096;
constexpr std::size_t k_most_networks = 4096;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string range_text(const IpAddress& one, const IpAddress& other) {
  const auto& [first, last] = std::minmax(one, other);
  return fmt::format("{}-{}", first.to_string(), last.to_string());
}

// One address, or what is wrong with it.
base::Result<IpAddress> read_address(std::string_view text) {
  if (text.find('%') != std::string_view::npos)
    return base::fail("has a zone: addresses of a pool are the same on every node, so leave the % and the rest out");
  const auto address = IpAddress::parse(text);
  if (!address) return base::fail(fmt::format("{} is not an IP address: {}", in_quotes(text), k_forms));
  if (address->family() == Family::v4 && text.find(':') != std::string_view::npos)
    return base::fail(fmt::format("is an IPv4 address in IPv6 form: write {}", address->to_string()));
  return *address;
}

base::Result<IpRange> read_first_last(std::string_view text, std::size_t dash) {
  const std::string_view first_text = trimmed(text.substr(0, dash));
  const std::string_view last_text = trimmed(text.substr(dash + 1));
  if (text.find('/') != std::string_view::npos)
    return base::fail(fmt::format("mixes a network with a range: {}", k_forms));
  const auto first = read_address(first_text);
  if (!first) return std::unexpected(first.error());
  const std::string::size_type dot = first_text.rfind('.');
  if (all_digits(last_text) && dot != std::string_view::npos) {
    const auto meant = IpAddress::parse(fmt::format("{}{}", first_text.substr(0, dot + 1), last_text));
    const std::string remedy = !meant ? std::string(k_forms) : "write " + range_text(*first, *meant);
    return base::fail(fmt::format("ends in {}, which is not an address: {}", last_text, remedy));
  }
  const auto last = read_address(last_text);
  if (!last) return std::unexpected(last.error());
  if (first->family() != last->family()) return base::fail("mixes IPv4 and IPv6: write one entry for each family");
  if (*last < *first) return base::fail(fmt::format("is reversed: write {}", range_text(*last, *first)));
  return IpRange{*first, *last};
}

base::Result<IpPrefix> read_network(std::string_view text, std::size_t slash) {
  const std::string_view length = text.substr(slash + 1);
  const auto address = read_address(text.substr(0, slash));
  if (!address) return std::unexpected(address.error());
  if (IpAddress::parse(length)) return base::fail("has a network mask: write a prefix length, such as /24");
  auto network = IpPrefix::parse(text, true);
  if (!network)
    return base::fail(fmt::format("has the impossible prefix length {}: write a number from 0 to {}", in_quotes(length),
                                  address->family() == Family::v4 ? 32 : 128));
  return network;
}

// Addresses nobody may claim (contract §1), by block.
struct Reserved {
  IpRange range;
  std::string_view name;
};

std::vector<Reserved> reserved_blocks() {
  std::vector<Reserved> blocks;
  const auto add = [&](std::string_view network, std::string_view name) {
    blocks.push_back({IpPrefix::parse(network)->range(), name});
  };
  add("0.0.0.0/32", "the unspecified address 0.0.0.0");
  add("127.0.0.0/8", "loopback addresses (127.0.0.0/8)");
  add("224.0.0.0/4", "multicast addresses (224.0.0.0/4)");
  add("255.255.255.255/32", "the broadcast address 255.255.255.255");
  add("::/128", "the unspecified address ::");
  add("::1/128", "the loopback address ::1");
  add("ff00::/8", "multicast addresses (ff00::/8)");
  // The IPv4-mapped block does not exist among IPv6 values; whatever spans it touches a neighbour of it.
  blocks.push_back({{*IpAddress::parse("::fffe:ffff:ffff"), *IpAddress::parse("::1:0:0:0")},
                    "IPv4-mapped addresses (::ffff:0:0/96)"});
  return blocks;
}

void reject_reserved(const Entry& entry, const std::vector<IpRange>& pieces, Report& report) {
  static const std::vector<Reserved> blocks = reserved_blocks();
  for (const Reserved& block : blocks) {
    const auto hits = [&](const IpRange& piece) {
      return piece.family() == block.range.family() && piece.first <= block.range.last &&
             block.range.first <= piece.last;
    };
    if (std::ranges::any_of(pieces, hits))
      report.problem(entry.where, fmt::format("contains {}, which nobody can claim: leave them out", block.name));
  }
}

// What of an entry can be handed out before `exclude`: network and broadcast address of an IPv4 network are kept back,
// since hosts do not take them for addresses of their own (a /31 or /32 has neither).
IpRange usable(const Entry& entry, bool include_network_addresses) {
  IpRange range = entry.range;
  if (entry.network && range.family() == Family::v4 && entry.network->length < 31 && !include_network_addresses) {
    range.first = *range.first.next();
    range.last = *range.last.previous();
  }
  return range;
}

// `range` without `holes`, which are sorted and disjoint.
std::vector<IpRange> without(IpRange range, const std::vector<IpRange>& holes) {
  std::vector<IpRange> pieces;
  for (auto hole = std::ranges::lower_bound(holes, range.first, {}, &IpRange::last);
       hole != holes.end() && hole->family() == range.family() && hole->first <= range.last; ++hole) {
    if (hole->first > range.first) pieces.push_back({range.first, *hole->first.previous()});
    if (hole->last >= range.last) return pieces;
    range.first = *hole->last.next();
  }
  pieces.push_back(range);
  return pieces;
}

std::vector<Entry> read_entries(const boost::json::value& value, std::string_view list, Report& report) {
  std::vector<Entry> entries;
  const auto* items = as_list(value, list, "[\"203.0.113.0/24\"]", report);
  if (items == nullptr) return entries;
  if (items->size() > k_most_entries) {
    report.problem(list, fmt::format("has {} entries: {} are possible", items->size(), k_most_entries));
    return entries;
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    const auto* text = (*items)[i].if_string();
    if (text == nullptr) {
      report.problem(fmt::format("{}[{}]", list, i),
                     fmt::format("is {}: {}, in quotes", type_name((*items)[i]), k_forms));
    } else if (auto entry = read_entry(*text, list, i, report)) {
      entries.push_back(std::move(*entry));
    }
  }
  return entries;
}

// MetalLB refuses a pool whose entries overlap, and its whole configuration with it.
void reject_overlaps(const std::vector<Entry>& entries, Report& report) {
  base::IpRangeSet seen;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const IpRange& range = entries[i].range;
    if (seen.intersects(range)) {
      const auto overlaps = [&](const Entry& e) { return e.range.first <= range.last && range.first <= e.range.last; };
      const auto other = std::ranges::find_if(entries, overlaps);
      report.problem(entries[i].where,
                     other->range == range
                         ? fmt::format("is the same as {}: remove one of them", other->where)
                         : fmt::format("overlaps with {}: remove one or make it smaller", other->where));
    }
    seen.add(range);
  }
}

void note_idle_excludes(const std::vector<Entry>& excludes, const std::vector<Entry>& entries, Report& report) {
  base::IpRangeSet all;
  for (const Entry& entry : entries) all.add(entry.range);
  for (const Entry& exclude : excludes) {
    if (!all.intersects(exclude.range))
      report.note(exclude.where, "excludes nothing, since no entry of addresses contains it");
  }
}

}  // namespace

std::optional<Entry> read_entry(std::string_view text, std::string_view list, std::size_t position, Report& report) {
  Entry entry{fmt::format("{}[{}] {}", list, position, in_quotes(text)), {}, {}};
  const std::string_view body = trimmed(text);
  const auto failed = [&](const base::Error& error) {
    report.problem(entry.where, error.message);
    return std::nullopt;
  };
  if (body.empty()) return failed({fmt::format("is empty: {}", k_forms)});
  const std::size_t slash = body.find('/');
  if (const std::size_t dash = body.find('-'); dash != std::string_view::npos) {
    const auto range = read_first_last(body, dash);
    if (!range) return failed(range.error());
    entry.range = *range;
  } else if (slash != std::string_view::npos) {
    const auto network = read_network(body, slash);
    if (!network) return failed(network.error());
    entry.network = *network;
    entry.range = network->range();
    if (*IpAddress::parse(body.substr(0, slash)) != network->base)
      report.note(entry.where, fmt::format("has host bits set and is read as the network {}", network->to_string()));
  } else {
    const auto address = read_address(body);
    if (!address) return failed(address.error());
    entry.range = {*address, *address};
  }
  return entry;
}

void read_addresses(const boost::json::object& parameters, ClassParameters& result, Report& report) {
  const std::size_t before = report.problems.size();
  const std::vector<Entry> entries = read_entries(parameters.at("addresses"), "addresses", report);
  std::vector<Entry> excludes;
  if (const auto* value = parameters.if_contains("exclude")) excludes = read_entries(*value, "exclude", report);
  if (entries.empty() && report.problems.size() == before)
    report.problem("addresses", fmt::format("is empty: list at least one entry; {}", k_forms));
  reject_overlaps(entries, report);
  note_idle_excludes(excludes, entries, report);

  base::IpRangeSet holes;
  for (const Entry& exclude : excludes) holes.add(exclude.range);
  for (const Entry& entry : entries) {
    const auto pieces = without(usable(entry, result.include_network_addresses), holes.ranges());
    reject_reserved(entry, pieces, report);
    if (pieces.empty()) report.note(entry.where, "is excluded as a whole");
    for (const IpRange& piece : pieces) result.ranges.add(piece);
    result.pieces.insert(result.pieces.end(), pieces.begin(), pieces.end());
  }
  if (report.problems.size() != before) return;
  if (result.pieces.empty()) report.problem("exclude", "leaves nothing of addresses: exclude less or add addresses");
  if (const std::size_t networks = result.ranges.prefixes().size(); networks > k_most_networks)
    report.problem("addresses",
                   fmt::format("come to {} separate networks after exclude: {} are possible, so use fewer and "
                               "rounder entries",
                               networks, k_most_networks));
}

}  // namespace metallb::reading
