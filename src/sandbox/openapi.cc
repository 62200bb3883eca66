#include "sandbox/openapi.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "sandbox/builtin/fields.h"

namespace sandbox {
namespace {

// "io.cozystack.sdn.local.v1alpha1.IPAddress": the group backwards, the version, the kind.
std::string definition_name(const Kind& kind) {
  std::string name;
  std::string_view rest = kind.group;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    name = std::string(rest.substr(0, dot)) + (name.empty() ? "" : ".") + name;
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (!kind.custom) name = "io.k8s.api." + (kind.group.empty() ? "core" : kind.group.substr(0, kind.group.find('.')));
  return fmt::format("{}.{}.{}", name, kind.version, kind.name);
}

// Without what only the sandbox knows. `v2`: without what the older format lacks.
json::value published(const json::value& schema, bool v2) {
  if (const json::array* array = schema.if_array()) {
    json::array copy;
    for (const json::value& item : *array) copy.push_back(published(item, v2));
    return copy;
  }
  const json::object* object = schema.if_object();
  if (object == nullptr) return schema;
  json::object copy;
  for (const json::key_value_pair& member : *object) {
    const std::string_view name = member.key();
    // "default": {} is a value, not a schema
    if (name.starts_with("x-sandbox-") || (v2 && name == "nullable")) continue;
    copy[name] = name == "default" ? member.value() : published(member.value(), v2);
  }
  if (bool_at(copy, {"x-kubernetes-int-or-string"})) {
    copy["format"] = "int-or-string";
    if (v2) {
      copy["type"] = "string";
    } else {
      copy["oneOf"] = json::array{json::object{{"type", "integer"}}, json::object{{"type", "string"}}};
    }
  }
  return copy;
}

json::object kind_mark(const Kind& kind) {
  return {{"group", kind.group}, {"kind", kind.name}, {"version", kind.version}};
}

constexpr std::string_view metadata_name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

json::object definition(const Kind& kind, bool v2) {
  json::object schema = published(*kind.openapi, v2).get_object();
  const json::object reference{
      {"$ref", fmt::format("#/{}/{}", v2 ? "definitions" : "components/schemas", metadata_name)}};
  json::object metadata{{"description", "The object's name, version and the like."}};
  if (v2) {
    metadata["$ref"] = reference.at("$ref");
  } else {
    metadata["allOf"] = json::array{reference};
  }
  make_object(schema, {"properties"})["metadata"] = std::move(metadata);
  schema["x-kubernetes-group-version-kind"] = json::array{kind_mark(kind)};
  return schema;
}

json::object parameter(std::string_view name, bool v2) {
  json::object entry{{"name", name}, {"in", "query"}};
  if (v2) {
    entry["type"] = "string";
    entry["uniqueItems"] = true;
  } else {
    entry["schema"] = json::object{{"type", "string"}, {"uniqueItems", true}};
  }
  return entry;
}

// One operation; clients look at its parameters and at the kind it is about.
json::object operation(const Kind& kind, std::string_view action, std::initializer_list<std::string_view> parameters,
                       const std::string& reference, bool v2) {
  json::array list;
  for (const std::string_view name : parameters) list.push_back(parameter(name, v2));
  json::object schema{{"$ref", reference}};
  json::object answer{{"description", "OK"}};
  if (v2) {
    answer["schema"] = std::move(schema);
  } else {
    answer["content"] = json::object{{"application/json", json::object{{"schema", std::move(schema)}}}};
  }
  return {{"operationId", fmt::format("{}{}{}", action, kind.version, kind.name)},
          {"parameters", std::move(list)},
          {"responses", json::object{{"200", std::move(answer)}}},
          {"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind", kind_mark(kind)}};
}

json::object with_body(json::object entry, std::initializer_list<std::string_view> types, const std::string& reference,
                       bool v2) {
  if (v2) {
    json::array consumes;
    for (const std::string_view type : types) consumes.emplace_back(type);
    entry["consumes"] = std::move(consumes);
    entry["parameters"].get_array().push_back(json::object{
        {"name", "body"}, {"in", "body"}, {"required", true}, {"schema", json::object{{"$ref", reference}}}});
    return entry;
  }
  json::object content;
  for (const std::string_view type : types) content[type] = json::object{{"schema", json::object{{"$ref", reference}}}};
  entry["requestBody"] = json::object{{"content", std::move(content)}, {"required", true}};
  return entry;
}

void add_paths(json::object& paths, const Kind& kind, bool v2) {
  const std::string reference = (v2 ? "#/definitions/" : "#/components/schemas/") + definition_name(kind);
  std::string collection =
      kind.group.empty() ? "/api/" + kind.version : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (kind.namespaced) collection += "/namespaces/{namespace}";
  collection += "/" + kind.plural;
  const auto write = {std::string_view("dryRun"), std::string_view("fieldManager"),
                      std::string_view("fieldValidation")};
  const auto can = [&kind](std::string_view verb) {
    return kind.verbs.empty() || std::ranges::find(kind.verbs, verb) != kind.verbs.end();
  };
  json::object many;
  json::object one;
  if (can("list")) {
    many["get"] = operation(kind, "list",
                            {"continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
                             "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"},
                            reference, v2);
  }
  many["post"] =
      with_body(operation(kind, "post", write, reference, v2), {"application/json", "application/yaml"}, reference, v2);
  paths[collection] = std::move(many);
  if (!can("get")) return;
  one["get"] = operation(kind, "get", {}, reference, v2);
  one["put"] =
      with_body(operation(kind, "put", write, reference, v2), {"application/json", "application/yaml"}, reference, v2);
  // strategic merge patches are accepted but not announced: the merge keys are not in the document, and kubectl knows
  // those of the built-in kinds by itself
  one["patch"] = with_body(
      operation(kind, "patch", {"dryRun", "fieldManager", "fieldValidation", "force"}, reference, v2),
      {"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}, reference, v2);
  one["delete"] = operation(kind, "delete", {"dryRun", "gracePeriodSeconds", "propagationPolicy"}, reference, v2);
  paths[collection + "/{name}"] = std::move(one);
}

json::object info() { return {{"title", "Kubernetes"}, {"version", "v1.36.3"}}; }

}  // namespace

json::object openapi_v3(const std::vector<const Kind*>& kinds) {
  json::object paths;
  json::object schemas{{metadata_name, published(metadata_openapi(), false)}};
  for (const Kind* kind : kinds) {
    add_paths(paths, *kind, false);
    schemas[definition_name(*kind)] = definition(*kind, false);
  }
  return {{"openapi", "3.0.0"},
          {"info", info()},
          {"paths", std::move(paths)},
          {"components", json::object{{"schemas", std::move(schemas)}}}};
}

json::object openapi_v2(const std::vector<const Kind*>& kinds) {
  json::object paths;
  json::object definitions{{metadata_name, published(metadata_openapi(), true)}};
  for (const Kind* kind : kinds) {
    add_paths(paths, *kind, true);
    definitions[definition_name(*kind)] = definition(*kind, true);
  }
  return {{"swagger", "2.0"}, {"info", info()}, {"paths", std::move(paths)}, {"definitions", std::move(definitions)}};
}

std::string content_hash(std::string_view document) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(document.data()), document.size(), digest.data());
  return fmt::format("{:02X}", fmt::join(digest, ""));
}

}  // namespace sandbox
