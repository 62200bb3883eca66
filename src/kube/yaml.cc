#include "kube/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace kube {
namespace {

namespace json = boost::json;

// What references may add to a document: a few bytes can name gigabytes.
constexpr std::size_t k_most_referred_values = 100'000;
constexpr std::size_t k_most_referred_bytes = 3UL << 20U;
constexpr std::size_t k_most_tag_directives = 100;  // the parser compares each with all before it

json::value plain_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (auto [stop, error] = std::from_chars(text.data(), end, integer); error == std::errc() && stop == end) {
    return integer;
  }
  double number = 0;
  if (auto [stop, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && stop == end && text.find_first_not_of("+-.0123456789eE") == std::string_view::npos) {
    return number;
  }
  return json::string(text);
}

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

// How much a value is: itself and all below, and the bytes of its texts.
struct Extent {
  std::size_t values = 0;
  std::size_t bytes = 0;
};

void measure(const json::value& value, Extent& extent) {
  ++extent.values;
  if (const json::object* object = value.if_object()) {
    for (const json::key_value_pair& member : *object) {
      extent.bytes += member.key().size();
      measure(member.value(), extent);
    }
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) measure(item, extent);
  } else if (const json::string* text = value.if_string()) {
    extent.bytes += text->size();
  }
}

// Makes values of a stream's events. Every step returns "" or what is wrong.
class Builder {
 public:
  std::string take(const yaml_event_t& event, std::vector<json::value>& documents) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        anchors_.clear();
        referred_ = {};
        return {};
      case YAML_DOCUMENT_END_EVENT:
        if (!root_.is_null()) documents.push_back(std::move(root_));
        root_ = nullptr;
        return {};
      case YAML_ALIAS_EVENT:
        return refer(view(event.data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return scalar(event.data.scalar);
      case YAML_SEQUENCE_START_EVENT:
        return open(json::array(), view(event.data.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT:
        return open(json::object(), view(event.data.mapping_start.anchor));
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close();
      default:
        return {};
    }
  }

 private:
  struct Frame {
    json::value value;
    std::string anchor;
    std::string key = {};
    bool keyed = false;  // of an object: the next value is that of `key`
  };
  struct Anchored {
    json::value value;
    Extent extent;
    bool complete = false;  // not while its own inside is read
  };

  bool wants_key() const { return !open_.empty() && open_.back().value.is_object() && !open_.back().keyed; }

  std::string scalar(const decltype(yaml_event_t::data.scalar)& from) {
    const std::string_view text(reinterpret_cast<const char*>(from.value), from.length);
    if (wants_key()) {
      if (from.anchor != nullptr) anchor(view(from.anchor), json::string(text));
      open_.back().key = text;
      open_.back().keyed = true;
      return {};
    }
    const std::string_view tag = view(from.tag);
    const bool plain =
        tag.empty() ? from.style == YAML_PLAIN_SCALAR_STYLE
                    : tag == YAML_INT_TAG || tag == YAML_FLOAT_TAG || tag == YAML_BOOL_TAG || tag == YAML_NULL_TAG;
    json::value value = plain ? plain_scalar(text) : json::value(json::string(text));
    if (from.anchor != nullptr) anchor(view(from.anchor), value);
    put(std::move(value));
    return {};
  }

  std::string open(json::value value, std::string_view anchor) {
    if (wants_key()) return "invalid map key";
    if (open_.size() == k_most_yaml_depth) return fmt::format("exceeded max depth of {}", k_most_yaml_depth);
    if (!anchor.empty()) anchors_[std::string(anchor)] = {};
    open_.push_back({std::move(value), std::string(anchor)});
    return {};
  }

  std::string close() {
    Frame done = std::move(open_.back());
    open_.pop_back();
    if (!done.anchor.empty()) anchor(done.anchor, done.value);
    put(std::move(done.value));
    return {};
  }

  void anchor(std::string_view name, const json::value& value) {
    Extent extent;
    measure(value, extent);
    anchors_[std::string(name)] = {value, extent, true};
  }

  std::string refer(std::string_view name) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return fmt::format("unknown anchor '{}' referenced", name);
    const Anchored& anchored = found->second;
    if (!anchored.complete) return fmt::format("anchor '{}' value contains itself", name);
    referred_.values += anchored.extent.values;
    referred_.bytes += anchored.extent.bytes;
    if (referred_.values > k_most_referred_values || referred_.bytes > k_most_referred_bytes) {
      return "document contains excessive aliasing";
    }
    if (wants_key()) {
      if (!anchored.value.is_string()) return "invalid map key";
      open_.back().key = anchored.value.get_string();
      open_.back().keyed = true;
      return {};
    }
    put(anchored.value);
    return {};
  }

  void put(json::value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Frame& frame = open_.back(); frame.value.is_object()) {
      frame.value.get_object()[frame.key] = std::move(value);
      frame.keyed = false;
    } else {
      frame.value.get_array().push_back(std::move(value));
    }
  }

  std::vector<Frame> open_;
  json::value root_;
  std::map<std::string, Anchored, std::less<>> anchors_;
  Extent referred_;
};

// In the words of Go's parser, which is a child of this one.
std::string failure_of(const yaml_parser_t& parser) {
  if (parser.error == YAML_READER_ERROR || parser.error == YAML_MEMORY_ERROR) {
    return parser.problem == nullptr ? "unknown problem parsing YAML content" : parser.problem;
  }
  std::size_t line = parser.context_mark.line != 0 ? parser.context_mark.line : parser.problem_mark.line;
  if (line != 0 && parser.error == YAML_SCANNER_ERROR) ++line;
  const std::string problem = parser.problem == nullptr ? "unknown problem parsing YAML content" : parser.problem;
  return line == 0 ? problem : fmt::format("line {}: {}", line, problem);
}

class Parser {
 public:
  explicit Parser(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  std::string run(std::vector<json::value>& documents) {
    Builder builder;
    while (true) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) return failure_of(parser_);
      const bool last = event.type == YAML_STREAM_END_EVENT;
      std::string wrong = builder.take(event, documents);
      yaml_event_delete(&event);
      if (last || !wrong.empty()) return wrong;
    }
  }

 private:
  yaml_parser_t parser_{};
};

bool has_many_tag_directives(std::string_view text) {
  std::size_t found = 0;
  for (std::size_t at = text.find("%TAG"); at != std::string_view::npos; at = text.find("%TAG", at + 1)) {
    const bool starts_line = at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
    if (starts_line && ++found > k_most_tag_directives) return true;
  }
  return false;
}

// Most of what comes as YAML is JSON, which is read many times faster.
bool read_as_json(std::string_view text, std::vector<json::value>& documents) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = k_most_yaml_depth;
  json::value value = json::parse(text, error, {}, options);
  if (error) return false;
  documents.push_back(std::move(value));
  return true;
}

}  // namespace

base::Result<std::vector<json::value>> parse_yaml(std::string_view text) {
  std::vector<json::value> documents;
  if (read_as_json(text, documents)) return documents;
  if (has_many_tag_directives(text)) return base::fail("too many %TAG directives");
  if (std::string wrong = Parser(text).run(documents); !wrong.empty()) return base::fail(std::move(wrong));
  return documents;
}

}  // namespace kube
