#include "kube/finalizers.h"

#include <algorithm>

namespace kube {

boost::json::array with_finalizer(const Meta& meta, std::string_view finalizer) {
  boost::json::array list(meta.finalizers.begin(), meta.finalizers.end());
  if (!meta.has_finalizer(finalizer)) list.emplace_back(finalizer);
  return list;
}

boost::json::array without_finalizers(const Meta& meta, std::span<const std::string> finalizers) {
  boost::json::array list;
  for (const std::string& name : meta.finalizers) {
    if (std::ranges::find(finalizers, name) == finalizers.end()) list.emplace_back(name);
  }
  return list;
}

boost::json::array without_finalizer(const Meta& meta, std::string_view finalizer) {
  const std::string one(finalizer);
  return without_finalizers(meta, std::span(&one, 1));
}

}  // namespace kube
