#include "sandbox/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace sandbox {
namespace {

// "spec.x" in the object is called "spec.x in body", "status.x" is called "x in body": status is validated on its own.
std::string in_body(const std::string& path) { return path.starts_with("status.") ? path.substr(7) : path; }

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
  return text.size() < 100 && std::regex_match(text.begin(), text.end(), form);
}

// Errors after which the server does not evaluate rules, and says so.
bool blocks_rules(const Cause& cause) {
  return cause.reason == "FieldValueRequired" || cause.reason == "FieldValueTooLong" ||
         cause.reason == "FieldValueTooMany" || cause.reason == "FieldValueTypeInvalid" ||
         cause.reason == "FieldValueNotSupported";
}

// Equal for what is the same by value.
std::string canonical(const json::value& value) {
  if (value.is_double() && value.get_double() == std::trunc(value.get_double()) &&
      std::abs(value.get_double()) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(value.get_double()));
  }
  return to_text(value);
}

}  // namespace

// Where a value is in its document. Names come from clients and may be long: a text is made only where one is told.
class Schema::Place {
 public:
  Place() = default;
  Place(const Place& parent, std::string_view name) : parent_(&parent), name_(name) {}
  Place(const Place& parent, std::size_t index) : parent_(&parent), index_(index) {}

  bool root() const { return parent_ == nullptr; }
  std::string text() const {
    if (root()) return {};
    std::string text = parent_->text();
    if (index_) return text += fmt::format("[{}]", *index_);
    if (!text.empty()) text += '.';
    return text += name_;
  }

 private:
  const Place* parent_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_;
};

// The items of the list that was there before, by what tells them apart.
class Schema::Counterparts {
 public:
  Counterparts(const Schema& list, const json::array* old) : list_(list), old_(old) {
    if (old == nullptr || list.list_type_ != "map") return;
    for (const json::value& item : *old) by_key_.try_emplace(list.key_text(item), &item);
  }
  const json::value* of(const json::value& item, std::size_t index) const {
    if (old_ == nullptr) return nullptr;
    if (list_.list_type_ != "map") return list_.list_type_.empty() && index < old_->size() ? &(*old_)[index] : nullptr;
    const auto found = by_key_.find(list_.key_text(item));
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  const Schema& list_;
  const json::array* old_;
  std::unordered_map<std::string, const json::value*> by_key_;
};

std::string Schema::key_text(const json::value& item) const {
  if (list_type_ != "map" || !item.is_object()) return canonical(item);
  std::string text;
  for (const std::string& name : list_keys_) {
    const json::value* part = item.get_object().if_contains(name);
    text += part == nullptr ? "-" : canonical(*part);
    text += ',';
  }
  return text;
}

void Schema::prune(json::value& value, std::vector<std::string>* unknown) const { prune_at({}, value, unknown); }

void Schema::prune_at(const Place& place, json::value& value, std::vector<std::string>* unknown) const {
  if (json::object* object = value.if_object()) {
    std::size_t gone = 0;
    const auto known = [&](std::string_view name) {
      return properties_.contains(name) || additional_ != nullptr || preserve_unknown_ || type_ == Type::any;
    };
    for (json::key_value_pair& member : *object) {
      const std::string_view name = member.key();
      const auto property = properties_.find(name);
      const Schema* schema = property != properties_.end() ? property->second.get() : additional_.get();
      if (schema != nullptr) {
        schema->prune_at({place, name}, member.value(), unknown);
      } else if (!known(name)) {
        ++gone;
      }
    }
    if (gone == 0) return;
    json::object kept;
    kept.reserve(object->size() - gone);
    for (json::key_value_pair& member : *object) {
      if (known(member.key())) {
        kept.emplace(member.key(), std::move(member.value()));
      } else if (unknown != nullptr && unknown->size() < k_most_unknown) {
        unknown->push_back(Place(place, member.key()).text());
      }
    }
    *object = std::move(kept);
  } else if (json::array* array = value.if_array(); array != nullptr && items_ != nullptr) {
    for (std::size_t i = 0; i < array->size(); ++i) items_->prune_at({place, i}, (*array)[i], unknown);
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
  check(value, old, Place(), found);
  const bool blocked = std::ranges::any_of(found, blocks_rules);
  if (blocked) {
    found.push_back(field_invalid("<nil>", "null",
                                  "some validation rules were not checked because the object was invalid; correct the "
                                  "existing errors to complete validation"));
  } else {
    check_rules(value, old, Place(), found);
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

void Schema::check(const json::value& value, const json::value* old, const Place& place, Causes& causes) const {
  if (old != nullptr && same(value, *old)) return;
  if (value.is_null() && nullable_) return;
  if (!type_fits(value)) {
    const std::string_view is = type_name(value);
    causes.push_back(field_type_invalid(place.text(), quote(is),
                                        fmt::format("{} in body must be of type {}: \"{}\"", in_body(place.text()),
                                                    type_names[static_cast<std::size_t>(type_)], is)));
    return;
  }
  if (value.is_string()) check_string(view(value.get_string()), place, causes);
  if (value.is_number()) check_number(value, place, causes);
  if (!enum_.empty() && std::ranges::none_of(enum_, [&value](const json::value& e) { return same(e, value); })) {
    std::vector<std::string> allowed;
    for (const json::value& choice : enum_) allowed.push_back(shown_value(choice));
    causes.push_back(field_not_supported(place.text(), shown_value(value), allowed));
  }
  if (value.is_array()) check_array(value.get_array(), old, place, causes);
  if (value.is_object()) check_object(value.get_object(), old, place, causes);
}

void Schema::check_string(std::string_view text, const Place& place, Causes& causes) const {
  // lengths are counted in characters, not bytes
  const auto length =
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
  if (max_length_ && length > *max_length_) causes.push_back(field_too_long(place.text(), *max_length_));
  if (min_length_ && length < *min_length_) {
    causes.push_back(
        field_invalid(place.text(), quote(text),
                      fmt::format("{} in body should be at least {} chars long", in_body(place.text()), *min_length_)));
  }
  // the library's matcher uses the stack for every character
  constexpr std::size_t most_matched = 8192;
  if (pattern_ && (text.size() > most_matched || !std::regex_search(text.begin(), text.end(), *pattern_))) {
    causes.push_back(field_invalid(place.text(), quote(text),
                                   fmt::format("{} in body should match '{}'", in_body(place.text()), pattern_text_)));
  }
  if (format_ == "date-time" && !is_date_time(text)) {
    causes.push_back(field_type_invalid(
        place.text(), quote(text),
        fmt::format("{} in body must be of type date-time: {}", in_body(place.text()), quote(text))));
  }
}

void Schema::check_number(const json::value& value, const Place& place, Causes& causes) const {
  const auto number = value.to_number<double>();
  if (minimum_ && number < *minimum_) {
    causes.push_back(field_invalid(
        place.text(), to_text(value),
        fmt::format("{} in body should be greater than or equal to {}", in_body(place.text()), *minimum_)));
  }
  if (maximum_ && number > *maximum_) {
    causes.push_back(
        field_invalid(place.text(), to_text(value),
                      fmt::format("{} in body should be less than or equal to {}", in_body(place.text()), *maximum_)));
  }
}

void Schema::check_array(const json::array& items, const json::value* old, const Place& place, Causes& causes) const {
  if (max_items_ && static_cast<std::int64_t>(items.size()) > *max_items_) {
    causes.push_back(field_too_many(place.text(), static_cast<std::int64_t>(items.size()), *max_items_));
  }
  if (min_items_ && static_cast<std::int64_t>(items.size()) < *min_items_) {
    causes.push_back(
        field_invalid(place.text(), std::to_string(items.size()),
                      fmt::format("{} in body should have at least {} items", in_body(place.text()), *min_items_)));
  }
  if (items_ != nullptr) {
    const Counterparts before(*this, old == nullptr ? nullptr : old->if_array());
    for (std::size_t i = 0; i < items.size() && !enough(causes); ++i)
      items_->check(items[i], before.of(items[i], i), {place, i}, causes);
  }
  if (list_type_ == "map" || list_type_ == "set") check_repeated(items, place, causes);
}

void Schema::check_repeated(const json::array& items, const Place& place, Causes& causes) const {
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < items.size() && !enough(causes); ++i) {
    if (seen.insert(key_text(items[i])).second) continue;
    json::value key = items[i];
    if (list_type_ == "map" && items[i].is_object()) {
      json::object part;
      for (const std::string& name : list_keys_) {
        if (const json::value* value = items[i].get_object().if_contains(name)) part[name] = *value;
      }
      key = std::move(part);
    }
    causes.push_back(field_duplicate(Place(place, i).text(), shown_value(key)));
  }
}

void Schema::check_object(const json::object& members, const json::value* old, const Place& place,
                          Causes& causes) const {
  const json::object* before = old == nullptr ? nullptr : old->if_object();
  for (const std::string& name : required_) {
    if (!members.contains(name)) causes.push_back(field_required(Place(place, name).text()));
  }
  for (const auto& [name, property] : properties_) {
    if (place.root() && name == "metadata") continue;
    const json::value* member = members.if_contains(name);
    if (member != nullptr) {
      property->check(*member, before == nullptr ? nullptr : before->if_contains(name), {place, name}, causes);
    }
  }
  if (additional_ == nullptr) return;
  for (const json::key_value_pair& member : members) {
    if (properties_.contains(std::string_view(member.key()))) continue;
    if (enough(causes)) return;
    additional_->check(member.value(), before == nullptr ? nullptr : before->if_contains(member.key()),
                       {place, member.key()}, causes);
  }
}

void Schema::check_rules(const json::value& value, const json::value* old, const Place& place, Causes& causes) const {
  if (old != nullptr && same(value, *old)) return;
  for (const Rule& rule : rules_) {
    if (rule.needs_old && old == nullptr) continue;
    if (rule.function(value, old)) continue;
    std::string field = place.text() + rule.field_path;
    if (field.starts_with('.')) field.erase(0, 1);
    if (rule.reason == "FieldValueRequired") {
      causes.push_back(field_required(std::move(field), rule.message));
    } else {
      causes.push_back(
          field_invalid(std::move(field), value.is_structured() ? std::string() : shown_value(value), rule.message));
    }
  }
  if (const json::object* members = value.if_object()) {
    const json::object* before = old == nullptr ? nullptr : old->if_object();
    for (const auto& [name, property] : properties_) {
      const json::value* member = members->if_contains(name);
      if (member == nullptr) continue;
      property->check_rules(*member, before == nullptr ? nullptr : before->if_contains(name), {place, name}, causes);
    }
  } else if (const json::array* items = value.if_array(); items != nullptr && items_ != nullptr) {
    const Counterparts before(*this, old == nullptr ? nullptr : old->if_array());
    for (std::size_t i = 0; i < items->size() && !enough(causes); ++i)
      items_->check_rules((*items)[i], before.of((*items)[i], i), {place, i}, causes);
  }
}

}  // namespace sandbox
