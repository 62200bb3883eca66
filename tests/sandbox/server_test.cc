// What recorded conversations cannot show of the in-memory server: identities, audit, history, the cluster's own
// controllers, and the back doors.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/request.h"
#include "sandbox/world.h"

namespace sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view maps = "/api/v1/namespaces/default/configmaps";

std::string map_path(const std::string& name, const std::string& ns = "default") {
  return "/api/v1/namespaces/" + ns + "/configmaps/" + name;
}

std::string uid_of(World& world, const std::string& path) {
  return std::string(text_at(parse_json(world.get(path))->get_object(), {"metadata", "uid"}));
}

class Sink final : public WatchSink {
 public:
  void event(std::shared_ptr<const std::string> line) override { lines.push_back(*line); }
  void ended() override { over = true; }
  std::vector<std::string> lines;
  bool over = false;
};

TEST(Server, AnAuthorizerForbidsAndIsAskedForSubresources) {
  World world;
  std::vector<std::string> asked;
  world.server().set_authorizer([&](const Access& access) {
    asked.push_back(access.user + " " + access.verb + " " + access.resource);
    return access.user == "admin";
  });
  const kube::Response refused = world.call("PATCH", "/api/v1/namespaces/default/services/x/status", "{}", "core");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(
      refused.body.find(
          R"(User \"core\" cannot patch resource \"services/status\" in API group \"\" in the namespace \"default\")"),
      std::string::npos);
  EXPECT_EQ(world.call("GET", maps).status, 200);
  Sink sink;
  EXPECT_FALSE(world.server().watch(make_request("GET", std::string(maps) + "?watch=1"), "core", sink));
  EXPECT_EQ(asked,
            (std::vector<std::string>{"core patch services/status", "admin list configmaps", "core watch configmaps"}));
}

TEST(Server, TheAuditLogHoldsEveryWriteWithItsOutcome) {
  World world;
  world.call("POST", maps, R"({"metadata":{"name":"a"}})", "tenant");
  world.call("PATCH", map_path("a"), R"({"data":{"k":"v"}})", "tenant");
  world.call("PATCH", map_path("a"), R"({"data":{"k":"v"}})", "tenant");
  world.call("GET", map_path("a"), "", "tenant");
  world.call("DELETE", map_path("b"), "", "tenant");
  std::vector<std::string> lines;
  for (const AuditEntry& entry : world.audit()) {
    lines.push_back(entry.access.verb + " " + entry.access.name + " " + std::to_string(entry.code) +
                    (entry.changed ? " changed" : ""));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"create  201 changed", "patch a 200 changed", "patch a 200", "delete b 404"}));
  EXPECT_EQ(world.writes("tenant"), 2);
  EXPECT_EQ(world.writes("tenant", false), 4);
}

TEST(Server, CompactedHistoryIsGone) {
  World world;
  world.call("POST", maps, R"({"metadata":{"name":"a"}})");
  const std::string page = world.call("GET", std::string(maps) + "?limit=1&resourceVersion=").body;
  world.call("POST", maps, R"({"metadata":{"name":"b"}})");
  const std::string first = world.call("GET", std::string(maps) + "?limit=1").body;
  const std::string token(text_at(parse_json(first)->get_object(), {"metadata", "continue"}));
  ASSERT_FALSE(token.empty());
  const std::uint64_t then = world.server().revision();
  world.call("POST", maps, R"({"metadata":{"name":"c"}})");
  world.server().compact();
  const kube::Response paged = world.call("GET", std::string(maps) + "?limit=1&continue=" + token);
  EXPECT_EQ(paged.status, 410);
  EXPECT_NE(paged.body.find("\"reason\":\"Expired\""), std::string::npos);
  Sink sink;
  ASSERT_TRUE(world.server().watch(
      make_request("GET", std::string(maps) + "?watch=1&resourceVersion=" + std::to_string(then)), "a", sink));
  EXPECT_TRUE(sink.over);
  ASSERT_EQ(sink.lines.size(), 1U);
  EXPECT_NE(sink.lines[0].find("\"type\":\"ERROR\""), std::string::npos);
  EXPECT_NE(sink.lines[0].find("\"code\":410"), std::string::npos);
  EXPECT_EQ(world.server().open_watches(), 0U);
}

TEST(Server, HistoryHasALimit) {
  World world({.server = {.history = 3}});
  const std::uint64_t start = world.server().revision();
  for (int i = 0; i < 5; ++i) world.call("POST", maps, R"({"metadata":{"name":"m)" + std::to_string(i) + "\"}}");
  Sink lost;
  ASSERT_TRUE(world.server().watch(
      make_request("GET", std::string(maps) + "?watch=1&resourceVersion=" + std::to_string(start)), "a", lost));
  EXPECT_TRUE(lost.over);
  Sink kept;
  ASSERT_TRUE(world.server().watch(
      make_request("GET", std::string(maps) + "?watch=1&resourceVersion=" + std::to_string(start + 2)), "a", kept));
  EXPECT_EQ(kept.lines.size(), 3U);
  EXPECT_FALSE(kept.over);
  world.server().end_watches();
  EXPECT_TRUE(kept.over);
}

TEST(Server, AVersionOfTheFutureIsTooLarge) {
  World world;
  const kube::Response response = world.call("GET", std::string(maps) + "?resourceVersion=99999");
  EXPECT_EQ(response.status, 504);
  EXPECT_NE(response.body.find("ResourceVersionTooLarge"), std::string::npos);
  EXPECT_EQ(response.retry_after, seconds(1));
  EXPECT_EQ(world.call("GET", map_path("a") + "?resourceVersion=99999").status, 504);
}

TEST(Server, ARestoredStoreStartsFromAnEarlierVersion) {
  World world;
  world.call("POST", maps, R"({"metadata":{"name":"a"}})");
  world.server().set_revision(3);
  const auto list = parse_json(world.call("GET", maps).body)->get_object();
  EXPECT_EQ(text_at(list, {"metadata", "resourceVersion"}), "3");
}

TEST(Server, DryRunsChangeNothing) {
  World world;
  const std::uint64_t before = world.server().revision();
  EXPECT_EQ(world
                .call("POST", "/api/v1/namespaces/default/services?dryRun=All",
                      R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}})")
                .status,
            201);
  world.call("POST", maps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(world.call("PATCH", map_path("a") + "?dryRun=All", R"({"data":{"k":"v"}})").status, 200);
  EXPECT_EQ(world.call("DELETE", map_path("a") + "?dryRun=All").status, 200);
  EXPECT_EQ(world.server().revision(), before + 1);
}

TEST(Server, UnknownFieldsAreDroppedWithAWarning) {
  World world;
  const kube::Response response = world.call("POST", maps, R"({"metadata":{"name":"a"},"dta":{}})");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.warnings, std::vector<std::string>{"unknown field \"dta\""});
  EXPECT_TRUE(world.call("POST", std::string(maps) + "?fieldValidation=Ignore", R"({"metadata":{"name":"b"},"dta":{}})")
                  .warnings.empty());
}

TEST(ServerWarnings, EveryRequestForEndpointsIsTold) {
  World world;
  const std::vector<std::string> told{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"};
  EXPECT_EQ(world.call("GET", "/api/v1/namespaces/default/endpoints").warnings, told);
  EXPECT_EQ(world.call("GET", "/api/v1/namespaces/default/endpoints/none").warnings, told);
  EXPECT_EQ(world.call("GET", "/api/v1/namespaces/default/services").warnings, std::vector<std::string>());
}

TEST(Server, AnAdmissionMayRefuse) {
  World world;
  world.server().add_admission([](const AdmissionRequest& request) -> std::optional<Refusal> {
    if (request.access.user != "tenant" || request.object == nullptr) return std::nullopt;
    const bool creation = request.old == nullptr;
    return Refusal{422, "Invalid", creation ? "no new " + request.access.name : "no change"};
  });
  const kube::Response refused = world.call("POST", maps, R"({"metadata":{"name":"a"}})", "tenant");
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.body.find("no new a"), std::string::npos);
  EXPECT_EQ(world.call("POST", maps, R"({"metadata":{"name":"a"}})").status, 201);
  EXPECT_EQ(world.call("PATCH", map_path("a"), R"({"data":{"k":"v"}})", "tenant").status, 422);
  EXPECT_EQ(world.call("DELETE", map_path("a"), "", "tenant").status, 200);
}

TEST(Server, ClusterIPsRunOutAndComeBack) {
  World world({.server = {.service_cidr = "10.9.0.0/30", .second_service_cidr = ""}});
  const std::string services = "/api/v1/namespaces/default/services";
  const auto create = [&](const std::string& name) {
    return world.call("POST", services, R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":1}]}})")
        .status;
  };
  EXPECT_EQ(create("a"), 201);
  EXPECT_EQ(create("b"), 201);
  EXPECT_EQ(create("c"), 500);
  world.call("DELETE", services + "/a");
  EXPECT_EQ(create("c"), 201);
  EXPECT_EQ(world
                .call("POST", services,
                      R"({"metadata":{"name":"d"},"spec":{"ipFamilyPolicy":"RequireDualStack","ports":[{"port":1}]}})")
                .status,
            422);
}

TEST(Server, ObjectsStoredPastValidationCanStillLoseTheirFinalizers) {
  World world;
  world.server().load_crds(std::filesystem::path(PROJECT_DIR) / "crds");
  world.server().put_raw(
      R"({"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","metadata":{"name":"old","finalizers":["a/b"]},
    "spec":{"address":"010.0.0.1","className":"c","source":{"fromClass":{}}}})");
  const std::string path = "/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses/old";
  EXPECT_EQ(world.call("PATCH", path, R"({"spec":{"reclaimPolicy":"Delete"}})").status, 200);
  EXPECT_EQ(world.call("PATCH", path, R"({"spec":{"address":"10.0.0.1"}})").status, 422);
  EXPECT_EQ(world.call("PATCH", path + "/status", R"({"status":{"phase":"Pending"}})").status, 200);
  EXPECT_EQ(world.call("DELETE", path).status, 200);
  EXPECT_EQ(world.call("PATCH", path, R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(world.get(path), "");
  world.server().put_raw(
      R"({"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","metadata":{"name":"old"}})");
  EXPECT_EQ(world.call("PATCH", path, R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  world.server().remove_raw(path);
  EXPECT_EQ(world.get(path), "");
}

TEST(Server, StrategicMergePatchesMergeListsByKey) {
  World world;
  world.create(
      "{apiVersion: v1, kind: Service, metadata: {name: s, finalizers: [a/b]}, spec: {ports: [{name: x, port: 1}, "
      "{name: y, port: 2}]}}");
  const auto patch = [&](std::string_view body) {
    const kube::Response response = world.server().handle(
        make_request("PATCH", "/api/v1/namespaces/default/services/s", body, "application/strategic-merge-patch+json"),
        "admin");
    return response.status == 200 ? parse_json(response.body)->get_object() : json::object();
  };
  json::object now = patch(R"({"metadata":{"finalizers":["c/d"]},"spec":{"ports":[{"port":2,"name":"z"}]}})");
  EXPECT_EQ(array_at(now, {"metadata", "finalizers"})->size(), 2U);
  ASSERT_EQ(array_at(now, {"spec", "ports"})->size(), 2U);
  EXPECT_EQ(text_at(array_at(now, {"spec", "ports"})->back().as_object(), {"name"}), "z");
  now = patch(
      R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b","c/d"]},"spec":{"ports":[{"port":2,"$patch":"delete"}]}})");
  EXPECT_EQ(find(now, {"metadata", "finalizers"}), nullptr);
  EXPECT_EQ(array_at(now, {"spec", "ports"})->size(), 1U);
}

TEST(GarbageCollector, DependentsGoWhenTheLastOwnerIsGone) {
  World world;
  world.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
  world.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}");
  const auto owner = [&](const std::string& name) {
    return "{apiVersion: v1, kind: ConfigMap, name: " + name + ", uid: " + uid_of(world, map_path(name)) + "}";
  };
  world.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: child, ownerReferences: [" + owner("one") + ", " +
               owner("two") + "]}}");
  world.create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: stray, ownerReferences: [{apiVersion: v1, kind: ConfigMap, "
      "name: no, uid: nobody}]}}");
  world.run_for(seconds(1));
  EXPECT_EQ(world.get(map_path("stray")), "");
  world.call("DELETE", map_path("one"));
  world.run_for(seconds(1));
  EXPECT_NE(world.get(map_path("child")), "");
  EXPECT_EQ(world.get(map_path("child")).find("\"one\""), std::string::npos);
  world.call("DELETE", map_path("two"));
  EXPECT_NE(world.get(map_path("child")), "");
  world.run_for(seconds(1));
  EXPECT_EQ(world.get(map_path("child")), "");
}

TEST(GarbageCollector, ForegroundDeletionWaitsForBlockingDependentsAndOrphansStay) {
  World world;
  for (const std::string policy : {"Foreground", "Orphan"}) {
    world.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}");
    world.create(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: child, finalizers: [x/y], ownerReferences: [{apiVersion: "
        "v1, kind: ConfigMap, "
        "name: owner, blockOwnerDeletion: true, uid: " +
        uid_of(world, map_path("owner")) + "}]}}");
    world.call("DELETE", map_path("owner"), R"({"propagationPolicy":")" + policy + "\"}");
    world.run_for(seconds(1));
    const bool orphan = policy == "Orphan";
    EXPECT_EQ(world.get(map_path("owner")).empty(), orphan) << policy;
    EXPECT_EQ(world.get(map_path("child")).find("deletionTimestamp") == std::string::npos, orphan) << policy;
    world.call("PATCH", map_path("child"), R"({"metadata":{"finalizers":null}})");
    world.run_for(seconds(1));
    EXPECT_EQ(world.get(map_path("owner")), "") << policy;
    EXPECT_EQ(world.get(map_path("child")).empty(), !orphan) << policy;
  }
}

TEST(Namespaces, AreEmptiedAndThenGo) {
  World world;
  world.create("{apiVersion: v1, kind: Namespace, metadata: {name: doomed}}");
  world.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: doomed}}");
  world.create("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: doomed, finalizers: [x/y]}}");
  const std::string path = "/api/v1/namespaces/doomed";
  world.call("DELETE", path);
  world.run_for(seconds(3));
  EXPECT_EQ(world.get(map_path("free", "doomed")), "");
  EXPECT_NE(world.get(map_path("held", "doomed")).find("deletionTimestamp"), std::string::npos);
  EXPECT_NE(world.get(path).find("Terminating"), std::string::npos);
  EXPECT_EQ(world.call("POST", "/api/v1/namespaces/doomed/configmaps", R"({"metadata":{"name":"late"}})").status, 403);
  world.call("PATCH", map_path("held", "doomed"), R"({"metadata":{"finalizers":null}})");
  world.run_for(seconds(2));
  EXPECT_EQ(world.get(path), "");
  EXPECT_EQ(world.call("POST", "/api/v1/namespaces/doomed/configmaps", R"({"metadata":{"name":"late"}})").status, 404);
}

TEST(Namespaces, WithoutTheirControllerTheyStay) {
  World world({.cluster_controllers = false});
  world.create("{apiVersion: v1, kind: Namespace, metadata: {name: doomed}}");
  world.call("DELETE", "/api/v1/namespaces/doomed");
  world.run_for(seconds(10));
  EXPECT_NE(world.get("/api/v1/namespaces/doomed").find("Terminating"), std::string::npos);
}

TEST(Discovery, NamesGroupsAndResources) {
  World world;
  world.server().load_metallb_crds();
  EXPECT_EQ(world.call("GET", "/readyz").body, "ok");
  EXPECT_NE(world.call("GET", "/apis").body.find("metallb.io/v1beta1"), std::string::npos);
  EXPECT_NE(world.call("GET", "/apis/metallb.io").body.find("\"kind\":\"APIGroup\""), std::string::npos);
  EXPECT_NE(world.call("GET", "/apis/metallb.io/v1beta1").body.find("\"ipaddresspools/status\""), std::string::npos);
  EXPECT_NE(world.call("GET", "/api/v1").body.find("\"services/status\""), std::string::npos);
  EXPECT_EQ(world.call("GET", "/apis/unknown.example.com").status, 404);
}

}  // namespace
}  // namespace sandbox
