#include "kube/kubeconfig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <filesystem>
#include <map>

#include "kube/auth/base64.h"
#include "kube/file.h"

namespace kube {
namespace {

namespace fs = std::filesystem;

// An entry of `clusters`, `users` or `contexts`, with the file it stands in (for relative paths and messages).
struct Entry {
  YAML::Node node;
  std::string file;
};

struct Merged {
  std::map<std::string, Entry> clusters;
  std::map<std::string, Entry> users;
  std::map<std::string, Entry> contexts;
  std::string current_context;
  std::vector<std::string> files;
};

std::string text_of(const YAML::Node& node, const char* key) {
  const YAML::Node value = node[key];
  return value && value.IsScalar() ? value.Scalar() : std::string();
}

bool flag_of(const YAML::Node& node, const char* key) {
  const YAML::Node value = node[key];
  return value && value.IsScalar() && value.as<bool>(false);
}

void merge_entries(const YAML::Node& root, const char* list, const char* member, const std::string& file,
                   std::map<std::string, Entry>& into) {
  const YAML::Node entries = root[list];
  if (!entries || !entries.IsSequence()) return;
  for (const YAML::Node& entry : entries) {
    if (!entry.IsMap()) continue;
    const YAML::Node body = entry[member];
    into.try_emplace(text_of(entry, "name"),
                     Entry{body && body.IsMap() ? body : YAML::Node(YAML::NodeType::Map), file});
  }
}

base::Result<void> merge_file(const std::string& file, Merged& into) {
  const auto text = read_file(file);
  if (!text) return base::fail(fmt::format("kubeconfig {}", text.error().message));
  YAML::Node root;
  try {
    root = YAML::Load(*text);
  } catch (const YAML::Exception& e) {
    return base::fail(fmt::format("kubeconfig {} is not YAML: {}", file, e.what()));
  }
  if (!root.IsNull() && !root.IsMap()) return base::fail(fmt::format("kubeconfig {} is not a mapping", file));
  into.files.push_back(file);
  if (root.IsNull()) return {};
  merge_entries(root, "clusters", "cluster", file, into.clusters);
  merge_entries(root, "users", "user", file, into.users);
  merge_entries(root, "contexts", "context", file, into.contexts);
  if (into.current_context.empty()) into.current_context = text_of(root, "current-context");
  return {};
}

std::string names_of(const std::map<std::string, Entry>& entries) {
  if (entries.empty()) return "there are none";
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  return fmt::format("there are: {}", fmt::join(names, ", "));
}

std::string resolve(const std::string& path, const std::string& file) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(file).parent_path() / path).lexically_normal().string();
}

base::Result<std::string> decoded(const YAML::Node& node, const char* key, const std::string& where) {
  auto bytes = decode_base64(text_of(node, key));
  if (!bytes) return base::fail(fmt::format("{}: {} is not base64", where, key));
  return *bytes;
}

// YAML has no types of its own for a plugin's `config`: unquoted numbers and booleans are taken for what they look
// like.
boost::json::value to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    boost::json::object object;
    for (const auto& item : node) object[item.first.Scalar()] = to_json(item.second);
    return object;
  }
  if (node.IsSequence()) {
    boost::json::array array;
    for (const YAML::Node& item : node) array.push_back(to_json(item));
    return array;
  }
  if (!node.IsScalar()) return nullptr;
  if (node.Tag() != "!") {
    if (bool flag = false; YAML::convert<bool>::decode(node, flag)) return flag;
    if (std::int64_t number = 0; YAML::convert<std::int64_t>::decode(node, number)) return number;
  }
  return boost::json::value(node.Scalar());
}

std::string plugin_extension(const YAML::Node& cluster) {
  const YAML::Node extensions = cluster["extensions"];
  if (!extensions || !extensions.IsSequence()) return {};
  for (const YAML::Node& extension : extensions) {
    if (!extension.IsMap() || text_of(extension, "name") != "client.authentication.k8s.io/exec") continue;
    if (const YAML::Node body = extension["extension"]) return boost::json::serialize(to_json(body));
  }
  return {};
}

base::Result<void> check_url(const std::string& url, std::initializer_list<std::string_view> schemes,
                             const std::string& where) {
  const auto parsed = boost::urls::parse_uri(url);
  if (!parsed || parsed->host().empty() ||
      std::ranges::find(schemes, std::string_view(parsed->scheme())) == schemes.end()) {
    return base::fail(fmt::format("{} is {:?}, want a URL such as {}://host:port", where, url, *schemes.begin()));
  }
  return {};
}

base::Result<void> read_cluster(const Entry& entry, const std::string& name, ClientConfig& config) {
  const YAML::Node& node = entry.node;
  const std::string where = fmt::format("cluster {:?} of {}", name, entry.file);
  config.server = text_of(node, "server");
  if (config.server.empty()) return base::fail(fmt::format("{} has no server", where));
  if (config.server.find("://") == std::string::npos) config.server = "https://" + config.server;
  if (auto ok = check_url(config.server, {"https", "http"}, "server of " + where); !ok) return ok;
  while (config.server.ends_with('/')) config.server.pop_back();

  auto ca = decoded(node, "certificate-authority-data", where);
  if (!ca) return std::unexpected(ca.error());
  config.tls.ca_data = std::move(*ca);
  config.tls.ca_file = resolve(text_of(node, "certificate-authority"), entry.file);
  config.tls.server_name = text_of(node, "tls-server-name");
  config.tls.insecure = flag_of(node, "insecure-skip-tls-verify");
  if (config.tls.insecure && (!config.tls.ca_data.empty() || !config.tls.ca_file.empty())) {
    return base::fail(
        fmt::format("{} has both insecure-skip-tls-verify and a certificate-authority: remove one of them", where));
  }
  config.disable_compression = flag_of(node, "disable-compression");
  config.proxy_url = text_of(node, "proxy-url");
  if (!config.proxy_url.empty()) {
    if (auto ok = check_url(config.proxy_url, {"http", "https", "socks5", "socks5h"}, "proxy-url of " + where); !ok) {
      return ok;
    }
  }
  return {};
}

base::Result<ExecConfig> read_exec(const YAML::Node& node, const Entry& user, const std::string& where) {
  ExecConfig exec;
  exec.api_version = text_of(node, "apiVersion");
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    return base::fail(fmt::format("{}: exec.apiVersion is {:?}, want client.authentication.k8s.io/v1 or /v1beta1",
                                  where, exec.api_version));
  }
  exec.command = text_of(node, "command");
  if (exec.command.empty()) return base::fail(fmt::format("{}: exec has no command", where));
  if (exec.command.find('/') != std::string::npos) exec.command = resolve(exec.command, user.file);
  if (const YAML::Node args = node["args"]; args && args.IsSequence()) {
    for (const YAML::Node& arg : args) exec.args.push_back(arg.IsScalar() ? arg.Scalar() : std::string());
  }
  if (const YAML::Node env = node["env"]; env && env.IsSequence()) {
    for (const YAML::Node& item : env) {
      if (!item.IsMap() || text_of(item, "name").empty()) {
        return base::fail(fmt::format("{}: an entry of exec.env has no name", where));
      }
      exec.env.emplace_back(text_of(item, "name"), text_of(item, "value"));
    }
  }
  exec.install_hint = text_of(node, "installHint");
  exec.provide_cluster_info = flag_of(node, "provideClusterInfo");
  const std::string mode = text_of(node, "interactiveMode");
  if (mode.empty() && exec.api_version.ends_with("/v1")) {
    return base::fail(fmt::format("{}: exec.interactiveMode is missing (Never, IfAvailable or Always)", where));
  }
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable" && mode != "Always") {
    return base::fail(fmt::format("{}: exec.interactiveMode is {:?}, want Never, IfAvailable or Always", where, mode));
  }
  exec.needs_terminal = mode == "Always";
  return exec;
}

void read_impersonation(const YAML::Node& node, Impersonation& into) {
  into.user = text_of(node, "as");
  into.uid = text_of(node, "as-uid");
  if (const YAML::Node groups = node["as-groups"]; groups && groups.IsSequence()) {
    for (const YAML::Node& group : groups) into.groups.push_back(group.Scalar());
  }
  if (const YAML::Node extra = node["as-user-extra"]; extra && extra.IsMap()) {
    for (const auto& item : extra) {
      auto& values = into.extra.emplace_back(item.first.Scalar(), std::vector<std::string>()).second;
      if (item.second.IsSequence()) {
        for (const YAML::Node& value : item.second) values.push_back(value.Scalar());
      }
    }
  }
}

base::Result<void> read_client_certificate(const Entry& entry, const std::string& where, TlsConfig& tls) {
  auto certificate = decoded(entry.node, "client-certificate-data", where);
  if (!certificate) return std::unexpected(certificate.error());
  auto key = decoded(entry.node, "client-key-data", where);
  if (!key) return std::unexpected(key.error());
  tls.certificate_data = std::move(*certificate);
  tls.key_data = std::move(*key);
  tls.certificate_file = resolve(text_of(entry.node, "client-certificate"), entry.file);
  tls.key_file = resolve(text_of(entry.node, "client-key"), entry.file);
  const bool has_certificate = !tls.certificate_data.empty() || !tls.certificate_file.empty();
  const bool has_key = !tls.key_data.empty() || !tls.key_file.empty();
  if (has_certificate && !has_key) {
    return base::fail(fmt::format("{} has a client certificate but no client-key or client-key-data", where));
  }
  if (has_key && !has_certificate) {
    return base::fail(fmt::format("{} has a client key but no client-certificate or client-certificate-data", where));
  }
  return {};
}

base::Result<void> read_user(const Entry& entry, const std::string& name, ClientConfig& config) {
  const YAML::Node& node = entry.node;
  const std::string where = fmt::format("user {:?} of {}", name, entry.file);
  if (node["auth-provider"]) {
    return base::fail(fmt::format(
        "{} uses auth-provider, which Kubernetes has removed: use the provider's exec plugin instead", where));
  }
  config.token = text_of(node, "token");
  config.token_file = resolve(text_of(node, "tokenFile"), entry.file);
  config.username = text_of(node, "username");
  config.password = text_of(node, "password");
  const bool has_token = !config.token.empty() || !config.token_file.empty();
  if (has_token && !config.username.empty()) {
    return base::fail(
        fmt::format("{} has both a token and a username: only one way to authenticate is allowed", where));
  }
  if (auto ok = read_client_certificate(entry, where, config.tls); !ok) return ok;
  read_impersonation(node, config.impersonate);
  if (config.impersonate.user.empty() &&
      !(config.impersonate.uid.empty() && config.impersonate.groups.empty() && config.impersonate.extra.empty())) {
    return base::fail(fmt::format("{} has as-uid, as-groups or as-user-extra without as", where));
  }
  // As in client-go, a plugin is not asked while the user has a token or a password of its own.
  if (const YAML::Node exec = node["exec"]; exec && exec.IsMap() && !has_token && config.username.empty()) {
    auto read = read_exec(exec, entry, where);
    if (!read) return std::unexpected(read.error());
    config.exec = std::move(*read);
  }
  return {};
}

base::Result<ClientConfig> choose(const Merged& merged, std::string_view wanted) {
  const std::string files = fmt::format("{}", fmt::join(merged.files, ", "));
  const std::string context(wanted.empty() ? merged.current_context : wanted);
  if (context.empty()) {
    return base::fail(fmt::format("{} has no current-context and none was asked for; contexts: {}", files,
                                  names_of(merged.contexts)));
  }
  const auto chosen = merged.contexts.find(context);
  if (chosen == merged.contexts.end()) {
    return base::fail(fmt::format("{} has no context {:?}; {}", files, context, names_of(merged.contexts)));
  }
  ClientConfig config;
  config.source = fmt::format("context {} of {}", context, files);
  const YAML::Node& node = chosen->second.node;
  if (const std::string ns = text_of(node, "namespace"); !ns.empty()) config.ns = ns;

  const std::string cluster_name = text_of(node, "cluster");
  const auto cluster = merged.clusters.find(cluster_name);
  if (cluster == merged.clusters.end()) {
    return base::fail(fmt::format("context {:?} names the cluster {:?}, which {} does not have; {}", context,
                                  cluster_name, files, names_of(merged.clusters)));
  }
  if (auto ok = read_cluster(cluster->second, cluster_name, config); !ok) return std::unexpected(ok.error());

  const std::string user_name = text_of(node, "user");
  if (user_name.empty()) return config;
  const auto user = merged.users.find(user_name);
  if (user == merged.users.end()) {
    return base::fail(fmt::format("context {:?} names the user {:?}, which {} does not have; {}", context, user_name,
                                  files, names_of(merged.users)));
  }
  if (auto ok = read_user(user->second, user_name, config); !ok) return std::unexpected(ok.error());
  if (config.exec) config.exec->cluster_config_json = plugin_extension(cluster->second.node);
  return config;
}

}  // namespace

base::Result<ClientConfig> load_kubeconfig(const std::vector<std::string>& files, std::string_view context) {
  Merged merged;
  try {
    for (const std::string& file : files) {
      std::error_code ignored;
      if (!fs::exists(file, ignored)) continue;
      if (auto ok = merge_file(file, merged); !ok) return std::unexpected(ok.error());
    }
    if (merged.files.empty()) return base::fail(fmt::format("kubeconfig {} does not exist", fmt::join(files, ", ")));
    return choose(merged, context);
  } catch (const YAML::Exception& e) {
    return base::fail(fmt::format("kubeconfig {}: {}", fmt::join(files, ", "), e.what()));
  }
}

}  // namespace kube
