#include "sandbox/strategic.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <string>

namespace sandbox {
namespace {

struct MergeKey {
  std::string_view list;
  std::string_view key;
};
// By the field's name: within the kinds served here a name has one meaning. Service ports merge by port, those of a
// container by containerPort; the element tells which.
constexpr auto merge_keys = std::to_array<MergeKey>({{"conditions", "type"},
                                                     {"containers", "name"},
                                                     {"initContainers", "name"},
                                                     {"env", "name"},
                                                     {"volumes", "name"},
                                                     {"volumeMounts", "mountPath"},
                                                     {"imagePullSecrets", "name"},
                                                     {"secrets", "name"},
                                                     {"ownerReferences", "uid"},
                                                     {"ports", "port"},
                                                     {"tolerations", "key"}});

std::string_view merge_key(std::string_view list, const json::array& items) {
  if (list == "ports" && !items.empty() && items.front().is_object() &&
      items.front().get_object().contains("containerPort")) {
    return "containerPort";
  }
  const auto* entry = std::ranges::find(merge_keys, list, &MergeKey::list);
  return entry == merge_keys.end() ? std::string_view() : entry->key;
}

json::value* element_with(json::array& items, std::string_view key, const json::value& wanted) {
  for (json::value& item : items) {
    const json::object* object = item.if_object();
    const json::value* value = object == nullptr ? nullptr : object->if_contains(key);
    if (value != nullptr && same(*value, wanted)) return &item;
  }
  return nullptr;
}

void merge_list(json::array& target, const json::array& patch, std::string_view key) {
  for (const json::value& item : patch) {
    const json::object* object = item.if_object();
    const json::value* id = object == nullptr ? nullptr : object->if_contains(key);
    if (id == nullptr) continue;
    json::value* existing = element_with(target, key, *id);
    const json::value* directive = object->if_contains("$patch");
    if (directive != nullptr && directive->is_string() && view(directive->get_string()) == "delete") {
      if (existing != nullptr) target.erase(existing);
    } else if (existing != nullptr) {
      strategic_merge(*existing, item);
    } else {
      target.push_back(item);
    }
  }
}

void merge_set(json::array& target, const json::array& patch) {
  for (const json::value& item : patch) {
    if (std::ranges::none_of(target, [&item](const json::value& other) { return same(item, other); }))
      target.push_back(item);
  }
}

void remove_items(json::object& target, std::string_view list, const json::value& items) {
  json::value* found = target.if_contains(list);
  if (found == nullptr || !found->is_array() || !items.is_array()) return;
  json::array& array = found->get_array();
  for (const json::value& item : items.get_array()) {
    const auto* last =
        std::remove_if(array.begin(), array.end(), [&item](const json::value& other) { return same(item, other); });
    array.erase(last, array.end());
  }
}

}  // namespace

void strategic_merge(json::value& target, const json::value& patch) {
  const json::object* members = patch.if_object();
  if (members == nullptr) {
    target = patch;
    return;
  }
  const json::value* directive = members->if_contains("$patch");
  if (!target.is_object() ||
      (directive != nullptr && directive->is_string() && view(directive->get_string()) == "replace")) {
    target.emplace_object();
  }
  json::object& object = target.get_object();
  for (const json::key_value_pair& member : *members) {
    const std::string_view name = member.key();
    constexpr std::string_view deletion = "$deleteFromPrimitiveList/";
    if (name.starts_with(deletion)) {
      remove_items(object, name.substr(deletion.size()), member.value());
    } else if (name.starts_with('$')) {
      continue;
    } else if (member.value().is_null()) {
      object.erase(name);
    } else if (const json::array* items = member.value().if_array()) {
      json::value& list = object[name];
      const std::string_view key = merge_key(name, *items);
      if (list.is_array() && name == "finalizers") {
        merge_set(list.get_array(), *items);
      } else if (!key.empty()) {
        if (!list.is_array()) list.emplace_array();
        merge_list(list.get_array(), *items, key);
      } else {
        list = member.value();
      }
    } else {
      strategic_merge(object[name], member.value());
    }
  }
}

}  // namespace sandbox
