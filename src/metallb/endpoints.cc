#include "metallb/endpoints.h"

#include <string>
#include <string_view>
#include <utility>

namespace metallb {
namespace {

constexpr std::string_view k_pods_index = "pods";      // all, in bucket ""
constexpr std::string_view k_slices_index = "slices";  // by the name of their Service
constexpr std::string_view k_service_label = "kubernetes.io/service-name";

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
  view.each<api::EndpointSlice>(k_slices_index, placeholder.meta.name, [&](const api::EndpointSlice& slice) {
    if (!slice.meta.deleting && !view.busy({&slices, slice.meta.ns, slice.meta.name})) {
      plan.writes.push_back(kube::remove(slices, slice, true, "slice-left"));
    }
    return true;
  });
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
