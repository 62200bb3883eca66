// Whether an object is as a scenario says: the assertion trees of Chainsaw.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "scenarios/expression.h"

namespace scenarios {

// Every difference as "path: is X, not Y"; empty = it matches. Objects match if every field named is as said (null:
// absent), lists if they have as many items and each matches. A key "(expression)" stands for the value of the
// expression on the object around it; a value "(expression)" for its value on the whole object.
std::vector<std::string> differences(const boost::json::value& expected, const boost::json::value& actual,
                                     const Bindings& bindings);

// Merges a JSON merge patch (RFC 7386) into `target`.
void merge(boost::json::value& target, const boost::json::value& patch);

}  // namespace scenarios
