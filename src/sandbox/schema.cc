#include "sandbox/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

namespace sandbox {
namespace {

// "spec.x" in the object is called "spec.x in body", "status.x" is called "x in body": status is validated on its own.
std::string in_body(const std::string& path) { return path.starts_with("status.") ? path.substr(7) : path; }

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string_view type_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "integer";
    case json::kind::double_:
      return "number";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
  }
  return "";
}

constexpr std::array<std::string_view, 7> type_names = {"",        "object", "array",  "string",
                                                        "integer", "number", "boolean"};

bool is_date_time(std::string_view text) {
  static const std::regex form(
      R"(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d\d:\d\d))");
  return std::regex_match(text.begin(), text.end(), form);
}

// Errors after which the server does not evaluate rules, and says so.
bool blocks_rules(const Cause& cause) {
  return cause.reason == "FieldValueRequired" || cause.reason == "FieldValueTooLong" ||
         cause.reason == "FieldValueTooMany" || cause.reason == "FieldValueTypeInvalid" ||
         cause.reason == "FieldValueNotSupported";
}

}  // namespace

void Schema::prune(json::value& value, std::vector<std::string>* unknown, const std::string& path) const {
  if (json::object* object = value.if_object()) {
    std::vector<std::string> drop;
    for (json::key_value_pair& member : *object) {
      const auto property = properties_.find(std::string_view(member.key()));
      if (property != properties_.end()) {
        property->second->prune(member.value(), unknown, joined(path, member.key()));
      } else if (additional_ != nullptr) {
        additional_->prune(member.value(), unknown, joined(path, member.key()));
      } else if (!preserve_unknown_ && type_ != Type::any) {
        drop.emplace_back(member.key());
      }
    }
    for (const std::string& name : drop) {
      object->erase(name);
      if (unknown != nullptr) unknown->push_back(joined(path, name));
    }
  } else if (json::array* array = value.if_array(); array != nullptr && items_ != nullptr) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      items_->prune((*array)[i], unknown, fmt::format("{}[{}]", path, i));
    }
  }
}

void Schema::drop_empty(json::value& value) const {
  if (json::object* object = value.if_object()) {
    std::vector<std::string> drop;
    for (json::key_value_pair& member : *object) {
      const auto property = properties_.find(std::string_view(member.key()));
      const Schema* schema = property != properties_.end() ? property->second.get() : additional_.get();
      if (schema == nullptr) continue;
      schema->drop_empty(member.value());
      const json::value& now = member.value();
      const bool empty_list = now.is_array() && now.get_array().empty();
      const bool empty_map = now.is_object() && now.get_object().empty() && schema->additional_ != nullptr;
      if (now.is_null() || empty_list || empty_map) drop.emplace_back(member.key());
    }
    for (const std::string& name : drop) object->erase(name);
  } else if (json::array* array = value.if_array(); array != nullptr && items_ != nullptr) {
    for (json::value& item : *array) items_->drop_empty(item);
  }
}

void Schema::apply_defaults(json::value& value) const {
  if (json::object* object = value.if_object()) {
    for (const auto& [name, property] : properties_) {
      json::value* member = object->if_contains(name);
      if (member != nullptr && member->is_null() && !property->nullable_) {
        object->erase(name);
        member = nullptr;
      }
      if (member == nullptr && property->default_) member = &((*object)[name] = *property->default_);
      if (member != nullptr) property->apply_defaults(*member);
    }
    if (additional_ != nullptr) {
      for (json::key_value_pair& member : *object) {
        if (!properties_.contains(std::string_view(member.key()))) additional_->apply_defaults(member.value());
      }
    }
  } else if (json::array* array = value.if_array(); array != nullptr && items_ != nullptr) {
    for (json::value& item : *array) items_->apply_defaults(item);
  }
}

void Schema::validate(const json::value& value, const json::value* old, Causes& causes) const {
  Causes found;
  check(value, old, {}, found);
  const bool blocked = std::ranges::any_of(found, blocks_rules);
  if (blocked) {
    found.push_back(field_invalid("<nil>", "null",
                                  "some validation rules were not checked because the object was invalid; correct the "
                                  "existing errors to complete validation"));
  } else {
    check_rules(value, old, {}, found);
  }
  causes.insert(causes.end(), found.begin(), found.end());
}

std::string Schema::wrong_type(const json::value& value, const std::string& path) const {
  if (!type_fits(value)) {
    static constexpr std::array<std::string_view, 7> go_types = {"",      "struct",  "[]",  "string",
                                                                 "int32", "float64", "bool"};
    return go_type_error(go_kind(value), path, go_types[static_cast<std::size_t>(type_)]);
  }
  if (const json::object* object = value.if_object()) {
    for (const json::key_value_pair& member : *object) {
      const auto property = properties_.find(std::string_view(member.key()));
      std::string wrong;
      if (property != properties_.end()) {
        wrong = property->second->wrong_type(member.value(), path + "." + std::string(member.key()));
      } else if (additional_ != nullptr) {
        wrong = additional_->wrong_type(member.value(), path);
      }
      if (!wrong.empty()) return wrong;
    }
  } else if (const json::array* array = value.if_array(); array != nullptr && items_ != nullptr) {
    for (const json::value& item : *array) {
      if (std::string wrong = items_->wrong_type(item, path); !wrong.empty()) return wrong;
    }
  }
  return {};
}

bool Schema::type_fits(const json::value& value) const {
  if (int_or_string_) return value.is_string() || value.is_int64() || value.is_uint64();
  switch (type_) {
    case Type::any:
      return true;
    case Type::object:
      return value.is_object();
    case Type::array:
      return value.is_array();
    case Type::string:
      return value.is_string();
    case Type::integer:
      return value.is_int64() || value.is_uint64();
    case Type::number:
      return value.is_number();
    case Type::boolean:
      return value.is_bool();
  }
  return false;
}

void Schema::check(const json::value& value, const json::value* old, const std::string& path, Causes& causes) const {
  if (old != nullptr && same(value, *old)) return;
  if (value.is_null() && nullable_) return;
  if (!type_fits(value)) {
    const std::string_view is = type_name(value);
    causes.push_back(field_type_invalid(path, quote(is),
                                        fmt::format("{} in body must be of type {}: \"{}\"", in_body(path),
                                                    type_names[static_cast<std::size_t>(type_)], is)));
    return;
  }
  if (value.is_string()) check_string(view(value.get_string()), path, causes);
  if (value.is_number()) check_number(value, path, causes);
  if (!enum_.empty() && std::ranges::none_of(enum_, [&value](const json::value& e) { return same(e, value); })) {
    std::vector<std::string> allowed;
    for (const json::value& choice : enum_) allowed.push_back(to_text(choice));
    causes.push_back(field_not_supported(path, to_text(value), allowed));
  }
  if (value.is_array()) check_array(value.get_array(), old, path, causes);
  if (value.is_object()) check_object(value.get_object(), old, path, causes);
}

void Schema::check_string(std::string_view text, const std::string& path, Causes& causes) const {
  // lengths are counted in characters, not bytes
  const auto length =
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
  if (max_length_ && length > *max_length_) causes.push_back(field_too_long(path, *max_length_));
  if (min_length_ && length < *min_length_) {
    causes.push_back(field_invalid(
        path, quote(text), fmt::format("{} in body should be at least {} chars long", in_body(path), *min_length_)));
  }
  if (pattern_ && !std::regex_search(text.begin(), text.end(), *pattern_)) {
    causes.push_back(
        field_invalid(path, quote(text), fmt::format("{} in body should match '{}'", in_body(path), pattern_text_)));
  }
  if (format_ == "date-time" && !is_date_time(text)) {
    causes.push_back(field_type_invalid(
        path, quote(text), fmt::format("{} in body must be of type date-time: {}", in_body(path), quote(text))));
  }
}

void Schema::check_number(const json::value& value, const std::string& path, Causes& causes) const {
  const auto number = value.to_number<double>();
  if (minimum_ && number < *minimum_) {
    causes.push_back(
        field_invalid(path, to_text(value),
                      fmt::format("{} in body should be greater than or equal to {}", in_body(path), *minimum_)));
  }
  if (maximum_ && number > *maximum_) {
    causes.push_back(field_invalid(
        path, to_text(value), fmt::format("{} in body should be less than or equal to {}", in_body(path), *maximum_)));
  }
}

const json::value* Schema::counterpart(const json::value& item, const json::array* old, std::size_t index) const {
  if (old == nullptr) return nullptr;
  if (list_type_ != "map") return list_type_.empty() && index < old->size() ? &(*old)[index] : nullptr;
  const auto key_of = [this](const json::value& of) {
    json::array key;
    for (const std::string& name : list_keys_) {
      const json::value* part = of.is_object() ? of.get_object().if_contains(name) : nullptr;
      key.push_back(part == nullptr ? json::value(nullptr) : *part);
    }
    return key;
  };
  const json::array key = key_of(item);
  const auto* found = std::ranges::find_if(*old, [&](const json::value& other) { return same(key_of(other), key); });
  return found == old->end() ? nullptr : found;
}

void Schema::check_array(const json::array& items, const json::value* old, const std::string& path,
                         Causes& causes) const {
  if (max_items_ && static_cast<std::int64_t>(items.size()) > *max_items_) {
    causes.push_back(field_too_many(path, static_cast<std::int64_t>(items.size()), *max_items_));
  }
  if (min_items_ && static_cast<std::int64_t>(items.size()) < *min_items_) {
    causes.push_back(
        field_invalid(path, std::to_string(items.size()),
                      fmt::format("{} in body should have at least {} items", in_body(path), *min_items_)));
  }
  const json::array* before = old == nullptr ? nullptr : old->if_array();
  for (std::size_t i = 0; i < items.size() && items_ != nullptr; ++i) {
    items_->check(items[i], counterpart(items[i], before, i), fmt::format("{}[{}]", path, i), causes);
  }
  if (list_type_ != "map" && list_type_ != "set") return;
  std::vector<json::value> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    json::value key = items[i];
    if (list_type_ == "map" && items[i].is_object()) {
      json::object part;
      for (const std::string& name : list_keys_) {
        if (const json::value* value = items[i].get_object().if_contains(name)) part[name] = *value;
      }
      key = std::move(part);
    }
    if (std::ranges::any_of(seen, [&key](const json::value& other) { return same(other, key); })) {
      causes.push_back(field_duplicate(fmt::format("{}[{}]", path, i), to_text(key)));
    }
    seen.push_back(std::move(key));
  }
}

void Schema::check_object(const json::object& members, const json::value* old, const std::string& path,
                          Causes& causes) const {
  const json::object* before = old == nullptr ? nullptr : old->if_object();
  for (const std::string& name : required_) {
    if (!members.contains(name)) causes.push_back(field_required(joined(path, name)));
  }
  for (const auto& [name, property] : properties_) {
    if (path.empty() && name == "metadata") continue;
    const json::value* member = members.if_contains(name);
    if (member != nullptr) {
      property->check(*member, before == nullptr ? nullptr : before->if_contains(name), joined(path, name), causes);
    }
  }
  if (additional_ == nullptr) return;
  for (const json::key_value_pair& member : members) {
    if (properties_.contains(std::string_view(member.key()))) continue;
    additional_->check(member.value(), before == nullptr ? nullptr : before->if_contains(member.key()),
                       joined(path, member.key()), causes);
  }
}

void Schema::check_rules(const json::value& value, const json::value* old, const std::string& path,
                         Causes& causes) const {
  if (old != nullptr && same(value, *old)) return;
  for (const Rule& rule : rules_) {
    if (rule.needs_old && old == nullptr) continue;
    if (rule.function(value, old)) continue;
    std::string field = path + rule.field_path;
    if (field.starts_with('.')) field.erase(0, 1);
    if (rule.reason == "FieldValueRequired") {
      causes.push_back(field_required(std::move(field), rule.message));
    } else {
      causes.push_back(
          field_invalid(std::move(field), value.is_structured() ? std::string() : to_text(value), rule.message));
    }
  }
  if (const json::object* members = value.if_object()) {
    const json::object* before = old == nullptr ? nullptr : old->if_object();
    for (const auto& [name, property] : properties_) {
      const json::value* member = members->if_contains(name);
      if (member == nullptr) continue;
      property->check_rules(*member, before == nullptr ? nullptr : before->if_contains(name), joined(path, name),
                            causes);
    }
  } else if (const json::array* items = value.if_array(); items != nullptr && items_ != nullptr) {
    const json::array* before = old == nullptr ? nullptr : old->if_array();
    for (std::size_t i = 0; i < items->size(); ++i) {
      items_->check_rules((*items)[i], counterpart((*items)[i], before, i), fmt::format("{}[{}]", path, i), causes);
    }
  }
}

}  // namespace sandbox
