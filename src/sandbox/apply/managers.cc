#include "sandbox/apply/managers.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <tuple>

#include "sandbox/apply/typed.h"

namespace sandbox {
namespace {

Manager* find_manager(Managers& managers, const Manager& wanted) {
  const auto found = std::ranges::find_if(managers, [&wanted](const Manager& manager) { return manager.is(wanted); });
  return found == managers.end() ? nullptr : &*found;
}

std::string described(const Manager& manager) {
  std::string text = quote(manager.name);
  if (!manager.subresource.empty()) text += fmt::format(" with subresource {}", quote(manager.subresource));
  if (manager.operation == "Update") text += fmt::format(" using {}", manager.api_version);
  return text;
}

Failure conflicts_failure(const std::vector<std::pair<Manager, FieldSet>>& conflicts) {
  constexpr std::size_t most = 1000;  // that are told
  Failure failure{.code = 409, .reason = "Conflict"};
  std::map<std::string, std::vector<std::string>> by_manager;
  std::size_t count = 0;
  for (const auto& [manager, fields] : conflicts) {
    for (std::string& path : printed_paths(fields)) {
      if (++count > most) continue;
      failure.causes.push_back({"FieldManagerConflict", "conflict with " + described(manager), path});
      by_manager[described(manager)].push_back(std::move(path));
    }
  }
  std::ranges::stable_sort(failure.causes, {}, &Cause::message);
  std::vector<std::string> lines;
  for (const auto& [manager, paths] : by_manager) {
    if (count == 1) {
      lines.push_back(fmt::format("conflict with {}: {}", manager, paths[0]));
    } else {
      lines.push_back(fmt::format("conflicts with {}:\n- {}", manager, fmt::join(paths, "\n- ")));
    }
  }
  failure.message =
      fmt::format("Apply failed with {} conflict{}: {}", count, count == 1 ? "" : "s", fmt::join(lines, "\n"));
  return failure;
}

void drop_empty_managers(Managers& managers) {
  std::erase_if(managers, [](const Manager& manager) { return manager.fields.empty(); });
}

// The difference in what managedFields speaks of.
Difference managed_difference(const json::object& before, const json::object& after, const json::object& schema) {
  Difference found = compare(before, after, schema);
  for (FieldSet* set : {&found.added, &found.modified, &found.removed}) subtract(*set, unmanaged_fields());
  return found;
}

}  // namespace

const FieldSet& unmanaged_fields() {
  static const FieldSet fields = [] {
    FieldSet set;
    for (const char* name : {"f:apiVersion", "f:kind", "f:metadata"}) set.insert({name});
    for (const char* name : {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid", "f:generation",
                             "f:managedFields", "f:resourceVersion"}) {
      set.insert({"f:metadata", name});
    }
    return set;
  }();
  return fields;
}

base::Result<Managers> read_managers(const json::value* list) {
  Managers managers;
  if (list == nullptr || list->is_null()) return managers;
  if (!list->is_array()) return base::fail("managedFields is a list");
  for (const json::value& item : list->get_array()) {
    const json::object* entry = item.if_object();
    if (entry == nullptr) return base::fail("an entry of managedFields is an object");
    Manager manager;
    manager.name = text_at(*entry, {"manager"});
    manager.operation = text_at(*entry, {"operation"});
    manager.api_version = text_at(*entry, {"apiVersion"});
    manager.subresource = text_at(*entry, {"subresource"});
    manager.time = text_at(*entry, {"time"});
    if (manager.operation != "Apply" && manager.operation != "Update") return base::fail("unknown operation");
    if (const json::object* fields = object_at(*entry, {"fieldsV1"})) manager.fields = read_fields(*fields);
    managers.push_back(std::move(manager));
  }
  return managers;
}

json::array write_managers(Managers managers) {
  std::ranges::sort(managers, {}, [](const Manager& m) {
    return std::tie(m.operation, m.time, m.name, m.api_version, m.subresource);
  });
  json::array list;
  for (const Manager& manager : managers) {
    json::object entry{
        {"manager", manager.name}, {"operation", manager.operation}, {"apiVersion", manager.api_version}};
    if (!manager.time.empty()) entry["time"] = manager.time;
    entry["fieldsType"] = "FieldsV1";
    entry["fieldsV1"] = write_fields(manager.fields);
    if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
    list.push_back(std::move(entry));
  }
  return list;
}

Managers updated(Managers managers, Manager self, const json::object& before, const json::object& after,
                 const json::object& schema) {
  Difference difference = managed_difference(before, after, schema);
  if (difference.none()) return managers;
  FieldSet changed = std::move(difference.modified);
  unite(changed, std::move(difference.added));
  for (Manager& manager : managers) {
    if (manager.is(self)) continue;
    subtract(manager.fields, changed);
    subtract(manager.fields, difference.removed);
  }
  Manager* own = find_manager(managers, self);
  if (own == nullptr) {
    self.fields = std::move(changed);
    managers.push_back(std::move(self));
  } else {
    const bool alike = covers(own->fields, changed) && common(own->fields, difference.removed).empty();
    if (!alike) own->time = self.time;
    subtract(own->fields, difference.removed);
    unite(own->fields, std::move(changed));
  }
  drop_empty_managers(managers);
  return managers;
}

Outcome<Applied> apply(const json::object& live, const json::object& config, Managers managers, Manager self,
                       bool force, const json::object& schema, const FieldSet& ignored) {
  self.fields = fields_of(config, schema);
  subtract(self.fields, unmanaged_fields());
  subtract(self.fields, ignored);
  json::object next = merged(live, config, schema);
  FieldSet last;
  std::string time_before;
  if (Manager* before = find_manager(managers, self)) {
    last = std::move(before->fields);
    time_before = std::move(before->time);
    *before = self;
  } else {
    managers.push_back(self);
  }
  if (!last.empty()) {
    FieldSet kept = fields_of(config, schema);
    for (const Manager& manager : managers) unite(kept, manager.fields);
    prune(next, last, kept, schema);
  }

  Difference difference = managed_difference(live, next, schema);
  // whoever only says what is so already gets no time
  Manager* own = find_manager(managers, self);
  own->time = difference.none() ? time_before : self.time;
  FieldSet changed = std::move(difference.modified);
  unite(changed, std::move(difference.added));
  subtract(changed, ignored);
  std::vector<std::pair<Manager, FieldSet>> conflicts;
  for (Manager& manager : managers) {
    if (manager.is(self)) continue;
    FieldSet taken = common(manager.fields, changed);
    subtract(manager.fields, taken);
    subtract(manager.fields, difference.removed);
    if (!taken.empty()) conflicts.emplace_back(manager, std::move(taken));
  }
  if (!conflicts.empty() && !force) return refuse(conflicts_failure(conflicts));
  drop_empty_managers(managers);
  return Applied{.document = std::move(next), .managers = std::move(managers)};
}

}  // namespace sandbox
