#include "core/classes.h"

#include <fmt/format.h>

#include "core/indexes.h"
#include "core/reasons.h"

namespace core {
namespace {

Resolution named_class(kube::View& view, const std::string& name) {
  const auto* c = view.get<api::ClassRead>(name);
  if (c == nullptr)
    return {nullptr, reason::class_not_found, fmt::format("IPAddressClass \"{}\" does not exist", name)};
  if (c->meta.deleting)
    return {nullptr, reason::class_not_found, fmt::format("IPAddressClass \"{}\" is being deleted", name)};
  return {c, reason::resolved, fmt::format("served by IPAddressClass \"{}\"", name)};
}

Resolution default_class(kube::View& view) {
  const auto defaults = view.all<api::ClassRead>(k_default_classes, "");
  if (defaults.empty())
    return {nullptr, reason::no_default_class,
            "spec.className is empty and no IPAddressClass is marked as the default: name one"};
  if (defaults.size() > 1)
    return {nullptr, reason::multiple_default_classes,
            fmt::format("spec.className is empty and {} IPAddressClasses are marked as the default: name one",
                        defaults.size())};
  return {defaults.front(), reason::resolved,
          fmt::format("served by IPAddressClass \"{}\", the default", defaults.front()->meta.name)};
}

}  // namespace

std::string settled_class(const api::IPAddressClaim& claim, const Counting& counting) {
  if (!claim.status_className.empty() && (!claim.addresses.empty() || !counting.any())) return claim.status_className;
  for (const base::Family family : k_families) {
    if (counting.of(family) != nullptr) return counting.of(family)->className;
  }
  return {};
}

std::string absent_address(std::string_view name) {
  return fmt::format(
      "IPAddress \"{}\" does not exist; the claim waits until an administrator makes it, for none is made because a "
      "claim "
      "names it",
      name);
}

Resolution resolve_class(kube::View& view, const api::IPAddressClaim& claim, const Counting& counting) {
  if (!claim.className.empty()) return named_class(view, claim.className);
  // Both halves of a Dual claim are of one class, wherever the default moves meanwhile.
  if (counting.any()) return named_class(view, settled_class(claim, counting));
  if (!claim.addressName.empty()) {
    const auto* address = view.get<api::IPAddress>(claim.addressName);
    if (address == nullptr) return {nullptr, reason::address_not_found, absent_address(claim.addressName)};
    return named_class(view, address->className);
  }
  return default_class(view);
}

}  // namespace core
