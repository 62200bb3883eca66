#include "scenarios/match.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace scenarios {
namespace {

namespace json = boost::json;

class Matcher {
 public:
  Matcher(const json::value& root, const Bindings& bindings) : root_(root), bindings_(bindings) {}

  void match(const json::value& expected, const json::value& actual, const std::string& path) {
    if (const auto* object = expected.if_object()) {
      fields(*object, actual, path);
    } else if (const auto* list = expected.if_array()) {
      items(*list, actual, path);
    } else {
      plain(expected, actual, path);
    }
  }

  std::vector<std::string> found;

 private:
  void differ(const std::string& path, const json::value& actual, const std::string& wanted) {
    std::string is = json::serialize(actual);
    if (is.size() > 400) is = is.substr(0, 400) + "…";
    found.push_back(fmt::format("{}: is {}, not {}", path.empty() ? "object" : path, is, wanted));
  }
  void fields(const json::object& expected, const json::value& actual, const std::string& path) {
    static const json::value absent(nullptr);
    for (const auto& [key, value] : expected) {
      const std::string below = path.empty() ? std::string(key) : path + "." + std::string(key);
      if (is_expression(key)) {
        auto result = evaluate(std::string_view(key).substr(1, key.size() - 2), actual, bindings_);
        if (result) {
          match(value, *result, below);
        } else {
          found.push_back(result.error().message);
        }
        continue;
      }
      const auto* object = actual.if_object();
      if (!object && !actual.is_null()) return differ(path, actual, "an object");
      auto name = substitute(json::value(key), bindings_);
      if (!name) return found.push_back(name.error().message);
      const auto* field = object ? object->if_contains(name->as_string()) : nullptr;
      match(value, field ? *field : absent, below);
    }
    if (expected.empty() && !actual.is_object()) differ(path, actual, "an object");
  }
  void items(const json::array& expected, const json::value& actual, const std::string& path) {
    const auto* list = actual.if_array();
    if (!list && expected.empty() && actual.is_null()) return;
    if (!list || list->size() != expected.size())
      return differ(path, actual, fmt::format("a list of {}", expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) match(expected[i], (*list)[i], fmt::format("{}[{}]", path, i));
  }
  void plain(const json::value& expected, const json::value& actual, const std::string& path) {
    json::value wanted = expected;
    if (const auto* text = expected.if_string()) {
      auto result = is_expression(*text)
                        ? evaluate(std::string_view(*text).substr(1, text->size() - 2), root_, bindings_)
                        : substitute(expected, bindings_);
      if (!result) return found.push_back(result.error().message);
      wanted = std::move(*result);
    }
    if (wanted != actual) differ(path, actual, json::serialize(wanted));
  }

  const json::value& root_;
  const Bindings& bindings_;
};

}  // namespace

std::vector<std::string> differences(const json::value& expected, const json::value& actual, const Bindings& bindings) {
  Matcher matcher(actual, bindings);
  matcher.match(expected, actual, {});
  return std::move(matcher.found);
}

void merge(json::value& target, const json::value& patch) {
  const auto* fields = patch.if_object();
  if (!fields) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object{};
  auto& object = target.as_object();
  for (const auto& [key, value] : *fields) {
    if (value.is_null()) {
      object.erase(key);
    } else {
      merge(object[key], value);
    }
  }
}

}  // namespace scenarios
