// Merge patches of the list metadata.finalizers: a list is replaced as a whole, so foreign entries are carried over.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "kube/types.h"

namespace metallb {

// The list with (or without) ours, for metadata.finalizers.
boost::json::array finalizers_with(const kube::Object& object, std::string_view ours);
boost::json::array finalizers_without(const kube::Object& object, std::string_view ours);

// The whole patch.
boost::json::object with_finalizer(const kube::Object& object, std::string_view ours);
boost::json::object without_finalizer(const kube::Object& object, std::string_view ours);

}  // namespace metallb
