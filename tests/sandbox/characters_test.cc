// Texts as programs in Go read and quote them; the answers are those of a real API server.
#include <gtest/gtest.h>

#include "sandbox/characters.h"
#include "sandbox/failure.h"
#include "sandbox/json.h"

namespace sandbox {
namespace {

TEST(Characters, AreQuotedAsGoDoes) {
  EXPECT_EQ(quote(std::string("a\0b", 3)), "\"a\\x00b\"");
  EXPECT_EQ(quote("a\x01\x7f"), "\"a\\x01\\x7f\"");
  EXPECT_EQ(quote("\a\b\f\n\r\t\v\"\\"), R"("\a\b\f\n\r\t\v\"\\")");
  EXPECT_EQ(quote("a\u0085b\u2028\u202e\ufeff\ufffe"), R"("a\u0085b\u2028\u202e\ufeff\ufffe")");
  EXPECT_EQ(quote("\u00a0\u00ad\u3000\U000e0001"), R"("\u00a0\u00ad\u3000\U000e0001")");
  EXPECT_EQ(quote("\u00e4\u20ac\ufffd\U0001f600 /"), "\"\u00e4\u20ac\ufffd\U0001f600 /\"");
  EXPECT_EQ(quote("\xff\xc0\x80"), R"("\xff\xc0\x80")");
}

std::string read(const std::string& body) {
  const auto value = parse_json("\"" + body + "\"");
  return value ? std::string(view(value->get_string())) : "refused";
}

TEST(Characters, WhatIsNoTextIsReplacedAsGoDoes) {
  EXPECT_EQ(read("a\\u0000b"), std::string("a\0b", 3));
  EXPECT_EQ(read("a\xff"
                 "b"),
            "a\ufffdb");
  EXPECT_EQ(read("a\xc0\x80"), "a\ufffd\ufffd");                    // an overlong form
  EXPECT_EQ(read("a\xed\xa0\x80"), "a\ufffd\ufffd\ufffd");          // half a pair in UTF-8
  EXPECT_EQ(read("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd");  // beyond Unicode
  EXPECT_EQ(read("a\xe2\x82"), "a\ufffd\ufffd");                    // cut short
  EXPECT_EQ(read(R"(a\ud800b)"), "a\ufffdb");
  EXPECT_EQ(read(R"(a\udc00b)"), "a\ufffdb");
  EXPECT_EQ(read(R"(\ud800\ud83d\ude00)"), "\ufffd\U0001f600");
  EXPECT_EQ(read(R"(\\ud800)"), "\\ud800");  // no escape of a character
  EXPECT_EQ(read(R"(\\\ud800)"), "\\\ufffd");
  EXPECT_EQ(read(R"(\ud83d\ude00\uFFFF)"), "\U0001f600\uffff");
}

TEST(Characters, WhatIsNoJsonStaysNone) {
  EXPECT_EQ(read("a\x01"), "refused");
  EXPECT_EQ(read("a\\x41"), "refused");
  EXPECT_EQ(read("a\\ud8"), "refused");
  EXPECT_EQ(read("a\\\xff"), "refused");
  EXPECT_FALSE(parse_json("\xff"));
  EXPECT_FALSE(parse_json("{\"a\": \xff}"));
  EXPECT_FALSE(parse_json("\"\xff"));
}

}  // namespace
}  // namespace sandbox
