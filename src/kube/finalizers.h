// metadata.finalizers for merge patches: a list is replaced as a whole, so the entries of others are carried over.
#pragma once

#include <boost/json/array.hpp>
#include <span>
#include <string>
#include <string_view>

#include "kube/types.h"

namespace kube {

// The list with `finalizer`, at its end unless it is there already.
boost::json::array with_finalizer(const Meta& meta, std::string_view finalizer);
// The list without any of these.
boost::json::array without_finalizers(const Meta& meta, std::span<const std::string> finalizers);
boost::json::array without_finalizer(const Meta& meta, std::string_view finalizer);

}  // namespace kube
