// Placeholders where the driver has not been told to look for them (driver design §5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/store.h"
#include "kube/view.h"
#include "metallb/controller.h"

namespace metallb {

// On each pool that is rendered: the namespaces in which the driver trusts placeholders, by its flags, with "," between
// them. Whoever may not write in MetalLB's namespace cannot add one.
inline constexpr std::string_view k_trusted_annotation =
    "metallb.drivers.local.sdn.cozystack.io/placeholder-namespaces";
std::string trusted_text(const std::vector<std::string>& namespaces);

// Service "stray", bucket "": what has the marks of a hold of ours, elsewhere than where placeholders are trusted, and
// shows the address of its pin.
inline constexpr std::string_view k_stray_index = "stray";
kube::IndexSpec stray_index(const Options& options);

// Why the driver must not start: there are holds of ours in namespaces that no flag names. It would take them for
// somebody else's, and every address that they hold for lost. Nobody may keep it from starting by a Service of his own,
// whatever he knows and copies (the uid of an address is in events about it): what counts stands in a namespace that
// the driver has been told of before, by its own record. Only where there is no record, since no driver that makes one
// has ever led, it goes by what the Services look like, as long as there is no placeholder where there should be.
std::optional<std::string> placeholders_elsewhere(const Options& options, kube::View& view);

}  // namespace metallb
