#include "kube/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <string>

namespace kube {
namespace {

constexpr std::size_t k_body = 3UL << 20U;  // what a client may send

std::string json_of(std::string_view yaml) {
  const auto documents = parse_yaml(yaml);
  if (!documents) return documents.error().message;
  std::string text;
  for (const auto& document : *documents) text += (text.empty() ? "" : " | ") + boost::json::serialize(document);
  return text;
}

std::string failure(std::string_view yaml) {
  const auto documents = parse_yaml(yaml);
  return documents ? "" : documents.error().message;
}

std::string repeated(std::string_view part, std::size_t bytes = k_body) {
  std::string text;
  while (text.size() + part.size() <= bytes) text += part;
  return text;
}

TEST(Yaml, ReadsWhatPeopleWrite) {
  EXPECT_EQ(json_of("a: 1\nb: [x, 'y', \"z\"]\nc:\n  d: true\n  e: ~\n  f: 1.5\n"),
            R"({"a":1,"b":["x","y","z"],"c":{"d":true,"e":null,"f":1.5E0}})");
  EXPECT_EQ(json_of("a: '1'\nb: \"true\"\nc: !!str 3\nd: |\n  1\n"), R"({"a":"1","b":"true","c":"3","d":"1\n"})");
  EXPECT_EQ(json_of("1: a\ntrue: b\n"), R"({"1":"a","true":"b"})");
  EXPECT_EQ(json_of("a: 1\n---\n---\nb: 2\n...\n"), R"({"a":1} | {"b":2})");
  EXPECT_EQ(json_of("a: 10.1.0.1\nb: 1e3\nc: -7\nd: fd00::1\n"), R"({"a":"10.1.0.1","b":1E3,"c":-7,"d":"fd00::1"})");
  EXPECT_EQ(json_of(""), "");
  EXPECT_EQ(json_of("# nothing\n"), "");
  EXPECT_EQ(json_of("just words"), "\"just words\"");
}

TEST(Yaml, ReadsJson) {
  EXPECT_EQ(json_of(R"({"a":{"b":[1,2,{"c":"d"}]},"a2":null})"), R"({"a":{"b":[1,2,{"c":"d"}]},"a2":null})");
  EXPECT_EQ(json_of("{\"a\":1}\n---\n{\"b\":2}"), R"({"a":1} | {"b":2})");
  EXPECT_EQ(json_of("{a: 1}"), R"({"a":1})");
}

TEST(Yaml, FollowsAliases) {
  EXPECT_EQ(json_of("a: &x {k: 1}\nb: *x\nc: [*x, &y 2, *y]\n"), R"({"a":{"k":1},"b":{"k":1},"c":[{"k":1},2,2]})");
  EXPECT_EQ(json_of("&k a: 1\nb: *k\n"), R"({"a":1,"b":"a"})");
  EXPECT_EQ(json_of("a: &x 1\nb: &x 2\nc: *x\n"), R"({"a":1,"b":2,"c":2})");
  EXPECT_EQ(failure("a: *x\n"), "unknown anchor 'x' referenced");
  EXPECT_EQ(failure("a: &x 1\n---\nb: *x\n"), "unknown anchor 'x' referenced");
  EXPECT_EQ(failure("a: &x [*x]\n"), "anchor 'x' value contains itself");
}

TEST(Yaml, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(failure("a: 1\nb: [1\n"), "line 1: did not find expected ',' or ']'");
  EXPECT_EQ(failure("a: 1\n b: 2\n"), "line 2: mapping values are not allowed in this context");
  EXPECT_EQ(failure("a: \"x\n"), "line 2: found unexpected end of stream");
  EXPECT_EQ(failure("{[1]: 2}"), "invalid map key");
  EXPECT_EQ(failure("a: \xff\n"), "invalid leading UTF-8 octet");
}

TEST(Yaml, NestsSoDeepAndNoDeeper) {
  EXPECT_EQ(failure(std::string(100, '[') + std::string(100, ']')), "");
  EXPECT_EQ(failure(std::string(101, '[') + std::string(101, ']')), "exceeded max depth of 100");
  std::string nested = "1";
  for (int i = 0; i < 101; ++i) nested = "{\"a\":" + nested + "}";
  EXPECT_EQ(failure(nested), "exceeded max depth of 100");
}

// What a text costs whoever reads it: this thread's time, and memory that was never needed before.
struct Hostile {
  const char* name;
  std::string text;
};
void PrintTo(const Hostile& hostile, std::ostream* to) { *to << hostile.name; }

class HostileYaml : public testing::TestWithParam<Hostile> {};

TEST_P(HostileYaml, IsRefusedAtOnce) {
  const auto cpu = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const auto peak_mib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  const double before = cpu();
  const auto memory = peak_mib();
  EXPECT_NE(failure(GetParam().text), "");
  EXPECT_LT(cpu() - before, 50);
  EXPECT_LT(peak_mib() - memory, 64);
}

std::string bomb(std::string_view first) {
  std::string text = fmt::format("a0: &a0 {}\n", first);
  for (int i = 1; i < 30; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int j = 0; j < 9; ++j) text += fmt::format("*a{},", i - 1);
    text += "]\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, HostileYaml,
                         testing::Values(Hostile{"Lists", repeated("[")}, Hostile{"Maps", repeated("{")},
                                         Hostile{"Both", repeated("[{a: ")}, Hostile{"Lines", repeated("[\n")},
                                         Hostile{"Dashes", repeated("- ")}, Hostile{"Questions", repeated("? ")},
                                         Hostile{"Json", repeated("{\"a\":")},
                                         Hostile{"Billion", bomb("[x,x,x,x,x,x,x,x,x]")},
                                         Hostile{"Long", fmt::format("a: &a \"{}\"\nb: [{}]", repeated("x", k_body / 6),
                                                                     repeated("*a,", k_body / 2))},
                                         Hostile{"Itself", "a: &a [" + repeated("*a,") + "]"},
                                         Hostile{"Tags", repeated("%TAG !a! b\n")}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace kube
