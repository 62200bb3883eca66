// What every reconciler of the driver is given besides the view.
#pragma once

#include <memory>
#include <string_view>

#include "api/ipam.h"
#include "api/names.h"
#include "kube/view.h"
#include "metallb/controller.h"
#include "metallb/parameters.h"

namespace metallb {

struct Context {
  Options options;
  // A memo only; shared with the class reconciler.
  std::shared_ptr<ParameterCache> parameters;
};

// A class of ours that serves claims, with its parameters.
struct ServedClass {
  const api::IPAddressClass* object = nullptr;
  std::shared_ptr<const ParsedParameters> parsed;

  // It exists, is ours and is not being deleted.
  explicit operator bool() const { return object != nullptr; }
  // Its parameters can be read.
  bool valid() const { return object != nullptr && parsed->has_value(); }
  const ClassParameters& parameters() const { return **parsed; }
};

inline ServedClass served_class(kube::View& view, const Context& context, std::string_view name) {
  const auto* object = name.empty() ? nullptr : view.get<api::IPAddressClass>(name);
  if (object == nullptr || object->meta.deleting || object->provisioner != api::metallb::provisioner) return {};
  return {object, context.parameters->get(object->parameters)};
}

}  // namespace metallb
