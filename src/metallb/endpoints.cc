#include "metallb/endpoints.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metallb/reasons.h"

namespace metallb {
namespace {

constexpr std::string_view k_pods_index = "pods";      // all, in bucket ""
constexpr std::string_view k_slices_index = "slices";  // by the name of their Service
constexpr std::string_view k_service_label = "kubernetes.io/service-name";
constexpr std::string_view k_maker_label = "endpointslice.kubernetes.io/managed-by";
// Whoever keeps making them for one placeholder is not raced.
constexpr std::string_view k_removal = "slices";
constexpr int k_removals = 5;
constexpr base::Duration k_removal_pace = std::chrono::seconds(10);

kube::EventNote they_come_back(const api::Service& placeholder, const api::EndpointSlice& slice) {
  const std::string_view maker = slice.meta.labels.get(k_maker_label);
  return {
      {&api::Service::kind().resource, placeholder.meta.ns, placeholder.meta.name},
      placeholder.meta.uid,
      true,
      std::string(reason::foreign_endpoints),
      "RemoveEndpoints",
      fmt::format("EndpointSlices that {} makes for this placeholder keep coming back. It must have no endpoints, or "
                  "MetalLB announces its address for them: they are deleted once in ten seconds. Keep what makes "
                  "them, or an object Endpoints of that name, out of the namespace",
                  maker.empty() ? "somebody" : maker),
      true};
}

template <class T>
kube::WatchSpec watch_at_home(const Options& options) {
  kube::WatchSpec watch;
  watch.kind = &T::kind();
  watch.ns = options.placeholder_namespace;
  watch.optional = true;
  watch.right = kube::ReadRight::optional;
  return watch;
}

}  // namespace

bool is_home_without_pods(kube::View& view) {
  return view.available(api::Pod::kind()) && view.count<api::Pod>(k_pods_index, "") == 0;
}

void remove_slices(kube::Plan& plan, kube::View& view, const api::Service& placeholder) {
  if (placeholder.has_selector) return;
  const kube::Resource& slices = api::EndpointSlice::kind().resource;
  std::vector<const api::EndpointSlice*> left;
  view.each<api::EndpointSlice>(k_slices_index, placeholder.meta.name, [&](const api::EndpointSlice& slice) {
    if (!slice.meta.deleting && !view.busy({&slices, slice.meta.ns, slice.meta.name})) left.push_back(&slice);
    return true;
  });
  if (left.empty()) return;
  const base::Duration wait = view.throttle(k_removal, k_removals, k_removal_pace);
  if (wait > base::Duration::zero()) {
    plan.then_look_after(wait);
    plan.events.push_back(they_come_back(placeholder, *left.front()));
    return;
  }
  for (const auto* slice : left) plan.writes.push_back(kube::remove(slices, *slice, true, "slice-left"));
  plan.spends.emplace_back(k_removal);
}

std::vector<kube::WatchSpec> endpoint_watches(const Options& options) {
  kube::WatchSpec pods = watch_at_home<api::Pod>(options);
  pods.indexes = {{std::string(k_pods_index), [](const kube::Object&, std::vector<kube::IndexEntry>& entries) {
                     entries.push_back({"", ""});
                   }}};
  kube::WatchSpec slices = watch_at_home<api::EndpointSlice>(options);
  slices.indexes = {
      {std::string(k_slices_index), [](const kube::Object& slice, std::vector<kube::IndexEntry>& entries) {
         entries.push_back({std::string(slice.meta.labels.get(k_service_label)), ""});
       }}};
  return {std::move(pods), std::move(slices)};
}

std::vector<kube::Rule> endpoint_rules(const Options& options) {
  return {{"", "pods", options.placeholder_namespace, {"list", "watch"}},
          {"discovery.k8s.io", "endpointslices", options.placeholder_namespace, {"get", "list", "watch", "delete"}}};
}

}  // namespace metallb
