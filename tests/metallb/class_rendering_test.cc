// Class → pool and advertisements (driver design §3; scenarios 29 and 30).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metallb/class_world.h"

namespace metallb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view k_29 = R"({"addresses":["203.0.113.0/29"]})";

std::vector<std::string> steps(const kube::Plan& plan) {
  std::vector<std::string> names;
  for (const kube::Write& write : plan.writes) names.push_back(write.step);
  return names;
}

TEST(ClassRenderingTest, PoolAndAdvertisementAreRenderedAndMarked) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  EXPECT_EQ(*w.world.document(api::IPAddressPool::kind(), "metallb-system", "iad-public")->if_contains("spec"),
            json(R"({"addresses":["203.0.113.1-203.0.113.6"],"autoAssign":false,"avoidBuggyIPs":false})"));
  ASSERT_NE(w.pool("public"), nullptr);
  EXPECT_EQ(w.pool("public")->meta.labels.get(api::metallb::class_label), "public");
  EXPECT_THAT(w.pool("public")->meta.owners, IsEmpty());
  ASSERT_NE(w.l2("public"), nullptr);
  EXPECT_EQ(boost::json::parse(w.l2("public")->spec), json(R"({"ipAddressPools":["iad-public"]})"));
  EXPECT_EQ(w.l2("public")->meta.labels.get(api::metallb::class_label), "public");
  EXPECT_EQ(w.bgp("public"), nullptr);
  EXPECT_EQ(w.world.writes, 3) << "pool, advertisement, status";
}

TEST(ClassRenderingTest, ASettledClassIsLeftAlone) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  const kube::Plan plan = w.run("public");
  EXPECT_TRUE(plan.sends_nothing());
  EXPECT_FALSE(plan.revisit);
}

TEST(ClassRenderingTest, ARestartWritesNothing) {
  ClassWorld before;
  before.put_class("public", k_29);
  before.put_address("203.0.113.2", "public");
  before.put_address("198.51.100.7", "public");
  before.settle("public");
  ClassWorld after;
  for (const auto& [kind, ns, name] : {std::tuple{&api::IPAddressClass::kind(), "", "public"},
                                       std::tuple{&api::IPAddress::kind(), "", "ip-203-0-113-2"},
                                       std::tuple{&api::IPAddress::kind(), "", "ip-198-51-100-7"},
                                       std::tuple{&api::IPAddressPool::kind(), "metallb-system", "iad-public"},
                                       std::tuple{&api::L2Advertisement::kind(), "metallb-system", "iad-public"}})
    after.world.put(*kind, boost::json::serialize(*before.world.document(*kind, ns, name)));
  after.world.settle_all();
  EXPECT_EQ(after.world.writes, 0);
  EXPECT_THAT(after.world.events, IsEmpty());
}

TEST(ClassRenderingTest, BothFamiliesGoIntoOnePoolInOrder) {
  ClassWorld w;
  w.put_class("public", R"({"addresses":["2001:db8::/126","203.0.113.0/29"],"exclude":["203.0.113.3"]})");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"),
              ElementsAre("2001:db8::/126", "203.0.113.1-203.0.113.2", "203.0.113.4-203.0.113.6"));
}

TEST(ClassRenderingTest, AClassOfAnotherProvisionerIsNotRendered) {
  ClassWorld w;
  w.put_class("theirs", k_29, 1, "other.example");
  EXPECT_TRUE(w.settle("theirs").forget);
  EXPECT_EQ(w.world.writes, 0);
}

TEST(ClassRenderingTest, AdvertisementsFollowTheParameters) {
  ClassWorld w;
  w.put_class("public",
              R"({"addresses":["203.0.113.0/29"],"advertise":{"l2":{"interfaces":["eth1"]},"bgp":{"peers":["r1"]}}})");
  w.settle("public");
  ASSERT_NE(w.l2("public"), nullptr);
  ASSERT_NE(w.bgp("public"), nullptr);
  EXPECT_EQ(boost::json::parse(w.l2("public")->spec),
            json(R"({"ipAddressPools":["iad-public"],"interfaces":["eth1"]})"));
  EXPECT_EQ(
      boost::json::parse(w.bgp("public")->spec),
      json(R"({"ipAddressPools":["iad-public"],"peers":["r1"],"aggregationLength":32,"aggregationLengthV6":128})"));

  w.edit_class("public", R"({"addresses":["203.0.113.0/29"],"advertise":{"bgp":{"peers":["r1"]}}})", 2);
  w.settle("public");
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_NE(w.bgp("public"), nullptr);

  w.edit_class("public", R"({"addresses":["203.0.113.0/29"],"advertise":{}})", 3);
  w.settle("public");
  EXPECT_EQ(w.bgp("public"), nullptr);
  EXPECT_NE(w.pool("public"), nullptr);
}

// A row: what somebody else does to what is rendered.
struct Vandalism {
  const char* name;
  const char* patch;
  const char* repair;
};
class PoolDriftTest : public ::testing::TestWithParam<Vandalism> {};

TEST_P(PoolDriftTest, IsRepairedInPlaceAndOnlyWhereItDiffers) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  const std::string uid = w.pool("public")->meta.uid;
  w.world.change<api::IPAddressPool>("metallb-system", "iad-public", GetParam().patch);
  EXPECT_TRUE(w.is_woken("public"));
  const kube::Plan plan = w.run("public");
  ASSERT_THAT(steps(plan), ElementsAre("class-pool"));
  boost::json::object body = plan.writes[0].body;
  boost::json::object& metadata = body["metadata"].as_object();
  metadata.erase("resourceVersion");
  if (metadata.empty()) body.erase("metadata");
  EXPECT_EQ(body, json(GetParam().repair));
  w.settle("public");
  EXPECT_EQ(w.pool("public")->meta.uid, uid);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PoolDriftTest,
    ::testing::ValuesIn(std::vector<Vandalism>{
        {"AutoAssignFlipped", R"({"spec":{"autoAssign":true}})", R"({"spec":{"autoAssign":false}})"},
        {"AutoAssignRemoved", R"({"spec":{"autoAssign":null}})", R"({"spec":{"autoAssign":false}})"},
        {"BuggyAvoided", R"({"spec":{"avoidBuggyIPs":true}})", R"({"spec":{"avoidBuggyIPs":false}})"},
        {"RangesEdited", R"({"spec":{"addresses":["203.0.113.0/30"]}})",
         R"({"spec":{"addresses":["203.0.113.1-203.0.113.6"]}})"},
        {"ServicesRestricted", R"({"spec":{"serviceAllocation":{"namespaces":["x"]}}})",
         R"({"spec":{"serviceAllocation":null}})"},
        {"Owned", R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]}})",
         R"({"metadata":{"ownerReferences":null}})"},
    }),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ClassRenderingTest, EmptyFieldsOfNewerVersionsAreNoDrift) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.change<api::IPAddressPool>("metallb-system", "iad-public", R"({"spec":{"novelty":false,"more":[]}})");
  EXPECT_TRUE(w.run("public").sends_nothing());
}

TEST(ClassRenderingTest, ADeletedPoolIsRenderedAnew) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
}

TEST(ClassRenderingTest, ADeletedAdvertisementIsRenderedAnew) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.vanish<api::L2Advertisement>("metallb-system", "iad-public");
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_NE(w.l2("public"), nullptr);
}

TEST(ClassRenderingTest, AnEmptiedListOfPoolsIsRepaired) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.change<api::L2Advertisement>("metallb-system", "iad-public", R"({"spec":{"ipAddressPools":[]}})");
  w.settle("public");
  EXPECT_EQ(boost::json::parse(w.l2("public")->spec), json(R"({"ipAddressPools":["iad-public"]})"));
}

TEST(ClassRenderingTest, SomebodyWhoKeepsChangingItIsAnsweredAtADistance) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  int repairs = 0;
  for (int i = 0; i < 100; ++i) {
    w.world.change<api::IPAddressPool>("metallb-system", "iad-public", R"({"spec":{"autoAssign":true}})");
    const kube::Plan plan = w.run("public");
    repairs += static_cast<int>(plan.writes.size());
    if (plan.writes.empty()) {
      EXPECT_TRUE(plan.revisit);
    }
    w.world.execute(plan);
    w.world.advance(std::chrono::milliseconds(100));
  }
  EXPECT_GE(repairs, 10);
  EXPECT_LE(repairs, 14) << "ten seconds of a fight";
}

TEST(ClassRenderingTest, WhatTheServerDoesNotKeepIsReportedAndRarelyRepeated) {
  ClassWorld w;
  w.put_class(
      "public",
      R"({"addresses":["203.0.113.0/29"],"advertise":{"l2":{"serviceSelectors":[{"matchLabels":{"a":"b"}}]}}})");
  w.settle("public");
  int repairs = 0;
  for (int second = 0; second < 600; ++second) {
    // An older kind without the field: whatever is written, it is not there afterwards.
    if (w.l2("public")->spec.find("serviceSelectors") != std::string::npos)
      w.world.put<api::L2Advertisement>(
          R"({"metadata":{"name":"iad-public","namespace":"metallb-system","uid":"u",
              "labels":{"metallb.drivers.local.sdn.cozystack.io/class":"public"}},"spec":{"ipAddressPools":["iad-public"]}})");
    const kube::Plan plan = w.run("public");
    for (const kube::Write& write : plan.writes) {
      if (write.step == "class-l2") ++repairs;
      // The server takes it and drops the field: nothing changes.
      kube::Plan accepted;
      accepted.writes = {write};
      if (write.step != "class-l2") w.world.execute(accepted);
    }
    w.world.advance(std::chrono::seconds(1));
  }
  EXPECT_LE(repairs, 25);
  EXPECT_EQ(w.condition("public", "BackendReady"), "False NotKept");
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("L2Advertisement iad-public"));
}

TEST(ClassRenderingTest, SomebodyElsesObjectsAreNotTakenOver) {
  ClassWorld w;
  w.put_pool("iad-public", R"(["192.0.2.0/24"])");
  w.put_class("public", k_29);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("192.0.2.0/24"));
  EXPECT_EQ(w.pool("public")->autoAssign, true);
  EXPECT_EQ(w.condition("public", "BackendReady"), "False ForeignObject");
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("IPAddressPool iad-public"));
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
  EXPECT_EQ(w.l2("public"), nullptr) << "their pool is not ours to advertise";

  w.world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST(ClassRenderingTest, BesideAPoolThatIsMadeOverOursIsAdvertisedUntilTheLastAddressGoes) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.put_address("203.0.113.1", "public");
  w.settle("public");
  ASSERT_NE(w.l2("public"), nullptr);
  w.world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  w.put_pool("iad-public", R"(["203.0.113.0/29"])");
  w.settle("public");
  EXPECT_EQ(w.condition("public", "BackendReady"), "False ForeignObject");
  EXPECT_NE(w.l2("public"), nullptr) << "somebody may be reached by it";
  w.vanish_address("203.0.113.1");
  w.settle("public");
  EXPECT_EQ(w.l2("public"), nullptr);
  EXPECT_EQ(w.pool("public")->autoAssign, true);
}

TEST(ClassRenderingTest, APoolThatLostItsLabelIsStillOurs) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.change<api::IPAddressPool>("metallb-system", "iad-public", R"({"metadata":{"labels":null}})");
  ASSERT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_EQ(w.pool("public")->meta.labels.get(api::metallb::class_label), "public");
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST(ClassRenderingTest, SomebodyElsesAdvertisementIsReported) {
  ClassWorld w;
  w.world.put<api::L2Advertisement>(R"({"metadata":{"name":"iad-public","namespace":"metallb-system"},"spec":{}})");
  w.put_class("public", k_29);
  w.settle("public");
  EXPECT_NE(w.pool("public"), nullptr);
  EXPECT_EQ(w.l2("public")->spec, "{}");
  EXPECT_EQ(w.condition("public", "BackendReady"), "False ForeignObject");
}

TEST(ClassRenderingTest, WhatAnOlderImplementationRenderedIsAdoptedInOneWrite) {
  ClassWorld w;
  w.put_pool(
      "iad-public", R"(["203.0.113.0/29"])",
      R"(,"ownerReferences":[{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClass","name":"public","uid":"u"}])");
  // Its network and broadcast address are in use.
  w.put_address("203.0.113.0", "public");
  w.put_address("203.0.113.7", "public");
  w.put_class("public", k_29);
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "203.0.113.0/32", "203.0.113.7/32"));
  EXPECT_EQ(w.pool("public")->autoAssign, false);
  EXPECT_EQ(w.pool("public")->meta.labels.get(api::metallb::class_label), "public");
  EXPECT_THAT(w.pool("public")->meta.owners, IsEmpty());
  EXPECT_EQ(w.world.writes, 3) << "pool, advertisement, status";
}

TEST(ClassRenderingTest, NothingIsWrittenWithoutMetalLb) {
  ClassWorld w(false);
  w.put_class("public", k_29);
  w.settle("public");
  EXPECT_EQ(w.world.writes, 1);
  EXPECT_EQ(w.condition("public", "BackendReady"), "False MetalLBMissing");
  EXPECT_EQ(w.condition("public", "ParametersValid"), "True Valid");
  w.install_metallb();
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6"));
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST(ClassRenderingTest, NothingIsWrittenWhileTheNamespaceGoes) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.put_namespace("Terminating");
  w.world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  w.settle("public");
  EXPECT_EQ(w.pool("public"), nullptr);
  EXPECT_EQ(w.condition("public", "BackendReady"), "False MetalLBTerminating");
  w.world.vanish<api::Namespace>("", "metallb-system");
  w.settle("public");
  EXPECT_EQ(w.condition("public", "BackendReady"), "False MetalLBMissing");
  w.put_namespace("Active");
  EXPECT_TRUE(w.is_woken("public"));
  w.settle("public");
  EXPECT_NE(w.pool("public"), nullptr);
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST(ClassRenderingTest, ATerminatingPoolIsKeptEditedAndReported) {
  ClassWorld w;
  w.put_class("public", k_29);
  w.settle("public");
  w.world.change<api::IPAddressPool>("metallb-system", "iad-public",
                                     R"({"metadata":{"finalizers":["example.org/keep"]}})");
  w.world.remove<api::IPAddressPool>("metallb-system", "iad-public");
  w.put_address("198.51.100.7", "public");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "198.51.100.7/32"));
  EXPECT_EQ(w.condition("public", "BackendReady"), "False PoolTerminating");
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("example.org/keep"));
  w.world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.1-203.0.113.6", "198.51.100.7/32"));
  EXPECT_EQ(w.condition("public", "BackendReady"), "True Rendered");
}

TEST(ClassRenderingTest, AVeryLongClassNameIsRenderedToo) {
  ClassWorld w;
  const std::string name(253, 'x');
  w.put_class(name, k_29);
  w.settle(name);
  ASSERT_NE(w.pool(name), nullptr);
  EXPECT_EQ(w.pool(name)->meta.name.size(), 253U);
  EXPECT_EQ(w.condition(name, "BackendReady"), "True Rendered");
  // The key is found from the pool alone, as after a restart.
  std::vector<kube::Key> keys;
  metallb_watches(settings()).front().keys(*w.pool(name), keys);
  EXPECT_THAT(keys, ElementsAre(class_key(name)));
}

// --- aggregation: speakers refuse one wider than any entry of the pool ---

TEST(ClassRenderingTest, AggregationFallsBackWhileAddressesLieOutside) {
  ClassWorld w;
  w.put_class(
      "public",
      R"({"addresses":["203.0.113.0/24"],"includeNetworkAddresses":true,"advertise":{"bgp":{"aggregationLength":24}}})");
  w.settle("public");
  EXPECT_EQ(aggregation_of(w.bgp("public")->spec), (Aggregation{24, 128}));
  EXPECT_THAT(w.message("public", "BackendReady"), ::testing::Not(HasSubstr("aggregated")));

  w.put_address("198.51.100.7", "public");
  const kube::Plan first = w.run("public");
  EXPECT_THAT(steps(first), ElementsAre("class-bgp")) << "the advertisement goes first";
  w.world.execute(first);
  EXPECT_EQ(aggregation_of(w.bgp("public")->spec), (Aggregation{32, 128}));
  w.settle("public");
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.0/24", "198.51.100.7/32"));
  w.world.advance(std::chrono::seconds(10));
  w.settle("public");
  EXPECT_THAT(w.message("public", "BackendReady"), HasSubstr("not aggregated"));

  w.vanish_address("198.51.100.7");
  const kube::Plan back = w.run("public");
  EXPECT_THAT(steps(back), ElementsAre("class-pool")) << "the pool goes first";
  w.world.execute(back);
  w.settle("public");
  EXPECT_EQ(aggregation_of(w.bgp("public")->spec), (Aggregation{24, 128}));
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.0/24"));
}

TEST(ClassRenderingTest, APoolWithSmallerEntriesWaitsForTheAdvertisementEvenWithoutParameters) {
  ClassWorld w;
  w.put_class(
      "public",
      R"({"addresses":["203.0.113.0/24"],"includeNetworkAddresses":true,"advertise":{"bgp":{"aggregationLength":24}}})");
  w.settle("public");
  w.edit_class("public", R"({"addresses":["banana"]})", 2);
  w.settle("public");
  w.put_address("198.51.100.7", "public");
  EXPECT_THAT(steps(w.run("public")), ElementsAre("class-bgp"));
  w.settle("public");
  EXPECT_EQ(aggregation_of(w.bgp("public")->spec), (Aggregation{32, 128}));
  EXPECT_THAT(w.addresses("public"), ElementsAre("203.0.113.0/24", "198.51.100.7/32"));
}

TEST(ClassRenderingTest, AggregationAndRangesThatBothChangePassThroughWhatFitsBoth) {
  ClassWorld w;
  w.put_class(
      "public",
      R"({"addresses":["203.0.113.0/24"],"includeNetworkAddresses":true,"advertise":{"bgp":{"aggregationLength":24}}})");
  w.settle("public");
  w.edit_class("public",
               R"({"addresses":["198.51.96.0/20","192.0.2.0/26"],"includeNetworkAddresses":true,
                   "advertise":{"bgp":{"aggregationLength":26}}})",
               2);
  while (true) {
    const kube::Plan plan = w.run("public");
    if (plan.sends_nothing()) break;
    w.world.execute(plan);
    const auto live = aggregation_of(w.bgp("public")->spec);
    std::vector<base::IpRange> entries;
    for (const std::string& text : w.addresses("public")) entries.push_back(*pool_entry(text));
    EXPECT_GE(live.v4, aggregation_limits(entries).v4) << "at every step";
  }
  EXPECT_EQ(aggregation_of(w.bgp("public")->spec), (Aggregation{26, 128}));
  EXPECT_THAT(w.addresses("public"), ElementsAre("198.51.96.0/20", "192.0.2.0/26"));
}

}  // namespace
}  // namespace metallb::testing
