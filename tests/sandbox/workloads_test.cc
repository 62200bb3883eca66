// Deployments whose pods run, Services whose endpoints follow, and the descriptions of the API that clients ask for.
#include "sandbox/workloads.h"

#include <gtest/gtest.h>

#include <set>

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

TEST_F(Running, TemplatesAreNumberedAndOneThatComesBackIsTheLatest) {
  const std::string path = "/apis/apps/v1/namespaces/default/deployments/web";
  const auto use = [&](const std::string& container) {
    world_.call("PATCH", path, R"({"spec":{"template":{"spec":{"containers":[)" + container + "]}}}}");
    world_.run_for(std::chrono::seconds(2));
    return world_.call("GET", path).body;
  };
  const std::string revision = R"("deployment.kubernetes.io/revision":")";
  EXPECT_NE(use(R"({"name":"web","image":"nginx:2"})").find(revision + "2"), std::string::npos);
  EXPECT_NE(use(R"({"name":"web","image":"nginx:3"})").find(revision + "3"), std::string::npos);
  EXPECT_NE(use(R"({"image":"nginx:2","name":"web"})").find(revision + "4"), std::string::npos);
  const auto sets = parse_json(world_.call("GET", "/apis/apps/v1/namespaces/default/replicasets").body);
  std::set<std::string> revisions;
  for (const json::value& set : sets->at("items").as_array())
    revisions.emplace(text_at(set.get_object(), {"metadata", "annotations", "deployment.kubernetes.io/revision"}));
  EXPECT_EQ(revisions, (std::set<std::string>{"1", "3", "4"}));
}

TEST_F(Running, WhatAClusterMakesAgainComesBack) {
  for (const std::string path : {"/api/v1/nodes/sandbox", "/api/v1/namespaces/default/serviceaccounts/default"}) {
    const auto uid = [&] {
      return std::string(text_at(parse_json(world_.call("GET", path).body)->get_object(), {"metadata", "uid"}));
    };
    const std::string before = uid();
    EXPECT_NE(before, "") << path;
    EXPECT_EQ(world_.call("DELETE", path).status, 200) << path;
    world_.run_for(std::chrono::seconds(1));
    EXPECT_NE(uid(), "") << path;
    EXPECT_NE(uid(), before) << path;
  }
}

TEST_F(Running, WhoAsksForContainersIsToldThatThereAreNone) {
  const auto pods = parse_json(world_.call("GET", "/api/v1/namespaces/default/pods").body);
  const std::string pod(text_at(pods->at("items").at(0).get_object(), {"metadata", "name"}));
  const auto said = [&](const std::string& method, const std::string& path, const std::string& text) {
    const kube::Response answer = world_.call(method, path);
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_NE(answer.body.find(text), std::string::npos) << path << ": " << answer.body;
  };
  const std::string at = "/api/v1/namespaces/default/pods/" + pod;
  said("GET", at + "/log", "runs no containers: there are no logs");
  said("POST", at + "/exec?command=ls", "there is none to run a command in");
  said("GET", at + "/proxy/metrics", "nothing listens on any port");
  said("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", "speaks as one");
  said("GET", "/api/v1/nodes/sandbox/proxy/stats", "has no kubelet");
  EXPECT_EQ(world_.call("GET", "/api/v1/namespaces/default/pods/nothing/log").status, 404);
  EXPECT_EQ(world_.call("GET", at + "/nothing").status, 404);
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
