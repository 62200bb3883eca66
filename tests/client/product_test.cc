#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client_world.h"

namespace client::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* k_web_path = "/api/v1/namespaces/default/services/web";

class ProductTest : public ::testing::Test {
 protected:
  ClientWorld world;
};

TEST_F(ProductTest, ClaimWaitsForTheAddressAndNamesIt) {
  world.have_class();
  EXPECT_THAT(world.ok("claim web"), MatchesRegex("ipaddressclaim.local.sdn.cozystack.io/web created\nclaim web has "
                                                  "203.0.113.1 of class public \\(after .* s\\)\n"));
}

TEST_F(ProductTest, ClaimOfBothFamiliesHasTwoAddresses) {
  world.have_class();
  EXPECT_THAT(world.ok("claim web --family dual"), HasSubstr("claim web has 2001:db8::, 203.0.113.1"));
}

TEST_F(ProductTest, ClaimOfOneAddressTakesThatOne) {
  world.have_class();
  world.ok("claim first");
  world.ok("release first");
  world.ok("recycle 203.0.113.1");
  EXPECT_THAT(world.ok("claim web --address 203.0.113.1"), HasSubstr("claim web has 203.0.113.1 of class public"));
}

TEST_F(ProductTest, TheSameClaimAgainIsFineAndAnotherOneIsNot) {
  world.have_class();
  world.ok("claim web");
  EXPECT_THAT(world.ok("claim web"), HasSubstr("web is there already\nclaim web has 203.0.113.1"));
  EXPECT_THAT(world.ok("claim web --class public"), HasSubstr("web is there already"));
  const Outcome family = world.run("claim web --family IPv6");
  EXPECT_EQ(family.status, 1);
  EXPECT_EQ(family.err, "error: there is a claim web in namespace default already, and its family is IPv4, not IPv6\n");
  EXPECT_EQ(world.run("claim web --class other").status, 1);
}

TEST_F(ProductTest, AClaimThatMustWaitSaysForWhat) {
  const Outcome outcome = world.run("claim web --timeout 5s");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("error: claim web is Pending after 5"), HasSubstr("NoDefaultClass: ")));
  EXPECT_THAT(world.ok("list"), HasSubstr("NoDefaultClass"));
}

TEST_F(ProductTest, AClaimThatMustWaitIsToldWhatToDo) {
  world.have_class();
  const Outcome outcome = world.run("claim web --address 203.0.113.9 --timeout 5s");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("AddressNotFound: IPAddress \"ip-203-0-113-9\" does not exist; the claim waits "
                              "until an administrator makes it"),
                    HasSubstr("\nwithout --address a claim gets any free address of its class\n"),
                    HasSubstr("\nit goes on waiting; to give it up: kubectl-address release web -n default\n")));
  EXPECT_THAT(world.run("claim db --class gold --timeout 5s").err,
              HasSubstr("\nthe classes there are: kubectl-address classes\n"));
}

TEST_F(ProductTest, WhatCannotBeTheNameOfAnythingIsRefusedBeforeItIsWritten) {
  world.have_class();
  for (const char* line :
       {"claim web --address 10.0.0.1/24", "claim web --address 10.0.0.01", "claim web --address fe80::1%eth0",
        "claim web --address A_B", "claim web --class A_B", "claim web --class a/b"}) {
    const Outcome outcome = world.run(line);
    EXPECT_EQ(outcome.status, 2) << line;
    EXPECT_EQ(outcome.out, "") << line;
  }
  EXPECT_THAT(world.run("claim web --address 10.0.0.01").err,
              HasSubstr("--address: \"10.0.0.01\" is not an IP address"));
  EXPECT_EQ(world.run("list").err, "No claims found in default namespace.\n");
}

TEST_F(ProductTest, ATimeoutOfZeroLooksOnce) {
  world.have_class();
  const Outcome outcome = world.run("claim web --timeout 0");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("claim web is Pending after 0.0 s; "));
  EXPECT_THAT(outcome.err, Not(HasSubstr("is address-controller running?")));
}

TEST_F(ProductTest, WithoutWaitingItReturnsAtOnce) {
  EXPECT_EQ(world.ok("claim web --wait=false"), "ipaddressclaim.local.sdn.cozystack.io/web created\n");
}

TEST_F(ProductTest, AttachLetsTheServiceShowTheAddress) {
  world.have_class();
  world.have_service("web");
  world.ok("claim web");
  EXPECT_THAT(world.ok("attach web web"),
              MatchesRegex("service web names claim web\nservice web shows 203.0.113.1 \\(after .* s\\)\n"));
  EXPECT_THAT(world.ok("attach web web"),
              StartsWith("service web names claim web already\nservice web shows 203.0.113.1"));
  EXPECT_THAT(world.ok("list"),
              MatchesRegex("CLAIM +PHASE +CLASS +ADDRESS +SERVICE +AGE\nweb +Bound +public +203.0.113.1 +web +.*\n"));
}

TEST_F(ProductTest, AttachRefusesWhatCannotBe) {
  world.have_class();
  world.have_service("web");
  world.have_service("inner", "ClusterIP");
  world.have_service("six", "LoadBalancer", "IPv6");
  world.ok("claim web");
  struct Row {
    const char* line;
    const char* says;
  };
  for (const Row& row :
       {Row{"attach nope web", "there is no claim nope in namespace default; there is web"},
        Row{"attach web nope", "there is no Service nope in namespace default; there is inner, six, web"},
        Row{"attach web inner", "service inner is of type ClusterIP; only one of type LoadBalancer"},
        Row{"attach web six", "claim web is for IPv4, and service six serves IPv6 only"},
        Row{"attach nope web -n empty",
            "there is no claim nope in namespace empty; make one: kubectl-address claim nope -n empty"}}) {
    const Outcome outcome = world.run(row.line);
    EXPECT_EQ(outcome.status, 1) << row.line;
    EXPECT_THAT(outcome.err, HasSubstr(row.says));
  }
  EXPECT_THAT(world.get(k_web_path), Not(HasSubstr("ip-address-claim")));
}

TEST_F(ProductTest, AttachTakesNothingFromAnotherService) {
  world.have_class();
  world.have_service("web");
  world.have_service("web2");
  world.ok("claim web");
  world.ok("claim other");
  world.ok("attach web web");
  const Outcome taken = world.run("attach web web2");
  EXPECT_EQ(taken.status, 1);
  EXPECT_THAT(taken.err,
              HasSubstr("service web has the address of claim web; move it: kubectl-address move web web2 -n default"));
  const Outcome second = world.run("attach other web");
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err,
              HasSubstr("service web names claim web already; let it go first: kubectl-address detach web"));
}

TEST_F(ProductTest, AttachWritesNothingOverSomebodyElsesChange) {
  world.have_class();
  world.have_service("web");
  world.ok("claim web");
  bool changed = false;
  world.intercept = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.method == "PATCH" && !changed) {
      changed = true;
      kube::Request other = request;
      other.body = R"({"metadata":{"labels":{"a":"b"}}})";
      (void)world.backend().send("somebody", other);
    }
    return std::nullopt;
  };
  const Outcome outcome = world.run("attach web web");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("service web was changed by somebody else at the same moment; nothing was done"));
  EXPECT_THAT(world.get(k_web_path), Not(HasSubstr("ip-address-claim")));
}

TEST_F(ProductTest, AttachThatDoesNotComeToPassSaysWhy) {
  world.have_service("web");
  world.ok("claim web --wait=false");
  const Outcome outcome = world.run("attach web web --timeout 3s");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("service web does not show the address after 3"),
                                 HasSubstr("claim web is Pending; NoDefaultClass: ")));
}

TEST_F(ProductTest, AServiceThatIsRefusedIsToldByItsEvent) {
  world.have_class();
  world.have(
      "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\n"
      "spec: {type: LoadBalancer, loadBalancerIP: 203.0.113.6, selector: {app: web}, ports: [{port: 80}]}\n");
  world.ok("claim web");
  const Outcome outcome = world.run("attach web web --timeout 3s");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("LoadBalancerIPSet: spec.loadBalancerIP is set"));
}

TEST_F(ProductTest, DetachLeavesTheAddressWithTheClaim) {
  world.have_class();
  world.have_service("web");
  world.ok("claim web");
  world.ok("attach web web");
  EXPECT_THAT(world.ok("detach web"),
              MatchesRegex(
                  "service web no longer names claim web\n203.0.113.1 stays with claim web, attached to nothing .*\n"));
  EXPECT_THAT(world.ok("who 203.0.113.1"), AllOf(HasSubstr("Phase:      Bound"), HasSubstr("Service:    none")));
  EXPECT_EQ(world.ok("detach web"), "service web names no claim; nothing to do\n");
}

TEST_F(ProductTest, MoveKeepsTheAddressOnItsWay) {
  world.have_class();
  world.have_service("web");
  world.have_service("web2");
  world.ok("claim web");
  world.ok("attach web web");
  EXPECT_THAT(world.ok("move web web2"),
              MatchesRegex(
                  "service web2 names claim web\nservice web no longer names it\nservice web2 shows 203.0.113.1 .*\n"));
  EXPECT_THAT(world.ok("move web web2"),
              MatchesRegex("service web2 names claim web already\nservice web2 shows 203.0.113.1 .*\n"));
  EXPECT_THAT(world.ok("who 203.0.113.1"), HasSubstr("Service:    default/web2"));
}

TEST_F(ProductTest, MoveGoesOnWhenTheOldServiceChangesMeanwhile) {
  world.have_class();
  world.have_service("web");
  world.have_service("web2");
  world.ok("claim web");
  world.ok("attach web web");
  int changes = 0;
  world.intercept = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (request.method == "PATCH" && request.path == k_web_path && ++changes <= 2) {
      kube::Request other = request;
      other.body = "{\"metadata\":{\"labels\":{\"a\":\"" + std::to_string(changes) + "\"}}}";
      (void)world.backend().send("somebody", other);
    }
    return std::nullopt;
  };
  EXPECT_THAT(world.ok("move web web2"), HasSubstr("service web2 shows 203.0.113.1"));
  EXPECT_EQ(changes, 3);
}

TEST_F(ProductTest, ReleaseSparesAnAddressInUse) {
  world.have_class();
  world.have_service("web");
  world.ok("claim web");
  world.ok("attach web web");
  const Outcome outcome = world.run("release web");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("service web names claim web and would lose its address"));
  EXPECT_THAT(world.ok("release web --even-if-attached"), HasSubstr("203.0.113.1 is Released: kept"));
}

TEST_F(ProductTest, ReleaseTellsWhatBecomesOfTheAddress) {
  world.have_class("Delete");
  world.ok("claim web");
  EXPECT_EQ(world.ok("release web"), "claim web is given up\n203.0.113.1 went back to where it came from\n");
  const Outcome again = world.run("release web");
  EXPECT_EQ(again.status, 1);
}

// A Lost claim goes on naming what it had, which may be another's by now.
TEST_F(ProductTest, ReleaseTellsWhoseTheAddressIsThatWasLost) {
  world.have_class();
  world.have_service("blue");
  world.ok("claim web");
  world.ok("annotate service blue local.sdn.cozystack.io/ip-address-claim=web");
  world.ok("patch ipaddr ip-203-0-113-1 --type merge -p '{\"spec\":{\"claimRef\":null}}'");
  world.let_pass(std::chrono::seconds(5));
  world.ok("claim heir --address 203.0.113.1");
  EXPECT_THAT(world.run("release web").err,
              HasSubstr("service blue names claim web and waits for its address; detach"));
  world.ok("detach blue");
  EXPECT_EQ(world.ok("release web"),
            "claim web is given up\n203.0.113.1 was not the claim's any more: it is default/heir's\n");
}

TEST_F(ProductTest, RecycleFreesWhatIsReleasedAndNothingElse) {
  world.have_class();
  world.ok("claim web");
  const Outcome bound = world.run("recycle 203.0.113.1");
  EXPECT_EQ(bound.status, 1);
  EXPECT_THAT(bound.err,
              HasSubstr("203.0.113.1 is Bound and belongs to default/web; only a Released address can be recycled"));
  world.ok("release web");
  EXPECT_EQ(world.ok("recycle ip-203-0-113-1"),
            "203.0.113.1 is no longer reserved for default/web\n203.0.113.1 is Available\n");
  EXPECT_EQ(world.ok("recycle 203.0.113.1"), "203.0.113.1 is Available already\n");
  EXPECT_EQ(world.run("recycle 203.0.113.6").status, 1);
}

TEST_F(ProductTest, WhoTellsAllToThoseWhoMayKnow) {
  world.have_class();
  world.have_service("web");
  world.ok("claim web");
  world.ok("attach web web");
  EXPECT_THAT(world.ok("who 203.0.113.1"), AllOf(HasSubstr("Object:     ip-203-0-113-1"),
                                                 HasSubstr("Class:      public\nPhase:      Bound\nPolicy:     Retain"),
                                                 HasSubstr("Claim:      default/web\nService:    default/web\n")));
  const Outcome free = world.run("who 203.0.113.5");
  EXPECT_EQ(free.status, 1);
  EXPECT_THAT(
      free.err,
      HasSubstr("203.0.113.5 belongs to nobody: there is no IPAddress for it; a claim of class public may get it"));
  EXPECT_THAT(world.run("who 192.0.2.1").err, HasSubstr("and no class that covers it"));
  world.have(
      "apiVersion: v1\nkind: Service\nmetadata: {name: pirate, namespace: default, annotations: "
      "{metallb.io/loadBalancerIPs: 203.0.113.5}}\n"
      "spec: {type: LoadBalancer, ports: [{port: 80}]}\n");
  world.let_pass(std::chrono::seconds(2));
  EXPECT_THAT(world.run("who 203.0.113.5").err,
              HasSubstr("Service default/pirate shows it, so no claim gets it until that is over"));
  world.intercept = [](const kube::Request& request) -> std::optional<kube::Response> {
    return request.path == "/api/v1/services" ? std::optional(forbidden("services")) : std::nullopt;
  };
  EXPECT_THAT(world.run("who 203.0.113.5").err,
              HasSubstr("may get it. You may not list all Services, so it cannot be told whether one shows it"));
  const Outcome text = world.run("who web");
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.err, HasSubstr("\"web\" is no IP address"));
}

TEST_F(ProductTest, AnAddressIsFoundByItsAddressWhateverTheNameOfItsObject) {
  world.have_class();
  const auto have = [&](std::string_view name) {
    world.have(
        fmt::format("apiVersion: local.sdn.cozystack.io/v1alpha1\nkind: IPAddress\nmetadata: {{name: {}}}\n"
                    "spec: {{address: 203.0.113.3, className: public, source: {{fromClass: {{}}}}}}\n",
                    name));
    world.let_pass(std::chrono::seconds(2));
  };
  have("vip");
  have("dup");
  EXPECT_THAT(world.ok("who 203.0.113.3"), HasSubstr("Object:     vip"));
  EXPECT_THAT(world.ok("claim web --address 203.0.113.3"), HasSubstr("claim web has 203.0.113.3"));
  EXPECT_THAT(world.ok("get ipclaim web -o jsonpath={.spec.addressName}"), HasSubstr("vip"));
  EXPECT_THAT(world.run("recycle 203.0.113.3").err, HasSubstr("belongs to default/web"));
}

TEST_F(ProductTest, ListTellsOfServicesThatNameNoClaimThereIs) {
  world.have_class();
  world.have_service("blue");
  world.ok("annotate service blue local.sdn.cozystack.io/ip-address-claim=typo");
  const std::string words = "Service default/blue waits for claim typo, and there is none in its namespace.\n";
  EXPECT_EQ(world.run("list").err, "No claims found in default namespace.\n" + words);
  world.ok("claim web");
  EXPECT_EQ(world.run("list").err, words);
  EXPECT_EQ(world.run("list -A").err, words);
}

TEST_F(ProductTest, ListSaysWhyAServiceWaits) {
  world.have_class();
  world.have_service("web");
  world.have_service("second");
  world.ok("claim web");
  world.ok("attach web web");
  world.ok("annotate service second local.sdn.cozystack.io/ip-address-claim=web");
  world.let_pass(std::chrono::seconds(2));
  EXPECT_THAT(world.ok("list"), HasSubstr("second (waits: AssociationRejected), web "));
  world.ok("detach web --wait=false");
  world.have_service("third");
  world.have_service("six", "LoadBalancer", "IPv6");
  world.ok("claim lone");
  world.ok("annotate service six local.sdn.cozystack.io/ip-address-claim=lone");
  world.let_pass(std::chrono::seconds(2));
  EXPECT_THAT(world.run("attach lone third").err, HasSubstr("service six waits for claim lone; move it"));
}

// What had been in the way of a Service before it got its address is not why it waits for it later.
TEST_F(ProductTest, ListForgetsWarningsOfBeforeAnAssociation) {
  world.have_class();
  world.have_service("a");
  world.have_service("b");
  world.ok("claim web");
  world.ok("attach web a");
  world.ok("annotate service b local.sdn.cozystack.io/ip-address-claim=web");
  const std::string uid = world.ok("get service b -o jsonpath={.metadata.uid}");
  std::string events;
  const auto tell = [&](const char* type, const char* reason, const char* component, const char* when) {
    events += (events.empty() ? "" : ",") +
              fmt::format(R"({{"type":"{}","reason":"{}","message":"m",{},"source":{{"component":"{}"}},)"
                          R"("involvedObject":{{"kind":"Service","name":"b","uid":"{}"}}}})",
                          type, reason, when, component, uid);
  };
  world.intercept = [&](const kube::Request& request) -> std::optional<kube::Response> {
    if (!request.path.ends_with("/events")) return std::nullopt;
    kube::Response response;
    response.status = 200;
    response.body = R"({"kind":"EventList","apiVersion":"v1","metadata":{},"items":[)" + events + "]}";
    return response;
  };
  tell("Warning", "AssociationRejected", "metallb-iad", R"("eventTime":"2026-01-01T10:00:00.000000Z")");
  EXPECT_THAT(world.ok("list"), HasSubstr("a, b (waits: AssociationRejected) "));
  tell("Normal", "Associated", "metallb-iad", R"("eventTime":"2026-01-01T10:00:00.500000Z")");
  EXPECT_THAT(world.ok("list"), HasSubstr("a, b (waits) "));
  tell("Warning", "AllocationFailed", "metallb-controller", R"("lastTimestamp":"2026-01-01T10:00:01Z")");
  EXPECT_THAT(world.ok("list"), HasSubstr("a, b (waits: AllocationFailed) "));
}

TEST_F(ProductTest, WhoTellsTenantsOfTheirOwnNamespaceOnly) {
  world.have_class();
  world.have("apiVersion: v1\nkind: Namespace\nmetadata: {name: rival}\n");
  world.ok("claim mine");
  world.ok("claim theirs -n rival");
  world.intercept = [](const kube::Request& request) -> std::optional<kube::Response> {
    const bool own = request.path.find("/namespaces/default/") != std::string::npos;
    return own ? std::nullopt : std::optional(forbidden("it"));
  };
  EXPECT_THAT(world.ok("who 203.0.113.1"),
              AllOf(HasSubstr("Claim:      default/mine, Bound"), HasSubstr("Service:    none")));
  const Outcome other = world.run("who 203.0.113.2");
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(
      other.err,
      "error: no claim of namespace default has 203.0.113.2. You may not read IPAddresses, so more cannot be told\n");
  EXPECT_EQ(world.run("who 203.0.113.2 -A").status, 1);
  EXPECT_EQ(world.run("list -A").status, 1);
}

TEST_F(ProductTest, ListGoesWithoutServicesThatMayNotBeRead) {
  world.have_class();
  world.ok("claim web");
  world.intercept = [](const kube::Request& request) -> std::optional<kube::Response> {
    return request.path.ends_with("/services") ? std::optional(forbidden("services")) : std::nullopt;
  };
  const Outcome outcome = world.run("list");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("203.0.113.1"));
  EXPECT_THAT(outcome.err, HasSubstr("You may not list Services"));
}

TEST_F(ProductTest, ClassesShowWhatIsLeft) {
  world.have_class();
  world.let_pass(std::chrono::seconds(10));
  EXPECT_THAT(world.ok("classes"),
              MatchesRegex("CLASS +DEFAULT +POLICY +FREE IPV4 +FREE IPV6 +STATE +RANGES\n"
                           "public +yes +Retain +6 +4 +Ready +203.0.113.1-203.0.113.6, 2001:db8::-2001:db8::3\n"));
}

TEST_F(ProductTest, NoAnswerIsAnError) {
  world.intercept = [](const kube::Request&) -> std::optional<kube::Response> {
    kube::Response response;
    response.status = 503;
    response.body = "<html>busy</html>";
    return response;
  };
  for (const char* line :
       {"list", "claim web", "attach a b", "who 203.0.113.1", "classes", "recycle 203.0.113.1", "get svc"}) {
    const Outcome outcome = world.run(line);
    EXPECT_EQ(outcome.status, 1) << line;
    EXPECT_THAT(outcome.err, HasSubstr("busy")) << line;
  }
}

}  // namespace
}  // namespace client::testing
