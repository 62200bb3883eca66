#include "client/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "client/jsonpath.h"
#include "client/session.h"
#include "kube/yaml.h"

namespace client {
namespace {

// As kubectl 1.36 printed these.
TEST(YamlTest, QuotesWhatWouldBeReadAsSomethingElse) {
  const std::pair<const char*, const char*> rows[] = {
      {"plain", "plain"},
      {"10.0.0.1", "10.0.0.1"},
      {"2001:db8::1", "2001:db8::1"},
      {"", "\"\""},
      {"true", "\"true\""},
      {"Yes", "\"Yes\""},
      {"null", "\"null\""},
      {"~", "\"~\""},
      {"80", "\"80\""},
      {"1.5", "\"1.5\""},
      {"1e3", "\"1e3\""},
      {"0x1F", "\"0x1F\""},
      {"12:30:45", "\"12:30:45\""},
      {"2026-01-02T03:04:05Z", "\"2026-01-02T03:04:05Z\""},
      {"a: b", "'a: b'"},
      {"a #b", "'a #b'"},
      {"a:b", "a:b"},
      {"ends:", "'ends:'"},
      {"- a", "'- a'"},
      {"-a", "-a"},
      {"*x", "'*x'"},
      {"it's", "it's"},
      {"'q'", "'''q'''"},
      {"{a}", "'{a}'"},
      {" blank", "' blank'"},
      {"a\tb", "\"a\\tb\""},
  };
  for (const auto& [text, yaml] : rows) EXPECT_EQ(to_yaml(json::string(text)), std::string(yaml) + "\n");
}

TEST(YamlTest, BlocksAreShapedAsKubectlDoes) {
  const json::value value =
      json::parse(R"({"b":{"z":1,"a":[]},"a":[{"x":1,"l":["p",["q"]]},"s"],"e":{},"t":"one\ntwo\n","n":null})");
  EXPECT_EQ(to_yaml(value),
            "a:\n- l:\n  - p\n  - - q\n  x: 1\n- s\nb:\n  a: []\n  z: 1\ne: {}\n\"n\": null\nt: |\n  one\n  two\n");
  EXPECT_EQ(kube::parse_yaml(to_yaml(value))->front(), value);
}

TEST(YamlTest, LongLinesAreBrokenWhereKubectlBreaksThem) {
  const std::string eighty(80, 'x');
  EXPECT_EQ(to_yaml({{"a", eighty + " b c"}}), "a: " + eighty + "\n  b c\n");
  EXPECT_EQ(to_yaml({{"a", eighty + "  b  c d"}}), "a: " + eighty + "  b  c\n  d\n");
  EXPECT_EQ(to_yaml({{"a", json::array{"k: " + eighty + " b"}}}), "a:\n- 'k: " + eighty + "\n  b'\n");
}

TEST(JsonTest, MembersAreSortedAndIndentedByFour) {
  const json::value value = json::parse(R"({"b":[1,"x"],"a":{"c":{}}})");
  EXPECT_EQ(to_pretty_json(value),
            "{\n    \"a\": {\n        \"c\": {}\n    },\n    \"b\": [\n        1,\n        \"x\"\n    ]\n}");
  EXPECT_EQ(to_compact_json(value), R"({"a":{"c":{}},"b":[1,"x"]})");
  EXPECT_EQ(to_pretty_json(json::string("<a & b>")), "\"\\u003ca \\u0026 b\\u003e\"");
}

TEST(JsonPathTest, FindsWhatKubectlFinds) {
  const json::value root = json::parse(R"({"kind":"List","items":[
    {"metadata":{"name":"a","annotations":{"x.y/z":"dotted"}},"spec":{"ports":[80,443]},"ok":true},
    {"metadata":{"name":"b"},"conditions":[{"type":"Bound","status":"True"},{"type":"Other","status":"False"}]}]})");
  const std::pair<const char*, const char*> rows[] = {
      {"{.kind}", "List"},
      {".kind", "List"},
      {"{$.kind}", "List"},
      {"{.items[*].metadata.name}", "a b"},
      {"{.items[0].metadata.name}", "a"},
      {"{.items[-1].metadata.name}", "b"},
      {"{.items[7].metadata.name}", ""},
      {"{.items[0].metadata.annotations.x\\.y/z}", "dotted"},
      {"{.items[0].metadata.annotations['x.y/z']}", "dotted"},
      {"{.items[0].spec.ports}", "[80,443]"},
      {"{.items[1].conditions[0]}", "{\"status\":\"True\",\"type\":\"Bound\"}"},
      {"{.items[0].spec.ports[*]}", "80 443"},
      {"{.items[0].ok}", "true"},
      {"{.items[?(@.metadata.name==\"b\")].metadata.name}", "b"},
      {"{.items[1].conditions[?(@.type=='Bound')].status}", "True"},
      {"{.items[1].conditions[?(@.type!='Bound')].status}", "False"},
      {"{.items[0].spec.ports[?(@==443)]}", "443"},
      {"{range .items[*]}{.metadata.name}{\"\\n\"}{end}", "a\nb\n"},
      {"name={.items[0].metadata.name};", "name=a;"},
      {"{.missing.deep}", ""},
  };
  for (const auto& [text, result] : rows) {
    const auto path = JsonPath::parse(text);
    ASSERT_TRUE(path) << text << ": " << path.error().message;
    EXPECT_EQ(path->print(root), result) << text;
  }
}

TEST(JsonPathTest, RefusesWithThePlaceAndWhatBelongsThere) {
  const std::pair<const char*, const char*> rows[] = {
      {"{.a", "'}' is expected at character 4"},
      {"{.a[}", "a number, *, a quoted name or ?(@.name==\"value\") is expected"},
      {"{range .a[*]}{.b}", "{end} is expected"},
      {"{end}", "a {range} before its {end}"},
      {"{nonsense}", "a path such as .status.phase is expected"},
      {"{.a[?(@.b>1)]}", "'!=' is expected"},
      {"{.a['b]}", "the closing quote is expected"},
  };
  for (const auto& [text, says] : rows) {
    const auto path = JsonPath::parse(text);
    ASSERT_FALSE(path) << text;
    EXPECT_THAT(path.error().message, ::testing::HasSubstr(says));
  }
}

TEST(AgeTest, IsAsKubectlCountsIt) {
  using std::chrono::seconds;
  const std::pair<int, const char*> rows[] = {{0, "0s"},      {119, "119s"},    {120, "2m"},         {125, "2m5s"},
                                              {600, "10m"},   {10799, "179m"},  {10800, "3h"},       {12000, "3h20m"},
                                              {28800, "8h"},  {172799, "47h"},  {172800, "2d"},      {180000, "2d2h"},
                                              {691200, "8d"}, {63072000, "2y"}, {64000000, "2y10d"}, {-5, "<invalid>"}};
  for (const auto& [age, text] : rows) EXPECT_EQ(human_duration(seconds(age)), text);
  EXPECT_EQ(age_of("1970-01-01T00:00:10Z", base::WallTime(seconds(75))), "65s");
  EXPECT_EQ(age_of("", base::WallTime(seconds(0))), "<unknown>");
}

}  // namespace
}  // namespace client
