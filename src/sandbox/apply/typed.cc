#include "sandbox/apply/typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>

#include "sandbox/builtin/fields.h"

namespace sandbox {
namespace {

enum class Form : char { leaf, map, set, keyed };

const json::object& anything() {
  static const json::object schema;
  return schema;
}

// What is not described is taken as it looks: maps by their members, everything else whole.
Form form_of(const json::value& value, const json::object& schema) {
  if (value.is_object()) return text_at(schema, {"x-kubernetes-map-type"}) == "atomic" ? Form::leaf : Form::map;
  if (!value.is_array()) return Form::leaf;
  const std::string_view list = text_at(schema, {"x-kubernetes-list-type"});
  return list == "map" ? Form::keyed : list == "set" ? Form::set : Form::leaf;
}

const json::object* declared(const json::object& schema, std::string_view name) {
  const json::object* properties = object_at(schema, {"properties"});
  const json::value* property = properties == nullptr ? nullptr : properties->if_contains(name);
  return property == nullptr ? nullptr : property->if_object();
}

const json::object& member_schema(const json::object& schema, std::string_view name) {
  if (const json::object* property = declared(schema, name)) return *property;
  const json::object* values = object_at(schema, {"additionalProperties"});
  return values == nullptr ? anything() : *values;
}

const json::object& item_schema(const json::object& schema) {
  const json::object* items = object_at(schema, {"items"});
  return items == nullptr ? anything() : *items;
}

std::string element_of(const json::value& item, const json::object& schema) {
  const json::array* keys = array_at(schema, {"x-kubernetes-list-map-keys"});
  if (keys == nullptr || !item.is_object()) return "v:" + to_text(item);
  std::map<std::string, const json::value*> parts;
  for (const json::value& key : *keys) {
    const std::string name(view(key.get_string()));
    const json::value* value = item.get_object().if_contains(name);
    if (value == nullptr) value = member_schema(item_schema(schema), name).if_contains("default");
    if (value != nullptr) parts.emplace(name, value);
  }
  json::object object;
  for (const auto& [name, value] : parts) object[name] = *value;
  return "k:" + to_text(object);
}

bool empty(const json::value* value) {
  return value == nullptr || value->is_null() || (value->is_object() && value->get_object().empty()) ||
         (value->is_array() && value->get_array().empty());
}

void collect(const json::value& value, const json::object& schema, FieldSet& node);

void collect_members(const json::object& object, const json::object& schema, FieldSet& node) {
  for (const json::key_value_pair& member : object) {
    FieldSet child;
    const bool hollow = member.value().is_null() || (member.value().is_object() && member.value().get_object().empty());
    if (hollow || declared(schema, member.key()) == nullptr) child.member = true;
    collect(member.value(), member_schema(schema, member.key()), child);
    if (!child.empty()) node.children.emplace("f:" + std::string(member.key()), std::move(child));
  }
}

void collect(const json::value& value, const json::object& schema, FieldSet& node) {
  switch (form_of(value, schema)) {
    case Form::leaf:
      node.member = true;
      return;
    case Form::map:
      return collect_members(value.get_object(), schema, node);
    case Form::set:
    case Form::keyed:
      for (const json::value& item : value.get_array()) {
        FieldSet& child = node.children[element_of(item, schema)];
        child.member = true;
        if (item.is_object()) collect(item, item_schema(schema), child);
      }
      return;
  }
}

// Hangs what differs below `element` into its place.
void attach(Difference& whole, const std::string& element, Difference part) {
  if (!part.added.empty()) whole.added.children.emplace(element, std::move(part.added));
  if (!part.modified.empty()) whole.modified.children.emplace(element, std::move(part.modified));
  if (!part.removed.empty()) whole.removed.children.emplace(element, std::move(part.removed));
}

Difference difference_of(const json::value* before, const json::value* after, const json::object& schema);

Difference members_difference(const json::object& before, const json::object& after, const json::object& schema) {
  Difference found;
  const auto visit = [&](std::string_view name, const json::value* a, const json::value* b) {
    Difference below = difference_of(a, b, member_schema(schema, name));
    if (!below.none()) attach(found, "f:" + std::string(name), std::move(below));
  };
  for (const json::key_value_pair& member : before)
    visit(member.key(), &member.value(), after.if_contains(member.key()));
  for (const json::key_value_pair& member : after) {
    if (!before.contains(member.key())) visit(member.key(), nullptr, &member.value());
  }
  return found;
}

Difference items_difference(const json::value* before, const json::value* after, const json::object& schema) {
  Difference found;
  std::map<std::string, std::pair<const json::value*, const json::value*>> pairs;
  if (before != nullptr) {
    for (const json::value& item : before->get_array()) pairs[element_of(item, schema)].first = &item;
  }
  if (after != nullptr) {
    for (const json::value& item : after->get_array()) pairs[element_of(item, schema)].second = &item;
  }
  for (const auto& [element, pair] : pairs)
    attach(found, element, difference_of(pair.first, pair.second, item_schema(schema)));
  return found;
}

Difference leaf_difference(const json::value* before, const json::value* after) {
  Difference found;
  if (before == nullptr) {
    found.added.member = true;
  } else if (after == nullptr) {
    found.removed.member = true;
  } else {
    found.modified.member = !same(*before, *after);
  }
  return found;
}

// nullptr: there is none. What is a member of the sets stands for the value itself.
Difference difference_of(const json::value* before, const json::value* after, const json::object& schema) {
  static const json::object none;
  if (before != nullptr && before->is_null()) before = nullptr;
  if (after != nullptr && after->is_null()) after = nullptr;
  if (before == nullptr && after == nullptr) return {};
  const Form form = form_of(after != nullptr ? *after : *before, schema);
  const bool alike = before == nullptr || after == nullptr || form_of(*before, schema) == form;
  if (form == Form::leaf || !alike || (empty(before) && empty(after))) return leaf_difference(before, after);
  Difference found = form == Form::map ? members_difference(before == nullptr ? none : before->get_object(),
                                                            after == nullptr ? none : after->get_object(), schema)
                                       : items_difference(before, after, schema);
  found.added.member = before == nullptr;
  found.removed.member = after == nullptr;
  return found;
}

json::value merge(const json::value& live, const json::value& config, const json::object& schema);

// The configuration's order, with what only the live list has where it was.
json::array merge_items(const json::array& live, const json::array& config, const json::object& schema) {
  std::map<std::string, const json::value*> wanted;
  std::map<std::string, const json::value*> present;
  for (const json::value& item : config) wanted[element_of(item, schema)] = &item;
  for (const json::value& item : live) present[element_of(item, schema)] = &item;
  json::array result;
  std::size_t at = 0;
  const auto take_own = [&] {
    for (; at < live.size(); ++at) {
      if (wanted.contains(element_of(live[at], schema))) return;
      result.push_back(live[at]);
    }
  };
  take_own();
  for (const json::value& item : config) {
    const auto found = present.find(element_of(item, schema));
    result.push_back(found == present.end() ? item : merge(*found->second, item, item_schema(schema)));
    if (found == present.end()) continue;
    if (at < live.size()) ++at;
    take_own();
  }
  return result;
}

json::object merge_members(const json::object& live, const json::object& config, const json::object& schema) {
  json::object result = live;
  for (const json::key_value_pair& member : config) {
    json::value* own = result.if_contains(member.key());
    if (own == nullptr) {
      result[member.key()] = member.value();
    } else {
      *own = merge(*own, member.value(), member_schema(schema, member.key()));
    }
  }
  return result;
}

json::value merge(const json::value& live, const json::value& config, const json::object& schema) {
  const Form form = form_of(config, schema);
  if (form == Form::leaf || form_of(live, schema) != form) return config;
  if (form != Form::map) return merge_items(live.get_array(), config.get_array(), schema);
  return merge_members(live.get_object(), config.get_object(), schema);
}

void prune_value(json::value& value, const FieldSet& last, const FieldSet& kept, const json::object& schema) {
  static const FieldSet none;
  const auto below = [&kept](std::string_view element) -> const FieldSet& {
    const FieldSet* found = kept.child(element);
    return found == nullptr ? none : *found;
  };
  if (json::object* object = value.if_object()) {
    for (const auto& [element, child] : last.children) {
      const std::string_view name = std::string_view(element).substr(2);
      json::value* member = object->if_contains(name);
      if (member == nullptr) continue;
      const FieldSet& others = below(element);
      if (others.empty() && (child.member || declared(schema, name) != nullptr)) {
        object->erase(name);
      } else {
        prune_value(*member, child, others, member_schema(schema, name));
      }
    }
  } else if (json::array* array = value.if_array()) {
    json::array left;
    for (json::value& item : *array) {
      const std::string element = element_of(item, schema);
      const FieldSet* child = last.child(element);
      if (child != nullptr && child->member && below(element).empty()) continue;
      if (child != nullptr) prune_value(item, *child, below(element), item_schema(schema));
      left.push_back(std::move(item));
    }
    *array = std::move(left);
  }
}

// Put together on the way back: names come from clients and may be long. Empty where all is declared.
std::string undeclared_below(const json::value& value, const json::object& schema);

std::string undeclared_member(const json::object& object, const json::object& schema) {
  const bool open = !schema.contains("properties") || schema.contains("additionalProperties") ||
                    bool_at(schema, {"x-kubernetes-preserve-unknown-fields"});
  for (const json::key_value_pair& member : object) {
    const auto at = [&member] { return fmt::format(".{}", std::string_view(member.key())); };
    if (!open && declared(schema, member.key()) == nullptr) return at();
    if (std::string found = undeclared_below(member.value(), member_schema(schema, member.key())); !found.empty())
      return at() + found;
  }
  return {};
}

std::string undeclared_below(const json::value& value, const json::object& schema) {
  if (const json::object* object = value.if_object()) return undeclared_member(*object, schema);
  const json::array* array = value.if_array();
  if (array == nullptr) return {};
  for (const json::value& item : *array) {
    std::string found = undeclared_below(item, item_schema(schema));
    if (found.empty()) continue;
    const std::string element = element_of(item, schema);
    if (!element.starts_with("k:")) return found;
    return printed_paths({.member = false, .children = {{element, {.member = true, .children = {}}}}})[0] + found;
  }
  return {};
}

}  // namespace

FieldSet fields_of(const json::object& document, const json::object& schema) {
  FieldSet set;
  collect_members(document, schema, set);
  return set;
}

Difference compare(const json::object& before, const json::object& after, const json::object& schema) {
  return members_difference(before, after, schema);
}

json::object merged(const json::object& live, const json::object& config, const json::object& schema) {
  return merge_members(live, config, schema);
}

void prune(json::object& document, const FieldSet& last, const FieldSet& kept, const json::object& schema) {
  json::value value(std::move(document));
  prune_value(value, last, kept, schema);
  document = std::move(value.get_object());
}

void add_embedded(json::value& value, const json::object& schema) {
  if (json::array* array = value.if_array()) {
    for (json::value& item : *array) add_embedded(item, item_schema(schema));
    return;
  }
  json::object* object = value.if_object();
  const json::object* properties = object_at(schema, {"properties"});
  if (object == nullptr || properties == nullptr) return;
  for (const json::key_value_pair& property : *properties) {
    const json::object& below = property.value().get_object();
    json::value* member = object->if_contains(property.key());
    if (member == nullptr && bool_at(below, {embedded_keyword})) {
      member = &(*object)[property.key()];
      if (text_at(below, {"type"}) == "array") {
        member->emplace_array();
      } else {
        member->emplace_object();
      }
    }
    if (member != nullptr) add_embedded(*member, below);
  }
}

std::string undeclared_field(const json::object& document, const json::object& schema) {
  return undeclared_member(document, schema);
}

}  // namespace sandbox
