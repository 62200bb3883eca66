#include "metallb/controller.h"

#include <memory>
#include <utility>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "api/names.h"
#include "metallb/association.h"
#include "metallb/class.h"
#include "metallb/context.h"
#include "metallb/endpoints.h"
#include "metallb/indexes.h"
#include "metallb/inventory.h"
#include "metallb/metrics.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reconcilers.h"
#include "metallb/sharing.h"
#include "metallb/stray.h"

namespace metallb {
namespace {

using Keys = std::vector<kube::Key>;

ClassSettings class_settings(const Options& options) {
  return {options.metallb_namespace, placeholder_namespaces(options), options.load_balancer_class, options.inventory};
}

kube::WatchSpec watch_classes(const Context& context) {
  kube::WatchSpec watch;
  watch.kind = &api::IPAddressClass::kind();
  watch.indexes = {class_overlap_index(context.parameters)};
  watch.keys = [](const kube::Object& object, Keys& keys) {
    add_class_key(static_cast<const api::IPAddressClass&>(object), keys);
    keys.push_back({std::string(k_inventory_summary_reconciler), "", object.meta.name});
  };
  return watch;
}

kube::WatchSpec watch_claims() {
  kube::WatchSpec watch;
  watch.kind = &api::IPAddressClaim::kind();
  watch.keys = [](const kube::Object& object, Keys& keys) {
    if (object.meta.annotations.get(api::provisioner_annotation) == api::metallb::provisioner) {
      keys.push_back(claim_key(object.meta.ns, object.meta.name));
    }
  };
  return watch;
}

kube::WatchSpec watch_addresses() {
  kube::WatchSpec watch;
  watch.kind = &api::IPAddress::kind();
  watch.indexes = address_indexes();
  watch.indexes.push_back(ledger_index());
  watch.indexes.push_back(inventory_index());
  watch.keys = [](const kube::Object& object, Keys& keys) {
    const auto& address = static_cast<const api::IPAddress&>(object);
    keys.push_back(address_key(address.meta.name));
    add_class_key(address, keys);
    if (const auto adoption = adoption_of(address)) keys.push_back(inventory_key(adoption->ns, adoption->service));
    if (address.associatedTo && address.associatedTo->kind == "Service") {
      keys.push_back(service_key(address.associatedTo->ns, address.associatedTo->name));
    }
  };
  return watch;
}

void add_placeholder_keys(const Options& options, const api::Service& placeholder, Keys& keys) {
  const kube::StringMap& annotations = placeholder.meta.annotations;
  keys.push_back(placeholder_key(options, placeholder));
  if (!is_recorded(placeholder) && annotations.contains(api::metallb::claim_name)) {
    keys.push_back(
        claim_key(annotations.get(api::metallb::claim_namespace), annotations.get(api::metallb::claim_name)));
  }
}

kube::WatchSpec watch_services(const Options& options, const ClassSettings& settings) {
  kube::WatchSpec watch;
  watch.kind = &api::Service::kind();
  watch.indexes = service_indexes(options);
  watch.indexes.push_back(stray_index(options));
  watch.indexes.push_back(placeholder_pool_index(settings));
  watch.indexes.push_back(served_index(settings));
  watch.indexes.push_back(strangers_index(settings));
  watch.keys = [options](const kube::Object& object, Keys& keys) {
    const auto& service = static_cast<const api::Service&>(object);
    if (is_placeholder(service, options)) {
      add_placeholder_keys(options, service, keys);
    } else if (concerns_service_reconciler(options, service)) {
      keys.push_back(service_key(service.meta.ns, service.meta.name));
    }
    if (may_be_stranger(options, service)) keys.push_back(inventory_key(service.meta.ns, service.meta.name));
  };
  return watch;
}

// Only two of them matter, ours and MetalLB's: no field selector can name two.
kube::WatchSpec watch_namespaces(const Options& options) {
  kube::WatchSpec watch;
  watch.kind = &api::Namespace::kind();
  watch.keys = [home = options.placeholder_namespace](const kube::Object& object, Keys& keys) {
    if (object.meta.name == home) keys.push_back({std::string(k_namespace_reconciler), "", home});
  };
  return watch;
}

std::vector<kube::Rule> rules(const Options& options) {
  const std::string ipam(api::group);
  std::vector<kube::Rule> all = class_rules(class_settings(options));
  const std::vector<kube::Rule> own{
      {ipam, "ipaddressclaims", "", {"get", "list", "watch"}},
      {ipam, "ipaddressclaims/status", "", {"patch"}},
      {ipam, "ipaddresses", "", {"get", "list", "watch", "create", "patch", "delete"}},
      {ipam, "ipaddresses/status", "", {"patch"}},
      {"", "services", "", {"get", "list", "watch", "patch"}},
      {"", "services", options.placeholder_namespace, {"create", "delete"}},
      {"", "namespaces", "", {"get", "list", "watch", "create"}},
      {"events.k8s.io", "events", "", {"create", "patch"}},
  };
  all.insert(all.end(), own.begin(), own.end());
  for (kube::Rule& rule : endpoint_rules(options)) all.push_back(std::move(rule));
  if (options.inventory) all.push_back({ipam, "ipaddressclaims", "", {"create", "delete"}});
  for (const std::string& former : options.former_placeholder_namespaces) {
    all.push_back({"", "services", former, {"delete"}});
  }
  return all;
}

}  // namespace

kube::Controller controller(const Options& options) {
  const auto context = std::make_shared<const Context>(Context{options, std::make_shared<ParameterCache>()});
  const ClassSettings settings = class_settings(options);
  const auto classes = std::make_shared<const ClassReconciler>(settings, context->parameters);

  kube::Controller driver;
  driver.name = "metallb-iad";
  driver.lease_name = api::driver_lease;
  driver.watches = {watch_classes(*context), watch_claims(), watch_addresses(), watch_services(options, settings),
                    watch_namespaces(options)};
  for (kube::WatchSpec& watch : metallb_watches(settings)) {
    if (watch.kind == &api::L2Advertisement::kind()) watch.indexes.push_back(selecting_index());
    driver.watches.push_back(std::move(watch));
  }

  for (kube::WatchSpec& watch : endpoint_watches(options)) driver.watches.push_back(std::move(watch));

  const auto add = [&](std::string_view name, auto reconcile, int rank) {
    driver.reconcilers.push_back(
        {std::string(name),
         [context, reconcile](const kube::Key& key, kube::View& view) { return reconcile(*context, key, view); },
         rank});
  };
  driver.reconcilers.push_back(
      {std::string(k_class_reconciler),
       [classes](const kube::Key& key, kube::View& view) { return classes->reconcile(key, view); }, 0});
  add(k_claim_reconciler, reconcile_claim, 0);
  add(k_address_reconciler, reconcile_address, 0);
  add(k_service_reconciler, reconcile_service, 0);
  add(k_inventory_reconciler, reconcile_inventory, 0);
  add(k_placeholder_reconciler, reconcile_placeholder, 0);
  add(k_namespace_reconciler, reconcile_namespace, 0);
  driver.reconcilers.push_back({std::string(api::k_restore), api::reconcile_restore, 0});
  // After everybody has said what it wants: right after a start too, no placeholder is created beside a gap that is
  // open.
  add(k_pool_reconciler, reconcile_pool, 1);
  // And nothing is summed up that has not been counted yet.
  add(k_inventory_summary_reconciler, reconcile_inventory_summary, 1);
  driver.initial_keys = {{std::string(k_namespace_reconciler), "", options.placeholder_namespace}};
  driver.metrics = {{std::string(k_gap_metric),
                     "Seconds for which nobody had an address that was handed over with a gap.",
                     kube::MetricSpec::Type::histogram,
                     {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}}};
  driver.rules = rules(options);
  driver.objection = [context](kube::View& view) { return placeholders_elsewhere(context->options, view); };
  driver.finalizers = {{&api::IPAddress::kind(), std::string(api::metallb::teardown)},
                       {&api::Service::kind(), std::string(api::metallb::attached)}};
  return driver;
}

}  // namespace metallb
