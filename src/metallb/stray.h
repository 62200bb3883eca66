// Placeholders where the driver has not been told to look for them (driver design §5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/store.h"
#include "kube/view.h"
#include "metallb/controller.h"

namespace metallb {

// Service "stray", bucket "": what has the marks of a hold of ours, elsewhere than where placeholders are trusted, and
// shows the address of its pin.
inline constexpr std::string_view k_stray_index = "stray";
kube::IndexSpec stray_index(const Options& options);

// Why the driver must not start: there are holds of ours in namespaces that no flag names. It would take them for
// somebody else's, and every address that they hold for lost. Nobody may keep it from starting by a Service of his own:
// what counts names the IPAddress as its owner, by the uid, which tenants cannot read; and it is no hold that stands in
// the namespace of the very claim that has the address.
std::optional<std::string> placeholders_elsewhere(const Options& options, kube::View& view);

}  // namespace metallb
