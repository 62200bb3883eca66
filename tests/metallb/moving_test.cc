// Driver design §5: holds in a former placeholder namespace, and what is to hold their addresses at home.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Options with_former() {
  Options options;
  options.former_placeholder_namespaces = {"former"};
  return options;
}

class MovingTest : public DriverTest {
 protected:
  MovingTest() : DriverTest(with_former()) {}

  // Bound, and held in the former namespace; the driver has not looked yet.
  void put_left_behind() {
    put_claim();
    put_address(k_v4);
    Options before;
    before.placeholder_namespace = "former";
    world.put<api::Service>(boost::json::serialize(
        hold_body(before, *address(k_v4), *base::IpAddress::parse(k_v4), hold_name(name_of(k_v4)))));
    assign("former", hold_name(name_of(k_v4)), {std::string(k_v4)});
    bind("web", {std::string(k_v4)});
  }
  const api::Service* former() { return world.get<api::Service>("former", hold_name(name_of(k_v4))); }
  std::string key_of(const api::Service* s) { return annotation(*s, m::sharing_key); }
  std::vector<std::string> pass() {
    const kube::Plan next = plan(address_key(name_of(k_v4)));
    world.execute(next);
    return steps(next);
  }
  void refuse() {
    world.memory(address_key(name_of(k_v4))).failures = 1;
    world.memory(address_key(name_of(k_v4))).refusal_code = 403;
  }
};

TEST_F(MovingTest, TheOneAtHomeComesFirst) {
  put_left_behind();
  EXPECT_THAT(pass(), ElementsAre("hold-move"));
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_NE(key_of(hold(k_v4)), "");
  EXPECT_EQ(key_of(former()), "");
  EXPECT_THAT(pass(), ElementsAre("hold-move-share"));
  EXPECT_EQ(key_of(former()), key_of(hold(k_v4)));
  EXPECT_THAT(pass(), IsEmpty());
  assign_home(hold_name(name_of(k_v4)), k_v4);
  EXPECT_THAT(pass(), ElementsAre("hold-empty"));
  assign("former", hold_name(name_of(k_v4)), {});
  EXPECT_THAT(pass(), ElementsAre("hold-surplus"));
  EXPECT_EQ(former(), nullptr);
  settle_after(seconds(2));
  EXPECT_EQ(key_of(hold(k_v4)), "");
}

TEST_F(MovingTest, WhatIsNotTakenAtHomeIsTriedAtAPaceAndCanBeAttachedMeanwhile) {
  put_left_behind();
  ASSERT_THAT(steps(plan(address_key(name_of(k_v4)))), ElementsAre("hold-move"));
  refuse();
  const kube::Plan next = plan(address_key(name_of(k_v4)));
  EXPECT_THAT(next.writes, IsEmpty());
  EXPECT_TRUE(next.revisit.has_value());
  world.memory(address_key(name_of(k_v4))).failures = 0;  // as a plan without writes leaves it
  put_service();
  world.settle(service_key("tenant-a", "app"));
  ASSERT_TRUE(address(k_v4)->associatedTo.has_value());
  EXPECT_THAT(pass(), ElementsAre("hold-repair"));
  EXPECT_NE(key_of(former()), "") << "to share with the Service";
  world.settle(service_key("tenant-a", "app"));
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_EQ(annotation(*former(), m::pool), m::awaiting_pool);
  EXPECT_EQ(hold(k_v4), nullptr);
}

TEST_F(MovingTest, ItIsTriedAgain) {
  put_left_behind();
  refuse();
  EXPECT_THAT(pass(), IsEmpty());
  world.memory(address_key(name_of(k_v4))).failures = 0;
  world.advance(seconds(59));
  EXPECT_THAT(pass(), IsEmpty());
  world.advance(seconds(1));
  EXPECT_THAT(pass(), ElementsAre("hold-move"));
}

// Somebody has deleted the one at home after the first one got its key.
TEST_F(MovingTest, AKeyThatIsForNobodyIsTakenOff) {
  put_left_behind();
  pass();
  pass();
  ASSERT_NE(key_of(former()), "");
  world.remove<api::Service>(k_home, hold_name(name_of(k_v4)));
  world.change<api::Namespace>("", k_home, R"({"status":{"phase":"Terminating"}})");
  for (int i = 0; i < 4; ++i) {
    world.advance(seconds(1));
    pass();
  }
  EXPECT_EQ(key_of(former()), "");
}

}  // namespace
}  // namespace metallb::testing
