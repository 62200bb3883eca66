#include "base/text.h"

#include <gtest/gtest.h>

namespace base {
namespace {

using namespace std::string_view_literals;

TEST(Printable, LeavesWhatCanBeRead) {
  for (const std::string_view text : {""sv, "plain \"quoted\" \\ text"sv, "Zürich 東京 🌐"sv}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable("nul\0esc\x1b[31m\x7f"sv), "nul\\x00esc\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");                                                                    // C1
  EXPECT_EQ(printable("\xe2\x80\xa8|\xe2\x80\xae|\xe2\x81\xa6"), "\\u2028|\\u202e|\\u2066");  // separator, direction
}

TEST(Printable, ReplacesWhatIsNoText) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(printable("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut short
  EXPECT_EQ(printable("\xc0\x8a"), "\xef\xbf\xbd\xef\xbf\xbd");                  // a newline in disguise
  EXPECT_EQ(printable("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // half a surrogate pair
}

}  // namespace
}  // namespace base
