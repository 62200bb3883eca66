// YAML documents as JSON values, by YAML's core schema (what kubectl and the API server do with them).
#pragma once

#include <boost/json/value.hpp>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kube {

// Every document of a stream; empty documents are left out. JSON is YAML too.
base::Result<std::vector<boost::json::value>> parse_yaml(std::string_view text);

}  // namespace kube
