#include "scenarios/rbac.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace json = boost::json;

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = object.if_contains(key)) {
    for (const auto& item : list->as_array()) out.emplace_back(item.as_string());
  }
  return out;
}

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

std::string at(const json::value& document, std::string_view pointer) {
  boost::system::error_code error;
  const auto* value = document.find_pointer(pointer, error);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

}  // namespace

base::Result<Rights> Rights::of_manifest(const std::string& path) {
  auto documents = load_yaml(path);
  if (!documents) return base::fail(documents.error().message);
  const auto find_role = [&](const std::string& kind, const std::string& ns,
                             const std::string& name) -> const json::value* {
    for (const auto& document : *documents) {
      if (at(document.value, "/kind") == kind && at(document.value, "/metadata/name") == name &&
          (kind == "ClusterRole" || at(document.value, "/metadata/namespace") == ns)) {
        return &document.value;
      }
    }
    return nullptr;
  };
  Rights rights;
  for (const auto& document : *documents) {
    if (!at(document.value, "/kind").ends_with("RoleBinding")) continue;
    const std::string ns = at(document.value, "/metadata/namespace");
    const auto* role = find_role(at(document.value, "/roleRef/kind"), ns, at(document.value, "/roleRef/name"));
    if (!role)
      return base::fail(
          fmt::format("{}: {} binds a role that is not there", path, at(document.value, "/metadata/name")));
    rights.add(*role, ns);
  }
  return rights;
}

Rights Rights::of_role(const json::value& role) {
  Rights rights;
  rights.add(role, at(role, "/metadata/namespace"));
  return rights;
}

void Rights::add(const json::value& role, const std::string& ns) {
  for (const auto& rule : role.at("rules").as_array()) {
    const auto& fields = rule.as_object();
    rules_.push_back({ns, texts(fields, "apiGroups"), texts(fields, "resources"), texts(fields, "resourceNames"),
                      texts(fields, "verbs")});
  }
}

bool Rights::allow(std::string_view group, std::string_view resource, std::string_view ns, std::string_view name,
                   std::string_view verb, bool namespaced) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    return (rule.ns.empty() || (namespaced && rule.ns == ns)) && has(rule.groups, group) &&
           has(rule.resources, resource) && (rule.names.empty() || has(rule.names, name)) && has(rule.verbs, verb);
  });
}

}  // namespace scenarios
