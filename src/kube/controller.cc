#include "kube/controller.h"

#include <algorithm>

#include "kube/finalizers.h"

namespace kube {
namespace {

std::vector<std::string> of_kind(const std::vector<FinalizerSpec>& all, const Kind& kind) {
  std::vector<std::string> names;
  for (const FinalizerSpec& finalizer : all) {
    if (finalizer.kind == &kind) names.push_back(finalizer.name);
  }
  return names;
}

WatchSpec watch_carriers(const Kind& kind, const std::string& reconciler, const std::vector<std::string>& finalizers) {
  WatchSpec watch;
  watch.kind = &kind;
  watch.optional = true;
  watch.keys = [reconciler, finalizers](const Object& object, std::vector<Key>& keys) {
    if (std::ranges::any_of(finalizers, [&](const std::string& name) { return object.meta.has_finalizer(name); }))
      keys.push_back({reconciler, object.meta.ns, object.meta.name});
  };
  return watch;
}

ReconcilerSpec take_off(const Kind& kind, const std::string& reconciler, const std::vector<std::string>& finalizers) {
  return {reconciler,
          [&kind, finalizers](const Key& key, View& view) {
            Plan plan;
            const Object* object = view.get(kind, key.ns, key.name);
            plan.forget = object == nullptr;
            if (object == nullptr) return plan;
            boost::json::array left = without_finalizers(object->meta, finalizers);
            if (left.size() != object->meta.finalizers.size()) {
              plan.writes.push_back(
                  patch(kind.resource, *object, {{"metadata", {{"finalizers", std::move(left)}}}}, "release"));
            }
            return plan;
          },
          0};
}

}  // namespace

Controller releasing(const Controller& controller) {
  Controller leaving;
  leaving.name = controller.name;
  leaving.lease_name = controller.lease_name;
  leaving.rules = controller.rules;
  for (const FinalizerSpec& finalizer : controller.finalizers) {
    const Kind& kind = *finalizer.kind;
    const std::string reconciler = "release-" + std::string(kind.resource.plural);
    if (std::ranges::any_of(leaving.reconcilers, [&](const auto& known) { return known.name == reconciler; })) continue;
    const std::vector<std::string> names = of_kind(controller.finalizers, kind);
    leaving.watches.push_back(watch_carriers(kind, reconciler, names));
    leaving.reconcilers.push_back(take_off(kind, reconciler, names));
  }
  return leaving;
}

}  // namespace kube
