// Where the API server is and who we are, resolved from a kubeconfig or from the pod we run in. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kube {

// Data (PEM text) beats the file of the same purpose. Files are absolute or relative to the working directory by now.
struct TlsConfig {
  std::string ca_data = {};
  std::string ca_file = {};
  std::string certificate_data = {};
  std::string certificate_file = {};
  std::string key_data = {};
  std::string key_file = {};
  std::string server_name = {};  // name to ask for and to verify instead of the URL's host
  bool insecure = false;         // only when the kubeconfig says so
};

// What client-go calls credentialPluginPolicy and credentialPluginAllowlist.
struct PluginPolicy {
  enum class Type : std::uint8_t { allow_all, deny_all, allowlist };
  Type type = Type::allow_all;
  std::vector<std::string> allowlist = {};  // paths, or names that are looked up in PATH
};

// A credential plugin (client.authentication.k8s.io).
struct ExecConfig {
  std::string api_version = {};
  std::string command = {};  // absolute, or a bare name that is looked up in PATH
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string install_hint = {};
  bool provide_cluster_info = false;
  bool needs_terminal = false;           // interactiveMode: Always
  std::string cluster_config_json = {};  // the cluster's extension for plugins, as JSON; may be empty
  PluginPolicy policy = {};              // of whoever starts the process; never read from a kubeconfig
};

struct Impersonation {
  std::string user = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> extra = {};
};

struct ClientConfig {
  std::string server;  // scheme://host[:port][/prefix], without a trailing slash
  TlsConfig tls;
  std::string token;
  std::string token_file;  // beats `token`, which is then only the start value
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;
  Impersonation impersonate;
  std::string proxy_url;  // empty: HTTPS_PROXY, HTTP_PROXY and NO_PROXY decide
  bool disable_compression = false;
  std::string ns = "default";  // namespace of the context, or of the pod
  std::string source;          // where this came from, for a log line
};

// What the process's surroundings say; a value, so that tests need not change the real environment.
struct Environment {
  std::string kubeconfig;    // $KUBECONFIG
  std::string home;          // $HOME
  std::string service_host;  // $KUBERNETES_SERVICE_HOST
  std::string service_port;  // $KUBERNETES_SERVICE_PORT
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";

  static Environment of_process();
};

// Resolves in this order: the flag's file, the files of $KUBECONFIG, the pod's service account, ~/.kube/config.
// `context` overrides the files' current-context; it is an error together with the pod's service account.
// The error names what is missing and what was looked at. Blocking file I/O; no network.
base::Result<ClientConfig> load_client_config(std::string_view kubeconfig_flag, const Environment& environment,
                                              std::string_view context = {});

// The pod's own identity. Distinct errors for "not in a cluster" and for a broken mount.
base::Result<ClientConfig> load_in_cluster_config(const Environment& environment);

}  // namespace kube
