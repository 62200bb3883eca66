#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "sandbox/builtin/fields.h"
#include "sandbox/server_impl.h"
#include "sandbox/strategies.h"

namespace sandbox {
namespace {

std::vector<std::string> texts(const json::object& from, std::string_view name) {
  std::vector<std::string> list;
  if (const json::array* items = array_at(from, {name})) {
    for (const json::value& item : *items) {
      if (item.is_string()) list.emplace_back(view(item.get_string()));
    }
  }
  return list;
}

// The version that is stored; the sandbox serves one version of a custom kind.
const json::object* storage_version(const json::object& crd) {
  const json::array* versions = array_at(crd, {"spec", "versions"});
  if (versions == nullptr) return nullptr;
  for (const json::value& version : *versions) {
    if (version.is_object() && bool_at(version.get_object(), {"storage"})) return &version.get_object();
  }
  return nullptr;
}

}  // namespace

std::string crd_fault(const json::object& crd) {
  const json::object* version = storage_version(crd);
  if (object_at(crd, {"spec", "names"}) == nullptr || version == nullptr)
    return "spec.names and one stored version are required";
  const json::object& spec = *object_at(crd, {"spec"});
  if (text_at(spec, {"group"}).empty() || text_at(spec, {"names", "plural"}).empty() ||
      text_at(spec, {"names", "kind"}).empty() || text_at(*version, {"name"}).empty()) {
    return "group, version, plural and kind are required";
  }
  if (object_at(*version, {"schema", "openAPIV3Schema"}) == nullptr) return "a schema is required";
  return {};
}

base::Result<Kind> kind_of_crd(const json::object& crd) {
  const json::object* spec = object_at(crd, {"spec"});
  const json::object* names = object_at(crd, {"spec", "names"});
  const json::object* version = storage_version(crd);
  if (spec == nullptr || names == nullptr || version == nullptr)
    return base::fail("spec.names and one stored version are required");
  Kind kind;
  kind.group = text_at(*spec, {"group"});
  kind.version = text_at(*version, {"name"});
  kind.plural = text_at(*names, {"plural"});
  kind.singular = text_at(*names, {"singular"});
  kind.name = text_at(*names, {"kind"});
  kind.short_names = texts(*names, "shortNames");
  kind.categories = texts(*names, "categories");
  kind.namespaced = text_at(*spec, {"scope"}) == "Namespaced";
  kind.status = object_at(*version, {"subresources", "status"}) != nullptr;
  kind.generation = true;
  kind.custom = true;
  kind.strategy = custom_strategy();
  if (kind.group.empty() || kind.version.empty() || kind.plural.empty() || kind.name.empty()) {
    return base::fail("group, version, plural and kind are required");
  }
  if (const json::array* fields = array_at(*version, {"selectableFields"})) {
    for (const json::value& field : *fields) {
      const std::string_view path = text_at(field.as_object(), {"jsonPath"});
      kind.selectable.emplace_back(path.starts_with('.') ? path.substr(1) : path);
    }
  }
  if (const json::array* columns = array_at(*version, {"additionalPrinterColumns"})) kind.columns = *columns;
  const json::object* schema = object_at(*version, {"schema", "openAPIV3Schema"});
  if (schema == nullptr) return base::fail("a schema is required");
  auto parsed = Schema::parse(*schema);
  if (!parsed) return base::fail(fmt::format("{}: {}", kind.name, parsed.error().message));
  kind.schema = std::move(*parsed);
  auto openapi = std::make_shared<json::object>(*schema);
  json::object& properties = make_object(*openapi, {"properties"});
  for (const std::string_view name : {"apiVersion", "kind"}) {
    if (!properties.contains(name)) properties[name] = *find(builtin_fields("Service")->openapi, {"properties", name});
  }
  properties["metadata"] = metadata_openapi();
  kind.openapi = std::move(openapi);
  return kind;
}

base::Result<void> ApiServer::Impl::define(const json::object& crd) {
  auto kind = kind_of_crd(crd);
  if (!kind) return std::unexpected(kind.error());
  const auto key = std::tuple(kind->group, kind->version, kind->plural);
  if (auto hidden = unserved.extract(key); !hidden.empty()) kinds.insert(std::move(hidden));
  const auto found = kinds.find(key);
  if (found == kinds.end()) {
    add_kind(std::move(*kind));
  } else {
    *found->second = std::move(*kind);  // in place: stored objects and open watches refer to it
  }
  if (bool_at(*storage_version(crd), {"served"})) return {};
  auto hidden = kinds.extract(key);
  end_watches(*hidden.mapped());
  unserved.insert(std::move(hidden));
  return {};
}

void ApiServer::Impl::end_watches(const Kind& kind) {
  std::vector<WatchId> ended;
  for (const auto& [id, watcher] : watchers) {
    if (watcher->kind == &kind) ended.push_back(id);
  }
  for (const WatchId id : ended) end_watch(id);
}

void ApiServer::Impl::undefine(const json::object& crd) {
  const auto description = kind_of_crd(crd);
  if (!description) return;
  const auto key = std::tuple(description->group, description->version, description->plural);
  auto taken = kinds.extract(key);
  if (taken.empty()) taken = unserved.extract(key);
  if (taken.empty()) return;
  const std::shared_ptr<Kind> kind = taken.mapped();
  // its objects go with it, whatever their finalizers say: nobody can reach them any more
  std::vector<std::string> keys;
  for (const auto& [name, version] : storage.objects(*kind)) keys.push_back(name);
  for (const std::string& name : keys) storage.remove(*kind, name);
  end_watches(*kind);
  retired.push_back(kind);
}

}  // namespace sandbox
