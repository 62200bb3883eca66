// Bodies that are made to cost whoever reads them more than they say: an answer, soon and within bounds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <string>

#include "sandbox/cpu_time.h"
#include "sandbox/duplicates.h"
#include "sandbox/json.h"
#include "sandbox/request.h"
#include "sandbox/strategic.h"
#include "sandbox/world.h"

namespace sandbox {
namespace {

using testing::HasSubstr;
using testing_time::cpu_ms;
using testing_time::k_slower;

constexpr std::string_view maps = "/api/v1/namespaces/default/configmaps";
constexpr std::size_t k_body = 3UL << 20U;

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

kube::Response send(World& world, std::string_view method, std::string_view path, std::string body,
                    std::string_view type) {
  return world.server().handle(make_request(method, path, std::move(body), type), "admin");
}

TEST(Hostile, NestedBodiesAreRefusedAtOnce) {
  World world;
  for (const std::string_view type : {"application/json", "application/yaml"}) {
    for (const std::string_view part : {"[", "{", "{\"a\":", "[{\"a\":"}) {
      const std::string body = repeated(part, k_body / part.size());
      const double before = cpu_ms();
      const kube::Response answer = send(world, "POST", maps, body, type);
      EXPECT_LT(cpu_ms() - before, 50 * k_slower) << type << " " << part;
      EXPECT_EQ(answer.status, 400) << type << " " << part;
      EXPECT_LT(answer.body.size(), 1000);
    }
  }
  const kube::Response answer = send(world, "POST", maps, repeated("[", k_body), "application/yaml");
  EXPECT_THAT(answer.body, HasSubstr("yaml: exceeded max depth of 100"));
}

TEST(Hostile, AliasesDoNotMultiply) {
  World world;
  std::string bomb = "data: &a0 {a: x, b: x, c: x}\n";
  for (int i = 1; i < 40; ++i) bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}]\n", i, i - 1);
  const double before = cpu_ms();
  const kube::Response answer = send(world, "POST", maps, bomb, "application/yaml");
  EXPECT_LT(cpu_ms() - before, 50 * k_slower);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("document contains excessive aliasing"));
}

TEST(Hostile, JsonPatchesHaveALimitOfOperations) {
  World world;
  world.call("POST", maps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  const std::string path = std::string(maps) + "/a";
  const std::string_view type = "application/json-patch+json";
  const auto patch = [](std::size_t count) {
    return "[" + repeated(R"({"op":"test","path":"/data/k","value":"v"},)", count - 1) +
           R"({"op":"test","path":"/data/k","value":"v"}])";
  };
  EXPECT_EQ(send(world, "PATCH", path, patch(10'000), type).status, 200);
  const kube::Response answer = send(world, "PATCH", path, patch(10'001), type);
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr("Request entity too large: The allowed maximum operations in a JSON patch is "
                                     "10000, got 10001"));
}

TEST(Hostile, CopiesOfAJsonPatchDoNotMultiply) {
  World world;
  world.call("POST", maps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  std::string patch = R"([{"op":"add","path":"/x","value":{"a":"xxxxxxxxxxxxxxxx"}})";
  for (int i = 0; i < 60; ++i) patch += fmt::format(R"(,{{"op":"copy","from":"/x","path":"/x/c{}"}})", i);
  const double before = cpu_ms();
  const kube::Response answer =
      send(world, "PATCH", std::string(maps) + "/a", patch + "]", "application/json-patch+json");
  EXPECT_LT(cpu_ms() - before, 50 * k_slower);
  EXPECT_EQ(answer.status, 422);
  // a few copies are none of this
  EXPECT_TRUE(
      json_patch(*parse_json(R"({"a":1})"), parse_json(R"([{"op":"copy","from":"/a","path":"/b"}])")->get_array()));
}

TEST(Hostile, JsonPatchesDoNotMoveLongListsAbout) {
  const json::value document{{"a", json::array(500'000)}};
  json::array patch;
  for (int i = 0; i < 10'000; ++i) patch.push_back({{"op", "add"}, {"path", "/a/0"}, {"value", 1}});
  const double before = cpu_ms();
  EXPECT_FALSE(json_patch(document, patch));
  EXPECT_LT(cpu_ms() - before, 500 * k_slower);  // minutes without the limit
}

// Whoever walks through a document later does so on a stack.
TEST(Hostile, JsonPatchesDoNotNestWithoutEnd) {
  World world;
  world.call("POST", maps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  const std::string deep = repeated(R"({"a":)", 50) + "1" + repeated("}", 50);
  std::string patch = R"([{"op":"add","path":"/x","value":)" + deep + "}";
  for (std::size_t depth = 50; depth < 200'000; depth *= 2)
    patch += R"(,{"op":"copy","from":"/x","path":"/x)" + repeated("/a", depth) + "\"}";
  ASSERT_LT(patch.size(), k_body);
  EXPECT_EQ(send(world, "PATCH", std::string(maps) + "/a", patch + "]", "application/json-patch+json").status, 422);
  const auto patched = [](std::size_t depth) {  // below two names
    json::value value = json::array();
    for (std::size_t i = 1; i < depth; ++i) value = json::array{std::move(value)};
    const json::array operations{{{"op", "add"}, {"path", "/a/b"}, {"value", std::move(value)}}};
    return json_patch(json::value{{"a", json::object()}}, operations).has_value();
  };
  EXPECT_TRUE(patched(98));
  EXPECT_FALSE(patched(99));
}

TEST(Hostile, LongListsOfStrategicPatchesAreMergedByTheirKeys) {
  json::array target;
  json::array patch;
  for (int i = 0; i < 20'000; ++i) {
    target.push_back({{"port", i}, {"name", "old"}});
    patch.push_back({{"port", i + 10'000}, {"name", "new"}});
  }
  json::value document{{"ports", std::move(target)}};
  const double before = cpu_ms();
  strategic_merge(document, {{"ports", std::move(patch)}});
  EXPECT_LT(cpu_ms() - before, 1000 * k_slower);  // pairwise: 400 million comparisons, several times
  EXPECT_EQ(document.at("ports").get_array().size(), 30'000);
}

TEST(Hostile, PathsOfDuplicatesAreMadeOnlyWhereThereAreSome) {
  const std::string body =
      fmt::format(R"({{"{}":[{}1],"a":1,"a":2}})", std::string(k_body / 3, 'k'), repeated("1,", k_body / 4));
  const double before = cpu_ms();
  EXPECT_EQ(duplicate_fields(body), std::vector<std::string>{"a"});
  EXPECT_LT(cpu_ms() - before, 500 * k_slower);  // a million paths of a megabyte each without that
}

TEST(Hostile, NotMoreDuplicatesAreToldThanTheRealServerTells) {
  EXPECT_EQ(duplicate_fields("{" + repeated(R"("a":1,)", 100'000) + R"("a":1})").size(), 100U);
  EXPECT_EQ(duplicate_fields(R"({"a":{"b\u0063":[{"x":1},{"y":1,"y":{}}]},"a":1})"),
            (std::vector<std::string>{"a.bc[1].y", "a"}));
}

}  // namespace
}  // namespace sandbox
