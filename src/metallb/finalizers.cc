#include "metallb/finalizers.h"

#include <utility>

#include "kube/finalizers.h"

namespace metallb {
namespace {

boost::json::object patch_of(boost::json::array finalizers) {
  return {{"metadata", boost::json::object{{"finalizers", std::move(finalizers)}}}};
}

}  // namespace

boost::json::object with_finalizer(const kube::Object& object, std::string_view ours) {
  return patch_of(kube::with_finalizer(object.meta, ours));
}

boost::json::object without_finalizer(const kube::Object& object, std::string_view ours) {
  return patch_of(kube::without_finalizer(object.meta, ours));
}

}  // namespace metallb
