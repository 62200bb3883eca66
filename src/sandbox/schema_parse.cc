#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <stdexcept>

#include "sandbox/schema.h"

namespace sandbox {
namespace {

constexpr auto documentation =
    std::to_array<std::string_view>({"description", "title", "example", "externalDocs", "x-kubernetes-map-type",
                                     "x-sandbox-number", "x-sandbox-embedded"});

std::optional<std::int64_t> whole(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  return value != nullptr && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

std::optional<double> number(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  return value != nullptr && value->is_number() ? std::optional(value->to_number<double>()) : std::nullopt;
}

bool flag(const json::object& from, std::string_view name) { return bool_at(from, {name}); }

std::vector<std::string> strings(const json::object& from, std::string_view name) {
  std::vector<std::string> texts;
  if (const json::array* items = array_at(from, {name})) {
    for (const json::value& item : *items) {
      if (item.is_string()) texts.emplace_back(view(item.get_string()));
    }
  }
  return texts;
}

}  // namespace

base::Result<std::unique_ptr<Schema>> Schema::parse(const json::object& description) {
  auto schema = std::make_unique<Schema>();
  if (auto read = schema->read(description); !read) return std::unexpected(read.error());
  return schema;
}

std::unique_ptr<Schema> Schema::of_fields(std::string_view fields) {
  auto schema = std::make_unique<Schema>();
  schema->type_ = Type::object;
  for (const char* name : {"apiVersion", "kind"}) {
    auto text = std::make_unique<Schema>();
    text->type_ = Type::string;
    schema->properties_.emplace(name, std::move(text));
  }
  // metadata has rules of its own
  schema->properties_.emplace("metadata", std::make_unique<Schema>());
  schema->read_fields(fields);
  if (!fields.empty()) throw std::logic_error("surplus in a list of fields: " + std::string(fields));
  return schema;
}

// Reads up to the end or a closing brace, which is left for the caller.
void Schema::read_fields(std::string_view& fields) {
  while (!fields.empty() && fields.front() != '}') {
    const std::size_t end = std::min(fields.find_first_of("[{:,}"), fields.size());
    const std::string name(fields.substr(0, end));
    fields.remove_prefix(end);
    auto outer = std::make_unique<Schema>();
    Schema* schema = outer.get();
    if (fields.starts_with("[]")) {
      fields.remove_prefix(2);
      outer->type_ = Type::array;
      outer->items_ = std::make_unique<Schema>();
      schema = outer->items_.get();
    }
    if (fields.starts_with('{')) {
      fields.remove_prefix(1);
      schema->type_ = Type::object;
      schema->read_fields(fields);
      if (!fields.starts_with('}')) throw std::logic_error("unbalanced braces after " + name);
      fields.remove_prefix(1);
    } else if (fields.size() >= 2 && fields.front() == ':') {
      const char type = fields[1];
      fields.remove_prefix(2);
      schema->type_ = type == 's'   ? Type::string
                      : type == 'i' ? Type::integer
                      : type == 'b' ? Type::boolean
                                    : Type::any;
    } else {
      throw std::logic_error("no type for " + name);
    }
    if (name == "*") {
      additional_ = std::move(outer);
    } else {
      properties_.emplace(name, std::move(outer));
    }
    if (fields.starts_with(',')) fields.remove_prefix(1);
  }
}

base::Result<void> Schema::read(const json::object& description) {
  static constexpr auto known = std::to_array<std::string_view>({"type",
                                                                 "properties",
                                                                 "items",
                                                                 "additionalProperties",
                                                                 "required",
                                                                 "enum",
                                                                 "default",
                                                                 "minLength",
                                                                 "maxLength",
                                                                 "minItems",
                                                                 "maxItems",
                                                                 "minimum",
                                                                 "maximum",
                                                                 "pattern",
                                                                 "format",
                                                                 "nullable",
                                                                 "x-kubernetes-list-type",
                                                                 "x-kubernetes-list-map-keys",
                                                                 "x-kubernetes-validations",
                                                                 "x-kubernetes-preserve-unknown-fields",
                                                                 "x-kubernetes-int-or-string"});
  for (const json::key_value_pair& member : description) {
    const std::string_view name = member.key();
    if (std::ranges::find(known, name) == known.end() &&
        std::ranges::find(documentation, name) == documentation.end()) {
      return base::fail(fmt::format("the schema keyword {} is not implemented by the sandbox", name));
    }
  }
  static constexpr std::array<std::string_view, 7> types = {"",        "object", "array",  "string",
                                                            "integer", "number", "boolean"};
  const auto* type = std::ranges::find(types, text_at(description, {"type"}));
  if (type == types.end()) return base::fail(fmt::format("unknown type {}", text_at(description, {"type"})));
  type_ = static_cast<Type>(type - types.begin());
  required_ = strings(description, "required");
  if (const json::array* choices = array_at(description, {"enum"})) enum_.assign(choices->begin(), choices->end());
  if (const json::value* value = description.if_contains("default")) default_ = *value;
  min_length_ = whole(description, "minLength");
  max_length_ = whole(description, "maxLength");
  min_items_ = whole(description, "minItems");
  max_items_ = whole(description, "maxItems");
  minimum_ = number(description, "minimum");
  maximum_ = number(description, "maximum");
  format_ = text_at(description, {"format"});
  if (type_ == Type::integer && format_ == "int32" && !maximum_) maximum_ = 2147483647.0;
  list_type_ = text_at(description, {"x-kubernetes-list-type"});
  list_keys_ = strings(description, "x-kubernetes-list-map-keys");
  preserve_unknown_ = flag(description, "x-kubernetes-preserve-unknown-fields");
  nullable_ = flag(description, "nullable");
  int_or_string_ = flag(description, "x-kubernetes-int-or-string");
  pattern_text_ = text_at(description, {"pattern"});
  if (!pattern_text_.empty()) pattern_.emplace(pattern_text_, std::regex::ECMAScript | std::regex::optimize);
  if (auto children = read_children(description); !children) return children;
  if (const json::array* rules = array_at(description, {"x-kubernetes-validations"})) return read_rules(*rules);
  return {};
}

base::Result<void> Schema::read_children(const json::object& description) {
  if (const json::object* properties = object_at(description, {"properties"})) {
    for (const json::key_value_pair& property : *properties) {
      if (!property.value().is_object())
        return base::fail(fmt::format("{}: a schema is an object", std::string_view(property.key())));
      auto child = parse(property.value().get_object());
      if (!child) return base::fail(fmt::format("{}: {}", std::string_view(property.key()), child.error().message));
      properties_.emplace(property.key(), std::move(*child));
    }
  }
  if (const json::object* items = object_at(description, {"items"})) {
    auto child = parse(*items);
    if (!child) return base::fail("items: " + child.error().message);
    items_ = std::move(*child);
  }
  if (const json::object* additional = object_at(description, {"additionalProperties"})) {
    auto child = parse(*additional);
    if (!child) return base::fail("additionalProperties: " + child.error().message);
    additional_ = std::move(*child);
  }
  return {};
}

base::Result<void> Schema::read_rules(const json::array& rules) {
  for (const json::value& item : rules) {
    const json::object& description = item.as_object();
    const std::string_view text = text_at(description, {"rule"});
    Rule rule;
    rule.function = native_rule(text);
    if (rule.function == nullptr) {
      return base::fail(fmt::format("the validation rule \"{}\" has no native counterpart in the sandbox", text));
    }
    rule.message = text_at(description, {"message"});
    rule.reason = text_at(description, {"reason"});
    rule.field_path = text_at(description, {"fieldPath"});
    rule.needs_old = text.find("oldSelf") != std::string_view::npos && !bool_at(description, {"optionalOldSelf"});
    rules_.push_back(std::move(rule));
  }
  return {};
}

}  // namespace sandbox
