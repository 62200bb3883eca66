// The reference page lists every reason of the source, and no other.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/project_text.h"

namespace metallb {
namespace {

using test_support::found_in;
using test_support::project_text;

TEST(Reasons, AreAllInTheReference) {
  const auto source = found_in(project_text("src/metallb/reasons.h"), "= \"([A-Za-z]+)\"");
  ASSERT_GT(source.size(), 20U);
  // Every row of the tables names one or more; types of conditions stand in headings.
  const std::string text = project_text("docs/reference/driver-conditions.md");
  std::set<std::string> page;
  for (const std::string& row : found_in(text, "\\n\\|([^\n]*)"))
    page.merge(found_in(row.substr(0, row.find(" | ", row.find('`'))), "`([A-Z][A-Za-z]+)`"));
  for (const std::string& reason : source) EXPECT_TRUE(page.contains(reason)) << reason << " is not described";
  for (const std::string& reason : page) EXPECT_TRUE(source.contains(reason)) << reason << " is not in the source";
}

}  // namespace
}  // namespace metallb
