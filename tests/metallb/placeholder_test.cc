// Driver design §1 and §5: the shape of placeholders. Scenarios 48 and 49.
#include "metallb/placeholder.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "api/names.h"

namespace metallb {
namespace {

namespace json = boost::json;
namespace m = api::metallb;
using base::Family;

api::IPAddressClaim claim() {
  api::IPAddressClaim c;
  c.meta.ns = "tenant-a";
  c.meta.name = "web";
  c.meta.uid = "6f1c";
  return c;
}

api::IPAddress address(std::string ip, std::string name) {
  api::IPAddress a;
  a.meta.name = std::move(name);
  a.meta.uid = "a-uid";
  a.address = std::move(ip);
  a.className = "public";
  return a;
}

api::Service decoded(json::object body) {
  auto service = api::Service::kind().decode(json::serialize(body));
  return static_cast<const api::Service&>(**service);
}

// 48
TEST(Placeholder, AnAllocationDrawsFromThePoolAndIsPinnedToNothing) {
  const json::object body = allocation_body({}, claim(), "iad-6f1c-v4", "public", Family::v4);
  const json::object& spec = body.at("spec").as_object();
  EXPECT_FALSE(spec.contains("selector"));
  EXPECT_FALSE(spec.contains("loadBalancerClass"));
  EXPECT_EQ(spec.at("ipFamilies"), json::array{"IPv4"});
  EXPECT_EQ(spec.at("ipFamilyPolicy"), "SingleStack");
  EXPECT_EQ(spec.at("allocateLoadBalancerNodePorts"), false);
  EXPECT_EQ(spec.at("ports").as_array().size(), 1u);
  const api::Service service = decoded(body);
  EXPECT_EQ(service.meta.name, "iad-6f1c-v4");
  EXPECT_EQ(pool_of(service), "iad-public");
  EXPECT_EQ(pin_of(service), "");
  Options options;
  EXPECT_TRUE(is_placeholder(service, options));
  options.placeholder_namespace = "elsewhere";
  EXPECT_FALSE(is_placeholder(service, options));
  options.former_placeholder_namespaces = {"metallb-iad-system"};
  EXPECT_TRUE(is_placeholder(service, options));
  EXPECT_FALSE(is_recorded(service));
  EXPECT_TRUE(is_unassigned(service));
}

// 49
TEST(Placeholder, AHoldIsPinnedAndLabelledAndOwned) {
  const auto ip = *base::IpAddress::parse("2001:db8::7");
  const api::IPAddress a = address("2001:db8::7", "ip-2001-db8--7");
  const json::object body = hold_body({}, a, ip, "iad-ip-2001-db8--7");
  EXPECT_EQ(body.at("spec").at("ipFamilies"), json::array{"IPv6"});
  const api::Service hold = decoded(body);
  EXPECT_EQ(pin_of(hold), "2001:db8::7");
  EXPECT_EQ(hold.meta.labels.get(m::ip_address), "ip-2001-db8--7");
  ASSERT_EQ(hold.meta.owners.size(), 1u);
  EXPECT_EQ(hold.meta.owners[0].kind, "IPAddress");
  EXPECT_EQ(hold.meta.owners[0].uid, "a-uid");
  EXPECT_FALSE(hold.meta.owners[0].controller);
  EXPECT_TRUE(hold_repair(hold, a, ip).empty());
  EXPECT_FALSE(is_beyond_repair({}, hold, ip));
  EXPECT_FALSE(is_unassigned(hold));
}

TEST(Placeholder, MetalLBsLoadBalancerClassIsCarried) {
  Options options;
  options.load_balancer_class = "metallb.example/lb";
  EXPECT_EQ(allocation_body(options, claim(), "iad-6f1c-v6", "public", Family::v6).at("spec").at("loadBalancerClass"),
            "metallb.example/lb");
  const auto ip = *base::IpAddress::parse("203.0.113.7");
  const api::IPAddress a = address("203.0.113.7", "ip-203-0-113-7");
  EXPECT_TRUE(is_beyond_repair({}, decoded(hold_body(options, a, ip, "iad-x")), ip));
}

TEST(Placeholder, ForeignOwnersOfAHoldAreCarriedOver) {
  const auto ip = *base::IpAddress::parse("203.0.113.7");
  const api::IPAddress a = address("203.0.113.7", "ip-203-0-113-7");
  json::object body = hold_body({}, a, ip, "iad-x");
  body["metadata"].as_object()["ownerReferences"] =
      json::array{json::object{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "c"}, {"uid", "u"}}};
  const json::object repair = hold_repair(decoded(body), a, ip);
  EXPECT_EQ(repair.at("metadata").at("ownerReferences").as_array().size(), 2u);
  EXPECT_EQ(repair.size(), 1u);
}

TEST(Placeholder, PinsAreReadAsMetalLBReadsThem) {
  api::Service service;
  service.meta.annotations.set(std::string(m::old_pin), "203.0.113.1");
  EXPECT_EQ(pin_of(service), "203.0.113.1");
  service.meta.annotations.set(std::string(m::pin), "");
  EXPECT_EQ(pin_of(service), "");  // the current key hides the old one even when empty
  service.meta.annotations.set(std::string(m::pin), " 203.0.113.2 , 2001:DB8::1");
  const auto ips = pinned(service);
  ASSERT_EQ(ips.size(), 2u);
  EXPECT_EQ(ips[0].to_string(), "203.0.113.2");
  EXPECT_EQ(ips[1].to_string(), "2001:db8::1");
}

TEST(Placeholder, AnIngressIsASetOfValues) {
  api::Service service;
  service.ingress = {"2001:db8::1", "2001:DB8:0::1", "nonsense", "203.0.113.9"};
  EXPECT_EQ(shown(service).size(), 2u);
  EXPECT_TRUE(shows(service, *base::IpAddress::parse("203.0.113.9")));
}

}  // namespace
}  // namespace metallb
