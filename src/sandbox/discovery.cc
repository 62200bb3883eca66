// What clients ask before they know anything: versions, groups, resources, health.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <map>

#include "sandbox/negotiation.h"
#include "sandbox/openapi.h"
#include "sandbox/openapi_protobuf.h"
#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

json::array texts(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& text : list) array.emplace_back(text);
  return array;
}

json::array verbs_of(const Kind& kind) {
  static const std::vector<std::string> all = {"create", "delete", "deletecollection", "get",
                                               "list",   "patch",  "update",           "watch"};
  return texts(kind.verbs.empty() ? all : kind.verbs);
}

std::vector<Subresource> subresources_of(const Kind& kind) {
  std::vector<Subresource> list = kind.subresources;
  if (kind.status) list.push_back({"status", kind.name, kind.group, kind.version, {"get", "patch", "update"}});
  std::ranges::sort(list, {}, &Subresource::name);
  return list;
}

void add_names(json::object& entry, const Kind& kind) {
  if (!kind.short_names.empty()) entry["shortNames"] = texts(kind.short_names);
  if (!kind.categories.empty()) entry["categories"] = texts(kind.categories);
}

// A kind and its subresources in the older form, one entry each.
void append_resources(json::array& list, const Kind& kind) {
  json::object entry{{"name", kind.plural},
                     {"singularName", kind.singular},
                     {"namespaced", kind.namespaced},
                     {"kind", kind.name},
                     {"verbs", verbs_of(kind)}};
  add_names(entry, kind);
  list.push_back(std::move(entry));
  for (const Subresource& sub : subresources_of(kind)) {
    json::object part{{"name", kind.plural + "/" + sub.name}, {"singularName", ""}, {"namespaced", kind.namespaced}};
    if (sub.group != kind.group || sub.version != kind.version) {
      part["group"] = sub.group;
      part["version"] = sub.version;
    }
    part["kind"] = sub.kind;
    part["verbs"] = texts(sub.verbs);
    list.push_back(std::move(part));
  }
}

json::object kind_reference(std::string_view group, std::string_view version, std::string_view kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

// The same in the newer form.
json::object aggregated_resource(const Kind& kind) {
  json::object entry{{"resource", kind.plural},
                     {"responseKind", kind_reference(kind.group, kind.version, kind.name)},
                     {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", kind.singular},
                     {"verbs", verbs_of(kind)}};
  add_names(entry, kind);
  json::array parts;
  for (const Subresource& sub : subresources_of(kind)) {
    parts.push_back(json::object{{"subresource", sub.name},
                                 {"responseKind", kind_reference(sub.group, sub.version, sub.kind)},
                                 {"verbs", texts(sub.verbs)}});
  }
  if (!parts.empty()) entry["subresources"] = std::move(parts);
  return entry;
}

kube::Response ok(const json::value& body, std::string content_type = "application/json") {
  kube::Response response;
  response.status = 200;
  response.content_type = std::move(content_type);
  response.body = to_text(body);
  return response;
}

kube::Response plain(std::string body) {
  kube::Response response;
  response.status = 200;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

json::object group_version(const std::string& group, const std::string& version) {
  return {{"groupVersion", group + "/" + version}, {"version", version}};
}

// Group -> versions, in the order of kinds.
using Groups = std::map<std::string, std::vector<std::string>>;

json::object group_entry(const std::string& group, const std::vector<std::string>& versions) {
  json::array list;
  for (const std::string& version : versions) list.push_back(group_version(group, version));
  return {{"name", group}, {"versions", std::move(list)}, {"preferredVersion", group_version(group, versions.front())}};
}

bool is_health(std::string_view path) {
  static constexpr auto checks = std::to_array<std::string_view>({"/healthz", "/readyz", "/livez"});
  return std::ranges::any_of(checks, [&](std::string_view check) {
    return path == check || (path.starts_with(check) && path.substr(check.size()).starts_with('/'));
  });
}

std::string health(std::string_view path, bool verbose) {
  if (!verbose) return "ok";
  const std::string_view check = path.substr(1, path.find('/', 1) - 1);
  std::string text = "[+]ping ok\n[+]log ok\n[+]etcd ok\n";
  if (check == "readyz") text += "[+]informer-sync ok\n";
  text += check;
  return text += " check passed\n";
}

}  // namespace

std::optional<kube::Response> ApiServer::Impl::discovery(const RequestInfo& info, std::string_view accept) const {
  const std::string& path = info.path;
  if (is_health(path)) return plain(health(path, info.query.contains("verbose")));
  if (path == "/version") {
    return ok(json::object{{"major", "1"},
                           {"minor", "36"},
                           {"emulationMajor", "1"},
                           {"emulationMinor", "36"},
                           {"minCompatibilityMajor", "1"},
                           {"minCompatibilityMinor", "35"},
                           {"gitVersion", "v1.36.3-sandbox"},
                           {"gitCommit", ""},
                           {"gitTreeState", "clean"},
                           {"buildDate", "1970-01-01T00:00:00Z"},
                           {"goVersion", ""},
                           {"compiler", "gcc"},
                           {"platform", "linux/amd64"}});
  }
  if (path.empty()) {
    json::array paths{"/api",        "/api/v1",     "/apis",   "/healthz", "/livez",
                      "/openapi/v2", "/openapi/v3", "/readyz", "/version"};
    return ok(json::object{{"paths", std::move(paths)}});
  }
  if (path.starts_with("/openapi/")) return openapi(path, accept);
  Groups groups;
  for (const auto& [key, kind] : kinds) {
    auto& versions = groups[kind->group];
    if (std::ranges::find(versions, kind->version) == versions.end()) versions.push_back(kind->version);
  }
  if (path == "/api" || path == "/apis") {
    const bool core = path == "/api";
    if (const std::string_view version = aggregated_discovery(accept); !version.empty()) {
      return ok(aggregated(groups, core, version),
                fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version));
    }
    if (core) {
      return ok(json::object{
          {"kind", "APIVersions"}, {"versions", json::array{"v1"}}, {"serverAddressByClientCIDRs", json::array()}});
    }
    json::array list;
    for (const auto& [group, versions] : groups) {
      if (!group.empty()) list.push_back(group_entry(group, versions));
    }
    return ok(json::object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
  }
  if (info.version.empty()) {
    const auto group = groups.find(path.starts_with("/apis/") ? path.substr(6) : std::string());
    if (group == groups.end() || group->first.empty()) return std::nullopt;
    json::object entry = group_entry(group->first, group->second);
    entry["kind"] = "APIGroup";
    entry["apiVersion"] = "v1";
    return ok(entry);
  }
  json::array resources;
  for (const auto& [key, kind] : kinds) {
    if (kind->group == info.group && kind->version == info.version) append_resources(resources, *kind);
  }
  if (resources.empty()) return std::nullopt;
  return ok(json::object{{"kind", "APIResourceList"},
                         {"apiVersion", "v1"},
                         {"groupVersion", info.group.empty() ? info.version : info.group + "/" + info.version},
                         {"resources", std::move(resources)}});
}

std::optional<kube::Response> ApiServer::Impl::openapi(std::string_view path, std::string_view accept) const {
  std::map<std::string, std::vector<const Kind*>, std::less<>> by_version;
  std::vector<const Kind*> all;
  for (const auto& [key, kind] : kinds) {
    by_version[kind->group.empty() ? "api/" + kind->version : "apis/" + kind->api_version()].push_back(kind.get());
    all.push_back(kind.get());
  }
  if (path == "/openapi/v2" && wants_openapi_protobuf(accept)) {
    kube::Response response;
    response.status = 200;
    response.content_type = openapi_protobuf_type;
    response.body = openapi_protobuf(openapi_v2(all));
    return response;
  }
  if (path == "/openapi/v2") return ok(openapi_v2(all));
  constexpr std::string_view root = "/openapi/v3";
  if (path == root) {
    json::object paths;
    for (const auto& [name, of_version] : by_version) {
      const std::string url = fmt::format("{}/{}?hash={}", root, name, content_hash(to_text(openapi_v3(of_version))));
      paths[name] = json::object{{"serverRelativeURL", url}};
    }
    return ok(json::object{{"paths", std::move(paths)}});
  }
  if (!path.starts_with("/openapi/v3/")) return std::nullopt;
  const auto found = by_version.find(path.substr(root.size() + 1));
  if (found == by_version.end()) return std::nullopt;
  return ok(openapi_v3(found->second));
}

json::object ApiServer::Impl::aggregated(const std::map<std::string, std::vector<std::string>>& groups, bool core,
                                         std::string_view form) const {
  json::array items;
  for (const auto& [group, versions] : groups) {
    if (group.empty() != core) continue;
    json::array list;
    for (const std::string& version : versions) {
      json::array resources;
      for (const auto& [key, kind] : kinds) {
        if (kind->group == group && kind->version == version) resources.push_back(aggregated_resource(*kind));
      }
      list.push_back(json::object{{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    json::object metadata{{"creationTimestamp", nullptr}};
    if (!group.empty()) metadata["name"] = group;
    items.push_back(json::object{{"metadata", std::move(metadata)}, {"versions", std::move(list)}});
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", fmt::format("apidiscovery.k8s.io/{}", form)},
          {"metadata", json::object()},
          {"items", std::move(items)}};
}

}  // namespace sandbox
