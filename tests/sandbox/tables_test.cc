// What tables are made of: lengths of time, paths, Accept headers.
#include <gtest/gtest.h>

#include "sandbox/jsonpath.h"
#include "sandbox/negotiation.h"
#include "sandbox/tables.h"

namespace sandbox {
namespace {

TEST(Tables, DurationsAreShortForPeople) {
  const std::vector<std::pair<std::int64_t, std::string>> cases = {{-5, "<invalid>"},
                                                                   {-1, "0s"},
                                                                   {0, "0s"},
                                                                   {119, "119s"},
                                                                   {120, "2m"},
                                                                   {125, "2m5s"},
                                                                   {600, "10m"},
                                                                   {10'799, "179m"},
                                                                   {10'800, "3h"},
                                                                   {10'860, "3h1m"},
                                                                   {8 * 3600 + 60, "8h"},
                                                                   {172'799, "47h"},
                                                                   {172'800, "2d"},
                                                                   {180'000, "2d2h"},
                                                                   {8 * 86'400 + 3600, "8d"},
                                                                   {3 * 365 * 86'400LL, "3y"},
                                                                   {3 * 365 * 86'400LL + 86'400, "3y1d"},
                                                                   {9 * 365 * 86'400LL, "9y"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(human_duration(seconds), text) << seconds;
}

TEST(Tables, TimestampsAreReadAsUtc) {
  EXPECT_EQ(parse_timestamp("1970-01-02T00:00:01Z"), 86'401);
  EXPECT_EQ(parse_timestamp("2024-02-29T12:00:00.123456Z"), 1'709'208'000);
  EXPECT_EQ(parse_timestamp("yesterday"), std::nullopt);
  EXPECT_EQ(age_of("", 5), "<unknown>");
  EXPECT_EQ(age_of("soon", 5), "<invalid>");
  EXPECT_EQ(age_of("1970-01-01T00:00:00Z", 90), "90s");
}

std::string found(std::string_view path, std::string_view document) {
  const auto compiled = JsonPath::parse(path);
  if (!compiled) return "error: " + compiled.error().message;
  const auto parsed = parse_json(document);
  std::string text;
  for (const json::value* value : compiled->find(parsed->get_object())) text += to_text(*value) + ";";
  return text;
}

TEST(Tables, PathsFindMembersItemsAndWhatAFilterAdmits) {
  constexpr std::string_view document =
      R"({"a":{"b.c":1,"d":[{"t":"x","v":1},{"t":"y","v":2},{"t":"y"}],"e":null},"n":[5,6,7]})";
  EXPECT_EQ(found(".a.b\\.c", document), "1;");
  EXPECT_EQ(found(".a['b.c']", document), "1;");
  EXPECT_EQ(found("{.n[1]}", document), "6;");
  EXPECT_EQ(found(".n[-1]", document), "7;");
  EXPECT_EQ(found(".n[9]", document), "");
  EXPECT_EQ(found(".n[*]", document), "5;6;7;");
  EXPECT_EQ(found(R"(.a.d[?(@.t=="y")].v)", document), "2;");
  EXPECT_EQ(found(R"(.a.d[?(@.t!='y')].v)", document), "1;");
  EXPECT_EQ(found(".a.d[?(@.v>1)].t", document), "\"y\";");
  EXPECT_EQ(found(".a.d[?(@.v)].t", document), "\"x\";\"y\";");
  EXPECT_EQ(found(".a.missing.x", document), "");
  EXPECT_EQ(found(".a.d[", document), "error: .a.d[: unterminated array");
  EXPECT_EQ(found("a", document), "error: a: unexpected a");
}

TEST(Tables, TheFirstFormThatIsServedIsTaken) {
  const auto shape = [](std::string_view accept) { return negotiate(accept).value().shape; };
  EXPECT_EQ(shape(""), Shape::object);
  EXPECT_EQ(shape("*/*"), Shape::object);
  EXPECT_EQ(shape("application/vnd.kubernetes.protobuf,application/json"), Shape::object);
  EXPECT_EQ(shape("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), Shape::table);
  EXPECT_EQ(shape("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"), Shape::object);
  EXPECT_EQ(shape("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/json; as=Table "
                  ";v=v1beta1;g=meta.k8s.io"),
            Shape::table);
  EXPECT_EQ(shape("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), Shape::partials);
  const auto refused = negotiate("text/html");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 406);
}

}  // namespace
}  // namespace sandbox
