// JSON documents as the client reads and prints them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace client {

namespace json = boost::json;

// The member at `path`; nullptr where a step is missing or not an object.
const json::value* find(const json::object& from, std::initializer_list<std::string_view> path);
const json::object* object_at(const json::object& from, std::initializer_list<std::string_view> path);
const json::array* array_at(const json::object& from, std::initializer_list<std::string_view> path);
// The text at `path`, "" if it is absent or no string.
std::string_view text_at(const json::object& from, std::initializer_list<std::string_view> path);

// The error says that it is no JSON object.
base::Result<json::object> parse_object(std::string_view text);

// As kubectl prints objects: members sorted by name, four blanks for each level; ends without a line feed.
std::string to_pretty_json(const json::value& value);
// The same on one line, without blanks.
std::string to_compact_json(const json::value& value);
// As kubectl prints them: members sorted by name, block style, items of lists not indented; ends with a line feed.
std::string to_yaml(const json::value& value);
// One value in running text: a string as it is, anything else as compact JSON.
std::string to_plain(const json::value& value);

// Text of others as a terminal may have it: what would command the terminal is spelled out, as kubectl does.
std::string harmless(std::string_view text);

}  // namespace client
