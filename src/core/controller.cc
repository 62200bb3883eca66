#include "core/controller.h"

#include "api/ipam.h"
#include "api/names.h"
#include "api/restore.h"
#include "core/address.h"
#include "core/claim.h"
#include "core/indexes.h"
#include "core/matching.h"
#include "core/metrics.h"

namespace core {
namespace {

// Values of the labels class and phase. What nobody has looked at yet is Pending.
std::vector<std::string> by_class(const std::string& name, const std::string& phase) {
  return {name, phase.empty() ? std::string(api::phase::pending) : phase};
}

kube::WatchSpec watch_classes() {
  kube::WatchSpec watch;
  watch.kind = &api::ClassRead::kind();
  watch.indexes = class_indexes();
  return watch;
}

kube::WatchSpec watch_addresses() {
  kube::WatchSpec watch;
  watch.kind = &api::IPAddress::kind();
  watch.indexes = address_indexes();
  watch.counts = {{std::string(k_addresses_metric),
                   "IPAddress objects by class and phase.",
                   {"class", "phase"},
                   [](const kube::Object& object) {
                     const auto& address = static_cast<const api::IPAddress&>(object);
                     return by_class(address.className, address.phase);
                   }}};
  watch.keys = [](const kube::Object& object, std::vector<kube::Key>& keys) {
    keys.push_back({std::string(k_address), "", object.meta.name});
  };
  return watch;
}

kube::WatchSpec watch_claims() {
  kube::WatchSpec watch;
  watch.kind = &api::IPAddressClaim::kind();
  watch.indexes = claim_indexes();
  watch.counts = {{std::string(k_claims_metric),
                   "IPAddressClaim objects by class and phase.",
                   {"class", "phase"},
                   [](const kube::Object& object) {
                     const auto& claim = static_cast<const api::IPAddressClaim&>(object);
                     const bool served = !claim.status_className.empty();
                     return by_class(served ? claim.status_className : claim.className, claim.phase);
                   }}};
  watch.keys = [](const kube::Object& object, std::vector<kube::Key>& keys) {
    keys.push_back({std::string(k_claim), object.meta.ns, object.meta.name});
  };
  return watch;
}

kube::Rule rule(std::string resource, std::vector<std::string> verbs) {
  return {std::string(api::group), std::move(resource), "", std::move(verbs)};
}

}  // namespace

kube::Controller controller(const Options& options) {
  kube::Controller c;
  c.name = "address-controller";
  c.lease_name = api::core_lease;
  c.watches = {watch_classes(), watch_addresses(), watch_claims()};
  const auto with_options = [options](auto reconcile) {
    return [options, reconcile](const kube::Key& key, kube::View& view) { return reconcile(options, key, view); };
  };
  c.reconcilers = {{std::string(k_claim), with_options(reconcile_claim), 0},
                   {std::string(k_address), with_options(reconcile_address), 0},
                   {std::string(api::k_restore), api::reconcile_restore, 0},
                   {std::string(k_match), reconcile_match, 1},
                   {std::string(k_named), reconcile_named, 1}};
  c.metrics = {
      {std::string(k_claims_bound_metric), "Claims that became Bound, by class.", kube::MetricSpec::Type::counter, {}},
      {std::string(k_bind_seconds_metric),
       "Seconds from this process's first sight of a claim until it became Bound.",
       kube::MetricSpec::Type::histogram,
       {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}};
  c.rules = {rule("ipaddressclasses", {"get", "list", "watch"}),
             rule("ipaddresses", {"get", "list", "watch", "patch", "delete"}),
             rule("ipaddresses/status", {"patch"}),
             rule("ipaddressclaims", {"get", "list", "watch", "patch"}),
             rule("ipaddressclaims/status", {"patch"}),
             {"events.k8s.io", "events", "", {"create", "patch"}}};
  c.finalizers = {{&api::IPAddressClaim::kind(), std::string(api::claim_protection)},
                  {&api::IPAddress::kind(), std::string(api::address_protection)}};
  return c;
}

}  // namespace core
