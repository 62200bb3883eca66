#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "api/names.h"

namespace api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::shared_ptr<const T> decode(std::string_view json) {
  auto object = T::kind().decode(json);
  EXPECT_TRUE(object.has_value()) << object.error().message;
  return object ? std::static_pointer_cast<const T>(*object) : std::make_shared<const T>();
}

template <class T>
std::string problem(std::string_view json) {
  auto object = T::kind().decode(json);
  EXPECT_FALSE(object.has_value()) << json;
  return object ? "" : object.error().message;
}

// As a real API server sends them.
constexpr std::string_view k_address =
    R"({"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","metadata":{
"annotations":{"local.sdn.cozystack.io/recorded-uid":"5b0cdd27-1c1e-4f0e-9d21-07a6b3c6fd9c"},
"creationTimestamp":"2026-02-28T23:59:58Z","finalizers":["metallb.drivers.local.sdn.cozystack.io/teardown","local.sdn.cozystack.io/address-protection"],
"generation":3,"managedFields":[{"apiVersion":"local.sdn.cozystack.io/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:finalizers":{".":{},
"v:\"metallb.drivers.local.sdn.cozystack.io/teardown\"":{}}},"f:spec":{".":{},"f:address":{},"f:claimRef":{".":{},"f:name":{},"f:namespace":{},"f:uid":{}}}},
"manager":"metallb-iad","operation":"Update","time":"2026-02-28T23:59:58Z"},{"apiVersion":"local.sdn.cozystack.io/v1alpha1","fieldsType":"FieldsV1",
"fieldsV1":{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Bound\"}":{".":{},"f:lastTransitionTime":{}}},"f:phase":{}}},"manager":"address-controller",
"operation":"Update","subresource":"status","time":"2026-03-01T00:00:00Z"}],"name":"ip-203-0-113-7","resourceVersion":"184467440737095516150",
"uid":"5b0cdd27-1c1e-4f0e-9d21-07a6b3c6fd9c"},"spec":{"address":"203.0.113.7","claimRef":{"name":"web","namespace":"tenant-a",
"uid":"c7c25c1e-9be0-4e55-8aef-0df0a7d0a0c1"},"className":"public","reclaimPolicy":"Delete","source":{"fromClass":{}}},
"status":{"associatedTo":{"kind":"Service","name":"web","namespace":"tenant-a","uid":"0e4c9d5c-1111-4e55-8aef-0df0a7d0a0c1"},
"conditions":[{"lastTransitionTime":"2026-03-01T00:00:00Z","message":"held by \"tenant-a/web\" \u2013 fine","observedGeneration":2,"reason":"Bound","status":"True","type":"Bound"}],
"phase":"Bound"}})";

constexpr std::string_view k_claim =
    R"({"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClaim","metadata":{
"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"local.sdn.cozystack.io/v1alpha1\",\"kind\":\"IPAddressClaim\",\"metadata\":{\"annotations\":{},\"name\":\"web\",\"namespace\":\"tenant-a\"},\"spec\":{\"family\":\"Dual\"}}\n",
"local.sdn.cozystack.io/provisioner":"metallb.drivers.local.sdn.cozystack.io"},"creationTimestamp":"2026-02-28T23:59:58Z","deletionGracePeriodSeconds":0,
"deletionTimestamp":"2026-03-02T10:00:00Z","finalizers":["local.sdn.cozystack.io/claim-protection"],"generation":2,"labels":{"app":"web","team":""},
"managedFields":[{"apiVersion":"local.sdn.cozystack.io/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},
"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{".":{},"f:family":{}}},"manager":"kubectl-client-side-apply","operation":"Update",
"time":"2026-02-28T23:59:58Z"}],"name":"web","namespace":"tenant-a","ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":true,
"kind":"Gateway","name":"gw","uid":"aa-bb"}],"resourceVersion":"4711","uid":"c7c25c1e-9be0-4e55-8aef-0df0a7d0a0c1"},
"spec":{"className":"public","family":"Dual"},"status":{"addresses":[{"address":"203.0.113.7","name":"ip-203-0-113-7"},
{"address":"2001:db8::7","name":"ip-2001-db8--7"}],"className":"public","conditions":[{"lastTransitionTime":"2026-03-01T00:00:00Z","message":"","observedGeneration":2,
"reason":"Resolved","status":"True","type":"ClassResolved"},{"lastTransitionTime":"2026-03-01T00:00:00Z","message":"","reason":"Bound","status":"True","type":"Bound"}],
"phase":"Bound"}})";

TEST(DecodeAddress, AsTheServerSendsIt) {
  const auto a = decode<IPAddress>(k_address);
  EXPECT_EQ(a->meta.name, "ip-203-0-113-7");
  EXPECT_EQ(a->meta.ns, "");
  EXPECT_EQ(a->meta.uid, "5b0cdd27-1c1e-4f0e-9d21-07a6b3c6fd9c");
  EXPECT_EQ(a->meta.resourceVersion, "184467440737095516150");
  EXPECT_EQ(a->meta.generation, 3);
  EXPECT_EQ(a->meta.created, 1772323198);
  EXPECT_FALSE(a->meta.deleting);
  EXPECT_THAT(a->meta.finalizers, ElementsAre(metallb::teardown, address_protection));
  EXPECT_EQ(a->meta.annotations.get(recorded_uid_annotation), a->meta.uid);
  EXPECT_EQ(a->address, "203.0.113.7");
  EXPECT_EQ(a->className, "public");
  EXPECT_EQ(a->reclaimPolicy, "Delete");
  EXPECT_EQ(a->claimRef, (ClaimRef{"tenant-a", "web", "c7c25c1e-9be0-4e55-8aef-0df0a7d0a0c1"}));
  EXPECT_TRUE(a->from_class);
  EXPECT_EQ(a->provider_id, "");
  EXPECT_EQ(a->phase, "Bound");
  EXPECT_EQ(a->associatedTo, (Association{"Service", "tenant-a", "web", "0e4c9d5c-1111-4e55-8aef-0df0a7d0a0c1"}));
  EXPECT_THAT(a->conditions, ElementsAre(kube::Condition{"Bound", "True", "Bound", "held by \"tenant-a/web\" – fine",
                                                         "2026-03-01T00:00:00Z", 2}));
}

TEST(DecodeAddress, BarestAndOddest) {
  const auto bare = decode<IPAddress>(R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(bare->reclaimPolicy, "Retain");
  EXPECT_EQ(bare->claimRef, std::nullopt);
  EXPECT_EQ(bare->associatedTo, std::nullopt);
  EXPECT_FALSE(bare->from_class);
  EXPECT_EQ(bare->phase, "");
  // What servers under older schemas may have stored.
  const auto odd = decode<IPAddress>(
      R"({"status":null,"spec":{"address":"no ip at all","claimRef":{},"reclaimPolicy":"","source":{"providerRef":{"id":"x"},"fromClass":null}},
          "future":{"deep":[1,{"a":null}]},"metadata":{"name":"a","labels":null,"annotations":{"x":null},"finalizers":null,"creationTimestamp":null,"deletionTimestamp":null}})");
  EXPECT_EQ(odd->address, "no ip at all");
  EXPECT_EQ(odd->claimRef, std::nullopt);
  EXPECT_EQ(odd->reclaimPolicy, "Retain");
  EXPECT_EQ(odd->provider_id, "x");
  EXPECT_FALSE(odd->from_class);
  EXPECT_FALSE(odd->meta.deleting);
  EXPECT_TRUE(odd->meta.finalizers.empty());
  EXPECT_TRUE(odd->meta.annotations.contains("x"));
  const auto pre_bound =
      decode<IPAddress>(R"({"metadata":{"name":"a"},"spec":{"claimRef":{"namespace":"t","name":"w"}}})");
  EXPECT_EQ(pre_bound->claimRef, (ClaimRef{"t", "w", ""}));
}

TEST(DecodeClaim, AsTheServerSendsIt) {
  const auto c = decode<IPAddressClaim>(k_claim);
  EXPECT_EQ(c->meta.ns, "tenant-a");
  EXPECT_TRUE(c->meta.deleting);
  EXPECT_EQ(c->meta.labels, (kube::StringMap{{"app", "web"}, {"team", ""}}));
  EXPECT_THAT(c->meta.owners, ElementsAre(kube::OwnerReference{"v1", "Gateway", "gw", "aa-bb", true}));
  EXPECT_THAT(std::string(c->meta.annotations.get("kubectl.kubernetes.io/last-applied-configuration")),
              HasSubstr(R"("spec":{"family":"Dual"}})"));
  EXPECT_EQ(c->className, "public");
  EXPECT_EQ(c->family, "Dual");
  EXPECT_EQ(c->addressName, "");
  EXPECT_EQ(c->phase, "Bound");
  EXPECT_EQ(c->status_className, "public");
  EXPECT_THAT(c->addresses, ElementsAre(ReportedAddress{"ip-203-0-113-7", "203.0.113.7"},
                                        ReportedAddress{"ip-2001-db8--7", "2001:db8::7"}));
  ASSERT_EQ(c->conditions.size(), 2U);
  EXPECT_EQ(c->conditions[1].observedGeneration, 0);
}

TEST(DecodeClaim, WithoutSpecAsksForIPv4OfTheDefaultClass) {
  for (const char* json :
       {R"({"metadata":{"name":"w","namespace":"t"}})", R"({"metadata":{"name":"w","namespace":"t"},"spec":{}})",
        R"({"metadata":{"name":"w","namespace":"t"},"spec":null,"status":{}})"}) {
    const auto c = decode<IPAddressClaim>(json);
    EXPECT_EQ(c->family, "IPv4");
    EXPECT_EQ(c->className, "");
  }
}

constexpr std::string_view k_class =
    R"({"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClass","metadata":{
"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"},"name":"public","uid":"u","resourceVersion":"5"},
"spec":{"parameters":{"addresses":["203.0.113.0/24"], "advertise":{"l2":{}}},"provisioner":"metallb.drivers.local.sdn.cozystack.io","reclaimPolicy":"Delete"},
"status":{"capacity":{"summary":"3 free"},"conditions":[{"lastTransitionTime":"2026-03-01T00:00:00Z","message":"","reason":"Fine","status":"True","type":"ParametersValid"}],"ranges":["203.0.113.0/24"]}})";

TEST(DecodeClass, ForTheDriver) {
  const auto c = decode<IPAddressClass>(k_class);
  EXPECT_EQ(c->provisioner, metallb::provisioner);
  EXPECT_EQ(c->reclaimPolicy, "Delete");
  EXPECT_TRUE(c->is_default());
  EXPECT_EQ(c->parameters, R"({"addresses":["203.0.113.0/24"], "advertise":{"l2":{}}})");
  ASSERT_EQ(c->conditions.size(), 1U);
  EXPECT_EQ(c->conditions[0].type, "ParametersValid");
  EXPECT_THAT(c->status, testing::StartsWith(R"({"capacity":)"));
  EXPECT_THAT(c->status, testing::EndsWith(R"("ranges":["203.0.113.0/24"]})"));
}

TEST(DecodeClass, OnlyExactlyTrueMarksADefault) {
  for (const char* value : {"True", "TRUE", "1", "yes", "", " true"}) {
    const auto c = decode<IPAddressClass>(
        std::string(
            R"({"metadata":{"name":"c","annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":")") +
        value + R"("}}})");
    EXPECT_FALSE(c->is_default()) << value;
  }
}

TEST(DecodeClass, TheCoreSeesNeitherParametersNorStatus) {
  const auto c = decode<ClassRead>(k_class);
  EXPECT_EQ(c->provisioner, metallb::provisioner);
  EXPECT_EQ(c->parameters, "");
  EXPECT_EQ(c->status, "");
  EXPECT_TRUE(c->is_default());
  const auto other = decode<ClassRead>(
      R"({"metadata":{"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"},"name":"public","uid":"u","resourceVersion":"6"},
          "spec":{"parameters":"garbage","provisioner":"metallb.drivers.local.sdn.cozystack.io"},"status":[]})");
  EXPECT_TRUE(ClassRead::kind().same(*c, *other));
  EXPECT_EQ(ClassRead::kind().resource.object_path("", "c"), IPAddressClass::kind().resource.object_path("", "c"));
}

TEST(DecodeService, AsTheServerSendsIt) {
  const auto s = decode<Service>(
      R"({"kind":"Service","metadata":{"name":"web","namespace":"t"},"spec":{"allocateLoadBalancerNodePorts":false,
    "clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9","fd00::9"],"externalIPs":["192.0.2.1"],"externalTrafficPolicy":"Local","healthCheckNodePort":31000,"internalTrafficPolicy":"Cluster",
    "ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"PreferDualStack","loadBalancerClass":"metallb.io/lb","loadBalancerIP":"203.0.113.9",
    "ports":[{"name":"http","nodePort":30080,"port":80,"protocol":"TCP","targetPort":"http"},{"port":53,"protocol":"UDP","targetPort":5353},{"port":81}],
    "selector":{"app":"web"},"sessionAffinity":"None","type":"LoadBalancer"},"status":{"conditions":[],"loadBalancer":{"ingress":[{"ip":"203.0.113.7","ipMode":"VIP"},
    {"hostname":"x.example"},{"ip":"2001:db8::7","ipMode":"VIP","ports":null}]}}})");
  EXPECT_EQ(s->type, "LoadBalancer");
  EXPECT_EQ(s->loadBalancerClass, "metallb.io/lb");
  EXPECT_EQ(s->loadBalancerIP, "203.0.113.9");
  EXPECT_TRUE(s->has_selector);
  EXPECT_EQ(s->selector.get("app"), "web");
  EXPECT_THAT(s->ports, ElementsAre(ServicePort{"TCP", 80}, ServicePort{"UDP", 53}, ServicePort{"TCP", 81}));
  EXPECT_THAT(s->clusterIPs, ElementsAre("10.0.0.9", "fd00::9"));
  EXPECT_THAT(s->ipFamilies, ElementsAre("IPv4", "IPv6"));
  EXPECT_EQ(s->ipFamilyPolicy, "PreferDualStack");
  EXPECT_EQ(s->externalTrafficPolicy, "Local");
  EXPECT_EQ(s->allocateLoadBalancerNodePorts, std::optional(false));
  EXPECT_THAT(s->externalIPs, ElementsAre("192.0.2.1"));
  EXPECT_THAT(s->ingress, ElementsAre("203.0.113.7", "2001:db8::7"));
}

TEST(DecodeService, AbsentAndEmptyAreTold) {
  const auto bare = decode<Service>(R"({"metadata":{"name":"web"}})");
  EXPECT_EQ(bare->type, "ClusterIP");
  EXPECT_EQ(bare->loadBalancerClass, std::nullopt);
  EXPECT_EQ(bare->allocateLoadBalancerNodePorts, std::nullopt);
  EXPECT_FALSE(bare->has_selector);
  const auto empty = decode<Service>(R"({"metadata":{"name":"web"},"spec":{"selector":{},"loadBalancerClass":""}})");
  EXPECT_TRUE(empty->has_selector);
  EXPECT_EQ(empty->loadBalancerClass, "");
  EXPECT_FALSE(Service::kind().same(*bare, *empty));
}

TEST(DecodeOthers, NamespacesPoolsAdvertisements) {
  EXPECT_EQ(decode<Namespace>(R"({"metadata":{"name":"n"},"status":{"phase":"Terminating"}})")->phase, "Terminating");
  const auto pool = decode<IPAddressPool>(
      R"({"metadata":{"name":"iad-public","namespace":"metallb-system"},"spec":{"addresses":["203.0.113.0/29","2001:db8::/126"],"autoAssign":false,"avoidBuggyIPs":true},"status":{"assignedIPv4":3}})");
  EXPECT_THAT(pool->addresses, ElementsAre("203.0.113.0/29", "2001:db8::/126"));
  EXPECT_EQ(pool->autoAssign, std::optional(false));
  EXPECT_TRUE(pool->avoidBuggyIPs);
  EXPECT_EQ(pool->spec, R"({"addresses":["203.0.113.0/29","2001:db8::/126"],"autoAssign":false,"avoidBuggyIPs":true})");
  EXPECT_EQ(decode<L2Advertisement>(R"({"metadata":{"name":"a"},"spec": {"ipAddressPools":["p"]} })")->spec,
            R"({"ipAddressPools":["p"]})");
  EXPECT_EQ(decode<BGPAdvertisement>(R"({"metadata":{"name":"a"}})")->spec, "");
}

TEST(DecodeErrors, NameKindObjectAndField) {
  EXPECT_EQ(problem<IPAddress>(R"({"metadata":{"name":"ip-1"},"spec":{"address":7}})"),
            "IPAddress ip-1 spec.address: expected a string");
  EXPECT_EQ(problem<IPAddressClaim>(
                R"({"metadata":{"namespace":"t","name":"w"},"status":{"addresses":[{"name":"a"},{"name":[]}]}})"),
            "IPAddressClaim t/w status.addresses[1].name: expected a string");
  EXPECT_EQ(problem<IPAddress>(R"({"metadata":{"name":"a"},"spec":{"claimRef":"web"}})"),
            "IPAddress a spec.claimRef: expected an object");
  EXPECT_EQ(problem<Service>(R"({"metadata":{"name":"a"},"spec":{"ports":{}}})"),
            "Service a spec.ports: expected a list");
  EXPECT_EQ(problem<Service>(R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":99999999999}]}})"),
            "Service a spec.ports[0].port: expected a smaller integer");
  EXPECT_EQ(problem<Service>(R"({"metadata":{"name":"a","labels":{"x":true}}})"),
            "Service a metadata.labels.x: expected a string");
  EXPECT_EQ(problem<Service>(R"({"metadata":{"name":"a","creationTimestamp":"yesterday"}})"),
            "Service a metadata.creationTimestamp: expected a time like 2006-01-02T15:04:05Z");
  EXPECT_EQ(problem<IPAddressPool>(R"({"metadata":{"name":"a"},"spec":{"addresses":[1]}})"),
            "IPAddressPool a spec.addresses[0]: expected a string");
  EXPECT_EQ(problem<Service>(R"({"spec":{}})"), "Service: expected a name");
  EXPECT_EQ(problem<Service>(R"([])"), "Service: expected an object");
}

TEST(DecodeErrors, EveryTruncationIsAnErrorAndNoCrash) {
  for (const std::string_view whole : {k_address, k_claim}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      // A copy of exactly n bytes, so that a sanitizer sees any read beyond.
      const std::string cut(whole.substr(0, n));
      EXPECT_FALSE(IPAddress::kind().decode(std::string_view(cut.data(), n)).has_value()) << n;
    }
  }
  EXPECT_FALSE(IPAddress::kind().decode(std::string(k_address) + "{}").has_value());
  EXPECT_TRUE(IPAddress::kind().decode(std::string(k_address) + "\n").has_value());
}

TEST(DecodeTime, LeapDaysAndFractions) {
  const auto created = [](const std::string& time) {
    return decode<Namespace>(R"({"metadata":{"name":"n","creationTimestamp":")" + time + R"("}})")->meta.created;
  };
  EXPECT_EQ(created("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(created("2024-02-29T12:00:00Z"), 1709208000);
  EXPECT_EQ(created("2024-02-29T12:00:00.123456Z"), 1709208000);
  for (const char* time : {"2023-02-29T12:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T25:00:00Z", "2024-01-01", ""})
    EXPECT_FALSE(Namespace::kind()
                     .decode(std::string(R"({"metadata":{"name":"n","creationTimestamp":")") + time + R"("}})")
                     .has_value())
        << time;
}

TEST(Same, IgnoresVersionAndWhatIsNotRead) {
  const auto change = [](std::string_view json, std::string_view from, std::string_view to) {
    std::string text(json);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return decode<IPAddress>(text.replace(at, from.size(), to));
  };
  const auto a = decode<IPAddress>(k_address);
  const auto same = [&](std::string_view from, std::string_view to) {
    return IPAddress::kind().same(*a, *change(k_address, from, to));
  };
  EXPECT_TRUE(same("184467440737095516150", "184467440737095516151"));
  EXPECT_TRUE(same("\"manager\":\"metallb-iad\"", "\"manager\":\"other\""));
  EXPECT_TRUE(same("\"kind\":\"IPAddress\"", "\"kind\":\"IPAddress\",\"unknown\":5"));
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\"generation\":3", "\"generation\":4"},
           {"\"uid\":\"5b0cdd27", "\"uid\":\"6b0cdd27"},
           {"T23:59:58Z\",\"finalizers", "T23:59:59Z\",\"finalizers"},
           {"\"metallb.drivers.local.sdn.cozystack.io/teardown\",\"local", "\"local"},
           {"recorded-uid\":\"5", "recorded-uid\":\"6"},
           {"\"203.0.113.7\"", "\"203.0.113.8\""},
           {"\"name\":\"web\",\"namespace\":\"tenant-a\",\n", "\"name\":\"web2\",\"namespace\":\"tenant-a\",\n"},
           {"\"uid\":\"c7c25c1e", "\"uid\":\"d7c25c1e"},
           {"\"className\":\"public\"", "\"className\":\"private\""},
           {"\"reclaimPolicy\":\"Delete\"", "\"reclaimPolicy\":\"Retain\""},
           {"{\"fromClass\":{}}", "{\"providerRef\":{\"id\":\"x\"}}"},
           {"\"kind\":\"Service\"", "\"kind\":\"Gateway\""},
           {"\"status\":\"True\"", "\"status\":\"False\""},
           {"\"observedGeneration\":2", "\"observedGeneration\":3"},
           {"\"phase\":\"Bound\"", "\"phase\":\"Lost\""}})
    EXPECT_FALSE(same(from, to)) << from;
}

// Not a pass or fail of speed, which depends on the machine: it shows the figure and fails only if decoding became
// absurd.
TEST(DecodeSpeed, MicrosecondsPerObject) {
  const auto measure = [](const char* what, const kube::Kind& kind, std::string_view json) {
    constexpr int rounds = 4'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) ASSERT_TRUE(kind.decode(json).has_value());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::printf("%s: %.2f us per object of %zu bytes\n", what, took.count() / rounds, json.size());
    EXPECT_LT(took.count() / rounds, 2000);
  };
  measure("IPAddress", IPAddress::kind(), k_address);
  measure("IPAddressClaim", IPAddressClaim::kind(), k_claim);
  measure("IPAddressClass", IPAddressClass::kind(), k_class);
}

}  // namespace
}  // namespace api
