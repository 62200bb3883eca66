// Driver design §5: holds where the driver was not told to look keep it from starting, and nobody else's Services do.
#include "metallb/stray.h"

#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/names.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using ::testing::HasSubstr;
using ::testing::Not;

class StrayTest : public DriverTest {
 protected:
  explicit StrayTest(Options o = {}) : DriverTest(std::move(o)) {}

  // All that a hold of the address has, the uid of its object too.
  void put_copy(std::string_view ns, std::string_view name = "copy") {
    world.put<api::Service>(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"{}","labels":{{"{}":"true","{}":"{}"}},
              "annotations":{{"{}":"iad-public","{}":"{}"}},
              "ownerReferences":[{{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","name":"{}","uid":"{}"}}]}},
            "spec":{{"type":"LoadBalancer","clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"ports":[{{"port":65535}}]}}}})",
        name, ns, m::placeholder, m::ip_address, name_of(k_v4), m::pool, m::pin, k_v4, name_of(k_v4),
        address(k_v4)->meta.uid));
    assign(ns, name, {std::string(k_v4)});
  }
  void lose_hold() { world.vanish<api::Service>(k_home, hold(k_v4)->meta.name); }
  void record(std::string_view value) {
    world.change<api::IPAddressPool>(
        "metallb-system", "iad-public",
        fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", k_trusted_annotation, value));
  }
};

TEST_F(StrayTest, PoolsSayWhereTheDriverTrustsPlaceholders) {
  settle();
  const auto* pool = world.get<api::IPAddressPool>("metallb-system", "iad-public");
  EXPECT_EQ(annotation(*pool, k_trusted_annotation), k_home);
}

TEST_F(StrayTest, WhoKnowsTheUidKeepsNobodyFromStarting) {
  put_bound();
  settle();
  lose_hold();
  put_copy("tenant-b");
  EXPECT_EQ(world.objection(), std::nullopt);
}

TEST_F(StrayTest, WithoutARecordPlaceholdersAtHomeTellThatItIsTheRightOne) {
  put_bound();
  put_bound("203.0.113.2", "other");
  record("null");
  lose_hold();
  put_copy("tenant-b");
  EXPECT_EQ(world.objection(), std::nullopt);
  world.vanish<api::Service>(k_home, hold("203.0.113.2")->meta.name);
  EXPECT_THAT(world.objection().value_or(""), HasSubstr("no tenant may write there"));
}

class MovedTest : public StrayTest {
 protected:
  explicit MovedTest(std::vector<std::string> former = {}) : StrayTest(options_there(std::move(former))) {}
  static Options options_there(std::vector<std::string> former) {
    Options options;
    options.placeholder_namespace = "elsewhere";
    options.former_placeholder_namespaces = std::move(former);
    return options;
  }
};

TEST_F(MovedTest, HoldsInANamespaceThatIsForgottenKeepItFromStarting) {
  put_address(k_v4);
  put_copy(k_home);
  put_copy("tenant-b", "another");
  record("\"metallb-iad-system,older\"");
  EXPECT_THAT(world.objection().value_or(""),
              HasSubstr("1 placeholder is of this driver in namespaces that it has not been told of: "
                        "metallb-iad-system. Run it with --former-placeholder-namespaces=metallb-iad-system "));
  world.vanish<api::Service>(k_home, "copy");
  EXPECT_EQ(world.objection(), std::nullopt) << "nothing is there any more";
}

class MovedAndToldTest : public MovedTest {
 protected:
  MovedAndToldTest() : MovedTest({std::string(k_home)}) {}
};

TEST_F(MovedAndToldTest, ItStartsAndRecordsBoth) {
  put_address(k_v4);
  put_copy(k_home);
  record("\"metallb-iad-system\"");
  EXPECT_EQ(world.objection(), std::nullopt);
  settle();
  EXPECT_EQ(annotation(*world.get<api::IPAddressPool>("metallb-system", "iad-public"), k_trusted_annotation),
            "elsewhere,metallb-iad-system");
}

class MovedToAnotherClassTest : public StrayTest {
 protected:
  MovedToAnotherClassTest() : StrayTest(options_there()) {}
  static Options options_there() {
    Options options;
    options.placeholder_namespace = "elsewhere";
    options.former_placeholder_namespaces = {std::string(k_home)};
    options.load_balancer_class = "new.example/metallb";
    return options;
  }
};

// MetalLB never looks at the old one again: nothing on it would ever change.
TEST_F(MovedToAnotherClassTest, WhatIsLeftOfTheOldClassGoesWhenTheNewOneHolds) {
  put_address(k_v4);
  put_copy(k_home);
  settle();
  const std::string name = hold_name(name_of(k_v4));
  ASSERT_NE(world.get<api::Service>("elsewhere", name), nullptr);
  EXPECT_NE(world.get<api::Service>(k_home, "copy"), nullptr);
  assign("elsewhere", name, {std::string(k_v4)});
  settle();
  EXPECT_EQ(world.get<api::Service>(k_home, "copy"), nullptr);
}

}  // namespace
}  // namespace metallb::testing
