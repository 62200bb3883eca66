// YAML documents as JSON values, by YAML's core schema (what kubectl and the API server do with them).
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kube {

// How deep maps and lists may be nested; JSON bodies have the same limit.
inline constexpr std::size_t k_most_yaml_depth = 100;

// Every document of a stream; empty documents are left out. JSON is YAML too. Errors in the words of kubectl's and the
// API server's parser, without its "yaml: ". For texts from anyone: time and memory are proportional to the text; what
// is nested deeper than k_most_yaml_depth, or grows by aliases by more than 100,000 values or 3 MiB of text, is an
// error.
base::Result<std::vector<boost::json::value>> parse_yaml(std::string_view text);

}  // namespace kube
