// The model of MetalLB's controller, behaviour by behaviour (docs of MetalLB, and what its source does where those are
// silent).
#include "sandbox/metallb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "sandbox/json.h"

namespace sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A Service that wants an address.
struct Wish {
  std::string annotations = {};  // YAML map without braces
  std::string spec = {};
  std::string ns = "default";
  std::string labels = {};
  std::string port = "80";
};

class MetalLbTest : public testing::Test {
 protected:
  explicit MetalLbTest(MetalLbOptions options = {}) {
    world.server().load_metallb_crds();
    world.create("{apiVersion: v1, kind: Namespace, metadata: {name: metallb-system}}");
    world.create("{apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {team: blue}}}");
    start_metallb(world, options);
  }

  void pool(const std::string& name, const std::string& addresses, const std::string& more = "") {
    world.create("{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: " + name +
                 ", namespace: metallb-system}, spec: {addresses: [" + addresses + "]" + more + "}}");
  }

  void service(const std::string& name, const Wish& wish = {}) {
    world.create("{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: " + wish.ns +
                 ", annotations: {" + wish.annotations + "}, labels: {" + wish.labels +
                 "}}, spec: {type: LoadBalancer, ports: [{port: " + wish.port + "}], " + wish.spec + "}}");
    world.run_for(milliseconds(300));  // one after the other, so that the order is known
  }

  json::object object(const std::string& path) {
    const std::string text = world.get(path);
    return text.empty() ? json::object() : parse_json(text)->get_object();
  }
  static std::string path(const std::string& name, const std::string& ns = "default") {
    return "/api/v1/namespaces/" + ns + "/services/" + name;
  }

  // The ingress as "a,b" in its order.
  std::string ingress(const std::string& name, const std::string& ns = "default") {
    world.run_for(seconds(2));
    std::string text;
    const json::object found = object(path(name, ns));
    if (const json::array* entries = array_at(found, {"status", "loadBalancer", "ingress"})) {
      for (const json::value& entry : *entries) {
        if (!text.empty()) text += ',';
        text += text_at(entry.as_object(), {"ip"});
      }
    }
    return text;
  }
  void patch(const std::string& name, const std::string& body) {
    const kube::Response response = world.call("PATCH", path(name), body);
    ASSERT_EQ(response.status, 200) << response.body;
  }
  void annotate(const std::string& name, const std::string& members) {
    patch(name, R"({"metadata":{"annotations":{)" + members + "}}}");
  }

  // "reason: message" of the events about a Service, in their order.
  std::vector<std::string> events(const std::string& name) {
    world.run_for(seconds(1));
    std::vector<std::pair<std::int64_t, std::string>> found;
    const auto list = parse_json(world.call("GET", "/api/v1/namespaces/default/events").body)->get_object();
    for (const json::value& item : *array_at(list, {"items"})) {
      const json::object& event = item.get_object();
      if (text_at(event, {"involvedObject", "name"}) != name) continue;
      found.emplace_back(std::stoll(std::string(text_at(event, {"metadata", "resourceVersion"}))),
                         std::string(text_at(event, {"reason"})) + ": " + std::string(text_at(event, {"message"})));
    }
    std::ranges::sort(found);
    std::vector<std::string> texts;
    for (auto& [version, text] : found) texts.push_back(std::move(text));
    return texts;
  }
  std::string last_event(const std::string& name) {
    const auto all = events(name);
    return all.empty() ? "" : all.back();
  }

  MetalLb& metallb() { return *dynamic_cast<MetalLb*>(world.actor("metallb")); }

  World world;
};

class MetalLb015Test : public MetalLbTest {
 protected:
  MetalLb015Test() : MetalLbTest({.version = MetalLbOptions::Version::v0_15}) {}
};

class MetalLbClassTest : public MetalLbTest {
 protected:
  MetalLbClassTest() : MetalLbTest({.lb_class = "example.com/metal"}) {}
};

TEST_F(MetalLbTest, GivesTheLowestFreeAddressAndSaysSo) {
  pool("p", "203.0.113.0/30");
  service("a");
  EXPECT_EQ(ingress("a"), "203.0.113.0");
  service("b");
  EXPECT_EQ(ingress("b"), "203.0.113.1");
  EXPECT_EQ(text_at(object(path("b")), {"metadata", "annotations", "metallb.io/ip-allocated-from-pool"}), "p");
  EXPECT_EQ(
      text_at(array_at(object(path("b")), {"status", "loadBalancer", "ingress"})->front().as_object(), {"ipMode"}),
      "VIP");
  EXPECT_EQ(last_event("b"), "IPAllocated: Assigned IP [\"203.0.113.1\"]");
  EXPECT_EQ(world.call("DELETE", path("a")).status, 200);
  service("c");
  EXPECT_EQ(ingress("c"), "203.0.113.0");
}

TEST_F(MetalLbTest, AServiceThatWaitsIsServedWhenAnAddressIsFreed) {
  pool("p", "203.0.113.7/32");
  service("a");
  EXPECT_EQ(ingress("a"), "203.0.113.7");
  service("b", {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.7"});
  EXPECT_EQ(ingress("b"), "");
  EXPECT_EQ(last_event("b"),
            "AllocationFailed: Failed to allocate IP for \"default/b\": can't change sharing key for \"default/b\", "
            "address also in use by default/a");
  world.call("DELETE", path("a"));
  EXPECT_EQ(ingress("b"), "203.0.113.7");
}

TEST_F(MetalLbTest, AnExplicitPoolIsAskedWhateverItsAutoAssign) {
  pool("closed", "203.0.113.0/30", ", autoAssign: false");
  service("plain");
  service("asks", {.annotations = "metallb.io/address-pool: closed"});
  service("pins", {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.3"});
  service("old", {.annotations = "metallb.universe.tf/address-pool: closed"});
  service("hidden", {.annotations = "metallb.universe.tf/address-pool: closed, metallb.io/address-pool: ''"});
  EXPECT_EQ(ingress("plain"), "");
  EXPECT_EQ(last_event("plain"), "AllocationFailed: Failed to allocate IP for \"default/plain\": no available IPs");
  EXPECT_EQ(ingress("pins"), "203.0.113.3");
  EXPECT_NE(ingress("asks"), "");
  EXPECT_NE(ingress("old"), "");
  EXPECT_EQ(ingress("hidden"), "");
  const auto told = events("old");
  EXPECT_NE(std::ranges::find(
                told, "deprecatedAnnotation: Service uses deprecated annotation metallb.universe.tf/address-pool"),
            told.end());
}

TEST_F(MetalLbTest, APoolThatDoesNotExistGivesNothingUntilItIsReplacedInOneWrite) {
  pool("p", "203.0.113.0/30");
  service("a", {.annotations = "metallb.io/address-pool: iad-awaiting-claim"});
  EXPECT_EQ(ingress("a"), "");
  EXPECT_EQ(last_event("a"),
            "AllocationFailed: Failed to allocate IP for \"default/a\": unknown pool \"iad-awaiting-claim\"");
  annotate("a", R"("metallb.io/address-pool":"p","metallb.io/loadBalancerIPs":"203.0.113.2")");
  EXPECT_EQ(ingress("a"), "203.0.113.2");
  annotate("a", R"("metallb.io/address-pool":"iad-awaiting-claim","metallb.io/loadBalancerIPs":null)");
  EXPECT_EQ(ingress("a"), "");
}

struct PinCase {
  std::string annotations;
  std::string spec;
  std::string cause;
};
class MetalLbPin : public MetalLbTest, public testing::WithParamInterface<PinCase> {};

TEST_P(MetalLbPin, IsRefusedWithItsCause) {
  pool("p", "203.0.113.0/29, '2001:db8::/125'");
  pool("q", "198.51.100.0/29");
  service("a", {.annotations = GetParam().annotations, .spec = GetParam().spec});
  EXPECT_EQ(ingress("a"), "");
  EXPECT_EQ(last_event("a"), "AllocationFailed: Failed to allocate IP for \"default/a\": " + GetParam().cause);
}

INSTANTIATE_TEST_SUITE_P(
    Causes, MetalLbPin,
    testing::Values(
        PinCase{"metallb.io/loadBalancerIPs: 192.0.2.1", "", "[\"192.0.2.1\"] is not allowed in config"},
        PinCase{"metallb.io/loadBalancerIPs: 203.0.113.1/32", "",
                "invalid metallb.io/loadBalancerIPs: \"203.0.113.1/32\""},
        PinCase{"metallb.io/loadBalancerIPs: '203.0.113.1,'", "",
                "invalid metallb.io/loadBalancerIPs: \"203.0.113.1,\""},
        PinCase{"metallb.io/loadBalancerIPs: 203.0.113.1", "loadBalancerIP: 203.0.113.1",
                "service can not have both metallb.io/loadBalancerIPs and svc.Spec.LoadBalancerIP"},
        PinCase{"", "loadBalancerIP: nonsense", "invalid spec.loadBalancerIP \"nonsense\""},
        PinCase{"metallb.io/loadBalancerIPs: '2001:db8::1'", "",
                "requested loadBalancer IP(s) [\"2001:db8::1\"] does not match the ipFamily of the service"},
        PinCase{"metallb.io/loadBalancerIPs: 203.0.113.1", "ipFamilyPolicy: PreferDualStack",
                "requested loadBalancer IP(s) [\"203.0.113.1\"] does not match the ipFamily of the service"},
        PinCase{"metallb.io/loadBalancerIPs: 203.0.113.1, metallb.io/address-pool: q", "",
                "requested loadBalancer IP(s) [\"203.0.113.1\"] is not compatible with requested address pool q"},
        PinCase{"metallb.io/loadBalancerIPs: '198.51.100.1,2001:db8::1'", "ipFamilyPolicy: RequireDualStack",
                "[\"198.51.100.1\" \"2001:db8::1\"] is not allowed in config"}));

TEST_F(MetalLbTest, AChangeOfMindDropsWhatIsHeldFirst) {
  pool("p", "203.0.113.0/29");
  service("a");
  service("b");
  EXPECT_EQ(ingress("b"), "203.0.113.1");
  annotate("a", R"("metallb.io/loadBalancerIPs":"203.0.113.1")");
  EXPECT_EQ(ingress("a"), "");
  annotate("a", R"("metallb.io/loadBalancerIPs":"203.0.113.5")");
  EXPECT_EQ(ingress("a"), "203.0.113.5");
  // a pin taken away or broken leaves the address
  annotate("a", R"("metallb.io/loadBalancerIPs":"nonsense")");
  EXPECT_EQ(ingress("a"), "203.0.113.5");
  EXPECT_EQ(last_event("a"),
            "LoadBalancerFailed: invalid requested loadbalancer IPs: invalid metallb.io/loadBalancerIPs: \"nonsense\"");
  annotate("a", R"("metallb.io/loadBalancerIPs":null)");
  EXPECT_EQ(ingress("a"), "203.0.113.5");
}

TEST_F(MetalLbTest, DualStackTakesBothFromOnePoolIPv4First) {
  pool("p", "203.0.113.0/30, '2001:db8::/126'");
  service("require", {.spec = "ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv6, IPv4]"});
  EXPECT_EQ(ingress("require"), "203.0.113.0,2001:db8::");
  service("six", {.spec = "ipFamilies: [IPv6]"});
  EXPECT_EQ(ingress("six"), "2001:db8::1");
  service("pinned", {.annotations = "metallb.io/loadBalancerIPs: '203.0.113.2, 2001:db8::2'",
                     .spec = "ipFamilyPolicy: RequireDualStack"});
  EXPECT_EQ(ingress("pinned"), "2001:db8::2,203.0.113.2");  // sorted as texts on the second look
}

TEST_F(MetalLbTest, PreferDualStackAddsTheSecondFamilyWhenItCan) {
  pool("p", "203.0.113.0/30");
  service("a", {.spec = "ipFamilyPolicy: PreferDualStack"});
  EXPECT_EQ(ingress("a"), "203.0.113.0");
  ASSERT_EQ(world
                .call("PATCH", "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/p",
                      R"({"spec":{"addresses":["203.0.113.0/30","2001:db8::/126"]}})")
                .status,
            200);
  EXPECT_EQ(ingress("a"), "203.0.113.0,2001:db8::");
}

TEST_F(MetalLbTest, PreferDualStackWithOneClusterIPFlaps) {
  pool("p", "203.0.113.0/30, '2001:db8::/126'");
  service("a");
  EXPECT_EQ(ingress("a"), "203.0.113.0");
  // as on a cluster with one family: the policy without a second cluster IP
  json::object stored = object(path("a"));
  stored["spec"].as_object()["ipFamilyPolicy"] = "PreferDualStack";
  world.server().put_raw(to_text(stored));
  const std::uint64_t before = world.server().revision();
  world.run_for(seconds(1));
  EXPECT_GT(world.server().revision(), before + 20);
}

TEST_F(MetalLbTest, SharingNeedsOneKeyOneBackendAndOtherPorts) {
  pool("p", "203.0.113.0/29");
  const std::string pin = "metallb.io/loadBalancerIPs: 203.0.113.1, metallb.io/allow-shared-ip: k";
  service("a", {.annotations = pin});
  service("b", {.annotations = pin, .port = "81"});
  service("same-port", {.annotations = pin});
  service("other-key",
          {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.1, metallb.io/allow-shared-ip: l", .port = "82"});
  service("local", {.annotations = pin, .spec = "externalTrafficPolicy: Local, selector: {app: x}", .port = "83"});
  service("local-without-selector", {.annotations = pin, .spec = "externalTrafficPolicy: Local", .port = "84"});
  EXPECT_EQ(ingress("a"), "203.0.113.1");
  EXPECT_EQ(ingress("b"), "203.0.113.1");
  EXPECT_EQ(ingress("same-port"), "");
  EXPECT_EQ(last_event("same-port"),
            "AllocationFailed: Failed to allocate IP for \"default/same-port\": port TCP/80 is already in use on "
            "\"203.0.113.1\"");
  EXPECT_EQ(ingress("other-key"), "");
  EXPECT_EQ(ingress("local"), "");
  EXPECT_EQ(ingress("local-without-selector"), "203.0.113.1");
  // the key of a sharer goes: that one loses the address
  annotate("b", R"("metallb.io/allow-shared-ip":null)");
  EXPECT_EQ(ingress("b"), "");
  EXPECT_EQ(ingress("a"), "203.0.113.1");
}

TEST_F(MetalLbTest, UnpinnedServicesWithOneKeyLandOnOneAddress) {
  pool("p", "203.0.113.0/29");
  service("a", {.annotations = "metallb.io/allow-shared-ip: k"});
  service("b", {.annotations = "metallb.io/allow-shared-ip: k", .port = "81"});
  EXPECT_EQ(ingress("a"), ingress("b"));
}

TEST_F(MetalLbTest, TheSharedHandoffHasNoUnheldMoment) {
  pool("p", "203.0.113.0/29", ", autoAssign: false");
  const std::string p = "metallb.io/address-pool: p";
  service("hold", {.annotations = p + ", metallb.io/loadBalancerIPs: 203.0.113.4", .port = "9"});
  service("workload", {.annotations = "metallb.io/address-pool: iad-awaiting-claim"});
  EXPECT_EQ(ingress("hold"), "203.0.113.4");
  annotate("hold", R"("metallb.io/allow-shared-ip":"secret")");
  annotate(
      "workload",
      R"("metallb.io/address-pool":"p","metallb.io/loadBalancerIPs":"203.0.113.4","metallb.io/allow-shared-ip":"secret")");
  EXPECT_EQ(ingress("workload"), "203.0.113.4");
  EXPECT_EQ(ingress("hold"), "203.0.113.4");
  world.call("DELETE", path("hold"));
  annotate("workload", R"("metallb.io/allow-shared-ip":null)");
  EXPECT_EQ(ingress("workload"), "203.0.113.4");
  // and back: what loses pin, key and pool is emptied by MetalLB itself
  annotate("workload", R"("metallb.io/allow-shared-ip":"again")");
  service("hold2", {.annotations = p + ", metallb.io/loadBalancerIPs: 203.0.113.4, metallb.io/allow-shared-ip: again",
                    .port = "9"});
  EXPECT_EQ(ingress("hold2"), "203.0.113.4");
  annotate(
      "workload",
      R"("metallb.io/address-pool":"iad-awaiting-claim","metallb.io/loadBalancerIPs":null,"metallb.io/allow-shared-ip":null)");
  EXPECT_EQ(ingress("workload"), "");
  EXPECT_EQ(ingress("hold2"), "203.0.113.4");
}

TEST_F(MetalLbTest, ShrinkingAPoolEvictsUnlessTheAddressStaysListed) {
  pool("p", "203.0.113.0/29");
  const std::string pool_path = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/p";
  service("a", {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.5"});
  EXPECT_EQ(ingress("a"), "203.0.113.5");
  world.call("PATCH", pool_path, R"({"spec":{"addresses":["203.0.113.0/30","203.0.113.5/32"]}})");
  EXPECT_EQ(ingress("a"), "203.0.113.5");
  world.call("PATCH", pool_path, R"({"spec":{"addresses":["203.0.113.0/30"]}})");
  EXPECT_EQ(ingress("a"), "");
  const auto told = events("a");
  EXPECT_NE(
      std::ranges::find(
          told,
          "ClearAssignment: current IP for \"default/a\" not allowed by config, will attempt for new IP assignment: "
          "[\"203.0.113.5\"] is not allowed in config"),
      told.end());
  world.call("PATCH", pool_path, R"({"spec":{"addresses":["203.0.113.0/29"]}})");
  EXPECT_EQ(ingress("a"), "203.0.113.5");
}

TEST_F(MetalLbTest, WithoutAnyPoolEveryServiceIsEmptiedSilently) {
  pool("p", "203.0.113.0/29");
  service("a");
  EXPECT_EQ(ingress("a"), "203.0.113.0");
  const auto before = events("a").size();
  world.call("DELETE", "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/p");
  EXPECT_EQ(ingress("a"), "");
  EXPECT_EQ(events("a").size(), before);
}

TEST_F(MetalLbTest, OneBadPoolFreezesTheConfiguration) {
  pool("p", "203.0.113.0/29");
  pool("q", "203.0.113.4/30");  // overlaps
  service("a", {.annotations = "metallb.io/address-pool: q"});
  EXPECT_EQ(ingress("a"), "");
  EXPECT_TRUE(metallb().stale_config());
  world.call("DELETE", "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/p");
  EXPECT_EQ(ingress("a"), "203.0.113.4");
  EXPECT_FALSE(metallb().stale_config());
}

TEST_F(MetalLbTest, ServiceAllocationDecidesWhoMay) {
  pool("blue", "203.0.113.0/30", ", serviceAllocation: {namespaceSelectors: [{matchLabels: {team: blue}}]}");
  pool("web", "203.0.113.4/30",
       ", serviceAllocation: {serviceSelectors: [{matchExpressions: [{key: app, operator: In, values: [web]}]}]}");
  service("plain");
  service("web", {.labels = "app: web"});
  service("guest", {.ns = "other"});
  service("pins", {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.1"});
  EXPECT_EQ(ingress("plain"), "");
  EXPECT_EQ(ingress("web"), "203.0.113.4");
  EXPECT_EQ(ingress("guest", "other"), "203.0.113.0");
  EXPECT_EQ(ingress("pins"), "");
  EXPECT_EQ(last_event("pins"),
            "AllocationFailed: Failed to allocate IP for \"default/pins\": pool blue not compatible for ip assignment");
}

TEST_F(MetalLbTest, PoolsWithAPriorityGoFirst) {
  pool("second", "198.51.100.0/30", ", serviceAllocation: {priority: 20}");
  pool("first", "203.0.113.0/31", ", serviceAllocation: {priority: 10}");
  pool("last", "192.0.2.0/30");
  for (const char* name : {"a", "b", "c"}) service(name);
  EXPECT_EQ(ingress("c").substr(0, 10), "198.51.100");
}

TEST_F(MetalLbTest, AvoidBuggyAddresses) {
  pool("p", "203.0.113.254-203.0.113.255, 198.51.100.0/31", ", avoidBuggyIPs: true");
  service("a");
  service("b");
  service("c");
  EXPECT_EQ(ingress("a"), "203.0.113.254");
  EXPECT_EQ(ingress("b"), "198.51.100.1");
  EXPECT_EQ(ingress("c"), "");
}

TEST_F(MetalLbTest, ATypeThatIsNoLongerLoadBalancerFreesTheAddress) {
  pool("p", "203.0.113.7/32");
  service("a");
  service("b");
  EXPECT_EQ(ingress("a"), "203.0.113.7");
  patch("a", R"({"spec":{"type":"ClusterIP"}})");
  EXPECT_EQ(ingress("b"), "203.0.113.7");
  EXPECT_EQ(text_at(object(path("a")), {"metadata", "annotations", "metallb.io/ip-allocated-from-pool"}), "");
}

TEST_F(MetalLbTest, ADeletedServiceWithFinalizersStillHolds) {
  pool("p", "203.0.113.7/32");
  service("a");
  patch("a", R"({"metadata":{"finalizers":["x/y"]}})");
  world.run_for(seconds(1));
  world.call("DELETE", path("a"));
  service("b");
  EXPECT_EQ(ingress("a"), "203.0.113.7");
  EXPECT_EQ(ingress("b"), "");
  patch("a", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(ingress("b"), "203.0.113.7");
}

TEST_F(MetalLbTest, ARestartKeepsWhatIsShownAndDealsOutWhatIsLost) {
  pool("p", "203.0.113.0/30");
  for (const char* name : {"a", "b", "c", "d"}) service(name);
  EXPECT_EQ(ingress("d"), "203.0.113.3");
  service("waits");
  for (int i = 0; i < 5; ++i) {
    world.crash("metallb", milliseconds(100));
    EXPECT_EQ(ingress("d"), "203.0.113.3");
    EXPECT_EQ(ingress("waits"), "");
  }
  // status lost while it was away: the pinned one comes back to its pin
  annotate("b", R"("metallb.io/loadBalancerIPs":"203.0.113.1")");
  world.run_for(seconds(1));
  world.crash("metallb", seconds(1));
  world.call("PATCH", path("b") + "/status", R"({"status":{"loadBalancer":null}})");
  world.call("DELETE", path("waits"));
  EXPECT_EQ(ingress("b"), "203.0.113.1");
}

TEST_F(MetalLbTest, SingleEventsWaitForTheFirstFullPass) {
  service("a");
  world.run_for(seconds(1));
  EXPECT_TRUE(metallb().loaded());  // no pool at all is a valid configuration
  world.call("PATCH", path("a") + "/status", R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.9"}]}}})");
  EXPECT_EQ(ingress("a"), "");
}

TEST_F(MetalLbTest, AnIngressWrittenByHandIsAdoptedInsideAPoolOnly) {
  pool("p", "203.0.113.0/29", ", autoAssign: false");
  service("a");
  world.run_for(seconds(1));
  world.call("PATCH", path("a") + "/status", R"({"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.6"}]}}})");
  EXPECT_EQ(ingress("a"), "203.0.113.6");
  world.call("PATCH", path("a") + "/status", R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.6"}]}}})");
  EXPECT_EQ(ingress("a"), "");
}

TEST_F(MetalLbTest, AMoveDoesNotWakeTheOneThatWaits) {
  pool("p", "203.0.113.0/31");
  service("a", {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.0"});
  world.run_for(seconds(1));
  service("waits", {.annotations = "metallb.io/loadBalancerIPs: 203.0.113.0"});
  world.run_for(seconds(1));
  annotate("a", R"("metallb.io/loadBalancerIPs":"203.0.113.1")");
  EXPECT_EQ(ingress("a"), "203.0.113.1");
  EXPECT_EQ(ingress("waits"), "");
  annotate("waits", R"("touched":"yes")");
  EXPECT_EQ(ingress("waits"), "203.0.113.0");
}

TEST_F(MetalLbTest, AHeldWorkerServesNobody) {
  pool("p", "203.0.113.0/30");
  world.run_for(seconds(1));
  metallb().hold(true);
  service("a");
  EXPECT_EQ(ingress("a"), "");
  EXPECT_FALSE(metallb().idle());
  metallb().hold(false);
  EXPECT_EQ(ingress("a"), "203.0.113.0");
}

TEST_F(MetalLbTest, AFullPassWritesWithoutChangingAnything) {
  pool("p", "203.0.113.0/30");
  service("a");
  world.run_for(seconds(1));
  const int all = world.writes("metallb", false);
  const int changed = world.writes("metallb");
  pool("q", "198.51.100.0/30");
  world.run_for(seconds(1));
  EXPECT_GT(world.writes("metallb", false), all);
  EXPECT_EQ(world.writes("metallb"), changed);
}

TEST_F(MetalLbTest, TheTextsOfAFullPool) {
  pool("p", "203.0.113.7/32");
  pool("d", "203.0.113.9/32, '2001:db8::/128'");
  service("a", {.annotations = "metallb.io/address-pool: p"});
  service("d", {.annotations = "metallb.io/address-pool: d"});
  world.run_for(seconds(1));
  service("b", {.annotations = "metallb.io/address-pool: p"});
  service("e", {.annotations = "metallb.io/address-pool: d"});
  world.run_for(seconds(1));
  EXPECT_EQ(last_event("b"), "AllocationFailed: Failed to allocate IP for \"default/b\": no available IPs in pool p");
  EXPECT_EQ(last_event("e"),
            "AllocationFailed: Failed to allocate IP for \"default/e\": [\"<nil>\"] is not allowed in config");
}

TEST_F(MetalLb015Test, TheTextsOfAFullPool) {
  pool("p", "203.0.113.7/32");
  service("a", {.annotations = "metallb.io/address-pool: p"});
  world.run_for(seconds(1));
  service("b", {.annotations = "metallb.io/address-pool: p"});
  world.run_for(seconds(1));
  EXPECT_EQ(last_event("b"),
            "AllocationFailed: Failed to allocate IP for \"default/b\": [\"<nil>\"] is not allowed in config");
}

TEST_F(MetalLbClassTest, OnlyItsOwnClassIsServed) {
  pool("p", "203.0.113.0/30");
  service("without");
  service("own", {.spec = "loadBalancerClass: example.com/metal"});
  service("other", {.spec = "loadBalancerClass: example.com/other"});
  EXPECT_EQ(ingress("own"), "203.0.113.0");
  EXPECT_EQ(ingress("without"), "");
  EXPECT_EQ(ingress("other"), "");
}

TEST_F(MetalLbTest, RepeatedEventsAreCountedAndAFloodIsCut) {
  pool("p", "203.0.113.7/32", ", autoAssign: false");
  service("a");
  world.run_for(seconds(1));
  for (int i = 0; i < 40; ++i) {
    annotate("a", R"("touched":")" + std::to_string(i) + "\"");
    world.run_for(milliseconds(50));
  }
  EXPECT_EQ(events("a").size(), 1U);
  const auto list = parse_json(world.call("GET", "/api/v1/namespaces/default/events").body)->get_object();
  EXPECT_EQ(int_at(array_at(list, {"items"})->front().as_object(), {"count"}), 25);
}

TEST_F(MetalLbTest, TheWebhookRefusesWhatTheControllerCannotParse) {
  MetalLbWebhook webhook(world.server());
  pool("p", "203.0.113.0/29");
  const std::string pools = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools";
  const auto post = [&](const std::string& addresses) {
    return world.call(
        "POST", pools,
        R"({"apiVersion":"metallb.io/v1beta1","kind":"IPAddressPool","metadata":{"name":"q"},"spec":{"addresses":[)" +
            addresses + "]}}");
  };
  EXPECT_EQ(post(R"("203.0.113.4/30")").status, 403);
  EXPECT_EQ(post(R"("203.0.113.40")").status, 403);
  EXPECT_EQ(post(R"("203.0.113.40-203.0.113.30")").status, 403);
  webhook.set_down(true);
  EXPECT_EQ(post(R"("198.51.100.0/30")").status, 500);
  EXPECT_EQ(world.call("DELETE", pools + "/p").status, 200);
  webhook.set_down(false);
  EXPECT_EQ(post(R"("198.51.100.0/30")").status, 201);
}

}  // namespace
}  // namespace sandbox
