// What the columns of several kinds are made of. Internal to the sandbox.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "sandbox/tables.h"

namespace sandbox {

// The columns of one kind.
struct ColumnsOf {
  std::string_view kind;
  std::span<const Column> columns;
};
// Of the kinds that the sandbox keeps without doing anything about them.
std::span<const ColumnsOf> more_columns();

namespace cells {

inline json::value name(const json::object& object, WallSeconds) {
  return json::string(text_at(object, {"metadata", "name"}));
}
inline json::value age(const json::object& object, WallSeconds now) {
  return json::string(age_of(text_at(object, {"metadata", "creationTimestamp"}), now));
}

template <std::size_t N>
struct Literal {
  // NOLINTNEXTLINE(google-explicit-constructor): made from the literal in a template argument
  constexpr Literal(const char (&text)[N]) { std::copy_n(text, N, value); }
  char value[N];
};

// A cell that shows a text of the object, found by its members' names.
template <Literal... Steps>
inline json::value text(const json::object& object, WallSeconds) {
  return json::string(text_at(object, {std::string_view(Steps.value)...}));
}

template <Literal... Steps>
inline json::value number(const json::object& object, WallSeconds) {
  return int_at(object, {std::string_view(Steps.value)...});
}

template <Literal... Steps>
inline json::value size(const json::object& object, WallSeconds) {
  const json::array* items = array_at(object, {std::string_view(Steps.value)...});
  return items == nullptr ? 0 : static_cast<std::int64_t>(items->size());
}

inline std::vector<std::string> texts_in(const json::array* items, std::string_view field = {}) {
  std::vector<std::string> texts;
  if (items == nullptr) return texts;
  for (const json::value& item : *items) {
    if (field.empty() && item.is_string()) texts.emplace_back(view(item.get_string()));
    if (!field.empty() && item.is_object()) texts.emplace_back(text_at(item.get_object(), {field}));
  }
  return texts;
}

inline json::string joined(const std::vector<std::string>& texts, std::string_view otherwise = {}) {
  if (texts.empty()) return json::string(otherwise);
  return json::string(fmt::format("{}", fmt::join(texts, ",")));
}

// The first three, and how many there are beyond them.
inline json::string shortened(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 3;
  if (texts.empty()) return "<unset>";
  if (texts.size() <= most) return joined(texts);
  const std::vector<std::string> first(texts.begin(), texts.begin() + most);
  return json::string(fmt::format("{} + {} more...", fmt::join(first, ","), texts.size() - most));
}

inline std::string labels_text(const json::object* labels) {
  std::vector<std::string> pairs;
  if (labels != nullptr) {
    for (const json::key_value_pair& label : *labels)
      pairs.push_back(fmt::format("{}={}", std::string_view(label.key()),
                                  label.value().is_string() ? view(label.value().get_string()) : std::string_view()));
  }
  std::ranges::sort(pairs);
  return pairs.empty() ? "<none>" : fmt::format("{}", fmt::join(pairs, ","));
}

// A label selector as one text, its requirements in the order of their keys.
inline json::string selector_text(const json::object* selector) {
  std::vector<std::pair<std::string, std::string>> parts;
  if (selector == nullptr) return "<none>";
  if (const json::object* labels = object_at(*selector, {"matchLabels"})) {
    for (const json::key_value_pair& label : *labels)
      parts.emplace_back(label.key(),
                         fmt::format("{}={}", std::string_view(label.key()), text_at(*labels, {label.key()})));
  }
  if (const json::array* expressions = array_at(*selector, {"matchExpressions"})) {
    for (const json::value& item : *expressions) {
      if (!item.is_object()) continue;
      const json::object& expression = item.get_object();
      const std::string key(text_at(expression, {"key"}));
      const std::string_view op = text_at(expression, {"operator"});
      const auto values = texts_in(array_at(expression, {"values"}));
      if (op == "Exists") parts.emplace_back(key, key);
      if (op == "DoesNotExist") parts.emplace_back(key, fmt::format("!{}", key));
      if (op == "In") parts.emplace_back(key, fmt::format("{} in ({})", key, fmt::join(values, ",")));
      if (op == "NotIn") parts.emplace_back(key, fmt::format("{} notin ({})", key, fmt::join(values, ",")));
    }
  }
  std::ranges::stable_sort(parts, {}, &std::pair<std::string, std::string>::first);
  std::vector<std::string> texts;
  for (auto& part : parts) texts.push_back(std::move(part.second));
  return joined(texts, "<none>");
}

template <Literal... Steps>
json::value selector(const json::object& object, WallSeconds) {
  return selector_text(object_at(object, {std::string_view(Steps.value)...}));
}

inline constexpr Column name_column{.name = "Name",
                                    .description = "The object's name, unique among its kind in a namespace.",
                                    .cell = name,
                                    .format = "name"};
inline constexpr Column age_column{
    .name = "Age", .description = "The time since the server stored the object.", .cell = age};

}  // namespace cells
}  // namespace sandbox
