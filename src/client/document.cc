#include "client/document.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cctype>
#include <cstdlib>
#include <vector>

namespace client {
namespace {

using Member = const json::key_value_pair*;

std::vector<Member> sorted(const json::object& object) {
  std::vector<Member> members;
  for (const auto& member : object) members.push_back(&member);
  std::ranges::sort(members, {}, [](Member member) { return std::string_view(member->key()); });
  return members;
}

// A scalar as Go prints it: what means something in HTML is escaped.
std::string json_scalar(const json::value& value) {
  std::string out;
  for (const char c : json::serialize(value)) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

std::string json_key(Member member) { return json_scalar(json::string(member->key())); }

void print_json(std::string& out, const json::value& value, std::size_t depth) {
  const std::string pad((depth + 1) * 4, ' ');
  const std::string close(depth * 4, ' ');
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    out += "{\n";
    const auto members = sorted(*object);
    for (const Member member : members) {
      out += pad + json_key(member) + ": ";
      print_json(out, member->value(), depth + 1);
      out += member == members.back() ? "\n" : ",\n";
    }
    out += close + "}";
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    out += "[\n";
    for (std::size_t i = 0; i < array->size(); ++i) {
      out += pad;
      print_json(out, (*array)[i], depth + 1);
      out += i + 1 == array->size() ? "\n" : ",\n";
    }
    out += close + "]";
  } else {
    out += json_scalar(value);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 12:30:45 was a number in base 60 once, and readers of that age still take it for one.
bool is_base_60(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::size_t group = 0;
  for (const char c : text.substr(colon)) {
    if (c == ':') {
      group = 0;
    } else if (!is_digit(c) || ++group > 2) {
      return false;
    }
  }
  return group > 0 && text.substr(0, colon).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_number(const std::string& text) {
  if (!is_digit(text.front()) && std::string_view("+-.").find(text.front()) == std::string_view::npos) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0' && std::ranges::any_of(text, is_digit);
}

bool is_timestamp(std::string_view text) {
  return text.size() >= 8 && std::ranges::all_of(text.substr(0, 4), is_digit) && text[4] == '-' &&
         text.find_first_not_of("0123456789-:TtZz+. ") == std::string_view::npos;
}

// Whether a plain scalar would be read as another type.
bool is_ambiguous(const std::string& text) {
  if (text.empty()) return true;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word :
       {"null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf", "<<", "="}) {
    if (lower == word) return true;
  }
  return is_number(text) || is_base_60(text) || is_timestamp(text);
}

// Whether YAML's syntax forbids it as a plain scalar.
bool needs_quotes(std::string_view text) {
  if (text.front() == ' ' || text.back() == ' ' || text.back() == ':') return true;
  if (std::string_view(",[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) return true;
  if (std::string_view("-?:").find(text.front()) != std::string_view::npos && (text.size() == 1 || text[1] == ' '))
    return true;
  return text.starts_with("---") || text.starts_with("...") || text.find(": ") != std::string_view::npos ||
         text.find(" #") != std::string_view::npos;
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

// Breaks a scalar that begins at `column` where kubectl does: at the first lone blank behind column 80.
std::string folded(const std::string& scalar, std::size_t column, std::size_t indent) {
  constexpr std::size_t width = 80;
  const bool quoted = scalar.front() == '\'';
  std::string out;
  for (std::size_t i = 0; i < scalar.size(); ++i) {
    const bool inside = i > (quoted ? 1 : 0) && i + (quoted ? 2 : 1) < scalar.size();
    const bool lone = scalar[i] == ' ' && inside && scalar[i - 1] != ' ' && scalar[i + 1] != ' ';
    if (lone && column > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      out += scalar[i];
      if ((static_cast<unsigned char>(scalar[i]) & 0xC0U) != 0x80U) ++column;
    }
  }
  return out;
}

// Text of several lines, as it stands.
std::string literal_block(std::string_view text, std::size_t indent) {
  std::string out = text.ends_with("\n\n") ? "|+" : text.ends_with('\n') ? "|" : "|-";
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (true) {
    const std::size_t cut = text.find('\n');
    const std::string_view line = text.substr(0, cut);
    out += "\n" + (line.empty() ? std::string() : std::string(indent, ' ') + std::string(line));
    if (cut == std::string_view::npos) return out;
    text.remove_prefix(cut + 1);
  }
}

// `indent` is that of its further lines; it begins at `column`.
std::string yaml_scalar(const json::value& value, std::size_t indent, std::size_t column) {
  if (value.is_array()) return "[]";
  if (value.is_object()) return "{}";
  const auto* string = value.if_string();
  if (string == nullptr) return json::serialize(value);
  const std::string text(*string);
  const bool control =
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; });
  if (control || is_ambiguous(text)) return json::serialize(value);
  if (text.find('\n') != std::string::npos) {
    return text.front() == ' ' || text.front() == '\n' ? json::serialize(value) : literal_block(text, indent);
  }
  return folded(needs_quotes(text) ? single_quoted(text) : text, column, indent);
}

std::string yaml_key(Member member) {
  const std::string text(member->key());
  if (is_ambiguous(text)) return json::serialize(json::string(text));
  return needs_quotes(text) ? single_quoted(text) : text;
}

bool is_block(const json::value& value) {
  return (value.is_object() && !value.get_object().empty()) || (value.is_array() && !value.get_array().empty());
}

// `inline_first`: the first line continues one that is already begun ("- ").
void print_yaml(std::string& out, const json::value& value, std::size_t indent, bool inline_first) {
  const std::string pad(indent, ' ');
  bool first = inline_first;
  if (const auto* object = value.if_object()) {
    for (const Member member : sorted(*object)) {
      const std::string key = yaml_key(member);
      out += (first ? "" : pad) + key + ":";
      first = false;
      if (!is_block(member->value())) {
        out += " " + yaml_scalar(member->value(), indent + 2, indent + key.size() + 2) + "\n";
      } else {
        out += "\n";
        print_yaml(out, member->value(), member->value().is_array() ? indent : indent + 2, false);
      }
    }
  } else if (const auto* array = value.if_array()) {
    for (const json::value& item : *array) {
      out += (first ? "" : pad) + "- ";
      first = false;
      if (is_block(item)) {
        print_yaml(out, item, indent + 2, true);
      } else {
        out += yaml_scalar(item, indent + 2, indent + 2) + "\n";
      }
    }
  }
}

}  // namespace

const json::value* find(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::object* object = &from;
  const json::value* value = nullptr;
  for (const std::string_view step : path) {
    if (object == nullptr) return nullptr;
    value = object->if_contains(step);
    if (value == nullptr) return nullptr;
    object = value->if_object();
  }
  return value;
}

const json::object* object_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::value* value = find(from, path);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* array_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::value* value = find(from, path);
  return value == nullptr ? nullptr : value->if_array();
}

std::string_view text_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::value* value = find(from, path);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

base::Result<json::object> parse_object(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error) return base::fail("not JSON: " + error.message());
  if (!value.is_object()) return base::fail("not a JSON object");
  return std::move(value.get_object());
}

std::string to_pretty_json(const json::value& value) {
  std::string out;
  print_json(out, value, 0);
  return out;
}

std::string to_compact_json(const json::value& value) {
  if (const auto* object = value.if_object()) {
    std::string out;
    for (const Member member : sorted(*object)) {
      out += (out.empty() ? "{" : ",") + json_key(member) + ":" + to_compact_json(member->value());
    }
    return out.empty() ? "{}" : out + "}";
  }
  if (const auto* array = value.if_array()) {
    std::string out;
    for (const json::value& item : *array) out += (out.empty() ? "[" : ",") + to_compact_json(item);
    return out.empty() ? "[]" : out + "]";
  }
  return json_scalar(value);
}

std::string to_yaml(const json::value& value) {
  if (!is_block(value)) return yaml_scalar(value, 0, 0) + "\n";
  std::string out;
  print_yaml(out, value, 0, false);
  return out;
}

std::string to_plain(const json::value& value) {
  if (const auto* text = value.if_string()) return std::string(*text);
  return to_compact_json(value);
}

std::string harmless(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\x1b') {
      out += "^[";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace client
