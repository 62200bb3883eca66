#include "sandbox/json.h"

#include "sandbox/characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

namespace sandbox {
namespace {

template <class Object, class Value>
Value* walk(Object& from, std::initializer_list<std::string_view> path) {
  Object* object = &from;
  Value* found = nullptr;
  for (const std::string_view step : path) {
    if (object == nullptr) return nullptr;
    found = object->if_contains(step);
    if (found == nullptr) return nullptr;
    object = found->if_object();
  }
  return found;
}

}  // namespace

const json::value* find(const json::object& from, std::initializer_list<std::string_view> path) {
  return walk<const json::object, const json::value>(from, path);
}

json::value* find(json::object& from, std::initializer_list<std::string_view> path) {
  return walk<json::object, json::value>(from, path);
}

std::string_view text_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::value* value = find(from, path);
  return value != nullptr && value->is_string() ? view(value->get_string()) : std::string_view();
}

const json::object* object_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::value* value = find(from, path);
  return value == nullptr ? nullptr : value->if_object();
}

json::object* object_at(json::object& from, std::initializer_list<std::string_view> path) {
  json::value* value = find(from, path);
  return value == nullptr ? nullptr : value->if_object();
}

json::object& make_object(json::object& from, std::initializer_list<std::string_view> path) {
  json::object* object = &from;
  for (const std::string_view step : path) {
    json::value& next = (*object)[step];
    if (!next.is_object()) next.emplace_object();
    object = &next.get_object();
  }
  return *object;
}

const json::array* array_at(const json::object& from, std::initializer_list<std::string_view> path) {
  const json::value* value = find(from, path);
  return value == nullptr ? nullptr : value->if_array();
}

std::int64_t int_at(const json::object& from, std::initializer_list<std::string_view> path, std::int64_t otherwise) {
  const json::value* value = find(from, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

bool bool_at(const json::object& from, std::initializer_list<std::string_view> path, bool otherwise) {
  const json::value* value = find(from, path);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_double() || b.is_double() ? a.to_number<double>() == b.to_number<double>() : a == b;
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_object()) return same(a.get_object(), b.get_object());
  if (a.is_array()) {
    return std::ranges::equal(a.get_array(), b.get_array(), [](const auto& x, const auto& y) { return same(x, y); });
  }
  return a == b;
}

bool same(const json::object& a, const json::object& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&b](const json::key_value_pair& member) {
           const json::value* other = b.if_contains(member.key());
           return other != nullptr && same(member.value(), *other);
         });
}

namespace {

base::Result<json::value> parse(std::string_view text, std::size_t depth) {
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = depth;
  json::value value = json::parse(text, error, {}, options);
  if (error) {
    if (const std::string read = as_go_reads(text); read != text) value = json::parse(read, error, {}, options);
  }
  if (error == json::error::incomplete) return base::fail("unexpected end of JSON input");
  if (error) return base::fail(error.message());
  return value;
}

}  // namespace

base::Result<json::value> parse_json(std::string_view text) { return parse(text, k_most_depth); }

base::Result<json::object> parse_stored(std::string_view text) {
  auto value = parse(text, 10 * k_most_depth);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object()) return base::fail("not an object");
  return std::move(value->get_object());
}

std::string_view go_kind(const json::value& value) {
  if (value.is_string()) return "string";
  if (value.is_number()) return "number";
  if (value.is_bool()) return "bool";
  if (value.is_array()) return "array";
  return value.is_object() ? "object" : "null";
}

std::string to_text(const json::value& value) { return json::serialize(value); }
std::string to_text(const json::object& object) { return json::serialize(object); }

namespace {

std::size_t least_bytes_of(const json::value& value, std::size_t most) {
  if (const json::object* object = value.if_object()) return least_bytes(*object, most);
  if (const json::string* text = value.if_string()) return text->size() + 2;
  const json::array* array = value.if_array();
  if (array == nullptr) return 1;
  std::size_t bytes = 2;
  for (auto it = array->begin(); it != array->end() && bytes <= most; ++it)
    bytes += least_bytes_of(*it, most - bytes) + 1;
  return bytes;
}

}  // namespace

std::size_t least_bytes(const json::object& object, std::size_t most) {
  std::size_t bytes = 2;
  for (auto it = object.begin(); it != object.end() && bytes <= most; ++it)
    bytes += it->key().size() + 4 + least_bytes_of(it->value(), most - bytes);
  return bytes;
}

void merge_patch(json::value& target, const json::value& patch) {
  const json::object* members = patch.if_object();
  if (members == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  json::object& object = target.get_object();
  for (const json::key_value_pair& member : *members) {
    if (member.value().is_null()) {
      object.erase(member.key());
    } else {
      merge_patch(object[member.key()], member.value());
    }
  }
}

base::Result<std::vector<std::string>> pointer_steps(std::string_view pointer) {
  std::vector<std::string> steps;
  if (pointer.empty()) return steps;
  if (pointer.front() != '/') return base::fail("a JSON pointer starts with '/': " + std::string(pointer));
  std::string step;
  for (std::size_t i = 1; i <= pointer.size(); ++i) {
    if (i == pointer.size() || pointer[i] == '/') {
      steps.push_back(std::move(step));
      step.clear();
    } else if (pointer[i] == '~' && i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      step += pointer[++i] == '0' ? '~' : '/';
    } else {
      step += pointer[i];
    }
  }
  return steps;
}

namespace {

base::Result<std::size_t> array_index(std::string_view step, std::size_t size) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error != std::errc() || end != step.data() + step.size()) return base::fail("not an index: " + std::string(step));
  if (index >= size) return base::fail("index out of bounds: " + std::string(step));
  return index;
}

base::Result<json::value*> follow(json::value& root, const std::vector<std::string>& steps, std::size_t count) {
  json::value* at = &root;
  for (std::size_t i = 0; i < count; ++i) {
    if (json::object* object = at->if_object()) {
      at = object->if_contains(steps[i]);
      if (at == nullptr) return base::fail("missing path: " + steps[i]);
    } else if (json::array* array = at->if_array()) {
      const auto index = array_index(steps[i], array->size());
      if (!index) return std::unexpected(index.error());
      at = &(*array)[*index];
    } else {
      return base::fail("missing path: " + steps[i]);
    }
  }
  return at;
}

base::Result<json::value> pointer_remove(json::value& root, const std::vector<std::string>& steps) {
  if (steps.empty()) return base::fail("the whole document cannot be removed");
  auto parent = follow(root, steps, steps.size() - 1);
  if (!parent) return std::unexpected(parent.error());
  if (json::object* object = (*parent)->if_object()) {
    json::value* member = object->if_contains(steps.back());
    if (member == nullptr) return base::fail("missing path: " + steps.back());
    json::value taken = std::move(*member);
    object->erase(steps.back());
    return taken;
  }
  json::array* array = (*parent)->if_array();
  if (array == nullptr) return base::fail("missing path: " + steps.back());
  const auto index = array_index(steps.back(), array->size());
  if (!index) return std::unexpected(index.error());
  json::value taken = std::move((*array)[*index]);
  array->erase(array->begin() + static_cast<std::ptrdiff_t>(*index));
  return taken;
}

base::Result<void> pointer_put(json::value& root, const std::vector<std::string>& steps, json::value value,
                               bool replace) {
  if (steps.empty()) {
    root = std::move(value);
    return {};
  }
  auto parent = follow(root, steps, steps.size() - 1);
  if (!parent) return std::unexpected(parent.error());
  if (json::object* object = (*parent)->if_object()) {
    if (replace && !object->contains(steps.back())) return base::fail("missing path: " + steps.back());
    (*object)[steps.back()] = std::move(value);
    return {};
  }
  json::array* array = (*parent)->if_array();
  if (array == nullptr) return base::fail("missing path: " + steps.back());
  if (!replace && steps.back() == "-") {
    array->push_back(std::move(value));
    return {};
  }
  const auto index = array_index(steps.back(), array->size() + (replace ? 0 : 1));
  if (!index) return std::unexpected(index.error());
  if (replace) {
    (*array)[*index] = std::move(value);
  } else {
    array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  }
  return {};
}

// What a patch may still cost beyond what it says.
struct Budget {
  std::size_t copied = k_most_patch_copies;
  std::size_t shifted = 20'000'000;  // items that have made way for others
  std::size_t measured = 2'000'000;  // values whose depth has been looked at
};

// How deep a value is nested: 1 for what has no members or items. More than `most` if it is deeper than that, or if
// looking would take too long.
std::size_t depth_of(const json::value& value, std::size_t most, Budget& budget) {
  if (most == 0 || budget.measured == 0) return most + 1;
  --budget.measured;
  std::size_t below = 0;
  if (const json::object* object = value.if_object()) {
    for (auto it = object->begin(); it != object->end() && below < most; ++it)
      below = std::max(below, depth_of(it->value(), most - 1, budget));
  } else if (const json::array* array = value.if_array()) {
    for (auto it = array->begin(); it != array->end() && below < most; ++it)
      below = std::max(below, depth_of(*it, most - 1, budget));
  }
  return below + 1;
}

// Puts a value in its place unless that nests the document too deeply for whoever walks through it later.
base::Result<void> put_checked(json::value& root, const std::vector<std::string>& to, json::value value, bool replace,
                               Budget& budget) {
  const std::size_t left = k_most_depth - std::min(k_most_depth, to.size());
  if (depth_of(value, left, budget) > left) return base::fail("the patch nests values too deeply");
  return pointer_put(root, to, std::move(value), replace);
}

// The size of the list that an operation at `steps` puts something into or takes something out of.
std::size_t list_size(json::value& root, const std::vector<std::string>& steps) {
  if (steps.empty() || steps.back() == "-") return 0;
  const auto parent = follow(root, steps, steps.size() - 1);
  const json::array* array = parent ? (*parent)->if_array() : nullptr;
  return array == nullptr ? 0 : array->size();
}

base::Result<void> shift(json::value& root, const std::vector<std::string>& steps, Budget& budget) {
  const std::size_t size = list_size(root, steps);
  if (size > budget.shifted) return base::fail("the patch moves too many items of lists");
  budget.shifted -= size;
  return {};
}

base::Result<void> copy_value(json::value& root, const std::vector<std::string>& from,
                              const std::vector<std::string>& to, Budget& budget) {
  const auto source = follow(root, from, from.size());
  if (!source) return std::unexpected(source.error());
  const std::size_t bytes = least_bytes_of(**source, budget.copied);
  if (bytes > budget.copied)
    return base::fail(fmt::format("the accumulated size increase of copy exceeds the limit {}", k_most_patch_copies));
  budget.copied -= bytes;
  // looked at before the copy is made, which walks as deep as the value is
  const std::size_t left = k_most_depth - std::min(k_most_depth, to.size());
  if (depth_of(**source, left, budget) > left) return base::fail("the patch nests values too deeply");
  return pointer_put(root, to, json::value(**source), false);
}

base::Result<void> apply_operation(json::value& root, const json::object& operation, Budget& budget) {
  const std::string_view op = text_at(operation, {"op"});
  auto path = pointer_steps(text_at(operation, {"path"}));
  if (!path) return std::unexpected(path.error());
  const json::value* value = operation.if_contains("value");
  if (op != "test" && op != "replace") {
    if (auto shifted = shift(root, *path, budget); !shifted) return shifted;
  }
  if (op == "add" || op == "replace") {
    return put_checked(root, *path, value == nullptr ? json::value(nullptr) : *value, op == "replace", budget);
  }
  if (op == "remove") {
    auto removed = pointer_remove(root, *path);
    if (!removed) return std::unexpected(removed.error());
    return {};
  }
  if (op == "test") {
    const json::value wanted = value == nullptr ? json::value(nullptr) : *value;
    auto found = follow(root, *path, path->size());
    if (!found && !wanted.is_null()) return std::unexpected(found.error());
    if (found && !same(**found, wanted)) return base::fail("test failed");
    return {};
  }
  if (op == "move" || op == "copy") {
    auto from = pointer_steps(text_at(operation, {"from"}));
    if (!from) return std::unexpected(from.error());
    if (op == "copy") return copy_value(root, *from, *path, budget);
    if (auto shifted = shift(root, *from, budget); !shifted) return shifted;
    auto taken = pointer_remove(root, *from);
    if (!taken) return std::unexpected(taken.error());
    return put_checked(root, *path, std::move(*taken), false, budget);
  }
  return base::fail("unknown operation: " + std::string(op));
}

}  // namespace

base::Result<json::value> json_patch(const json::value& document, const json::array& operations) {
  json::value result = document;
  Budget budget;
  for (const json::value& operation : operations) {
    const json::object* members = operation.if_object();
    if (members == nullptr) return base::fail("an operation of a JSON patch is an object");
    auto applied = apply_operation(result, *members, budget);
    if (!applied) return std::unexpected(applied.error());
  }
  return result;
}

}  // namespace sandbox
