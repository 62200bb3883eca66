#include "metallb/finalizers.h"

#include <string>
#include <utility>

namespace metallb {
namespace {

boost::json::object patch_of(boost::json::array finalizers) {
  return {{"metadata", boost::json::object{{"finalizers", std::move(finalizers)}}}};
}

}  // namespace

boost::json::array finalizers_with(const kube::Object& object, std::string_view ours) {
  boost::json::array list = finalizers_without(object, ours);
  list.push_back(boost::json::string(ours));
  return list;
}

boost::json::array finalizers_without(const kube::Object& object, std::string_view ours) {
  boost::json::array list;
  for (const std::string& name : object.meta.finalizers) {
    if (name != ours) list.push_back(boost::json::string(name));
  }
  return list;
}

boost::json::object with_finalizer(const kube::Object& object, std::string_view ours) {
  return patch_of(finalizers_with(object, ours));
}

boost::json::object without_finalizer(const kube::Object& object, std::string_view ours) {
  return patch_of(finalizers_without(object, ours));
}

}  // namespace metallb
