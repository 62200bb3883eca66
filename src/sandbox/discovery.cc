// What clients ask before they know anything: versions, groups, resources, health.
#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <set>

#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

json::array texts(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& text : list) array.emplace_back(text);
  return array;
}

json::object resource_entry(const Kind& kind, bool status) {
  json::object entry{{"name", status ? kind.plural + "/status" : kind.plural},
                     {"singularName", status ? "" : kind.singular},
                     {"namespaced", kind.namespaced},
                     {"kind", kind.name}};
  if (status) {
    entry["verbs"] = texts({"get", "patch", "update"});
    return entry;
  }
  entry["verbs"] = texts({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
  if (!kind.short_names.empty()) entry["shortNames"] = texts(kind.short_names);
  if (!kind.categories.empty()) entry["categories"] = texts(kind.categories);
  return entry;
}

kube::Response ok(const json::value& body) {
  kube::Response response;
  response.status = 200;
  response.content_type = "application/json";
  response.body = to_text(body);
  return response;
}

json::object group_entry(const std::string& group, const std::string& version) {
  const json::object entry{{"groupVersion", group + "/" + version}, {"version", version}};
  return {{"name", group}, {"versions", json::array{entry}}, {"preferredVersion", entry}};
}

}  // namespace

std::optional<kube::Response> ApiServer::Impl::discovery(const RequestInfo& info) const {
  const std::string& path = info.path;
  if (path == "/healthz" || path == "/readyz" || path == "/livez") {
    kube::Response response;
    response.status = 200;
    response.content_type = "text/plain; charset=utf-8";
    response.body = "ok";
    return response;
  }
  if (path == "/version") {
    return ok(
        json::object{{"major", "1"}, {"minor", "36"}, {"gitVersion", "v1.36.0-sandbox"}, {"platform", "linux/amd64"}});
  }
  if (path == "/api") return ok(json::object{{"kind", "APIVersions"}, {"versions", json::array{"v1"}}});
  std::map<std::string, std::string> groups;
  for (const auto& [key, kind] : kinds) {
    if (!kind->group.empty()) groups.emplace(kind->group, kind->version);
  }
  if (path == "/apis") {
    json::array list;
    for (const auto& [group, version] : groups) list.push_back(group_entry(group, version));
    return ok(json::object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
  }
  if (info.version.empty()) {
    const std::string name = path.starts_with("/apis/") ? path.substr(6) : std::string();
    const auto group = groups.find(name);
    if (group == groups.end()) return std::nullopt;
    json::object entry = group_entry(group->first, group->second);
    entry["kind"] = "APIGroup";
    entry["apiVersion"] = "v1";
    return ok(entry);
  }
  json::array resources;
  for (const auto& [key, kind] : kinds) {
    if (kind->group != info.group || kind->version != info.version) continue;
    resources.push_back(resource_entry(*kind, false));
    if (kind->status) resources.push_back(resource_entry(*kind, true));
  }
  if (resources.empty()) return std::nullopt;
  return ok(json::object{{"kind", "APIResourceList"},
                         {"apiVersion", "v1"},
                         {"groupVersion", info.group.empty() ? info.version : info.group + "/" + info.version},
                         {"resources", std::move(resources)}});
}

}  // namespace sandbox
