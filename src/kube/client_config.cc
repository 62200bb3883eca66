#include "kube/client_config.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "kube/file.h"
#include "kube/kubeconfig.h"

namespace kube {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::string> split_path_list(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return paths;
}

base::Result<ClientConfig> with_context_checked(base::Result<ClientConfig> config, std::string_view context) {
  if (config && !context.empty()) {
    return base::fail(fmt::format(
        "a context ({}) was asked for, but the configuration comes from the pod's service account: pass a kubeconfig",
        context));
  }
  return config;
}

}  // namespace

Environment Environment::of_process() {
  Environment environment;
  environment.kubeconfig = variable("KUBECONFIG");
  environment.home = variable("HOME");
  environment.service_host = variable("KUBERNETES_SERVICE_HOST");
  environment.service_port = variable("KUBERNETES_SERVICE_PORT");
  return environment;
}

base::Result<ClientConfig> load_in_cluster_config(const Environment& environment) {
  if (environment.service_host.empty() || environment.service_port.empty()) {
    return base::fail("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  ClientConfig config;
  const bool ipv6 = environment.service_host.find(':') != std::string::npos;
  config.server = fmt::format(fmt::runtime(ipv6 ? "https://[{}]:{}" : "https://{}:{}"), environment.service_host,
                              environment.service_port);
  config.token_file = environment.service_account_dir + "/token";
  const auto token = read_file(config.token_file);
  if (!token) {
    return base::fail(fmt::format(
        "in a cluster, but the service account's token is not readable (is automountServiceAccountToken off?): {}",
        token.error().message));
  }
  config.token = trimmed(*token);
  config.tls.ca_file = environment.service_account_dir + "/ca.crt";
  if (const auto ca = read_file(config.tls.ca_file); !ca) {
    base::log::warn("The service account has no CA certificate, using the system's roots",
                    {base::log::kv("error", ca.error().message)});
    config.tls.ca_file.clear();
  }
  if (const auto ns = read_file(environment.service_account_dir + "/namespace"); ns && !trimmed(*ns).empty()) {
    config.ns = trimmed(*ns);
  }
  config.source = "service account of the pod";
  return config;
}

base::Result<ClientConfig> load_client_config(std::string_view kubeconfig_flag, const Environment& environment,
                                              std::string_view context) {
  if (!kubeconfig_flag.empty()) return load_kubeconfig({std::string(kubeconfig_flag)}, context);
  if (const auto files = split_path_list(environment.kubeconfig); !files.empty()) {
    return load_kubeconfig(files, context);
  }
  if (!environment.service_host.empty() && !environment.service_port.empty()) {
    return with_context_checked(load_in_cluster_config(environment), context);
  }
  const std::string fallback = environment.home.empty() ? std::string() : environment.home + "/.kube/config";
  if (std::error_code ignored; !fallback.empty() && std::filesystem::exists(fallback, ignored)) {
    return load_kubeconfig({fallback}, context);
  }
  return base::fail(fmt::format(
      "no way to find the API server: --kubeconfig is not given, KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not "
      "set (not in a cluster), and {} does not exist",
      fallback.empty() ? "~/.kube/config" : fallback));
}

}  // namespace kube
