// The reference page lists every reason of the source, and no other.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace metallb {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(PROJECT_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

TEST(Reasons, AreAllInTheReference) {
  const auto source = matches(read("src/metallb/reasons.h"), "= \"([A-Za-z]+)\"");
  ASSERT_GT(source.size(), 20U);
  // Every row of the tables names one or more; types of conditions stand in headings.
  const std::string text = read("docs/reference/driver-conditions.md");
  std::set<std::string> page;
  for (const std::string& row : matches(text, "\\n\\|([^\n]*)"))
    page.merge(matches(row.substr(0, row.find(" | ", row.find('`'))), "`([A-Z][A-Za-z]+)`"));
  for (const std::string& reason : source) EXPECT_TRUE(page.contains(reason)) << reason << " is not described";
  for (const std::string& reason : page) EXPECT_TRUE(source.contains(reason)) << reason << " is not in the source";
}

}  // namespace
}  // namespace metallb
