// The expressions of scenario files: the part of JMESPath that they need, plus bindings, as Chainsaw has them.
//
//   a.b  a."x/y"  a[0]  a[-1]  a[*].b  a[?type == 'Bound'].status  x | [0]  @  $binding  $binding.path
//   [a, b]  == != < <= > >=  && || !  'text'  `json`  12
//   length contains starts_with ends_with sort keys values join to_string
//   condition('Bound')          the condition of that type of the current object or status
//   in_network(address, 'cidr') whether the network contains the address
//   repeat('text', times)
//
// The last three are ours. Missing fields are null, as in JMESPath.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scenarios {

using Bindings = std::map<std::string, boost::json::value, std::less<>>;

// The value of `expression` where `@` is `current`. An unknown binding or a syntax error is an error.
base::Result<boost::json::value> evaluate(std::string_view expression, const boost::json::value& current,
                                          const Bindings& bindings);

// JMESPath's idea of truth: false, null and what is empty are not true.
bool truthy(const boost::json::value& value);

// Whether `text` is one expression in parentheses: "(…)".
bool is_expression(std::string_view text);

// Replaces every string that is one "(…)" by its value, and every "($…)" inside a longer string by its text; in keys
// too.
base::Result<boost::json::value> substitute(const boost::json::value& document, const Bindings& bindings);

}  // namespace scenarios
