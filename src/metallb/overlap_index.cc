#include "metallb/overlap_index.h"

#include "metallb/class.h"

namespace metallb {
namespace {

// A cell is written as the hex digits that all of its addresses begin with. In steps of one digit for IPv4 and of two
// for IPv6: few buckets for each range, and few disjoint ranges in one cell.
struct Cell {
  std::string digits;
  std::size_t root = 0;  // digits before the family's first one
  std::size_t step = 1;
};

Cell cell_of(const base::IpRange& range) {
  const std::string first = address_order(range.first);
  const std::string last = address_order(range.last);
  const bool v4 = range.family() == base::Family::v4;
  Cell cell{"", v4 ? first.size() - 8 : 0, v4 ? 1U : 2U};
  const auto differs = std::ranges::mismatch(first, last).in1;
  const auto common = static_cast<std::size_t>(differs - first.begin());
  const std::size_t known = std::max(common, cell.root) - cell.root;
  cell.digits = first.substr(cell.root, known - known % cell.step);
  return cell;
}

std::string bucket(std::string_view kind, const base::IpRange& range, std::string_view digits) {
  std::string name(kind);
  name += base::to_string(range.family());
  name += '/';
  name += digits;
  return name;
}
constexpr std::string_view k_at = "at/";          // its cell is this one
constexpr std::string_view k_within = "within/";  // its cell is this one or inside

}  // namespace

std::vector<std::string> overlap_buckets(const base::IpRange& range) {
  const Cell cell = cell_of(range);
  std::vector<std::string> buckets{bucket(k_at, range, cell.digits)};
  for (std::size_t length = 0; length <= cell.digits.size(); length += cell.step)
    buckets.push_back(bucket(k_within, range, std::string_view(cell.digits).substr(0, length)));
  return buckets;
}

std::vector<std::string> buckets_to_search(const base::IpRange& range) {
  const Cell cell = cell_of(range);
  std::vector<std::string> buckets{bucket(k_within, range, cell.digits)};
  for (std::size_t length = 0; length < cell.digits.size(); length += cell.step)
    buckets.push_back(bucket(k_at, range, std::string_view(cell.digits).substr(0, length)));
  return buckets;
}

void add_overlap_entries(const base::IpRangeSet& ranges, std::vector<kube::IndexEntry>& entries) {
  const std::size_t before = entries.size();
  for (const base::IpRange& range : ranges.ranges()) {
    for (std::string& name : overlap_buckets(range)) entries.push_back({std::move(name), ""});
  }
  const auto own = std::ranges::subrange(entries.begin() + static_cast<std::ptrdiff_t>(before), entries.end());
  std::ranges::sort(own);
  const auto repeated = std::ranges::unique(own);
  entries.erase(repeated.begin(), repeated.end());
}

}  // namespace metallb
