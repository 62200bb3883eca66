// Helpers on JSON documents: lookup by path, comparison by value, the two patch formats. Internal to the sandbox.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox {

namespace json = boost::json;

// The member at `path`, or nullptr where a step is missing or not an object.
const json::value* find(const json::object& from, std::initializer_list<std::string_view> path);
json::value* find(json::object& from, std::initializer_list<std::string_view> path);
// The text at `path`, "" if it is absent or no string.
std::string_view text_at(const json::object& from, std::initializer_list<std::string_view> path);
// The object at `path`, nullptr if absent or something else.
const json::object* object_at(const json::object& from, std::initializer_list<std::string_view> path);
json::object* object_at(json::object& from, std::initializer_list<std::string_view> path);
// The object at `path`, made (also in place of a null) where it is missing.
json::object& make_object(json::object& from, std::initializer_list<std::string_view> path);
const json::array* array_at(const json::object& from, std::initializer_list<std::string_view> path);
// The integer at `path`, or `otherwise`.
std::int64_t int_at(const json::object& from, std::initializer_list<std::string_view> path, std::int64_t otherwise = 0);
bool bool_at(const json::object& from, std::initializer_list<std::string_view> path, bool otherwise = false);

inline std::string_view view(const json::string& s) { return {s.data(), s.size()}; }

// Equality by value: member order does not matter, 1 equals 1.0.
bool same(const json::value& a, const json::value& b);
bool same(const json::object& a, const json::object& b);

// How deep bodies may be nested, and what patches make of an object.
inline constexpr std::size_t k_most_depth = 100;

// Parses one document; trailing bytes, duplicate members' first values and depths over k_most_depth are errors.
base::Result<json::value> parse_json(std::string_view text);
// A document that this server has written: as deep as its managers' fields have made it.
base::Result<json::object> parse_stored(std::string_view text);
std::string to_text(const json::value& value);
std::string to_text(const json::object& object);  // without it a copy would become a value first
// How many bytes of text a value makes at least; counted no further than `most`.
std::size_t least_bytes(const json::object& object, std::size_t most);
// "string", "number", "bool", "array", "object", "null": a value's kind as Go's decoder names it.
std::string_view go_kind(const json::value& value);

// RFC 7396, in place.
void merge_patch(json::value& target, const json::value& patch);
// What the API server lets a JSON patch do: operations, and bytes that "copy" may add in all.
inline constexpr std::size_t k_most_patch_operations = 10'000;
inline constexpr std::size_t k_most_patch_copies = 3UL << 20U;
// RFC 6902: applies all operations or none. The error names the operation. For patches from anyone: one that copies
// more than k_most_patch_copies, moves the items of long lists about without end, or nests the document deeper than
// k_most_depth is an error. The caller counts operations.
base::Result<json::value> json_patch(const json::value& document, const json::array& operations);

// One step of a JSON pointer list: "/a~1b/0" -> {"a/b", "0"}. An error if it does not start with '/'.
base::Result<std::vector<std::string>> pointer_steps(std::string_view pointer);

}  // namespace sandbox
