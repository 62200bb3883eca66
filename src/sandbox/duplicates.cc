#include "sandbox/duplicates.h"

#include <fmt/format.h>

#include <set>

#include "sandbox/json.h"

namespace sandbox {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
    value({});
    return std::move(found_);
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  // The text of a string as it is written, with its quotes.
  std::string_view string() {
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
    return text_.substr(start, at_ - start);
  }
  void value(const std::string& path) {
    const char first = peek();
    if (first == '{') return object(path);
    if (first == '[') return array(path);
    if (first == '"') {
      string();
      return;
    }
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
  }
  void object(const std::string& path) {
    std::set<std::string> seen;
    accept('{');
    while (peek() == '"') {
      const auto name = parse_json(string());
      const std::string key = name && name->is_string() ? std::string(view(name->get_string())) : std::string();
      const std::string at = path.empty() ? key : fmt::format("{}.{}", path, key);
      accept(':');
      value(at);
      if (!seen.insert(key).second) found_.push_back(at);
      accept(',');
    }
    accept('}');
  }
  void array(const std::string& path) {
    accept('[');
    for (std::size_t i = 0; peek() != ']' && peek() != '\0'; ++i) {
      value(fmt::format("{}[{}]", path, i));
      accept(',');
    }
    accept(']');
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> duplicate_fields(std::string_view text) { return Scanner(text).run(); }

}  // namespace sandbox
