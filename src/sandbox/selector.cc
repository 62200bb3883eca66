#include "sandbox/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace sandbox {
namespace {

// Words are everything but the punctuation of the syntax; the punctuation comes as itself.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  // "" at the end.
  std::string_view peek() {
    if (!token_) token_ = next();
    return *token_;
  }
  std::string_view take() {
    const std::string_view token = peek();
    token_.reset();
    return token;
  }
  bool accept(std::string_view wanted) {
    if (peek() != wanted) return false;
    token_.reset();
    return true;
  }

 private:
  static bool punctuation(char c) { return std::string_view("=!(),<>").find(c) != std::string_view::npos; }
  std::string_view next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t start = at_;
    if (at_ == text_.size()) return {};
    if (punctuation(text_[at_])) {
      ++at_;
      if (at_ < text_.size() && text_[at_] == '=' && (text_[start] == '=' || text_[start] == '!')) ++at_;
      return text_.substr(start, at_ - start);
    }
    while (at_ < text_.size() && text_[at_] != ' ' && !punctuation(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string_view> token_;
};

bool is_word(std::string_view token) {
  return !token.empty() && std::string_view("=!(),<>").find(token.front()) == std::string_view::npos;
}

base::Result<std::vector<std::string>> value_list(Lexer& lexer) {
  std::vector<std::string> values;
  if (!lexer.accept("("))
    return base::fail(fmt::format("unable to parse requirement: found '{}', expected: '('", lexer.peek()));
  while (true) {
    values.emplace_back(is_word(lexer.peek()) ? lexer.take() : std::string_view());
    if (lexer.accept(")")) return values;
    if (!lexer.accept(",")) {
      return base::fail(fmt::format("unable to parse requirement: found '{}', expected: ',' or ')'", lexer.peek()));
    }
  }
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

base::Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector selector;
  Lexer lexer(text);
  if (lexer.peek().empty()) return selector;
  do {
    Requirement requirement;
    if (lexer.accept("!")) requirement.op = Operator::absent;
    if (!is_word(lexer.peek())) {
      return base::fail(fmt::format("unable to parse requirement: found '{}', expected: identifier", lexer.peek()));
    }
    requirement.key = lexer.take();
    if (requirement.op != Operator::absent) {
      const bool equals = lexer.accept("=") || lexer.accept("==");
      if (equals || lexer.accept("!=")) {
        requirement.op = equals ? Operator::in : Operator::not_in;
        requirement.values.emplace_back(is_word(lexer.peek()) ? lexer.take() : std::string_view());
      } else if (lexer.peek() == "<" || lexer.peek() == ">") {
        requirement.op = lexer.take() == "<" ? Operator::less : Operator::greater;
        requirement.values.emplace_back(lexer.take());
        if (!integer(requirement.values[0]))
          return base::fail("for 'Gt', 'Lt' operators, the value must be an integer");
      } else if (lexer.peek() == "in" || lexer.peek() == "notin") {
        requirement.op = lexer.take() == "in" ? Operator::in : Operator::not_in;
        auto values = value_list(lexer);
        if (!values) return std::unexpected(values.error());
        requirement.values = std::move(*values);
      } else {
        requirement.op = Operator::exists;
      }
    }
    selector.requirements_.push_back(std::move(requirement));
  } while (lexer.accept(","));
  if (!lexer.peek().empty()) {
    return base::fail(
        fmt::format("unable to parse requirement: found '{}', expected: ',' or 'end of string'", lexer.peek()));
  }
  return selector;
}

bool LabelSelector::matches(const json::object& object) const {
  const json::object* labels = object_at(object, {"metadata", "labels"});
  return matches([labels](std::string_view name) -> std::optional<std::string_view> {
    const json::value* value = labels == nullptr ? nullptr : labels->if_contains(name);
    if (value == nullptr) return std::nullopt;
    return value->is_string() ? view(value->get_string()) : std::string_view();
  });
}

bool LabelSelector::matches(const Labels& labels) const {
  return std::ranges::all_of(requirements_, [&labels](const Requirement& requirement) {
    const std::optional<std::string_view> value = labels(requirement.key);
    const std::string_view text = value.value_or(std::string_view());
    const bool listed = value && std::ranges::find(requirement.values, text) != requirement.values.end();
    switch (requirement.op) {
      case Operator::in:
        return listed;
      case Operator::not_in:
        return !listed;
      case Operator::exists:
        return value.has_value();
      case Operator::absent:
        return !value.has_value();
      case Operator::greater:
      case Operator::less: {
        const auto has = integer(text);
        const auto wanted = integer(requirement.values[0]);
        if (!has) return false;
        return requirement.op == Operator::greater ? *has > *wanted : *has < *wanted;
      }
    }
    return false;
  });
}

base::Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector selector;
  std::string field;
  std::string current;
  bool in_value = false;
  bool equal = true;
  const auto finish = [&]() -> base::Result<void> {
    if (!in_value && current.empty()) return {};
    if (!in_value) return base::fail(fmt::format("invalid selector: '{}'; can't understand '{}'", text, current));
    selector.terms_.push_back({std::move(field), std::move(current), equal});
    field.clear();
    current.clear();
    in_value = false;
    return {};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      current += text[++i];
    } else if (c == ',') {
      if (auto done = finish(); !done) return std::unexpected(done.error());
    } else if (!in_value && (c == '=' || (c == '!' && i + 1 < text.size() && text[i + 1] == '='))) {
      equal = c == '=';
      if (i + 1 < text.size() && text[i + 1] == '=') ++i;
      field = std::move(current);
      current.clear();
      in_value = true;
    } else {
      current += c;
    }
  }
  if (auto done = finish(); !done) return std::unexpected(done.error());
  return selector;
}

std::string field_text(const json::object& object, std::string_view dotted) {
  const json::object* at = &object;
  while (true) {
    const std::size_t dot = dotted.find('.');
    const json::value* member = at->if_contains(dotted.substr(0, dot));
    if (member == nullptr) return {};
    if (dot == std::string_view::npos) {
      if (member->is_string()) return std::string(view(member->get_string()));
      return member->is_null() || member->is_structured() ? std::string() : to_text(*member);
    }
    at = member->if_object();
    if (at == nullptr) return {};
    dotted.remove_prefix(dot + 1);
  }
}

bool FieldSelector::matches(const json::object& object) const {
  return matches([&object](const std::string& field) { return field_text(object, field); });
}

bool FieldSelector::matches(const Fields& fields) const {
  return std::ranges::all_of(terms_,
                             [&fields](const Term& term) { return (fields(term.field) == term.value) == term.equal; });
}

}  // namespace sandbox
