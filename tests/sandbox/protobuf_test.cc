// Bodies in Kubernetes' protobuf, as kubectl's imperative commands send them.
#include <gtest/gtest.h>

#include "sandbox/builtin/fields.h"
#include "sandbox/duplicates.h"
#include "sandbox/openapi_protobuf.h"
#include "sandbox/protobuf.h"
#include "sandbox/request.h"
#include "sandbox/world.h"

namespace sandbox {
namespace {

std::string varint(std::size_t value) {
  std::string out;
  for (; value >= 128; value /= 128) out += static_cast<char>(value % 128 + 128);
  return out + static_cast<char>(value);
}
// One field: its number and its bytes.
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<std::size_t>(number << 3 | 2)) + varint(bytes.size()) + bytes;
}
std::string number(int field_number, int value) {
  return {static_cast<char>(field_number << 3), static_cast<char>(value)};
}
std::string envelope(const std::string& version, const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + field(1, field(1, version) + field(2, kind)) + field(2, raw);
}

TEST(Protobuf, AServiceIsReadByTheNumbersOfItsFields) {
  const std::string target = number(1, 1) + field(3, "http");
  const std::string port = field(1, "a") + field(2, "TCP") + number(3, 80) + field(4, target);
  const std::string spec = field(1, port) + field(2, field(1, "app") + field(2, "web")) + field(3, "None");
  const std::string message = field(1, field(1, "web")) + field(2, spec);
  const auto read = read_message(message, builtin_fields("Service")->openapi);
  ASSERT_TRUE(read);
  EXPECT_TRUE(same(*read, *parse_json(R"({"metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"clusterIP":"None",
    "ports":[{"name":"a","protocol":"TCP","port":80,"targetPort":"http"}]}})")))
      << to_text(*read);
}

TEST(Protobuf, BytesBecomeBase64AndTimesText) {
  const auto secret = read_message(field(2, field(1, "k") + field(2, "v")), builtin_fields("Secret")->openapi);
  ASSERT_TRUE(secret);
  EXPECT_EQ(to_text(*secret), R"({"data":{"k":"dg=="}})");
  const auto lease = read_message(field(2, field(4, number(1, 61) + number(2, 0))), builtin_fields("Lease")->openapi);
  ASSERT_TRUE(lease);
  EXPECT_EQ(to_text(*lease), R"({"spec":{"renewTime":"1970-01-01T00:01:01Z"}})");
}

TEST(Protobuf, BrokenBodiesAreRefusedNotRead) {
  EXPECT_FALSE(open_envelope("{}"));
  const std::string whole =
      envelope("v1", "ConfigMap", field(1, field(1, "a")) + field(2, field(1, "k") + field(2, "v")));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto body = open_envelope(std::string_view(whole).substr(0, size));
    if (body) (void)read_message(body->raw, builtin_fields("ConfigMap")->openapi);
  }
  World world;
  kube::Request request = make_request("POST", "/api/v1/namespaces/default/configmaps", whole, protobuf_type);
  EXPECT_EQ(world.server().handle(request, "admin").status, 201);
  request.body.resize(request.body.size() - 3);
  EXPECT_EQ(world.server().handle(request, "admin").status, 400);
  request.body = envelope("v1", "Secret", "");
  EXPECT_EQ(world.server().handle(request, "admin").status, 400);
}

TEST(Duplicates, AreFoundWhereverTheyAre) {
  EXPECT_EQ(duplicate_fields(R"({"a":1,"b":{"c":[{"d":1,"d":2}],"c":3},"a":"x\"}"})"),
            (std::vector<std::string>{"b.c[0].d", "b.c", "a"}));
  EXPECT_TRUE(duplicate_fields(R"([{"a":1},{"a":2}])").empty());
  EXPECT_TRUE(duplicate_fields("").empty());
}

TEST(Protobuf, AnOpenApiDocumentBecomesGnosticsMessage) {
  const auto document = parse_json(R"({"swagger":"2.0","info":{"title":"t","version":"v"},
      "paths":{"/a":{"get":{"operationId":"o","parameters":[{"name":"q","in":"query","type":"string"}],
        "responses":{"200":{"description":"OK"}},"x-k":1}}},
      "definitions":{"D":{"type":"object","required":["r"],"oneOf":[],"properties":{"r":{"$ref":"#/d"}}}}})");
  ASSERT_TRUE(document);
  const std::string query = field(3, field(4, "q") + field(2, "query") + field(6, "string"));
  const std::string operation = field(5, "o") + field(8, field(1, field(2, query))) +
                                field(9, field(1, field(1, "200") + field(2, field(1, field(1, "OK"))))) +
                                field(13, field(1, "x-k") + field(2, field(2, "1\n")));
  const std::string schema =
      field(22, field(1, "object")) + field(19, "r") + field(25, field(1, field(1, "r") + field(2, field(1, "#/d"))));
  EXPECT_EQ(openapi_protobuf(document->get_object()),
            field(1, "2.0") + field(2, field(1, "t") + field(2, "v")) +
                field(8, field(2, field(1, "/a") + field(2, field(2, operation)))) +
                field(9, field(1, field(1, "D") + field(2, schema))));
}

TEST(Protobuf, ClientsThatWantOpenApiInItGetIt) {
  World world;
  const std::string type(openapi_protobuf_type);
  const auto ask = [&world](const std::string& accept) {
    return world.server().handle(make_request("GET", "/openapi/v2"), Caller{.user = "admin", .accept = accept});
  };
  EXPECT_EQ(ask(type).content_type, type);
  EXPECT_EQ(ask("application/com.github.proto-openapi.spec.v2@v1.0+protobuf").content_type, type);
  EXPECT_EQ(ask("").content_type, "application/json");
  EXPECT_EQ(ask("application/json, " + type).content_type, "application/json");
}

}  // namespace
}  // namespace sandbox
