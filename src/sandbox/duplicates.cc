#include "sandbox/duplicates.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_set>

#include "sandbox/json.h"

namespace sandbox {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
    value();  // most bodies name nothing twice, which is known sooner than who they would be
    if (!suspicious_) return {};
    at_ = 0;
    exact_ = true;
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
    if (exact_) return exact_object();
    std::vector<std::size_t> hashes;
    accept('{');
    while (peek() == '"') {
      const std::string_view written = string();
      suspicious_ = suspicious_ || written.find('\\') != std::string_view::npos;
      hashes.push_back(std::hash<std::string_view>()(written));
      accept(':');
      value();
      accept(',');
    }
    accept('}');
    std::ranges::sort(hashes);
    suspicious_ = suspicious_ || std::ranges::adjacent_find(hashes) != hashes.end();
  }
  void exact_object() {
    std::unordered_set<std::string_view> seen;
    std::deque<std::string> spelled;  // names that are not written as they are
    accept('{');
    steps_.emplace_back();
    while (peek() == '"') {
      const std::string_view written = string();
      std::string_view key = written.size() < 2 ? std::string_view() : written.substr(1, written.size() - 2);
      if (key.find('\\') != std::string_view::npos) {
        const auto name = parse_json(written);
        key = spelled.emplace_back(name && name->is_string() ? view(name->get_string()) : std::string_view());
      }
      const bool fresh = seen.insert(key).second;
      steps_.back().key = key;
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
    std::optional<std::string_view> key = {};  // nullopt: of a list
    std::size_t index = 0;
  };
  bool suspicious_ = false;  // a name may be there twice
  bool exact_ = false;       // the second time, when it is told which
  std::vector<Step> steps_;
  std::size_t noted_bytes_ = 0;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> duplicate_fields(std::string_view text) { return Scanner(text).run(); }

}  // namespace sandbox
