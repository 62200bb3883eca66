// The scenario language itself: a scenario that cannot fail would be worth nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "scenarios/expression.h"
#include "scenarios/match.h"
#include "scenarios/scenario.h"
#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace json = boost::json;

json::value yaml(std::string_view text) {
  auto documents = parse_yaml(text, "test");
  EXPECT_TRUE(documents) << documents.error().message;
  return documents && !documents->empty() ? documents->front().value : json::value(nullptr);
}

const Bindings& bindings() {
  static const Bindings all = {
      {"ip", json::value("203.0.113.7")}, {"n", json::value(3)}, {"object", json::value{{"a", {{"b", 1}}}}}};
  return all;
}

TEST(Yaml, ResolvesPlainScalarsAndKeepsQuotedText) {
  EXPECT_EQ(yaml("[1, -2, 1.5, true, false, null, ~, text, 'true', \"1\", 01, 1.2.3.4, '']"),
            json::value({1, -2, 1.5, true, false, nullptr, nullptr, "text", "true", "1", "01", "1.2.3.4", ""}));
}

TEST(Yaml, NamesTheLineOfWhatIsWrong) {
  EXPECT_THAT(parse_yaml("a: 1\nb: [1\n", "file").error().message, testing::StartsWith("file:3:"));
  EXPECT_THAT(parse_yaml("a: 1\nb: 2\na: 3\n", "file").error().message,
              testing::StartsWith("file:3: a is there twice"));
}

struct ExpressionRow {
  std::string_view expression;
  std::string_view value;  // as YAML
};

TEST(Expression, Values) {
  const json::value object = yaml(R"(
    {name: web, list: [1, 2, 3], empty: [], x/y: z, status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'False', reason: R}]}})");
  const ExpressionRow rows[] = {
      {"name", "web"},
      {"missing", "null"},
      {"missing.below[0]", "null"},
      {"@.name", "web"},
      {"\"x/y\"", "z"},
      {"list[0]", "1"},
      {"list[-1]", "3"},
      {"list[7]", "null"},
      {"status.conditions[*].type", "[A, B]"},
      {"status.conditions[?type == 'B'].reason", "[R]"},
      {"status.conditions[?type == 'B'] | [0].reason", "R"},
      {"status.conditions[?type == 'C']", "[]"},
      {"empty[?type == 'C'].x", "[]"},
      {"condition('B').reason", "R"},
      {"condition('C')", "null"},
      {"length(list)", "3"},
      {"length(missing)", "0"},
      {"length(list) > `2` && name == 'web'", "true"},
      {"length(list) < 3 || name != 'web'", "false"},
      {"!empty", "true"},
      {"contains(list, `2`)", "true"},
      {"contains(name, 'we')", "true"},
      {"contains(name, 'x')", "false"},
      {"starts_with(name, 'w')", "true"},
      {"join('/', [name, $ip])", "web/203.0.113.7"},
      {"[name, list[0]]", "[web, 1]"},
      {"list | [1]", "2"},
      {"sort(status.conditions[*].status)", "['False', 'True']"},
      {"$ip", "203.0.113.7"},
      {"$object.a.b", "1"},
      {"$n == 3", "true"},
      {"in_network($ip, '203.0.113.0/29')", "true"},
      {"in_network($ip, '203.0.113.8/29')", "false"},
      {"in_network('nonsense', '203.0.113.8/29')", "false"},
      {"repeat('ab', 2)", "abab"},
      {"(name == 'web') == `true`", "true"},
  };
  for (const auto& row : rows) {
    auto value = evaluate(row.expression, object, bindings());
    ASSERT_TRUE(value) << row.expression << ": " << value.error().message;
    EXPECT_EQ(*value, yaml(row.value)) << row.expression << " is " << json::serialize(*value);
  }
}

TEST(Expression, WhatIsWrongIsAnErrorAndNotNull) {
  for (std::string_view bad :
       {"$unknown", "name ==", "name)", "length(list", "nofunction(name)", "list[x]", "'open", "`nojson`", ""}) {
    EXPECT_FALSE(evaluate(bad, nullptr, bindings())) << bad;
  }
}

TEST(Substitute, WholeValuesKeepTheirTypeAndOthersBecomeText) {
  auto value =
      substitute(yaml("{a: ($n), b: c-($n), c: [($object)], ($ip)/x: y, d: (plain text), e: 'no ($'}"), bindings());
  ASSERT_FALSE(value);  // "(plain text)" is no expression
  value = substitute(yaml("{a: ($n), b: c-($n), c: [($object)], ($ip)/x: y, e: 'no ($'}"), bindings());
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, yaml("{a: 3, b: c-3, c: [{a: {b: 1}}], 203.0.113.7/x: y, e: 'no ($'}"));
}

struct MatchRow {
  std::string_view expected;
  std::string_view actual;
  bool matches;
};

TEST(Match, Table) {
  const MatchRow rows[] = {
      {"{a: 1}", "{a: 1, b: 2}", true},
      {"{a: 1}", "{a: 2}", false},
      {"{a: 1}", "{a: '1'}", false},
      {"{a: 1}", "{}", false},
      {"{a: null}", "{}", true},
      {"{a: null}", "{a: 1}", false},
      {"{a: {b: null}}", "{}", true},
      {"{a: {b: 1}}", "{a: 5}", false},
      {"{a: {b: 1}}", "{}", false},
      {"{a: {}}", "{a: {b: 1}}", true},
      {"{a: {}}", "{}", false},
      {"{a: [1, 2]}", "{a: [1, 2]}", true},
      {"{a: [1]}", "{a: [1, 2]}", false},
      {"{a: [2, 1]}", "{a: [1, 2]}", false},
      {"{a: [{x: 1}]}", "{a: [{x: 1, y: 2}]}", true},
      {"{a: []}", "{}", true},
      {"{a: []}", "{a: [1]}", false},
      {"{(length(a)): 2}", "{a: [1, 2]}", true},
      {"{(length(a)): 1}", "{a: [1, 2]}", false},
      {"{(condition('B')): {status: 'True'}}", "{conditions: [{type: B, status: 'True'}]}", true},
      {"{(condition('B')): {status: 'True'}}", "{conditions: [{type: A, status: 'True'}]}", false},
      {"{(condition('B')): null}", "{conditions: []}", true},
      {"{a: ($ip)}", "{a: 203.0.113.7}", true},
      {"{a: ($ip)}", "{a: 203.0.113.8}", false},
      {"{a: ($ip)/32}", "{a: 203.0.113.7/32}", true},
      {"{a: (b)}", "{a: 1, b: 1}", true},
      {"{a: (b)}", "{a: 1, b: 2}", false},
      {"{($ip)/x: 1}", "{203.0.113.7/x: 1}", true},
      {"{($ip)/x: 1}", "{203.0.113.7/x: 2}", false},
      {"{(nofunction(a)): 1}", "{a: 1}", false},
      {"{a: ($unknown)}", "{a: 1}", false},
  };
  for (const auto& row : rows) {
    const auto found = differences(yaml(row.expected), yaml(row.actual), bindings());
    EXPECT_EQ(found.empty(), row.matches)
        << row.expected << " on " << row.actual << (found.empty() ? "" : ": " + found.front());
  }
}

TEST(Match, SaysWhereAndWhat) {
  const auto found = differences(yaml("{status: {phase: Bound, list: [{a: 1}]}}"),
                                 yaml("{status: {phase: Lost, list: [{a: 2}]}}"), {});
  EXPECT_THAT(found, testing::UnorderedElementsAre("status.phase: is \"Lost\", not \"Bound\"",
                                                   "status.list[0].a: is 2, not 1"));
}

TEST(Merge, FollowsTheRfc) {
  json::value target = yaml("{a: {b: 1, c: 2}, d: [1], e: 5}");
  merge(target, yaml("{a: {b: null, x: {y: 1}}, d: [2], e: {f: 1}, g: null}"));
  EXPECT_EQ(target, yaml("{a: {c: 2, x: {y: 1}}, d: [2], e: {f: 1}}"));
}

TEST(Duration, Texts) {
  EXPECT_EQ(*parse_duration("1500ms"), std::chrono::milliseconds(1500));
  EXPECT_EQ(*parse_duration("2m30s"), std::chrono::seconds(150));
  EXPECT_FALSE(parse_duration("5"));
  EXPECT_FALSE(parse_duration("fast"));
}

}  // namespace
}  // namespace scenarios
