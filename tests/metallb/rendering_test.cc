// What a class comes to at MetalLB (driver design §3).
#include "metallb/rendering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "api/names.h"
#include "metallb/shortened.h"

namespace metallb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

base::IpAddress ip(std::string_view text) { return *base::IpAddress::parse(text); }
boost::json::object json(std::string_view text) { return boost::json::parse(text).as_object(); }

TEST(ShortenedTest, KeepsWhatFits) {
  EXPECT_EQ(shortened("public", 63), "public");
  EXPECT_EQ(shortened(std::string(63, 'a'), 63), std::string(63, 'a'));
}

TEST(ShortenedTest, CutsAndHashesTheRest) {
  const std::string text(64, 'a');
  const std::string cut = shortened(text, 63);
  EXPECT_EQ(cut.size(), 63U);
  EXPECT_EQ(cut, std::string(46, 'a') + "-ffe054fe7ae0cb6d");
  EXPECT_NE(cut, shortened(text + "a", 63));
}

TEST(ShortenedTest, LeavesNoDotOrDashBeforeTheHash) {
  const std::string cut = shortened(std::string(45, 'a') + ".-.-" + std::string(40, 'b'), 63);
  EXPECT_THAT(cut, StartsWith(std::string(45, 'a') + "-"));
  EXPECT_EQ(cut.find('.'), std::string::npos);
  EXPECT_EQ(cut.size(), 45U + 17U);
}

TEST(PoolNameTest, IsThePrefixAndTheClass) {
  EXPECT_EQ(pool_name("public"), "iad-public");
  EXPECT_EQ(pool_name("a.b-c"), "iad-a.b-c");
  EXPECT_EQ(pool_name(std::string(249, 'x')), "iad-" + std::string(249, 'x'));
}

TEST(PoolNameTest, IsLegalForEveryClassName) {
  for (const std::size_t length : {250U, 251U, 252U, 253U}) {
    const std::string name = pool_name(std::string(length, 'x'));
    EXPECT_EQ(name.size(), 253U);
    EXPECT_THAT(name, StartsWith("iad-xxx"));
  }
  EXPECT_NE(pool_name(std::string(252, 'x')), pool_name(std::string(253, 'x')));
}

TEST(RenderedMetadataTest, CarriesTheClass) {
  EXPECT_EQ(rendered_metadata("metallb-system", "public"), json(R"({"name":"iad-public","namespace":"metallb-system",
                     "labels":{"metallb.drivers.local.sdn.cozystack.io/class":"public"}})"));
  const std::string long_class(100, 'c');
  const auto metadata = rendered_metadata("ns", long_class);
  EXPECT_LE(metadata.at("labels").at(api::metallb::class_label).as_string().size(), 63U);
  EXPECT_EQ(metadata.at("annotations").at(api::metallb::class_label).as_string(), long_class);
}

kube::Meta meta_of(const boost::json::object& metadata) {
  kube::Meta meta;
  meta.ns = metadata.at("namespace").as_string();
  meta.name = metadata.at("name").as_string();
  for (const auto& [key, value] : metadata.at("labels").as_object())
    meta.labels.set(key, std::string(value.as_string()));
  if (const auto* annotations = metadata.if_contains("annotations")) {
    for (const auto& [key, value] : annotations->as_object()) meta.annotations.set(key, std::string(value.as_string()));
  }
  return meta;
}

TEST(RenderedForTest, FindsTheClassOfWhateverWasRendered) {
  for (const std::string& name : {std::string("public"), std::string("a.b"), std::string(63, 'x'), std::string(64, 'x'),
                                  std::string(249, 'x'), std::string(250, 'x'), std::string(253, 'x')}) {
    const kube::Meta meta = meta_of(rendered_metadata("ns", name));
    EXPECT_EQ(rendered_for(meta), name);
    EXPECT_TRUE(is_rendering_of(meta, name));
    EXPECT_FALSE(is_rendering_of(meta, "other"));
  }
}

TEST(RenderedForTest, FindsTheClassOfALongNameWithoutItsAnnotation) {
  kube::Meta meta = meta_of(rendered_metadata("ns", std::string(100, 'x')));
  meta.annotations = {};
  EXPECT_EQ(rendered_for(meta), std::string(100, 'x'));
}

TEST(RenderedForTest, AnOwnerReferenceToTheClassIsAMarkToo) {
  kube::Meta meta;
  meta.name = "iad-public";
  EXPECT_EQ(rendered_for(meta), std::nullopt);
  meta.owners = {{"local.sdn.cozystack.io/v1alpha1", "IPAddressClass", "public", "u1", true}};
  EXPECT_EQ(rendered_for(meta), "public");
  EXPECT_TRUE(is_rendering_of(meta, "public"));
  meta.owners = {{"local.sdn.cozystack.io/v1alpha1", "IPAddressClass", "other", "u1", true}};
  EXPECT_EQ(rendered_for(meta), std::nullopt);
  meta.owners = {{"example.org/v1", "IPAddressClass", "public", "u1", true}};
  EXPECT_EQ(rendered_for(meta), std::nullopt);
  meta.owners = {{"local.sdn.cozystack.io/v1alpha1", "IPAddressClaim", "public", "u1", true}};
  EXPECT_EQ(rendered_for(meta), std::nullopt);
}

TEST(RenderedForTest, OtherNamesAndOtherLabelsAreNotOurs) {
  kube::Meta meta;
  meta.name = "iad-public";
  meta.labels.set(std::string(api::metallb::class_label), "other");
  EXPECT_EQ(rendered_for(meta), std::nullopt);
  meta.name = "public";
  meta.labels.set(std::string(api::metallb::class_label), "public");
  EXPECT_EQ(rendered_for(meta), std::nullopt);
}

TEST(PoolEntryTest, ReadsAsMetalLbDoes) {
  EXPECT_EQ(pool_entry("10.0.0.5/24"), (base::IpRange{ip("10.0.0.0"), ip("10.0.0.255")}));
  EXPECT_EQ(pool_entry("10.0.0.5 - 10.0.0.9"), (base::IpRange{ip("10.0.0.5"), ip("10.0.0.9")}));
  EXPECT_EQ(pool_entry("2001:db8::/126"), (base::IpRange{ip("2001:db8::"), ip("2001:db8::3")}));
  EXPECT_EQ(pool_entry("2001:db8::-2001:db8::3"), (base::IpRange{ip("2001:db8::"), ip("2001:db8::3")}));
  for (const char* entry : {"10.0.0.5", "", "-", "10.0.0.9-10.0.0.5", "10.0.0.5-2001:db8::1", "10.0.0.0/33", "x"})
    EXPECT_EQ(pool_entry(entry), std::nullopt) << entry;
}

TEST(PoolRangesTest, LeaveOutWhatCannotBeRead) {
  const auto set = pool_ranges({"10.0.0.0/31", "x", "10.0.0.2-10.0.0.3", "2001:db8::/127"});
  EXPECT_THAT(set.ranges(), ElementsAre(base::IpRange{ip("10.0.0.0"), ip("10.0.0.3")},
                                        base::IpRange{ip("2001:db8::"), ip("2001:db8::1")}));
}

TEST(RenderAddressesTest, OutsidersFollowAsSingleAddressesInOrderAndOnce) {
  EXPECT_THAT(render_addresses({{ip("10.0.0.1"), ip("10.0.0.6")}},
                               {ip("2001:db8::7"), ip("10.0.0.10"), ip("10.0.0.9"), ip("10.0.0.10")}),
              ElementsAre("10.0.0.1-10.0.0.6", "10.0.0.9/32", "10.0.0.10/32", "2001:db8::7/128"));
  EXPECT_THAT(render_addresses({}, {}), IsEmpty());
}

TEST(RenderAddressesTest, WhatIsRenderedIsReadBackTheSame) {
  const std::vector<base::IpRange> pieces{{ip("10.0.0.1"), ip("10.0.0.254")},
                                          {ip("10.0.4.0"), ip("10.0.7.255")},
                                          {ip("2001:db8::"), ip("2001:db8::fffe")},
                                          {ip("2001:db8:1::"), ip("2001:db8:1::")}};
  const auto entries = render_addresses(pieces, {});
  ASSERT_EQ(entries.size(), pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(pool_entry(entries[i]), pieces[i]) << entries[i];
}

TEST(PoolSpecTest, IsExplicit) {
  EXPECT_EQ(pool_spec({"10.0.0.0/31"}),
            json(R"({"addresses":["10.0.0.0/31"],"autoAssign":false,"avoidBuggyIPs":false})"));
}

TEST(AggregationTest, TheWidestBlockOfTheSmallestEntryIsTheLimit) {
  EXPECT_EQ(aggregation_limits({}), (Aggregation{1, 1}));
  EXPECT_EQ(aggregation_limits({*pool_entry("10.0.0.0/24")}), (Aggregation{24, 1}));
  EXPECT_EQ(aggregation_limits({*pool_entry("10.0.0.1-10.0.0.254")}), (Aggregation{26, 1}));
  EXPECT_EQ(aggregation_limits({*pool_entry("10.0.0.0/24"), *pool_entry("10.0.1.7/32"), *pool_entry("2001:db8::/64")}),
            (Aggregation{32, 64}));
}

TEST(AggregationTest, FallsBackToNoneWhereTheLimitDoesNotAllowIt) {
  BgpOptions options;
  EXPECT_EQ(effective_aggregation(options, {1, 1}), (Aggregation{32, 128}));
  options.aggregation_length = 24;
  options.aggregation_length_v6 = 64;
  EXPECT_EQ(effective_aggregation(options, {24, 64}), (Aggregation{24, 64}));
  EXPECT_EQ(effective_aggregation(options, {32, 64}), (Aggregation{32, 64}));
  EXPECT_EQ(effective_aggregation(options, {24, 65}), (Aggregation{24, 128}));
}

TEST(AggregationTest, IsReadFromASpec) {
  EXPECT_EQ(aggregation_of("{}"), (Aggregation{32, 128}));
  EXPECT_EQ(aggregation_of(R"({"aggregationLength":24,"aggregationLengthV6":64})"), (Aggregation{24, 64}));
}

TEST(L2SpecTest, AlwaysNamesThePool) { EXPECT_EQ(l2_spec("public", {}), json(R"({"ipAddressPools":["iad-public"]})")); }

TEST(L2SpecTest, CarriesTheOptions) {
  const L2Options options{
      {"eth0"}, {{{{"rack", "a"}}, {{"zone", "In", {"x", "y"}}}}, {}}, {{{}, {{"app", "Exists", {}}}}}};
  EXPECT_EQ(l2_spec("public", options), json(R"({"ipAddressPools":["iad-public"],"interfaces":["eth0"],
      "nodeSelectors":[{"matchLabels":{"rack":"a"},"matchExpressions":[{"key":"zone","operator":"In","values":["x","y"]}]},{}],
      "serviceSelectors":[{"matchExpressions":[{"key":"app","operator":"Exists"}]}]})"));
}

TEST(BgpSpecTest, AlwaysNamesThePoolAndTheLengths) {
  EXPECT_EQ(bgp_spec("public", {}, k_no_aggregation),
            json(R"({"ipAddressPools":["iad-public"],"aggregationLength":32,"aggregationLengthV6":128})"));
}

TEST(BgpSpecTest, CarriesTheOptions) {
  BgpOptions options;
  options.local_pref = 4294967295U;
  options.communities = {"65000:1", "no-export"};
  options.peers = {"r1"};
  options.node_selectors = {{{{"a", "b"}}, {}}};
  EXPECT_EQ(bgp_spec("public", options, {24, 64}), json(R"({"ipAddressPools":["iad-public"],"aggregationLength":24,
      "aggregationLengthV6":64,"localPref":4294967295,"communities":["65000:1","no-export"],"peers":["r1"],
      "nodeSelectors":[{"matchLabels":{"a":"b"}}]})"));
}

// A row: what the server has, what is wanted, the patch.
struct Drift {
  const char* name;
  const char* current;
  const char* wanted;
  const char* patch;
};
class DriftTest : public testing::TestWithParam<Drift> {};

TEST_P(DriftTest, PatchesOnlyWhatDiffers) {
  EXPECT_EQ(difference(GetParam().current, json(GetParam().wanted)), json(GetParam().patch));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DriftTest,
    testing::ValuesIn(std::vector<Drift>{
        {"Same", R"({"a":[1,2],"b":false})", R"({"b":false,"a":[1,2]})", "{}"},
        {"SameWithOtherOrderOfKeys", R"({"s":{"x":1,"y":"z"}})", R"({"s":{"y":"z","x":1}})", "{}"},
        {"SameNumberOfAnotherKind", R"({"n":4294967295})", R"({"n":4294967295})", "{}"},
        {"Nothing", "", R"({"a":1})", R"({"a":1})"},
        {"Flipped", R"({"autoAssign":true,"addresses":["a"]})", R"({"autoAssign":false,"addresses":["a"]})",
         R"({"autoAssign":false})"},
        {"AbsentIsNotFalse", R"({"addresses":["a"]})", R"({"autoAssign":false,"addresses":["a"]})",
         R"({"autoAssign":false})"},
        {"ListsAreReplaced", R"({"a":["x","y"]})", R"({"a":["x"]})", R"({"a":["x"]})"},
        {"OrderOfListsMatters", R"({"a":["x","y"]})", R"({"a":["y","x"]})", R"({"a":["y","x"]})"},
        {"ForeignKeysGo", R"({"a":1,"serviceAllocation":{"priority":1}})", R"({"a":1})",
         R"({"serviceAllocation":null})"},
        {"EmptyForeignKeysMayStay", R"({"a":1,"b":null,"c":false,"d":0,"e":"","f":[],"g":{}})", R"({"a":1})", "{}"},
        {"InsideObjects", R"({"o":{"a":1,"b":2,"c":3}})", R"({"o":{"a":1,"b":4}})", R"({"o":{"b":4,"c":null}})"},
        {"ObjectForText", R"({"o":"x"})", R"({"o":{"a":1}})", R"({"o":{"a":1}})"},
        {"NoObject", "[1]", R"({"a":1})", R"({"a":1})"},
    }),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace metallb
