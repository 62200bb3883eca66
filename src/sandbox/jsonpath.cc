#include "sandbox/jsonpath.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <span>

namespace sandbox {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Reads ".a.b\.c" up to another character; the text that was read is taken from `text`.
std::vector<std::string> dotted_names(std::string_view& text) {
  std::vector<std::string> names;
  while (text.starts_with('.')) {
    text.remove_prefix(1);
    std::string name;
    while (!text.empty() && text.front() != '.' && text.front() != '[') {
      if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
      name += text.front();
      text.remove_prefix(1);
    }
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

json::value literal(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    return json::string(text.substr(1, text.size() - 2));
  if (auto parsed = parse_json(text)) return std::move(*parsed);
  return json::string(text);
}

bool compares(const json::value& a, std::string_view op, const json::value& b) {
  if (op == "==") return same(a, b);
  if (op == "!=") return !same(a, b);
  if (a.is_number() && b.is_number()) {
    const auto x = a.to_number<double>();
    const auto y = b.to_number<double>();
    return op == "<" ? x < y : op == ">" ? x > y : op == "<=" ? x <= y : x >= y;
  }
  if (!a.is_string() || !b.is_string()) return false;
  const int order = a.get_string().compare(b.get_string());
  return op == "<" ? order < 0 : op == ">" ? order > 0 : op == "<=" ? order <= 0 : order >= 0;
}

}  // namespace

base::Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  std::string_view rest = trimmed(text);
  if (rest.starts_with('{') && rest.ends_with('}')) rest = rest.substr(1, rest.size() - 2);
  if (rest.starts_with('$')) rest.remove_prefix(1);
  while (!rest.empty()) {
    if (rest.front() == '.') {
      for (std::string& name : dotted_names(rest)) {
        Step step;
        step.kind = name == "*" ? Step::Kind::all : Step::Kind::member;
        step.name = std::move(name);
        path.steps_.push_back(std::move(step));
      }
    } else if (rest.front() == '[') {
      const std::size_t end = rest.starts_with("[?(") ? rest.find(")]") : rest.find(']');
      if (end == std::string_view::npos) return base::fail(fmt::format("{}: unterminated array", text));
      const std::size_t close = rest.find(']', end);
      if (auto read = path.read_bracket(trimmed(rest.substr(1, close - 1))); !read)
        return std::unexpected(read.error());
      rest.remove_prefix(close + 1);
    } else {
      return base::fail(fmt::format("{}: unexpected {}", text, rest.substr(0, 1)));
    }
  }
  return path;
}

base::Result<void> JsonPath::read_bracket(std::string_view inside) {
  Step step;
  if (inside.starts_with("?(") && inside.ends_with(')')) return read_filter(inside.substr(2, inside.size() - 3));
  if (inside == "*") {
    step.kind = Step::Kind::all;
  } else if (inside.size() >= 2 && (inside.front() == '\'' || inside.front() == '"')) {
    step.name = inside.substr(1, inside.size() - 2);
  } else {
    step.kind = Step::Kind::index;
    const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
    if (error != std::errc() || end != inside.data() + inside.size())
      return base::fail(fmt::format("invalid array index {}", inside));
  }
  steps_.push_back(std::move(step));
  return {};
}

base::Result<void> JsonPath::read_filter(std::string_view condition) {
  static constexpr auto operators = std::to_array<std::string_view>({"==", "!=", "<=", ">=", "<", ">"});
  Step step;
  step.kind = Step::Kind::filter;
  std::string_view left = condition;
  for (const std::string_view op : operators) {
    const std::size_t at = condition.find(op);
    if (at == std::string_view::npos) continue;
    left = condition.substr(0, at);
    step.op = op;
    step.wanted = literal(trimmed(condition.substr(at + op.size())));
    break;
  }
  left = trimmed(left);
  if (!left.starts_with('@')) return base::fail(fmt::format("unsupported filter {}", condition));
  left.remove_prefix(1);
  step.path = dotted_names(left);
  steps_.push_back(std::move(step));
  return {};
}

bool JsonPath::Step::admits(const json::value& item) const {
  const json::value* at = &item;
  for (const std::string& part : path) {
    const json::object* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains(part);
    if (at == nullptr) return false;
  }
  return op.empty() || compares(*at, op, wanted);
}

std::vector<const json::value*> JsonPath::find(const json::object& root) const {
  std::vector<const json::value*> found;
  if (steps_.empty() || steps_[0].kind != Step::Kind::member) return found;
  if (const json::value* first = root.if_contains(steps_[0].name)) found.push_back(first);
  for (const Step& step : std::span(steps_).subspan(1)) {
    std::vector<const json::value*> next;
    for (const json::value* value : found) {
      const json::object* object = value->if_object();
      const json::array* array = value->if_array();
      if (step.kind == Step::Kind::member) {
        if (object == nullptr) continue;
        if (const json::value* member = object->if_contains(step.name)) next.push_back(member);
      } else if (step.kind == Step::Kind::index) {
        if (array == nullptr) continue;
        const auto size = static_cast<std::int64_t>(array->size());
        const std::int64_t index = step.index < 0 ? size + step.index : step.index;
        if (index >= 0 && index < size) next.push_back(&(*array)[static_cast<std::size_t>(index)]);
      } else if (array != nullptr) {
        for (const json::value& item : *array) {
          if (step.kind == Step::Kind::all || step.admits(item)) next.push_back(&item);
        }
      } else if (object != nullptr && step.kind == Step::Kind::all) {
        for (const json::key_value_pair& member : *object) next.push_back(&member.value());
      }
    }
    found = std::move(next);
  }
  return found;
}

}  // namespace sandbox
