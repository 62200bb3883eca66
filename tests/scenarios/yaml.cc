#include "scenarios/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <boost/json.hpp>
#include <charconv>
#include <fstream>
#include <sstream>

namespace scenarios {
namespace {

namespace json = boost::json;

template <class N>
bool whole_number(std::string_view text, N& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

json::value scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return json::value(text);  // quoted
  if (text.empty() || text == "~" || text == "null") return nullptr;
  if (text == "true") return true;
  if (text == "false") return false;
  const std::string_view digits = text.front() == '-' ? std::string_view(text).substr(1) : std::string_view(text);
  const bool leading_zero = digits.size() > 1 && digits[0] == '0' && digits[1] != '.';
  if (!digits.empty() && digits[0] >= '0' && digits[0] <= '9' && !leading_zero) {
    std::int64_t integer = 0;
    if (whole_number(text, integer)) return integer;
    double real = 0;
    if (whole_number(text, real)) return real;
  }
  return json::value(text);
}

base::Result<json::value> convert(const YAML::Node& node, const std::string& name) {
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return nullptr;
    case YAML::NodeType::Scalar:
      return scalar(node);
    case YAML::NodeType::Sequence: {
      json::array out;
      for (const auto& item : node) {
        auto value = convert(item, name);
        if (!value) return value;
        out.push_back(std::move(*value));
      }
      return out;
    }
    case YAML::NodeType::Map: {
      json::object out;
      for (const auto& item : node) {
        const std::string& key = item.first.Scalar();
        if (out.contains(key))
          return base::fail(fmt::format("{}:{}: {} is there twice", name, item.first.Mark().line + 1, key));
        auto value = convert(item.second, name);
        if (!value) return value;
        out.emplace(key, std::move(*value));
      }
      return out;
    }
  }
  return nullptr;
}

}  // namespace

base::Result<std::vector<Document>> parse_yaml(std::string_view text, const std::string& name) {
  std::vector<Document> documents;
  try {
    for (const auto& node : YAML::LoadAll(std::string(text))) {
      auto value = convert(node, name);
      if (!value) return base::fail(value.error().message);
      if (!value->is_null()) documents.push_back({std::move(*value), node.Mark().line + 1});
    }
  } catch (const YAML::Exception& e) {
    return base::fail(fmt::format("{}:{}: {}", name, e.mark.line + 1, e.msg));
  }
  return documents;
}

base::Result<std::vector<Document>> load_yaml(const std::string& path) {
  auto text = read_file(path);
  if (!text) return base::fail(text.error().message);
  return parse_yaml(*text, path);
}

base::Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::fail(fmt::format("cannot read {}", path));
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

}  // namespace scenarios
