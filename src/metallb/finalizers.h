// Merge patches that put a finalizer of ours on, or take it off.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "kube/types.h"

namespace metallb {

boost::json::object with_finalizer(const kube::Object& object, std::string_view ours);
boost::json::object without_finalizer(const kube::Object& object, std::string_view ours);

}  // namespace metallb
