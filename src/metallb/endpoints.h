// Driver design §6: what could give a placeholder endpoints, so that MetalLB announced it. While it shares an address
// with a Service of policy Local it has that one's selector: then no pod may be where it is, and the EndpointSlices
// that Kubernetes leaves behind when the selector goes are removed.
#pragma once

#include <vector>

#include "api/builtin.h"
#include "kube/controller.h"
#include "kube/view.h"
#include "metallb/controller.h"

namespace metallb {

// No pod is in the placeholder namespace, as far as we are allowed to know: not knowing is no.
bool is_home_without_pods(kube::View& view);

// Adds the deletion of what the placeholder has not asked for, which is any slice while it has no selector: at a pace,
// and with an event that names whoever makes them anew. The placeholder stands in the placeholder namespace.
void remove_slices(kube::Plan& plan, kube::View& view, const api::Service& placeholder);

// Pods and EndpointSlices of the placeholder namespace, and the rights to them: both may be refused, since they are in
// a Role that goes with its namespace, and nothing but this waits for them.
std::vector<kube::WatchSpec> endpoint_watches(const Options& options);
std::vector<kube::Rule> endpoint_rules(const Options& options);

}  // namespace metallb
