// For tests that hold two texts of the project against each other, such as a header and the page that describes it.
#pragma once

#include <set>
#include <string>

namespace test_support {

// A file of the source tree, by its path from the root; throws std::runtime_error if it cannot be read.
std::string project_text(const std::string& path);

// What the first group of a regular expression finds.
std::set<std::string> found_in(const std::string& text, const char* pattern);

}  // namespace test_support
