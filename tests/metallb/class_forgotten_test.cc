// What MetalLB gives to nobody although somebody waits for it leaves its pool for a moment, and nothing else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "metallb/class_world.h"
#include "metallb/driver_fixture.h"
#include "metallb/names.h"

namespace metallb::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ForgottenTest : public ::testing::Test {
 protected:
  void put(std::string_view parameters) {
    w.put_class("public", parameters);
    w.settle("public");
  }
  void forget(std::vector<std::string> ips) {
    std::vector<kube::Fact> facts;
    for (const std::string& ip : ips) facts.push_back({forgotten_bucket("public"), ip, ip, {}});
    w.world.publish(address_key("any"), std::move(facts));
  }
  void after(base::Duration d) {
    w.world.advance(d);
    w.settle("public");
  }
  ClassWorld w;
};

TEST_F(ForgottenTest, LeavesThePoolForASecond) {
  put(R"({"addresses":["203.0.113.0/29","2001:db8::/126"]})");
  forget({"203.0.113.3"});
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_THAT(w.addresses("public"),
              ElementsAre("203.0.113.1-203.0.113.2", "203.0.113.4-203.0.113.6", "2001:db8::/126"));
  EXPECT_EQ(w.world.facts(held_out_bucket("203.0.113.3")).members.size(), 1U) << "the gap that it is stays closed";
  after(std::chrono::milliseconds(500));
  EXPECT_EQ(w.addresses("public").size(), 3U);
  after(seconds(1));
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "2001:db8::/126"));
  EXPECT_EQ(w.world.facts(held_out_bucket("203.0.113.3")).members.size(), 0U);
  // Should it not have helped: not before long.
  after(minutes(5));
  EXPECT_EQ(w.addresses("public").size(), 2U);
  after(minutes(5));
  EXPECT_EQ(w.addresses("public").size(), 3U);
}

TEST_F(ForgottenTest, NoOtherClassTakesItMeanwhile) {
  put(R"({"addresses":["203.0.113.0/29"]})");
  w.put_address("198.51.100.9", "public", true);
  w.settle("public");
  ASSERT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "198.51.100.9/32"));
  w.put_class("other", R"({"addresses":["198.51.100.8-198.51.100.11"]})");
  forget({"198.51.100.9"});
  w.settle("public");
  ASSERT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  w.settle("other");
  EXPECT_FALSE(std::ranges::any_of(w.addresses("other"), [](const std::string& entry) {
    return entry == "198.51.100.8-198.51.100.11" || entry.find("198.51.100.9") != std::string::npos;
  }));
  after(seconds(2));
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "198.51.100.9/32"));
}

TEST_F(ForgottenTest, TheOnlyAddressStays) {
  put(R"({"addresses":["203.0.113.7"]})");
  forget({"203.0.113.7"});
  w.world.writes = 0;
  w.settle("public");
  EXPECT_EQ(w.world.writes, 0);
}

TEST_F(ForgottenTest, AggregatedRoutesAreNotInterrupted) {
  put(R"({"addresses":["203.0.113.0/28"],"includeNetworkAddresses":true,"advertise":{"bgp":{"aggregationLength":28}}})");
  forget({"203.0.113.7"});
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.0/28"));
}

class WaitingTest : public DriverTest {};

TEST_F(WaitingTest, ForAnAddressThatNobodyShowsIsToldAfterAWhile) {
  put_bound();
  assign(k_home, hold(k_v4)->meta.name, {});
  settle();
  settle_after(seconds(10));
  EXPECT_EQ(world.facts(forgotten_bucket("public")).members.size(), 0U);
  settle_after(seconds(6));
  EXPECT_EQ(world.facts(forgotten_bucket("public")).members.size(), 1U);
  settle();
  EXPECT_EQ(address(k_v4)->phase, "Bound");
  assign_home(hold(k_v4)->meta.name, k_v4);
  settle_after(seconds(2));
  EXPECT_EQ(world.facts(forgotten_bucket("public")).members.size(), 0U);
}

}  // namespace
}  // namespace metallb::testing
