#include "scenarios/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <optional>

#include "base/ip.h"

namespace scenarios {
namespace {

namespace json = boost::json;
using Value = json::value;

// A value on its way through an expression. In a projection ([*], [?…]) what follows applies to each element.
struct Current {
  Value value;
  bool projected = false;
};

class Parser {
 public:
  Parser(std::string_view text, const Bindings& bindings) : text_(text), bindings_(bindings) {}

  Value whole(const Value& current) {
    Value out = pipe(current);
    skip();
    if (at_ != text_.size()) fail("unexpected text");
    return out;
  }

  struct Failure {
    std::string message;
  };

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw Failure{fmt::format("expression ({}): {} at \"{}\"", text_, why, text_.substr(std::min(at_, text_.size())))};
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool peek(std::string_view token) {
    skip();
    return text_.substr(at_).starts_with(token);
  }
  void need(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected {}", token));
  }
  static bool word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
  static bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  std::string word() {
    skip();
    if (at_ < text_.size() && text_[at_] == '"') return quoted('"');
    const std::size_t from = at_;
    if (at_ < text_.size() && word_start(text_[at_])) {
      while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    }
    if (from == at_) fail("expected a name");
    return std::string(text_.substr(from, at_ - from));
  }
  std::string quoted(char quote) {
    ++at_;
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_++];
    }
    if (at_ == text_.size()) fail("unfinished text");
    ++at_;
    return out;
  }

  Value pipe(const Value& current) {
    Value value = either(current);
    while (!peek("||") && take("|")) value = either(value);
    return value;
  }
  Value either(const Value& current) {
    Value left = both(current);
    while (take("||")) {
      Value right = both(current);
      if (!truthy(left)) left = std::move(right);
    }
    return left;
  }
  Value both(const Value& current) {
    Value left = comparison(current);
    while (take("&&")) {
      Value right = comparison(current);
      if (truthy(left)) left = std::move(right);
    }
    return left;
  }
  Value comparison(const Value& current) {
    Value left = negation(current);
    for (std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(op)) return compare(op, left, negation(current));
    }
    return left;
  }
  Value compare(std::string_view op, const Value& a, const Value& b) {
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (!a.is_number() || !b.is_number()) return nullptr;
    const double x = a.to_number<double>();
    const double y = b.to_number<double>();
    if (op == "<") return x < y;
    if (op == "<=") return x <= y;
    if (op == ">") return x > y;
    return x >= y;
  }
  Value negation(const Value& current) {
    if (!peek("!=") && take("!")) return !truthy(negation(current));
    return path(current);
  }

  Value path(const Value& current) {
    Current at{primary(current)};
    for (;;) {
      skip();
      if (at_ >= text_.size()) break;
      if (text_[at_] == '.') {
        ++at_;
        const std::string name = word();
        at = each(at, [&](const Value& v) { return field(v, name); });
      } else if (text_[at_] == '[') {
        bracket(at);
      } else {
        break;
      }
    }
    return std::move(at.value);
  }
  // Applies a step to the value, or to each element of a projection, leaving out what becomes null.
  template <class Step>
  static Current each(const Current& at, Step step) {
    if (!at.projected) return {step(at.value)};
    json::array out;
    for (const auto& item : at.value.as_array()) {
      Value next = step(item);
      if (!next.is_null()) out.push_back(std::move(next));
    }
    return {std::move(out), true};
  }
  static Value field(const Value& value, const std::string& name) {
    const auto* object = value.if_object();
    const auto* found = object ? object->if_contains(name) : nullptr;
    return found ? *found : Value(nullptr);
  }
  void bracket(Current& at) {
    need("[");
    if (take("?")) {
      const std::size_t from = at_;
      json::array kept;
      const json::array none;
      const auto& items = at.value.is_array() ? at.value.as_array() : none;
      if (items.empty()) pipe(nullptr);  // only to get past it
      for (const auto& item : items) {
        at_ = from;
        if (truthy(pipe(item))) kept.push_back(item);
      }
      need("]");
      at = {std::move(kept), true};
    } else if (take("*")) {
      need("]");
      at = {at.value.is_array() ? at.value : Value(json::array{}), true};
    } else {
      const auto index = integer();
      need("]");
      at = each(at, [&](const Value& v) { return element(v, index); });
    }
  }
  static Value element(const Value& value, std::int64_t index) {
    if (!value.is_array()) return nullptr;
    const auto& items = value.as_array();
    const auto size = static_cast<std::int64_t>(items.size());
    if (index < 0) index += size;
    return index >= 0 && index < size ? items[static_cast<std::size_t>(index)] : Value(nullptr);
  }
  std::int64_t integer() {
    skip();
    const std::size_t from = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ == from || at_ - from > 18) fail("expected a number");
    return std::stoll(std::string(text_.substr(from, at_ - from)));
  }

  Value primary(const Value& current) {
    skip();
    if (at_ >= text_.size()) fail("expected a value");
    const char c = text_[at_];
    if (c == '@') return ++at_, current;
    if (c == '\'') return Value(quoted('\''));
    if (c == '`') {
      boost::system::error_code error;
      Value literal = json::parse(quoted('`'), error);
      if (error) fail("a literal is not JSON");
      return literal;
    }
    if (c == '(') {
      ++at_;
      Value inner = pipe(current);
      need(")");
      return inner;
    }
    if (c == '$') {
      ++at_;
      const std::string name = word();
      const auto found = bindings_.find(name);
      if (found == bindings_.end()) fail(fmt::format("nothing is bound to ${}", name));
      return found->second;
    }
    if (c == '[') return list_or_current(current);
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') return integer();
    const bool plain = c != '"';
    const std::string name = word();
    if (plain && take("(")) return call(name, current);
    return field(current, name);
  }

  // "[a, b]" is a list; "[0]", "[*]" and "[?…]" apply to the current value and are left to path().
  Value list_or_current(const Value& current) {
    const std::size_t open = at_++;
    skip();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '?' || c == '*' || c == '-' || std::isdigit(static_cast<unsigned char>(c))) {
      at_ = open;
      return current;
    }
    json::array out;
    do out.push_back(pipe(current));
    while (take(","));
    need("]");
    return out;
  }

  Value call(const std::string& name, const Value& current) {
    std::vector<Value> arguments;
    if (!take(")")) {
      do arguments.push_back(pipe(current));
      while (take(","));
      need(")");
    }
    arguments.resize(2);
    if (name == "condition") return condition(current, text_of(arguments[0]));
    return apply(name, arguments[0], arguments[1]);
  }
  // The condition of that type of an object, or of its status.
  static Value condition(const Value& current, const std::string& type) {
    Value conditions = field(current, "conditions");
    if (conditions.is_null()) conditions = field(field(current, "status"), "conditions");
    if (const auto* list = conditions.if_array()) {
      for (const auto& item : *list) {
        if (field(item, "type") == Value(type)) return item;
      }
    }
    return nullptr;
  }
  static std::string text_of(const Value& v) { return v.is_string() ? std::string(v.as_string()) : json::serialize(v); }
  Value apply(const std::string& name, const Value& a, const Value& b) {
    if (name == "length") {
      if (a.is_string()) return a.as_string().size();
      return a.is_array() ? a.as_array().size() : a.is_object() ? a.as_object().size() : 0;
    }
    if (name == "contains") {
      if (a.is_array()) return std::ranges::find(a.as_array(), b) != a.as_array().end();
      return a.is_string() && b.is_string() &&
             std::string_view(a.as_string()).find(b.as_string()) != std::string_view::npos;
    }
    if (name == "starts_with") return text_of(a).starts_with(text_of(b));
    if (name == "ends_with") return text_of(a).ends_with(text_of(b));
    if (name == "to_string") return Value(text_of(a));
    if (name == "join") return join(text_of(a), b);
    if (name == "keys" || name == "values") {
      json::array out;
      if (const auto* object = a.if_object()) {
        for (const auto& [key, value] : *object) out.push_back(name == "keys" ? Value(key) : value);
      }
      return out;
    }
    if (name == "sort") {
      if (!a.is_array()) return json::array{};
      json::array out = a.as_array();
      std::ranges::sort(out, {}, [](const Value& v) { return text_of(v); });
      return out;
    }
    if (name == "in_network") {
      const auto address = base::IpAddress::parse(text_of(a));
      const auto network = base::IpPrefix::parse(text_of(b));
      return address && network && network->range().contains(*address);
    }
    if (name == "repeat") {
      std::string out;
      for (std::int64_t times = b.is_int64() ? b.as_int64() : 0; times > 0; --times) out += text_of(a);
      return Value(out);
    }
    fail(fmt::format("no function {}", name));
  }
  static Value join(const std::string& between, const Value& items) {
    std::string out;
    if (const auto* list = items.if_array()) {
      for (const auto& item : *list) out += (out.empty() ? "" : between) + text_of(item);
    }
    return Value(out);
  }

  std::string_view text_;
  const Bindings& bindings_;
  std::size_t at_ = 0;
};

// The end of the expression that opens at text[open] == '(': the index of its closing parenthesis, npos if there is
// none.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '`' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

base::Result<std::string> substitute_text(std::string_view text, const Bindings& bindings) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find("($", at);
    const std::size_t close = open == std::string_view::npos ? open : closing(text, open);
    if (close == std::string_view::npos) return out.append(text.substr(at));
    auto value = evaluate(text.substr(open + 1, close - open - 1), nullptr, bindings);
    if (!value) return base::fail(value.error().message);
    out.append(text.substr(at, open - at));
    out += value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
    at = close + 1;
  }
}

}  // namespace

base::Result<Value> evaluate(std::string_view expression, const Value& current, const Bindings& bindings) {
  try {
    return Parser(expression, bindings).whole(current);
  } catch (const Parser::Failure& failure) {
    return base::fail(failure.message);
  }
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return false;
    case json::kind::bool_:
      return value.as_bool();
    case json::kind::string:
      return !value.as_string().empty();
    case json::kind::array:
      return !value.as_array().empty();
    case json::kind::object:
      return !value.as_object().empty();
    default:
      return true;
  }
}

bool is_expression(std::string_view text) {
  return text.size() > 2 && text.front() == '(' && closing(text, 0) == text.size() - 1;
}

base::Result<Value> substitute(const Value& document, const Bindings& bindings) {
  if (const auto* text = document.if_string()) {
    if (is_expression(*text)) return evaluate(std::string_view(*text).substr(1, text->size() - 2), nullptr, bindings);
    auto replaced = substitute_text(*text, bindings);
    if (!replaced) return base::fail(replaced.error().message);
    return Value(std::move(*replaced));
  }
  if (const auto* items = document.if_array()) {
    json::array out;
    for (const auto& item : *items) {
      auto value = substitute(item, bindings);
      if (!value) return value;
      out.push_back(std::move(*value));
    }
    return out;
  }
  if (const auto* object = document.if_object()) {
    json::object out;
    for (const auto& [key, item] : *object) {
      auto value = substitute(item, bindings);
      if (!value) return value;
      auto name = substitute_text(key, bindings);
      if (!name) return base::fail(name.error().message);
      out.emplace(*name, std::move(*value));
    }
    return out;
  }
  return document;
}

}  // namespace scenarios
