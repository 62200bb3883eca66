// Deployments whose pods run, Services whose endpoints follow, and the descriptions of the API that clients ask for.
#include "sandbox/workloads.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>

#include "sandbox/json.h"
#include "sandbox/world.h"

namespace sandbox {
namespace {

json::object object_of(World& world, std::string_view path) { return parse_json(world.get(path)).value().get_object(); }

class Running : public testing::Test {
 protected:
  Running() : workloads_(world_.server(), world_.reactor()) {
    world_.create(
        R"({apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 2,
      selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [
      {name: web, image: nginx, ports: [{name: http, containerPort: 8080}]}]}}}})");
    world_.create(R"({apiVersion: v1, kind: Service, metadata: {name: web, namespace: default},
      spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}})");
    world_.run_for(std::chrono::seconds(3));
  }
  std::int64_t ready() {
    return int_at(object_of(world_, "/apis/apps/v1/namespaces/default/deployments/web"), {"status", "readyReplicas"});
  }
  std::size_t pods() {
    return parse_json(world_.call("GET", "/api/v1/namespaces/default/pods").body)->at("items").as_array().size();
  }

  World world_;
  Workloads workloads_;
};

TEST_F(Running, ADeploymentGetsPodsAndItsServiceEndpoints) {
  EXPECT_EQ(ready(), 2);
  const auto slices =
      parse_json(world_.call("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices").body);
  const json::array& items = slices->at("items").as_array();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].at("endpoints").as_array().size(), 2U);
  EXPECT_EQ(items[0].at("ports").at(0).at("port"), 8080);
  EXPECT_EQ(items[0].at("metadata").at("ownerReferences").at(0).at("name"), "web");
  EXPECT_EQ(world_.call("GET", "/api/v1/namespaces/default/serviceaccounts/default").status, 200);
}

TEST_F(Running, ItsSizeFollowsItsScale) {
  const std::string scale = "/apis/apps/v1/namespaces/default/deployments/web/scale";
  EXPECT_EQ(world_.call("PATCH", scale, R"({"spec":{"replicas":5}})").status, 200);
  world_.run_for(std::chrono::seconds(3));
  EXPECT_EQ(ready(), 5);
  EXPECT_EQ(world_.call("PATCH", scale, R"({"spec":{"replicas":0}})").status, 200);
  world_.run_for(std::chrono::seconds(3));
  EXPECT_EQ(pods(), 0U);
}

TEST_F(Running, AnotherTemplateReplacesThePods) {
  world_.call("PATCH", "/apis/apps/v1/namespaces/default/deployments/web",
              R"({"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}})");
  world_.run_for(std::chrono::seconds(4));
  EXPECT_EQ(ready(), 2);
  EXPECT_EQ(pods(), 2U);
  EXPECT_NE(world_.call("GET", "/api/v1/namespaces/default/pods").body.find("nginx:2"), std::string::npos);
}

TEST_F(Running, NothingIsWrittenOnceAllIsAsItShouldBe) {
  const std::uint64_t revision = world_.server().revision();
  world_.run_for(std::chrono::seconds(60));
  EXPECT_EQ(world_.server().revision(), revision);
}

TEST_F(Running, WhatItOwnsGoesWithIt) {
  EXPECT_EQ(world_.call("DELETE", "/apis/apps/v1/namespaces/default/deployments/web").status, 200);
  world_.run_for(std::chrono::seconds(3));
  EXPECT_EQ(pods(), 0U);
}

TEST(OpenApi, EveryVersionHasADocumentAndNoneShowsWhatIsTheSandboxsOwn) {
  World world;
  const auto index = parse_json(world.call("GET", "/openapi/v3").body);
  ASSERT_TRUE(index);
  const json::object& paths = index->at("paths").as_object();
  EXPECT_TRUE(paths.contains("api/v1"));
  EXPECT_TRUE(paths.contains("apis/apps/v1"));
  for (const json::key_value_pair& entry : paths) {
    const std::string url(view(entry.value().at("serverRelativeURL").as_string()));
    const kube::Response document = world.call("GET", url);
    EXPECT_EQ(document.status, 200) << url;
    EXPECT_EQ(document.body.find("x-sandbox"), std::string::npos) << url;
  }
  const kube::Response old = world.call("GET", "/openapi/v2");
  EXPECT_EQ(old.status, 200);
  EXPECT_EQ(old.body.find("x-sandbox"), std::string::npos);
  EXPECT_EQ(world.call("GET", "/openapi/v3/apis/nothing/v1").status, 404);
}

}  // namespace
}  // namespace sandbox
