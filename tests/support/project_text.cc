#include "support/project_text.h"

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace test_support {

std::string project_text(const std::string& path) {
  const std::ifstream file(std::string(PROJECT_DIR) + "/" + path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> found_in(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

}  // namespace test_support
