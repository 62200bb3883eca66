#include "kube/yaml.h"

#include <yaml-cpp/yaml.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <string>

namespace kube {
namespace {

namespace json = boost::json;

json::value plain_scalar(const std::string& text) {
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
      error == std::errc() && stop == end && text.find_first_not_of("+-.0123456789eE") == std::string::npos) {
    return number;
  }
  return json::string(text);
}

json::value convert(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map: {
      json::object object;
      for (const auto& member : node) object[member.first.Scalar()] = convert(member.second);
      return object;
    }
    case YAML::NodeType::Sequence: {
      json::array array;
      for (const auto& item : node) array.push_back(convert(item));
      return array;
    }
    case YAML::NodeType::Scalar:
      // "!" marks a quoted scalar, "?" a plain one
      return node.Tag() == "!" ? json::value(json::string(node.Scalar())) : plain_scalar(node.Scalar());
    default:
      return nullptr;
  }
}

}  // namespace

base::Result<std::vector<json::value>> parse_yaml(std::string_view text) {
  std::vector<json::value> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      if (node.IsDefined() && !node.IsNull()) documents.push_back(convert(node));
    }
  } catch (const YAML::Exception& error) {
    return base::fail(error.what());
  }
  return documents;
}

}  // namespace kube
