// The reference page lists every reason of the source, and no other.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/project_text.h"

namespace core {
namespace {

using test_support::found_in;
using test_support::project_text;

TEST(Reasons, AreAllInTheReference) {
  const auto source = found_in(project_text("src/core/reasons.h"), "= \"([A-Za-z]+)\"");
  ASSERT_GT(source.size(), 20U);
  // First and second column of the tables.
  const auto page = found_in(project_text("docs/reference/conditions.md"), "\\| `([A-Z][A-Za-z]+)` (?=\\|)");
  for (const std::string& reason : source) EXPECT_TRUE(page.contains(reason)) << reason << " is not described";
  for (const std::string& reason : page)
    EXPECT_TRUE(source.contains(reason) || reason == "Bound" || reason == "ClassResolved")
        << reason << " is not in the source";
}

}  // namespace
}  // namespace core
