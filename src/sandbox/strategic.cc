#include "sandbox/strategic.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

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

// What tells the items of a list apart: the member `key`, or without one the item itself.
const json::value* identity(const json::value& item, std::string_view key) {
  if (key.empty()) return &item;
  const json::object* object = item.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

// Where the items of a list are, by their identity; the first of several. Lists come from clients and may be long.
class Places {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  Places(const json::array& list, std::string_view key) : key_(key) {
    for (std::size_t at = 0; at < list.size(); ++at) add(list[at], at);
  }
  void add(const json::value& item, std::size_t at) {
    if (const json::value* id = identity(item, key_)) places_.try_emplace(text(*id), at);
  }
  void forget(const json::value& id) { places_.erase(text(id)); }
  std::size_t of(const json::value& id) const {
    const auto found = places_.find(text(id));
    return found == places_.end() ? none : found->second;
  }

 private:
  // equal for what is the same by value
  static std::string text(const json::value& id) {
    if (id.is_double() && id.get_double() == std::trunc(id.get_double()) && std::abs(id.get_double()) < 1e15)
      return std::to_string(static_cast<std::int64_t>(id.get_double()));
    return to_text(id);
  }

  std::string_view key_;
  std::unordered_map<std::string, std::size_t> places_;
};

// The order of a merged list: what `order` names comes in that order, between it the rest where it was in `before`; an
// item that is new comes as early as the order allows.
void sort_merged(json::array& merged, const json::array& before, const json::array& order, std::string_view key) {
  json::array named;
  json::array rest;
  const Places now(merged, key);
  for (const json::value& wanted : order) {
    const json::value* id = identity(wanted, key);
    const std::size_t at = id == nullptr ? Places::none : now.of(*id);
    if (at != Places::none) named.push_back(merged[at]);
  }
  const Places names(named, key);
  for (json::value& item : merged) {
    const json::value* id = identity(item, key);
    if (id == nullptr || names.of(*id) == Places::none) rest.push_back(std::move(item));
  }
  const Places places(before, key);
  const auto earlier = [&](const json::value& a, const json::value& b) {
    const json::value* x = identity(a, key);
    const json::value* y = identity(b, key);
    if (x == nullptr || y == nullptr) return false;
    const std::size_t first = places.of(*x);
    const std::size_t second = places.of(*y);
    return second != Places::none && first < second;
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
  Places places(target, key);
  std::vector<bool> gone(target.size());
  for (const json::value& item : patch) {
    const json::object* object = item.if_object();
    const json::value* id = object == nullptr ? nullptr : object->if_contains(key);
    if (id == nullptr) continue;
    const std::size_t at = places.of(*id);
    const json::value* directive = object->if_contains("$patch");
    if (directive != nullptr && directive->is_string() && view(directive->get_string()) == "delete") {
      if (at == Places::none) continue;
      gone[at] = true;
      places.forget(*id);
    } else if (at != Places::none) {
      strategic_merge(target[at], item);
    } else {
      places.add(item, target.size());
      gone.push_back(false);
      target.push_back(item);
    }
  }
  json::array left;
  for (std::size_t at = 0; at < target.size(); ++at) {
    if (!gone[at]) left.push_back(std::move(target[at]));
  }
  target = std::move(left);
  sort_merged(target, before, order == nullptr ? patch : *order, key);
}

void merge_set(json::array& target, const json::array& patch, const json::array* order) {
  const json::array before = target;
  Places places(target, {});
  for (const json::value& item : patch) {
    if (places.of(item) != Places::none) continue;
    places.add(item, target.size());
    target.push_back(item);
  }
  if (order != nullptr) sort_merged(target, before, *order, {});
}

void remove_items(json::object& target, std::string_view list, const json::value& items) {
  json::value* found = target.if_contains(list);
  if (found == nullptr || !found->is_array() || !items.is_array()) return;
  json::array& array = found->get_array();
  const Places removed(items.get_array(), {});
  const auto* last = std::remove_if(array.begin(), array.end(),
                                    [&removed](const json::value& item) { return removed.of(item) != Places::none; });
  array.erase(last, array.end());
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
