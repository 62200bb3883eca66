#include "client/jsonpath.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace client {
namespace {

using Step = JsonPath::Step;
using Node = JsonPath::Node;

// Reads a template from left to right. Throws within this file only.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Node> parse() {
    if (text_.find('{') == std::string_view::npos) {
      std::vector<Node> nodes{path_node()};
      if (at_ < text_.size()) wrong("the end");
      return nodes;
    }
    std::vector<Node> nodes = block(false);
    return nodes;
  }

 private:
  [[noreturn]] void wrong(std::string_view wanted) const {
    throw std::runtime_error(
        fmt::format("'{}' is no template: {} is expected at character {}", text_, wanted, at_ + 1));
  }
  bool more() const { return at_ < text_.size(); }
  char next() const { return more() ? text_[at_] : '\0'; }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) wrong(fmt::format("'{}'", token));
  }
  void skip_blanks() {
    while (next() == ' ') ++at_;
  }

  std::vector<Node> block(bool in_range) {
    std::vector<Node> nodes;
    while (more()) {
      if (next() != '{') {
        const std::size_t end = std::min(text_.find('{', at_), text_.size());
        nodes.push_back({.text = std::string(text_.substr(at_, end - at_))});
        at_ = end;
        continue;
      }
      ++at_;
      skip_blanks();
      if (take("end")) {
        skip_blanks();
        need("}");
        if (!in_range) wrong("a {range} before its {end}");
        return nodes;
      }
      if (take("range")) {
        skip_blanks();
        Node range{.kind = Node::Kind::range, .path = path()};
        skip_blanks();
        need("}");
        range.body = block(true);
        nodes.push_back(std::move(range));
        continue;
      }
      while (next() != '}') {
        if (!more()) wrong("'}'");
        nodes.push_back(next() == '"' || next() == '\'' ? Node{.text = quoted()} : path_node());
        skip_blanks();
      }
      ++at_;
    }
    if (in_range) wrong("{end}");
    return nodes;
  }

  Node path_node() { return {.kind = Node::Kind::path, .path = path()}; }

  std::string quoted() {
    const char quote = text_[at_++];
    std::string out;
    while (more() && next() != quote) {
      char c = text_[at_++];
      if (c == '\\' && more()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      out += c;
    }
    if (!more()) wrong("the closing quote");
    ++at_;
    return out;
  }

  std::vector<Step> path() {
    std::vector<Step> steps;
    if (next() == '$' || next() == '@') ++at_;
    const std::size_t begin = at_;
    while (next() == '.' || next() == '[') {
      if (take("[")) {
        steps.push_back(bracket());
      } else if (++at_; take("*")) {
        steps.push_back({.kind = Step::Kind::all});
      } else if (next() != '[') {
        std::string name = member_name();
        if (name.empty() && !(steps.empty() && at_ == begin + 1)) wrong("a name");
        if (!name.empty()) steps.push_back({.kind = Step::Kind::member, .name = std::move(name)});
      }
    }
    if (at_ == begin && (begin == 0 || (text_[begin - 1] != '$' && text_[begin - 1] != '@')))
      wrong("a path such as .status.phase");
    return steps;
  }

  std::string member_name() {
    std::string name;
    while (more() && std::string_view(".[]{} =!()'\"").find(next()) == std::string_view::npos) {
      if (next() == '\\') ++at_;
      if (more()) name += text_[at_++];
    }
    return name;
  }

  Step bracket() {
    Step step;
    if (take("*")) {
      step.kind = Step::Kind::all;
    } else if (next() == '\'' || next() == '"') {
      step.name = quoted();
    } else if (take("?(")) {
      step.kind = Step::Kind::filter;
      skip_blanks();
      step.filter = path();
      skip_blanks();
      step.equal = take("==");
      if (!step.equal) need("!=");
      skip_blanks();
      step.operand = operand();
      skip_blanks();
      need(")");
    } else {
      step.kind = Step::Kind::item;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), step.index);
      if (error != std::errc()) wrong("a number, *, a quoted name or ?(@.name==\"value\")");
      at_ = static_cast<std::size_t>(end - text_.data());
    }
    need("]");
    return step;
  }

  json::value operand() {
    if (next() == '\'' || next() == '"') return json::string(quoted());
    const std::size_t end = std::min(text_.find_first_of(" )", at_), text_.size());
    boost::system::error_code error;
    json::value value = json::parse(text_.substr(at_, end - at_), error);
    if (error) wrong("a value in quotes");
    at_ = end;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using Found = std::vector<const json::value*>;

Found walk(const json::value& root, const std::vector<Step>& path) {
  Found now{&root};
  for (const Step& step : path) {
    Found then;
    for (const json::value* value : now) {
      const auto* object = value->if_object();
      const auto* array = value->if_array();
      if (step.kind == Step::Kind::member && object != nullptr) {
        if (const auto* member = object->if_contains(step.name)) then.push_back(member);
      } else if (step.kind == Step::Kind::item && array != nullptr) {
        const auto size = static_cast<std::int64_t>(array->size());
        const std::int64_t index = step.index < 0 ? step.index + size : step.index;
        if (index >= 0 && index < size) then.push_back(&(*array)[static_cast<std::size_t>(index)]);
      } else if (step.kind == Step::Kind::all && array != nullptr) {
        for (const auto& item : *array) then.push_back(&item);
      } else if (step.kind == Step::Kind::all && object != nullptr) {
        for (const auto& member : *object) then.push_back(&member.value());
      } else if (step.kind == Step::Kind::filter && array != nullptr) {
        for (const auto& item : *array) {
          const Found found = walk(item, step.filter);
          if (!found.empty() && (*found.front() == step.operand) == step.equal) then.push_back(&item);
        }
      }
    }
    now = std::move(then);
  }
  return now;
}

void print_nodes(std::string& out, const std::vector<Node>& nodes, const json::value& root) {
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::literal) {
      out += node.text;
      continue;
    }
    const Found found = walk(root, node.path);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (node.kind == Node::Kind::range) {
        print_nodes(out, node.body, *found[i]);
      } else {
        out += (i == 0 ? "" : " ") + to_plain(*found[i]);
      }
    }
  }
}

}  // namespace

base::Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  try {
    path.nodes_ = Parser(text).parse();
  } catch (const std::runtime_error& error) {
    return base::fail(error.what());
  }
  return path;
}

std::string JsonPath::print(const json::value& root) const {
  std::string out;
  print_nodes(out, nodes_, root);
  return out;
}

std::vector<const json::value*> JsonPath::find(const json::value& root) const {
  for (const Node& node : nodes_) {
    if (node.kind == Node::Kind::path) return walk(root, node.path);
  }
  return {};
}

}  // namespace client
