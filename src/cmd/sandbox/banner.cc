#include "cmd/sandbox/banner.h"

#include <fmt/format.h>

#include <algorithm>

namespace sandbox_process {
namespace {

std::string_view what_runs(Part part) {
  switch (part) {
    case Part::core:
      return "address-controller";
    case Part::driver:
      return "metallb-iad";
    case Part::metallb:
      return "a model of MetalLB's controller";
  }
  return {};
}

// An address within a minute; only what is there can be tried.
constexpr std::string_view k_try = R"(
Try, in another terminal:

  export KUBECONFIG={0}/kubeconfig
  kubectl apply -f - <<EOF
  apiVersion: local.sdn.cozystack.io/v1alpha1
  kind: IPAddressClass
  metadata: {{name: demo, annotations: {{ipaddressclass.local.sdn.cozystack.io/is-default-class: "true"}}}}
  spec: {{provisioner: metallb.drivers.local.sdn.cozystack.io, parameters: {{addresses: [10.242.42.0/24]}}}}
  ---
  apiVersion: local.sdn.cozystack.io/v1alpha1
  kind: IPAddressClaim
  metadata: {{name: web, namespace: default}}
  spec: {{family: IPv4}}
  EOF
  kubectl get ipaddressclaims,ipaddresses -A
)";

}  // namespace

std::string banner(const Options& options, std::string_view url, std::string_view dir, std::string_view picture) {
  std::string parts;
  std::string logs;
  for (const Part part : options.parts) {
    parts += fmt::format(", {}", what_runs(part));
    if (part == Part::metallb) parts += " " + options.metallb_version;
    logs += fmt::format("{}{}/{}.log", logs.empty() ? "" : " ", dir, to_string(part));
  }
  std::string text = fmt::format(
      "This is a sandbox, not a cluster: an API server in memory{}.\n"
      "Pods are kept but never run, and no address is announced to any network.\n\n"
      "  server      {}\n"
      "  kubeconfig  {}/kubeconfig\n"
      "  picture     {}\n",
      parts, url, dir, picture);
  if (!logs.empty()) text += fmt::format("  logs        {}\n", logs);
  text += options.data.empty() ? "  state       in memory: gone when this ends\n"
                               : fmt::format("  state       kept in {}\n", options.data);
  if (options.parts.size() == std::size(all_parts)) text += fmt::format(fmt::runtime(k_try), dir);
  return text + "\nCtrl-C ends it.\n";
}

}  // namespace sandbox_process
