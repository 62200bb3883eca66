// Finding what overlaps with a range of addresses without looking at everything: each range is filed by the smallest
// network of a few fixed lengths that contains it, its cell. Two ranges can only overlap if one's cell contains the
// other's. For indexes and for facts; pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "kube/view.h"

namespace metallb {

// The buckets that a range is filed in: one for its cell, and one for each network around that.
std::vector<std::string> overlap_buckets(const base::IpRange& range);
// The buckets in which everything is filed that may overlap with the range, and little else.
std::vector<std::string> buckets_to_search(const base::IpRange& range);

// Index entries for an object that has these ranges.
void add_overlap_entries(const base::IpRangeSet& ranges, std::vector<kube::IndexEntry>& entries);

// Objects of the index, each once and in no particular order, among which all are that overlap with the ranges.
template <class T>
std::vector<const T*> overlap_candidates(kube::View& view, std::string_view index, const base::IpRangeSet& ranges) {
  std::vector<const T*> found;
  for (const base::IpRange& range : ranges.ranges()) {
    for (const std::string& bucket : buckets_to_search(range)) {
      view.each<T>(index, bucket, [&](const T& object) {
        found.push_back(&object);
        return true;
      });
    }
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace metallb
