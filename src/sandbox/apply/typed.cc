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

void collect(const json::value& value, const json::object& schema, FieldSet& node) {
  switch (form_of(value, schema)) {
    case Form::leaf:
      node.member = true;
      return;
    case Form::map:
      for (const json::key_value_pair& member : value.get_object()) {
        FieldSet& child = node.children["f:" + std::string(member.key())];
        const bool hollow =
            member.value().is_null() || (member.value().is_object() && member.value().get_object().empty());
        if (hollow || declared(schema, member.key()) == nullptr) child.member = true;
        collect(member.value(), member_schema(schema, member.key()), child);
        if (child.empty()) node.children.erase("f:" + std::string(member.key()));
      }
      return;
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

class Comparison {
 public:
  explicit Comparison(Difference& found) : found_(found) {}

  // nullptr: there is none
  void visit(const json::value* before, const json::value* after, const json::object& schema) {
    if (before != nullptr && before->is_null()) before = nullptr;
    if (after != nullptr && after->is_null()) after = nullptr;
    if (before == nullptr && after == nullptr) return;
    const Form form = form_of(after != nullptr ? *after : *before, schema);
    const bool alike = before == nullptr || after == nullptr || form_of(*before, schema) == form;
    if (form == Form::leaf || !alike || (empty(before) && empty(after))) return leaf(before, after);
    if (form == Form::map) {
      members(before, after, schema);
    } else {
      items(before, after, schema);
    }
    if (before == nullptr) found_.added.insert(path_);
    if (after == nullptr) found_.removed.insert(path_);
  }

 private:
  void leaf(const json::value* before, const json::value* after) {
    if (before == nullptr) {
      found_.added.insert(path_);
    } else if (after == nullptr) {
      found_.removed.insert(path_);
    } else if (!same(*before, *after)) {
      found_.modified.insert(path_);
    }
  }
  void descend(std::string element, const json::value* before, const json::value* after, const json::object& schema) {
    path_.push_back(std::move(element));
    visit(before, after, schema);
    path_.pop_back();
  }
  void members(const json::value* before, const json::value* after, const json::object& schema) {
    static const json::object none;
    const json::object& a = before == nullptr ? none : before->get_object();
    const json::object& b = after == nullptr ? none : after->get_object();
    for (const json::key_value_pair& member : a)
      descend("f:" + std::string(member.key()), &member.value(), b.if_contains(member.key()),
              member_schema(schema, member.key()));
    for (const json::key_value_pair& member : b) {
      if (!a.contains(member.key()))
        descend("f:" + std::string(member.key()), nullptr, &member.value(), member_schema(schema, member.key()));
    }
  }
  void items(const json::value* before, const json::value* after, const json::object& schema) {
    std::map<std::string, std::pair<const json::value*, const json::value*>> pairs;
    if (before != nullptr) {
      for (const json::value& item : before->get_array()) pairs[element_of(item, schema)].first = &item;
    }
    if (after != nullptr) {
      for (const json::value& item : after->get_array()) pairs[element_of(item, schema)].second = &item;
    }
    for (const auto& [element, pair] : pairs) descend(element, pair.first, pair.second, item_schema(schema));
  }

  Difference& found_;
  std::vector<std::string> path_;
};

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

json::value merge(const json::value& live, const json::value& config, const json::object& schema) {
  const Form form = form_of(config, schema);
  if (form == Form::leaf || form_of(live, schema) != form) return config;
  if (form != Form::map) return merge_items(live.get_array(), config.get_array(), schema);
  json::object result = live.get_object();
  for (const json::key_value_pair& member : config.get_object()) {
    json::value* own = result.if_contains(member.key());
    if (own == nullptr) {
      result[member.key()] = member.value();
    } else {
      *own = merge(*own, member.value(), member_schema(schema, member.key()));
    }
  }
  return result;
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
    for (auto* item = array->begin(); item != array->end();) {
      const std::string element = element_of(*item, schema);
      const FieldSet* child = last.child(element);
      if (child != nullptr && child->member && below(element).empty()) {
        item = array->erase(item);
        continue;
      }
      if (child != nullptr) prune_value(*item, *child, below(element), item_schema(schema));
      ++item;
    }
  }
}

}  // namespace

FieldSet fields_of(const json::object& document, const json::object& schema) {
  FieldSet set;
  collect(document, schema, set);
  set.member = false;
  return set;
}

Difference compare(const json::object& before, const json::object& after, const json::object& schema) {
  Difference found;
  const json::value a(before);
  const json::value b(after);
  Comparison(found).visit(&a, &b, schema);
  for (FieldSet* set : {&found.added, &found.modified, &found.removed}) set->member = false;
  return found;
}

json::object merged(const json::object& live, const json::object& config, const json::object& schema) {
  return merge(live, config, schema).get_object();
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

std::string undeclared_field(const json::value& value, const json::object& schema, const std::string& path) {
  if (const json::object* object = value.if_object()) {
    const bool open = !schema.contains("properties") || schema.contains("additionalProperties") ||
                      bool_at(schema, {"x-kubernetes-preserve-unknown-fields"});
    for (const json::key_value_pair& member : *object) {
      std::string at = fmt::format("{}.{}", path, std::string_view(member.key()));
      if (!open && declared(schema, member.key()) == nullptr) return at;
      if (std::string found = undeclared_field(member.value(), member_schema(schema, member.key()), at); !found.empty())
        return found;
    }
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      const std::string element = element_of(item, schema);
      std::string at = path;
      if (element.starts_with("k:"))
        at += printed_paths({.member = false, .children = {{element, {.member = true, .children = {}}}}})[0];
      if (std::string found = undeclared_field(item, item_schema(schema), at); !found.empty()) return found;
    }
  }
  return {};
}

}  // namespace sandbox
