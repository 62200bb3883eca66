// The subset of kubectl. That it is the same as kubectl's is checked on the real control plane (tests/real/client).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "client/client_world.h"

namespace client::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A file that lives as long as the test.
class TempFile {
 public:
  explicit TempFile(std::string_view text)
      : path_(::testing::TempDir() + "client_test_" + std::to_string(getpid()) + ".yaml") {
    write(text);
  }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  void write(std::string_view text) const { std::ofstream(path_) << text; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* k_claim = R"(
apiVersion: local.sdn.cozystack.io/v1alpha1
kind: IPAddressClaim
metadata: {name: web, labels: {app: shop, tier: front}}
spec: {family: IPv4}
)";

kube::Response answer(std::string body) {
  kube::Response response;
  response.status = 200;
  response.body = std::move(body);
  return response;
}

class KubectlTest : public ::testing::Test {
 protected:
  ClientWorld world;
};

TEST_F(KubectlTest, ApplyCreatesThenConfiguresThenLeavesAlone) {
  TempFile file(k_claim);
  const std::string apply = "apply -f " + file.path();
  EXPECT_EQ(world.ok(apply), "ipaddressclaim.local.sdn.cozystack.io/web created\n");
  EXPECT_EQ(world.ok(apply), "ipaddressclaim.local.sdn.cozystack.io/web unchanged\n");
  // A field changed, a label gone; what others wrote stays.
  world.ok("annotate ipclaim web by=another");
  file.write(R"(
apiVersion: local.sdn.cozystack.io/v1alpha1
kind: IPAddressClaim
metadata: {name: web, labels: {app: store}}
spec: {family: Dual}
)");
  EXPECT_EQ(world.ok(apply), "ipaddressclaim.local.sdn.cozystack.io/web configured\n");
  EXPECT_EQ(world.ok("get ipclaim web -o jsonpath='{.metadata.labels} {.metadata.annotations.by} {.spec.family}'"),
            "{\"app\":\"store\"} another Dual");
}

TEST_F(KubectlTest, ApplyTriesAgainAfterSomebodyElsesChange) {
  TempFile file(k_claim);
  world.ok("apply -f " + file.path());
  int changes = 0;
  world.intercept = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.method == "PATCH" && ++changes == 1) {
      kube::Request other = request;
      other.body = R"({"metadata":{"labels":{"a":"b"}}})";
      (void)world.backend().send("somebody", other);
    }
    return std::nullopt;
  };
  file.write(std::string(k_claim) + "---\n" + "apiVersion: v1\nkind: Namespace\nmetadata: {name: more}\n");
  EXPECT_THAT(world.ok("apply -f " + file.path()), EndsWith("namespace/more created\n"));
  file.write("apiVersion: v1\nkind: Namespace\nmetadata: {name: more, labels: {a: b}}\n");
  EXPECT_EQ(world.ok("apply -f " + file.path()), "namespace/more configured\n");
  EXPECT_EQ(changes, 2);
}

TEST_F(KubectlTest, ApplySaysWhatIsWrongWithAFile) {
  struct Row {
    const char* text;
    const char* says;
  };
  for (const Row& row :
       {Row{"a: [1", "line 1"}, Row{"just text", "a document is no object"}, Row{"# nothing", "no objects in it"},
        Row{"kind: Service", "apiVersion is missing"}, Row{"apiVersion: v1", "kind is missing"},
        Row{"apiVersion: v1\nkind: Secret\nmetadata: {name: a}", "does not know the kind Secret of v1"},
        Row{"apiVersion: v1\nkind: Service", "a Service without metadata.name"}}) {
    const TempFile file(row.text);
    const Outcome outcome = world.run("apply -f " + file.path());
    EXPECT_EQ(outcome.status, 1) << row.text;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("error: " + file.path()), HasSubstr(row.says))) << row.text;
  }
  EXPECT_EQ(world.run("apply -f /nowhere").err, "error: cannot read /nowhere\n");
  EXPECT_EQ(world.run("apply -f /").err, "error: cannot read /: it is a folder\n");
}

TEST_F(KubectlTest, ARefusalNamesFieldAndReason) {
  const TempFile file(
      "apiVersion: local.sdn.cozystack.io/v1alpha1\nkind: IPAddressClaim\nmetadata: {name: web}\nspec: {family: "
      "IPv5}\n");
  const Outcome outcome = world.run("apply -f " + file.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("The IPAddressClaim \"web\" is invalid: "),
                                 HasSubstr("spec.family: Unsupported value: \"IPv5\"")));
}

TEST_F(KubectlTest, GetPrintsTheServersTable) {
  world.intercept = [](const kube::Request& request) -> std::optional<kube::Response> {
    EXPECT_THAT(request.accept, StartsWith("application/json;as=Table;v=v1;g=meta.k8s.io,"));
    return answer(R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},
      "columnDefinitions":[{"name":"Name","type":"string","priority":0},{"name":"Phase","type":"string","priority":0},
                           {"name":"Reason","type":"string","priority":1},{"name":"Age","type":"string","priority":0}],
      "rows":[{"cells":["web","Bound","Bound","5s"],"object":{"metadata":{"namespace":"shop"}}},
              {"cells":["longername",null,"two\nlines","3m"],"object":{"metadata":{"namespace":"a"}}}]})");
  };
  EXPECT_EQ(world.ok("get ipclaim"), "NAME         PHASE   AGE\nweb          Bound   5s\nlongername           3m\n");
  EXPECT_EQ(world.ok("get ipclaim --no-headers"), "web          Bound   5s\nlongername           3m\n");
  EXPECT_EQ(world.ok("get ipclaim -A -o wide"),
            "NAMESPACE   NAME         PHASE   REASON   AGE\nshop        web          Bound   Bound    5s\na           "
            "longername           two...   3m\n");
}

TEST_F(KubectlTest, GetReadsAllPagesOfATable) {
  int pages = 0;
  world.intercept = [&](const kube::Request& request) -> std::optional<kube::Response> {
    const bool second =
        std::ranges::any_of(request.query, [](const auto& q) { return q.first == "continue" && q.second == "next"; });
    ++pages;
    return answer(std::string(R"({"kind":"Table","metadata":{"continue":")") + (second ? "" : "next") +
                  R"("},"columnDefinitions":[{"name":"Name","priority":0}],"rows":[{"cells":[")" +
                  (second ? "b" : "a") + "\"]}]}");
  };
  EXPECT_EQ(world.ok("get ns"), "NAME\na\nb\n");
  EXPECT_EQ(pages, 2);
}

TEST_F(KubectlTest, GetOfAServerWithoutTablesShowsNames) {
  world.intercept = [](const kube::Request&) -> std::optional<kube::Response> {
    return answer(
        R"({"kind":"NamespaceList","items":[{"metadata":{"name":"a","creationTimestamp":"1969-12-31T23:58:30Z"}}]})");
  };
  EXPECT_EQ(world.ok("get ns"), "NAME   AGE\na      90s\n");
}

TEST_F(KubectlTest, GetWatchPrintsChangesInTheSameColumns) {
  world.intercept = [](const kube::Request& request) -> std::optional<kube::Response> {
    const bool watch = std::ranges::any_of(request.query, [](const auto& q) { return q.first == "watch"; });
    if (!watch) {
      return answer(
          R"({"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name","priority":0},{"name":"Phase","priority":0}],
                     "rows":[{"cells":["web","Pending"]}]})");
    }
    EXPECT_THAT(request.query, ::testing::Contains(std::pair<std::string, std::string>("resourceVersion", "7")));
    EXPECT_THAT(request.query,
                ::testing::Contains(std::pair<std::string, std::string>("fieldSelector", "metadata.name=web")));
    return answer(
        R"({"type":"MODIFIED","object":{"kind":"Table","columnDefinitions":null,"rows":[{"cells":["web","Bound"]}]}})"
        "\n"
        R"({"type":"BOOKMARK","object":{"kind":"Table","rows":[]}})"
        "\n");
  };
  EXPECT_EQ(world.ok("get ipclaim web -w"), "NAME   PHASE\nweb    Pending\nweb    Bound\n");
}

TEST_F(KubectlTest, GetPrintsWholeObjects) {
  world.have_class();
  EXPECT_EQ(world.ok("get ipclass -o name"), "ipaddressclass.local.sdn.cozystack.io/public\n");
  EXPECT_THAT(
      world.ok("get ipclass public -o yaml"),
      AllOf(
          StartsWith("apiVersion: local.sdn.cozystack.io/v1alpha1\nkind: IPAddressClass\nmetadata:\n  annotations:\n"),
          HasSubstr("    ipaddressclass.local.sdn.cozystack.io/is-default-class: \"true\"\n"),
          HasSubstr(
              "spec:\n  parameters:\n    addresses:\n    - 203.0.113.0/29\n    - 2001:db8::/126\n  provisioner: "),
          Not(HasSubstr("managedFields"))));
  EXPECT_THAT(
      world.ok("get ipclass -o json"),
      AllOf(
          StartsWith("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"apiVersion\": "
                     "\"local.sdn.cozystack.io/v1alpha1\",\n"),
          EndsWith(
              "    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")));
  EXPECT_EQ(world.ok("get ipclass -o jsonpath='{.items[*].metadata.name}'"), "public");
}

TEST_F(KubectlTest, GetSaysWhenThereIsNothing) {
  const Outcome none = world.run("get ipclaim");
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.err, "No resources found in default namespace.\n");
  EXPECT_EQ(world.run("get ipclaim -A").err, "No resources found\n");
  EXPECT_EQ(world.run("get ipaddr").err, "No resources found\n");
  const Outcome missing = world.run("get svc nope");
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.err, "Error from server (NotFound): services \"nope\" not found\n");
}

TEST_F(KubectlTest, DeleteWaitsUntilItIsGone) {
  world.have_class("Delete");
  world.ok("claim web");
  EXPECT_EQ(world.ok("delete ipclaim web"),
            "ipaddressclaim.local.sdn.cozystack.io \"web\" deleted from default namespace\n");
  EXPECT_EQ(world.run("get ipclaim web").status, 1);
  EXPECT_EQ(world.run("delete ipclaim web").err,
            "Error from server (NotFound): ipaddressclaims.local.sdn.cozystack.io \"web\" not found\n");
  EXPECT_EQ(world.ok("delete ipclaim web --ignore-not-found"), "");
  EXPECT_EQ(world.ok("delete ipclass public"), "ipaddressclass.local.sdn.cozystack.io \"public\" deleted\n");
}

TEST_F(KubectlTest, DeleteBySelectorSparesOthers) {
  world.have_service("a");
  world.have_service("b");
  world.ok("patch svc b -p '{\"metadata\":{\"labels\":{\"app\":\"b\"}}}'");
  EXPECT_EQ(world.ok("delete svc -l app=b"), "service \"b\" deleted from default namespace\n");
  EXPECT_EQ(world.ok("get svc -o name"), "service/a\n");
  EXPECT_EQ(world.run("delete svc").status, 2);
  EXPECT_EQ(world.ok("delete svc --all"), "service \"a\" deleted from default namespace\n");
}

TEST_F(KubectlTest, DeleteThatDoesNotEndSaysSo) {
  world.have_class();
  world.ok("claim web");
  // The address is held by its claim and stays.
  const Outcome outcome = world.run("delete ipaddr ip-203-0-113-1 --timeout 2s");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "ipaddress.local.sdn.cozystack.io \"ip-203-0-113-1\" deleted\n");
  EXPECT_EQ(outcome.err, "error: timed out waiting for the condition on ipaddresses/ip-203-0-113-1\n");
}

TEST_F(KubectlTest, AnnotateKeepsWhatItWasNotToldToOverwrite) {
  world.have_service("web");
  EXPECT_EQ(world.ok("annotate service web a=1 b=2"), "service/web annotated\n");
  const Outcome refused = world.run("annotate service web a=2");
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(
      refused.err,
      "error: --overwrite is false but found the following declared annotation(s): 'a' already has a value (1)\n");
  world.ok("annotate service web a=2 --overwrite");
  world.ok("annotate service web b-");
  EXPECT_EQ(world.ok("get service web -o jsonpath={.metadata.annotations}"), "{\"a\":\"2\"}");
}

TEST_F(KubectlTest, PatchMerges) {
  world.have_class();
  world.ok("claim web");
  world.ok("release web");
  EXPECT_EQ(world.ok("patch ipaddr ip-203-0-113-1 --type merge -p '{\"spec\":{\"claimRef\":null}}'"),
            "ipaddress.local.sdn.cozystack.io/ip-203-0-113-1 patched\n");
  EXPECT_EQ(world.ok("patch ipaddr ip-203-0-113-1 --type merge -p 'spec: {claimRef: null}'"),
            "ipaddress.local.sdn.cozystack.io/ip-203-0-113-1 patched (no change)\n");
  EXPECT_EQ(world.run("patch ipaddr ip-203-0-113-1 --type json -p []").status, 2);
  EXPECT_EQ(world.run("patch ipaddr ip-203-0-113-1 -p '[1]'").status, 2);
}

TEST_F(KubectlTest, WaitSeesPathsConditionsAndDeletion) {
  world.have_class();
  world.ok("claim web --wait=false");
  EXPECT_EQ(world.ok("wait ipclaim/web --for=jsonpath='{.status.phase}'=Bound"),
            "ipaddressclaim.local.sdn.cozystack.io/web condition met\n");
  world.ok("wait ipclaim web --for=jsonpath=.status.phase=Bound");
  world.ok("wait ipclaim/web --for=condition=bound");
  world.ok("wait ipclaim/web --for=condition=Bound=True");
  world.ok("wait ipclaim/web --for=create");
  EXPECT_EQ(world.ok("wait ipclaim/nope --for=delete"), "");
  const Outcome late = world.run("wait ipclaim/web --for=condition=Bound=False --timeout 1s");
  EXPECT_EQ(late.status, 1);
  EXPECT_EQ(late.err, "error: timed out waiting for the condition on ipaddressclaims/web\n");
  EXPECT_EQ(world.run("wait ipclaim/nope --for=condition=Bound").err,
            "Error from server (NotFound): ipaddressclaims.local.sdn.cozystack.io \"nope\" not found\n");
  EXPECT_EQ(world.run("wait ipclaim/web --for=nonsense").status, 2);
}

TEST_F(KubectlTest, WhatOthersWroteDoesNotCommandTheTerminal) {
  world.intercept = [](const kube::Request&) -> std::optional<kube::Response> {
    return answer(
        R"({"kind":"Table","columnDefinitions":[{"name":"Message","priority":0}],"rows":[{"cells":["\u001b[2Jgone"]}]})");
  };
  EXPECT_EQ(world.ok("get events"), "MESSAGE\n^[[2Jgone\n");
  world.intercept = [](const kube::Request&) -> std::optional<kube::Response> { return forbidden("\\u001b[2J"); };
  EXPECT_THAT(world.run("get events").err, HasSubstr("^[[2J is forbidden"));
}

TEST_F(KubectlTest, WarningsOfTheServerAreShown) {
  world.intercept = [](const kube::Request&) -> std::optional<kube::Response> {
    auto response = answer(R"({"kind":"NamespaceList","items":[]})");
    response.warnings = {"this is old"};
    return response;
  };
  EXPECT_EQ(world.run("get ns").err, "Warning: this is old\nNo resources found\n");
}

}  // namespace
}  // namespace client::testing
