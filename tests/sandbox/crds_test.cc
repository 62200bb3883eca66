// Loading CustomResourceDefinitions: the project's own files, and what must be refused.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "sandbox/world.h"

namespace sandbox {
namespace {

// A definition around one schema of spec.
std::string definition(const std::string& spec_schema) {
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: )" +
         spec_schema;
}

std::string refusal(const std::string& yaml) {
  World world;
  try {
    world.server().load_crds(std::string_view(yaml));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(Crds, TheProjectsOwnFilesLoadAndAreServed) {
  World world;
  world.server().load_crds(std::filesystem::path(PROJECT_DIR) / "crds");
  world.server().load_metallb_crds();
  for (const char* plural : {"ipaddresses", "ipaddressclaims", "ipaddressclasses"}) {
    EXPECT_EQ(world.call("GET", std::string("/apis/local.sdn.cozystack.io/v1alpha1/") + plural).status, 200) << plural;
  }
  EXPECT_EQ(world.call("GET", "/apis/metallb.io/v1beta1/ipaddresspools").status, 200);
  EXPECT_NE(world.call("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
                .body.find("ipaddresspools.metallb.io"),
            std::string::npos);
}

TEST(Crds, LoadedAgainADefinitionKeepsWhatOthersSaidOfIt) {
  World world;
  world.server().load_crds(std::string_view(definition("{type: object}")));
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";
  ASSERT_EQ(world.call("PATCH", path, R"({"metadata":{"labels":{"owner":"helm"},"annotations":{"a":"b"}}})").status,
            200);
  world.server().load_crds(std::string_view(definition("{type: object, properties: {a: {type: string}}}")));
  const std::string now = world.call("GET", path).body;
  EXPECT_NE(now.find(R"("labels":{"owner":"helm"})"), std::string::npos) << now;
  EXPECT_NE(now.find(R"("annotations":{"a":"b"})"), std::string::npos) << now;
  EXPECT_NE(now.find(R"("properties":{"a":{"type":"string"}})"), std::string::npos) << now;
}

TEST(Crds, WhatCannotBeEnforcedIsRefusedAtLoad) {
  EXPECT_EQ(refusal(definition("{type: object}")), "");
  EXPECT_NE(refusal(definition("{type: object, x-kubernetes-validations: [{rule: 'size(self.a) > 3', message: m}]}"))
                .find("the validation rule \"size(self.a) > 3\" has no native counterpart"),
            std::string::npos);
  EXPECT_NE(
      refusal(definition("{type: object, multipleOf: 3}")).find("the schema keyword multipleOf is not implemented"),
      std::string::npos);
  EXPECT_NE(refusal(definition("{type: text}")).find("unknown type text"), std::string::npos);
  EXPECT_NE(refusal("not: [a, definition"), "");
}

// As the API server does: the stored objects are kept for when it is served again.
TEST(Crds, AKindThatIsNotServedKeepsItsObjects) {
  World world;
  world.server().load_crds(std::string_view(definition("{type: object}")));
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";
  const std::string things = "/apis/example.com/v1/things";
  world.create("{apiVersion: example.com/v1, kind: Thing, metadata: {name: one}}");
  const auto serve = [&](const std::string& served) {
    std::string document = world.get(definitions);
    const std::string before = served == "true" ? "false" : "true";
    document.replace(document.find("\"served\":" + before), 9 + before.size(), "\"served\":" + served);
    EXPECT_EQ(world.call("PUT", definitions, document).status, 200);
  };
  serve("false");
  EXPECT_EQ(world.call("GET", things).status, 404);
  EXPECT_EQ(world.call("GET", things).body, "404 page not found\n");
  EXPECT_EQ(world.call("GET", "/apis/example.com/v1").status, 404);
  serve("true");
  EXPECT_EQ(world.call("GET", things + "/one").status, 200);
  serve("false");
  EXPECT_EQ(world.call("DELETE", definitions).status, 200);
  world.server().load_crds(std::string_view(definition("{type: object}")));
  EXPECT_EQ(world.call("GET", things + "/one").status, 404);
}

TEST(Crds, AKindComesAndGoesWithItsDefinition) {
  World world;
  const std::string list = "/apis/example.com/v1/things";
  EXPECT_EQ(world.call("GET", list).status, 404);
  world.create(definition("{type: object, properties: {a: {type: string}}}"));
  EXPECT_EQ(world.call("GET", list).status, 200);
  world.create("{apiVersion: example.com/v1, kind: Thing, metadata: {name: x, finalizers: [a/b]}}");
  EXPECT_EQ(world.call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com").status,
            200);
  EXPECT_EQ(world.call("GET", list).status, 404);
  world.create(definition("{type: object}"));
  EXPECT_EQ(world.get(list + "/x"), "");
}

}  // namespace
}  // namespace sandbox
