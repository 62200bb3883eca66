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

// What tells the items of a list apart: the member `key`, or without one the item itself.
const json::value* identity(const json::value& item, std::string_view key) {
  if (key.empty()) return &item;
  const json::object* object = item.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

// Where the item with an identity is in `list`, its size if it is not there.
std::size_t place_of(const json::array& list, std::string_view key, const json::value& wanted) {
  std::size_t at = 0;
  for (; at < list.size(); ++at) {
    const json::value* id = identity(list[at], key);
    if (id != nullptr && same(*id, wanted)) break;
  }
  return at;
}

// The order of a merged list: what `order` names comes in that order, between it the rest where it was in `before`; an
// item that is new comes as early as the order allows.
void sort_merged(json::array& merged, const json::array& before, const json::array& order, std::string_view key) {
  json::array named;
  json::array rest;
  for (const json::value& wanted : order) {
    const json::value* id = identity(wanted, key);
    const std::size_t at = id == nullptr ? merged.size() : place_of(merged, key, *id);
    if (at < merged.size()) named.push_back(merged[at]);
  }
  for (json::value& item : merged) {
    const json::value* id = identity(item, key);
    if (id == nullptr || place_of(named, key, *id) == named.size()) rest.push_back(std::move(item));
  }
  const auto earlier = [&](const json::value& a, const json::value& b) {
    const json::value* x = identity(a, key);
    const json::value* y = identity(b, key);
    if (x == nullptr || y == nullptr) return false;
    const std::size_t first = place_of(before, key, *x);
    const std::size_t second = place_of(before, key, *y);
    return second < before.size() && first < second;
  };
  json::array sorted;
  std::size_t i = 0;
  for (json::value& item : named) {
    while (i < rest.size() && earlier(rest[i], item)) sorted.push_back(std::move(rest[i++]));
    sorted.push_back(std::move(item));
  }
  while (i < rest.size()) sorted.push_back(std::move(rest[i++]));
  merged = std::move(sorted);
}

// `order`: the patch's $setElementOrder, nullptr if it has none.
void merge_list(json::array& target, const json::array& patch, std::string_view key, const json::array* order) {
  const json::array before = target;
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
  sort_merged(target, before, order == nullptr ? patch : *order, key);
}

void merge_set(json::array& target, const json::array& patch, const json::array* order) {
  const json::array before = target;
  for (const json::value& item : patch) {
    if (std::ranges::none_of(target, [&item](const json::value& other) { return same(item, other); }))
      target.push_back(item);
  }
  if (order != nullptr) sort_merged(target, before, *order, {});
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
      const json::array* order = array_at(*members, {"$setElementOrder/" + std::string(name)});
      if (list.is_array() && name == "finalizers") {
        merge_set(list.get_array(), *items, order);
      } else if (!key.empty()) {
        if (!list.is_array()) list.emplace_array();
        merge_list(list.get_array(), *items, key, order);
      } else {
        list = member.value();
      }
    } else {
      strategic_merge(object[name], member.value());
    }
  }
}

}  // namespace sandbox
