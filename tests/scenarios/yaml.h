// YAML files as JSON documents, with the line of whatever is wrong in them.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scenarios {

struct Document {
  boost::json::value value;
  int line = 0;  // where it starts in its file, counted from 1
};

// All documents of a YAML text. Plain scalars become null, booleans and numbers as the JSON schema of YAML 1.2 has
// them; quoted ones are strings. `name` stands in error messages ("name:line: …"). Empty documents are left out.
base::Result<std::vector<Document>> parse_yaml(std::string_view text, const std::string& name);

// The same for a file.
base::Result<std::vector<Document>> load_yaml(const std::string& path);

// The whole text of a file.
base::Result<std::string> read_file(const std::string& path);

}  // namespace scenarios
