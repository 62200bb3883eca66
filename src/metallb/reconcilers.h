// The functions that plan the driver's keys. Each is pure: what it returns depends on the view alone.
#pragma once

#include "api/builtin.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/context.h"

namespace metallb {

// Claim → reservation (driver design §4): asks for placeholders, observes them, records what they were given.
kube::Plan reconcile_claim(const Context& context, const kube::Key& key, kube::View& view);

// Allocation for one class and family (driver design §4): which claims have an unassigned placeholder, and when a gap
// may open.
kube::Plan reconcile_pool(const Context& context, const kube::Key& key, kube::View& view);

// Holding (driver design §5), releasing the hold for an attached Service (§6), teardown (§8).
kube::Plan reconcile_address(const Context& context, const kube::Key& key, kube::View& view);

// Service → association (driver design §6): attach and detach by the gap handoff.
kube::Plan reconcile_service(const Context& context, const kube::Key& key, kube::View& view);

// Whether a Service gives birth to a key of that reconciler by what it carries.
bool concerns_service_reconciler(const Options& options, const api::Service& service);

// The key of a placeholder; its namespace is "" where all of them are to be.
kube::Key placeholder_key(const Options& options, const api::Service& placeholder);
// Placeholders that hold nothing for anybody (driver design §4.1, §5).
kube::Plan reconcile_placeholder(const Context& context, const kube::Key& key, kube::View& view);

// The placeholder namespace (driver design §5).
kube::Plan reconcile_namespace(const Context& context, const kube::Key& key, kube::View& view);

}  // namespace metallb
