// How a class is advertised outlives the class and its parameters, as its addresses do (driver design §3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metallb/class_world.h"

namespace metallb::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view k_advertised =
    R"({"addresses":["203.0.113.0/24"],"includeNetworkAddresses":true,"advertise":{
    "l2":{"interfaces":["eth1"],"nodeSelectors":[{"matchLabels":{"rack":"a"},"matchExpressions":[{"key":"zone","operator":"In","values":["x","y"]}]}]},
    "bgp":{"aggregationLength":24,"localPref":100,"communities":["65000:1"],"peers":["router"]}}})";

// A class whose one address lives on while the class is gone.
class GoneClass : public ::testing::Test {
 protected:
  GoneClass() {
    w.put_class("public", k_advertised);
    w.put_address("203.0.113.7", "public");
    w.settle("public");
    l2 = w.l2("public")->spec;
    bgp = w.bgp("public")->spec;
    w.world.vanish<api::IPAddressClass>("", "public");
    w.settle("public");
  }
  void lose(const kube::Kind& kind) { w.world.vanish(kind, "metallb-system", "iad-public"); }
  ClassWorld w;
  std::string l2;
  std::string bgp;
};

TEST_F(GoneClass, AnAdvertisementThatIsDeletedIsRenderedAnew) {
  lose(api::L2Advertisement::kind());
  lose(api::BGPAdvertisement::kind());
  w.settle("public");
  ASSERT_NE(w.l2("public"), nullptr);
  ASSERT_NE(w.bgp("public"), nullptr);
  EXPECT_EQ(json(w.l2("public")->spec), json(l2));
  EXPECT_EQ(json(w.bgp("public")->spec), json(bgp));
}

TEST_F(GoneClass, AnAdvertisementThatIsEditedIsRepaired) {
  w.world.change<api::L2Advertisement>("metallb-system", "iad-public", R"({"spec":{"ipAddressPools":["other"]}})");
  w.settle("public");
  EXPECT_EQ(json(w.l2("public")->spec), json(l2));
}

TEST_F(GoneClass, WhateverIsLeftTellsHowItWas) {
  lose(api::IPAddressPool::kind());
  lose(api::L2Advertisement::kind());
  w.settle("public");
  ASSERT_NE(w.pool("public"), nullptr);
  ASSERT_NE(w.l2("public"), nullptr);
  EXPECT_EQ(json(w.l2("public")->spec), json(l2));
  // Of the pool only the address is left, which no route of 256 addresses may stand for.
  EXPECT_EQ(w.addresses("public"), std::vector<std::string>{"203.0.113.7/32"});
  EXPECT_EQ(aggregation_of(w.bgp("public")->spec), k_no_aggregation);
}

TEST_F(GoneClass, NothingIsGuessedAndThatIsSaid) {
  lose(api::IPAddressPool::kind());
  lose(api::L2Advertisement::kind());
  lose(api::BGPAdvertisement::kind());
  w.settle("public");
  ASSERT_NE(w.pool("public"), nullptr) << "the address stays held";
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_EQ(w.bgp("public"), nullptr);
  w.world.execute(w.run("public"));
  ASSERT_FALSE(w.world.events.empty());
  EXPECT_EQ(w.world.events.back().reason, "NotAdvertised");
  EXPECT_TRUE(w.world.events.back().once);

  w.put_class("public", k_advertised);
  w.settle("public");
  EXPECT_EQ(json(w.l2("public")->spec), json(l2));
}

TEST_F(GoneClass, EverythingGoesWithTheLastAddress) {
  w.vanish_address("203.0.113.7");
  w.settle("public");
  EXPECT_EQ(w.pool("public"), nullptr);
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_EQ(w.bgp("public"), nullptr);
}

TEST(ClassAdvertisingTest, WhatIsNotAdvertisedIsNotAdvertisedWithoutTheClassEither) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["203.0.113.0/29"],"advertise":{}})");
  w.put_address("203.0.113.2", "public");
  w.settle("public");
  w.world.vanish<api::IPAddressClass>("", "public");
  w.settle("public");
  w.world.execute(w.run("public"));
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_TRUE(w.world.events.empty()) << "it was wanted so";
}

TEST(ClassAdvertisingTest, IsRepairedWhileTheParametersCannotBeRead) {
  ClassWorld w;
  w.put_class("public", k_advertised);
  w.settle("public");
  const std::string l2 = w.l2("public")->spec;
  w.edit_class("public", R"({"addresses":["nonsense"],"advertise":{}})", 2);
  w.settle("public");
  w.world.vanish<api::L2Advertisement>("metallb-system", "iad-public");
  w.settle("public");
  ASSERT_NE(w.l2("public"), nullptr);
  EXPECT_EQ(json(w.l2("public")->spec), json(l2));
  EXPECT_EQ(w.condition("public", "BackendReady"), "True KeptAsBefore");
}

TEST(ClassAdvertisingTest, WhatWasRenderedBeforeItWasRecordedGetsTheRecordInOneWriteEach) {
  ClassWorld w;
  w.put_class("public", k_advertised);
  w.settle("public");
  for (const kube::Kind* kind :
       {&api::IPAddressPool::kind(), &api::L2Advertisement::kind(), &api::BGPAdvertisement::kind()})
    w.world.change(*kind, "metallb-system", "iad-public",
                   fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", api::metallb::advertise));
  w.world.writes = 0;
  w.settle("public");
  EXPECT_EQ(w.world.writes, 3);
  EXPECT_NE(w.pool("public")->meta.annotations.find(api::metallb::advertise), nullptr);
}

TEST(AdvertiseTextTest, IsReadBackTheSame) {
  for (const std::string_view text :
       {k_advertised, std::string_view(R"({"addresses":["203.0.113.0/29"]})"),
        std::string_view(R"({"addresses":["203.0.113.0/29"],"advertise":{}})"),
        std::string_view(R"({"addresses":["2001:db8::/64"],"advertise":{"bgp":{"aggregationLengthV6":64}}})")}) {
    const auto parsed = parse_parameters(text);
    ASSERT_TRUE(parsed) << text;
    const auto back = parse_advertise(advertise_text(*parsed));
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(back->l2, parsed->l2) << text;
    EXPECT_EQ(back->bgp, parsed->bgp) << text;
  }
  EXPECT_FALSE(parse_advertise(""));
  EXPECT_FALSE(parse_advertise("[]"));
  EXPECT_FALSE(parse_advertise(R"({"l3":{}})")) << "somebody has altered it";
}

// --- what MetalLB says about the configuration as a whole ---

class RejectedConfiguration : public ::testing::Test {
 protected:
  RejectedConfiguration() {
    w.put_class("public", R"({"addresses":["203.0.113.0/29"]})");
    w.settle("public");
  }
  void wait() {
    w.world.advance(std::chrono::seconds(6));
    w.settle("public");
  }
  ClassWorld w;
};

TEST_F(RejectedConfiguration, IsShownInItsWordsAndTakenBack) {
  w.put_state("controller", "Invalid", "CIDR 10.0.0.0/8 in pool b overlaps with already defined CIDR 10.0.0.0/8");
  EXPECT_TRUE(w.is_woken("public"));
  wait();
  wait();
  EXPECT_EQ(w.condition("public", "BackendReady"), "False ConfigurationRejected");
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("CIDR 10.0.0.0/8 in pool b overlaps"));
  w.put_state("controller", "Valid");
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST_F(RejectedConfiguration, ForAMomentIsNoNews) {
  w.put_state("speaker-a", "Invalid", "address is not in the configuration");
  w.settle("public");
  w.put_state("speaker-a", "Valid");
  wait();
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST_F(RejectedConfiguration, TheControllerSpeaksBeforeTheSpeakers) {
  w.put_state("another", "Invalid", "of a speaker");
  w.put_state("controller", "Invalid", "of the controller");
  w.settle("public");
  wait();
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("controller (and 1 more)"));
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("of the controller"));
}

TEST_F(RejectedConfiguration, UnknownIsNoRejection) {
  w.put_state("controller", "Unknown", "not looked at yet");
  w.settle("public");
  wait();
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

}  // namespace
}  // namespace metallb::testing
