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
    value();
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
  // Where the scanner is, as messages say it: texts of paths are made only where one is needed.
  std::string path() const {
    std::string text;
    for (const Step& step : steps_) {
      if (!step.key) {
        text += fmt::format("[{}]", step.index);
      } else {
        if (!text.empty()) text += '.';
        text += *step.key;
      }
    }
    return text;
  }
  void note() {
    if (found_.size() == k_most_found || noted_bytes_ > k_most_bytes) return;
    found_.push_back(path());
    noted_bytes_ += found_.back().size();
  }
  void value() {
    const char first = peek();
    if (first == '{') return object();
    if (first == '[') return array();
    if (first == '"') {
      string();
      return;
    }
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
  }
  void object() {
    std::set<std::string> seen;
    accept('{');
    steps_.emplace_back();
    while (peek() == '"') {
      const std::string_view written = string();
      std::string key(written.size() < 2 ? std::string_view() : written.substr(1, written.size() - 2));
      if (key.find('\\') != std::string::npos) {
        const auto name = parse_json(written);
        key = name && name->is_string() ? std::string(view(name->get_string())) : std::string();
      }
      const auto [place, fresh] = seen.insert(std::move(key));
      steps_.back().key = &*place;
      accept(':');
      value();
      if (!fresh) note();
      accept(',');
    }
    steps_.pop_back();
    accept('}');
  }
  void array() {
    accept('[');
    steps_.emplace_back();
    while (peek() != ']' && peek() != '\0') {
      value();
      accept(',');
      ++steps_.back().index;
    }
    steps_.pop_back();
    accept(']');
  }

  // As many as the API server's decoder tells of; and not more bytes than a body may have.
  static constexpr std::size_t k_most_found = 100;
  static constexpr std::size_t k_most_bytes = 3UL << 20U;
  struct Step {
    const std::string* key = nullptr;  // nullptr: of a list
    std::size_t index = 0;
  };
  std::vector<Step> steps_;
  std::size_t noted_bytes_ = 0;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> duplicate_fields(std::string_view text) { return Scanner(text).run(); }

}  // namespace sandbox
