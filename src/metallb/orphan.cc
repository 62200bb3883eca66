// Driver design §4.1 and §5: placeholders that hold nothing for anybody go, all others have no endpoints, and the
// namespace they live in is there.
#include <boost/json/object.hpp>
#include <string>
#include <utility>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/names.h"
#include "api/restore.h"
#include "metallb/endpoints.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reconcilers.h"

namespace metallb {
namespace {

// By owner reference, since a long name is hashed in the label.
std::string held_object_name(const api::Service& placeholder) {
  const kube::OwnerReference* owner = held_object(placeholder);
  return owner != nullptr ? owner->name : std::string(placeholder.meta.labels.get(api::metallb::ip_address));
}

// Nobody's key looks after it: no address of ours with its label is there, or it has neither label nor claim.
bool is_orphan(kube::View& view, const api::Service& placeholder) {
  if (!is_recorded(placeholder)) return !placeholder.meta.annotations.contains(api::metallb::claim_name);
  const std::string label(placeholder.meta.labels.get(api::metallb::ip_address));
  bool kept = false;
  view.each<api::IPAddress>(k_address_label_index, label, [&](const api::IPAddress& address) {
    kept = kept || is_ours(view, address);
    return !kept;
  });
  return !kept;
}

}  // namespace

kube::Key placeholder_key(const Options& options, const api::Service& placeholder) {
  const bool home = placeholder.meta.ns == options.placeholder_namespace;
  return {std::string(k_placeholder_reconciler), home ? "" : placeholder.meta.ns, placeholder.meta.name};
}

kube::Plan reconcile_placeholder(const Context& context, const kube::Key& key, kube::View& view) {
  kube::Plan plan;
  refused_for(view);
  const std::string& ns = key.ns.empty() ? context.options.placeholder_namespace : key.ns;
  const auto* placeholder = view.get<api::Service>(ns, key.name);
  if (placeholder == nullptr || !is_placeholder(*placeholder, context.options)) {
    plan.forget = true;
    return plan;
  }
  const bool orphan = is_orphan(view, *placeholder);
  const bool going = placeholder->meta.deleting;
  const bool written = view.busy({&api::Service::kind().resource, placeholder->meta.ns, placeholder->meta.name});
  // The gap stays until it is gone, or MetalLB has taken off it what it had.
  if (orphan && (written || going)) may_give_back(view, plan, *placeholder);
  if (written || (going && is_disarmed(*placeholder))) return plan;
  // Whoever is held, or is to be, decides about its own placeholders.
  if (!orphan) {
    view.since("orphan", false);
    // What is left behind is emptied there, and may have the name of one at home.
    if (!going && !is_left_behind(*placeholder, context.options)) remove_slices(plan, view, *placeholder);
    return plan;
  }
  if (is_recorded(*placeholder)) {
    // A backup tool may bring the address back later than its hold (contract §9.5).
    const base::Duration wait = api::restore_wait(view, context.options.restore_grace, "orphan", true);
    if (wait > base::Duration::zero()) {
      plan.then_look_after(wait);
      return plan;
    }
    // Before the live read, so that the gap is asked for in the plan that asks for the read too.
    if (!may_give_back(view, plan, *placeholder)) return plan;
    const kube::Ref held{&api::IPAddress::kind().resource, "", held_object_name(*placeholder)};
    if (!held.name.empty() && !view.confirmed(held)) {
      plan.confirms = {{held}};
      return plan;
    }
  }
  if (!may_give_back(view, plan, *placeholder)) return plan;
  dismiss(plan, *placeholder, "placeholder-orphan");
  return plan;
}

kube::Plan reconcile_namespace(const Context& context, const kube::Key&, kube::View& view) {
  kube::Plan plan;
  const std::string& name = context.options.placeholder_namespace;
  const kube::Resource& namespaces = api::Namespace::kind().resource;
  if (view.get<api::Namespace>(name) != nullptr || view.busy({&namespaces, "", name})) return plan;
  plan.writes.push_back(
      kube::create(namespaces, {{"metadata", boost::json::object{{"name", name}}}}, "namespace-create"));
  return plan;
}

}  // namespace metallb
