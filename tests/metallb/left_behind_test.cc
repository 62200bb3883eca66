// Driver design §6, §9: what a Service keeps when its owner strips what the driver wrote.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Not;

class LeftBehindTest : public DriverTest {
 protected:
  LeftBehindTest() { put_unshared_class(); }
  std::string attached_to() { return address(k_v4)->associatedTo ? address(k_v4)->associatedTo->name : ""; }
  void annotate(std::string_view key, std::string_view value) {
    world.change<api::Service>("tenant-a", "app",
                               fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", key, value));
  }
};

// Each key is only removed, which admission policies let anybody do, and the class's pool is left behind: with it and
// without a pin the Service would get what nobody has claimed as soon as it is a LoadBalancer again.
TEST_F(LeftBehindTest, APoolThatIsLeftBehindGivesNothing) {
  const std::string_view stripped =
      R"({"metadata":{"finalizers":null,"annotations":{"local.sdn.cozystack.io/ip-address-claim":null,
          "metallb.io/loadBalancerIPs":null,"metallb.drivers.local.sdn.cozystack.io/pinned":null,
          "metallb.drivers.local.sdn.cozystack.io/service-uid":null}},"spec":{"type":"ClusterIP"},"status":null})";
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::Service>("tenant-a", "app", stripped);
  // The address comes first, and the ledger must not forget who had it.
  world.settle(address_key(name_of(k_v4)));
  assign_home("iad-ip-203-0-113-1", k_v4);
  world.settle(address_key(name_of(k_v4)));
  EXPECT_EQ(attached_to(), "app");
  settle();
  EXPECT_FALSE(service()->meta.annotations.contains(m::pool));
  EXPECT_EQ(attached_to(), "");

  annotate(api::claim_annotation, R"("web")");
  world.change<api::Service>("tenant-a", "app", R"({"spec":{"type":"LoadBalancer"}})");
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  ASSERT_EQ(attached_to(), "app");
  world.change<api::Service>("tenant-a", "app", stripped);
  world.change<api::Service>("tenant-a", "app", R"({"spec":{"type":"LoadBalancer"}})");
  assign("tenant-a", "app", {"203.0.113.2"});
  settle();
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
}

TEST_F(LeftBehindTest, WhatShowsTheAddressIsNotForgottenWhileMetalLbIsSilent) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  annotate(api::claim_annotation, "null");
  settle();
  settle_after(seconds(61));
  ASSERT_TRUE(service() != nullptr && !service()->ingress.empty());
  EXPECT_EQ(attached_to(), "app");
  int answered = 0;
  for (int i = 0; i < 20; ++i) {
    annotate(m::pool, "null");
    answered += settle();
  }
  EXPECT_EQ(answered, 5);
  settle_after(seconds(10));
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
}

TEST_F(LeftBehindTest, StrippedKeysArePutBack) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  world.change<api::Service>(
      "tenant-a", "app",
      fmt::format(R"({{"metadata":{{"annotations":{{"{}":null,"{}":null,"{}":null,"{}":null}}}}}})", m::pin, m::pinned,
                  m::pool, m::service_uid));
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(annotation(*service(), m::pinned), "true");
  EXPECT_EQ(attached_to(), "app");
  EXPECT_THAT(event_reasons(), Not(Contains("AssociationRejected")));
}

TEST_F(LeftBehindTest, RepairOfStrippedKeysSlowsDown) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  int writes = 0;
  for (int i = 0; i < 20; ++i) {
    annotate(m::service_uid, "null");
    writes += settle();
  }
  EXPECT_EQ(writes, 5);
  EXPECT_FALSE(service()->meta.annotations.contains(m::service_uid));
  settle_after(seconds(10));
  EXPECT_EQ(annotation(*service(), m::service_uid), "uid-app");
}

}  // namespace
}  // namespace metallb::testing
