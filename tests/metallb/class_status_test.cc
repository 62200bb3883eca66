// The status and the events of a class (contract §1, driver design §3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metallb/class_world.h"

namespace metallb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view k_29 = R"({"addresses":["203.0.113.0/29"]})";

TEST(ClassStatusTest, SaysWhatTheParametersComeTo) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["203.0.113.0/29","2001:db8::/126"]})");
  w.put_address("203.0.113.2", "public");
  w.settle("public");
  const auto status = w.status("public");
  EXPECT_EQ(status.at("ranges"),
            boost::json::parse(R"(["203.0.113.1/32","203.0.113.2/31","203.0.113.4/31","203.0.113.6/32",
                                                         "2001:db8::/126"])"));
  EXPECT_EQ(status.at("capacity"), json(R"({"ipv4":{"total":6,"held":1,"free":5},"ipv6":{"total":4,"held":0,"free":4},
                                            "summary":"5 IPv4, 4 IPv6"})"));
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
  EXPECT_EQ(status.at("conditions").at(0).at("observedGeneration"), 1);
}

TEST(ClassStatusTest, HugeRangesSaturateAndSaySo) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["2001:db8::/32"]})");
  w.put_address("2001:db8::1", "public");
  w.settle("public");
  EXPECT_EQ(w.status("public").at("capacity"),
            json(R"({"ipv6":{"total":9223372036854775807,"held":1,"free":9223372036854775807,"saturated":true},
                     "summary":"more than 9223372036854775807 IPv6"})"));
}

TEST(ClassStatusTest, AddressesOutsideTheRangesTakeNothingFromThem) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("203.0.113.2", "public");
  w.put_address("192.0.2.1", "public");
  w.put_address("192.0.2.2", "public");
  w.settle("public");
  EXPECT_EQ(w.status("public").at("capacity").at("ipv4"), json(R"({"total":6,"held":3,"free":5})"));
}

TEST(ClassStatusTest, AFamilyThatGoesIsTakenOff) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["203.0.113.0/29","2001:db8::/126"]})");
  w.settle("public");
  w.edit_class("public", k_29, 2);
  w.settle("public");
  EXPECT_FALSE(w.status("public").at("capacity").as_object().contains("ipv6"));
}

TEST(ClassStatusTest, ABurstOfAddressesCostsTwoWrites) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["10.0.0.0/16"]})");
  w.settle("public");
  w.world.advance(std::chrono::seconds(60));
  const int before = w.world.writes;
  for (int i = 1; i <= 200; ++i) {
    w.put_address(fmt::format("10.0.1.{}", i), "public");
    const kube::Plan plan = w.settle("public");
    if (i > 1) {
      ASSERT_TRUE(plan.revisit);
      EXPECT_LE(*plan.revisit, std::chrono::seconds(5));
    }
    w.world.advance(std::chrono::milliseconds(5));
  }
  w.world.advance(std::chrono::seconds(5));
  w.settle("public");
  EXPECT_EQ(w.world.writes - before, 2);
  EXPECT_EQ(w.status("public").at("capacity").at("ipv4").at("held"), 200);
}

TEST(ClassStatusTest, RemarksOnHostBitsAndIdleExcludesAreShown) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["203.0.113.1/29"],"exclude":["192.0.2.1"]})");
  w.settle("public");
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
  EXPECT_THAT(w.message("public", "ParametersValid"), HasSubstr("read as the network 203.0.113.0/29"));
  EXPECT_THAT(w.message("public", "ParametersValid"), HasSubstr("excludes nothing"));
}

TEST(ClassStatusTest, AllProblemsAreNamedInConditionAndEventOnce) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["banana","203.0.113.9-203.0.113.1"],"more":1})");
  w.settle("public");
  for (const char* piece : {"banana", "203.0.113.1-203.0.113.9", "unknown key \"more\""})
    EXPECT_THAT(w.message("public", "ParametersValid"), HasSubstr(piece));
  ASSERT_EQ(w.world.events.size(), 2U);
  EXPECT_EQ(w.world.events[0].reason, "InvalidParameters");
  EXPECT_TRUE(w.world.events[0].warning);
  EXPECT_EQ(w.world.events[0].regarding.name, "public");
  EXPECT_THAT(w.world.events[0].note, HasSubstr("banana"));
  EXPECT_EQ(w.world.events[1].reason, "NothingRendered");
  w.world.advance(std::chrono::hours(1));
  w.settle("public");
  EXPECT_EQ(w.world.events.size(), 2U);
}

TEST(ClassStatusTest, TurningGoodIsToldToo) {
  ClassWorld w;
  w.put_class("public", "{}");
  w.settle("public");
  w.world.events.clear();
  w.edit_class("public", k_29, 2);
  w.settle("public");
  std::vector<std::string> reasons;
  for (const auto& event : w.world.events) reasons.push_back(event.reason);
  EXPECT_THAT(reasons, ElementsAre("Valid", "Rendered"));
  w.world.events.clear();
  w.edit_class("public", R"({"addresses":["203.0.113.0/28"]})", 3);
  w.settle("public");
  EXPECT_THAT(w.world.events, IsEmpty()) << "good news that stays good is no news";
}

TEST(ClassStatusTest, AClassThatIsFineFromTheStartGetsNoEvent) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  EXPECT_THAT(w.world.events, IsEmpty());
}

TEST(ClassStatusTest, ForeignConditionsAndFieldsAreCarriedOver) {
  ClassWorld w;
  w.world.put<api::IPAddressClass>(R"({"metadata":{"name":"public","generation":1},
      "spec":{"provisioner":"metallb.drivers.local.sdn.cozystack.io","parameters":{"addresses":["203.0.113.0/29"]}},
      "status":{"conditions":[{"type":"Audited","status":"True","reason":"Ok","message":"m",
                               "lastTransitionTime":"2024-01-01T00:00:00Z"}]}})");
  w.settle("public");
  EXPECT_EQ(w.condition("public", "Audited"), "True Ok");
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
}

TEST(ClassStatusTest, TransitionTimesMoveOnlyWhenAStatusFlips) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  const auto time = [&] {
    return std::string(w.status("public").at("conditions").at(0).at("lastTransitionTime").as_string());
  };
  const std::string first = time();
  w.world.advance(std::chrono::hours(1));
  w.edit_class("public", R"({"addresses":["203.0.113.1/29"]})", 2);
  w.settle("public");
  EXPECT_EQ(time(), first);
  w.edit_class("public", "{}", 3);
  w.settle("public");
  EXPECT_NE(time(), first);
}

TEST(ClassStatusTest, AFailedWriteIsShownInTheServersWords) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.world.memory(class_key("public")).failures = 2;
  EXPECT_EQ(w.run("public").writes.size(), 2U) << "a failure or two are no news";
  w.world.memory(class_key("public")).failures = 3;
  w.world.memory(class_key("public")).refusal = "admission webhook denied the request: CIDR overlaps";
  const kube::Plan plan = w.run("public");
  std::vector<std::string> steps;
  for (const kube::Write& write : plan.writes) steps.push_back(write.step);
  EXPECT_THAT(steps, ElementsAre("class-l2", "class-pool", "class-status"));
  const auto& conditions = plan.writes[2].body.at("status").at("conditions").as_array();
  EXPECT_EQ(conditions.at(1).at("reason"), "WriteRefused");
  EXPECT_THAT(std::string(conditions.at(1).at("message").as_string()), HasSubstr("CIDR overlaps"));
}

TEST(ClassStatusTest, ManyOutsidersAreNamedInPart) {
  ClassWorld w;
  w.put_class("public", k_29);
  for (int i = 1; i <= 20; ++i) w.put_address(fmt::format("192.0.2.{}", i), "public");
  w.settle("public");
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("192.0.2.5 and 15 more"));
}

}  // namespace
}  // namespace metallb::testing
