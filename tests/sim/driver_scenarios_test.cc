// The acceptance scenarios of the driver, end to end: 23 to 50 as far as they need a whole cluster.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

namespace m = api::metallb;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::string_view k_ranges = "203.0.113.0/29, '2001:db8::/126'";

std::string annotation(std::string_view key) {
  std::string escaped = "metadata.annotations.";
  for (const char c : key) escaped += c == '.' ? std::string("\\.") : std::string(1, c);
  return escaped;
}

// A class with claim tenant-a/web, Bound and held.
struct Held : DriverSim {
  explicit Held(std::string_view policy = "Retain", std::string_view family = "IPv4", std::uint64_t seed = 1)
      : DriverSim({.seed = seed}) {
    put_class("public", k_ranges, policy);
    put_claim("web", "public", family);
    EXPECT_TRUE(eventually([&] { return phase("web") == "Bound"; }));
    ip = ip_of("web");
    EXPECT_TRUE(world.settle());
  }
  void attach(std::string_view service = "app") {
    put_service(service, "web");
    EXPECT_TRUE(eventually([&] { return ingress(service) == std::set{ip}; })) << service;
    EXPECT_TRUE(world.settle());
  }
  std::string ip;
};

// 23 to 26, and the write budgets.
TEST(DriverScenarios, AClaimIsBoundAndHeldInThreeWrites) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    DriverSim sim({.seed = seed});
    sim.put_class("public", k_ranges);
    ASSERT_TRUE(sim.eventually([&] { return sim.get(DriverSim::pool_path("iad-public")).has_value(); }));
    ASSERT_TRUE(sim.world.settle());
    sim.world.forget_audit();
    sim.put_claim("web");
    ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
    ASSERT_TRUE(sim.world.settle());
    EXPECT_EQ(sim.driver_writes(), 3);
    EXPECT_EQ(sim.core_writes(), 5);
    const std::string ip = sim.ip_of("web");
    const std::string uid = sim.field(DriverSim::claim_path("web"), "metadata.uid");
    EXPECT_THAT(sim.placeholders(), ElementsAre("iad-" + uid + "-v4"));
    EXPECT_EQ(sim.holder_of(ip), "iad-" + uid + "-v4");
    EXPECT_EQ(sim.field(DriverSim::claim_path("web"), "status.conditions").find("Provisioning"), std::string::npos);
    sim.expect_restart_writes_nothing();
    EXPECT_THAT(sim.placeholders(), SizeIs(1));
  }
}

TEST(DriverScenarios, ADualClaimGetsOneOfEach) {
  DriverSim sim;
  sim.put_class("public", k_ranges);
  sim.put_claim("web", "public", "Dual");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  sim.expect_rest();
  EXPECT_THAT(sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses"), SizeIs(2));
  EXPECT_THAT(sim.placeholders(), SizeIs(2));
}

TEST(DriverScenarios, TheFirstAddressOfAnIPv6RangeEndsInTwoColons) {
  DriverSim sim;
  sim.put_class("public", "'2001:db8::/126'");
  sim.put_claim("web", "public", "IPv6");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  EXPECT_EQ(sim.ip_of("web"), "2001:db8::");
  sim.put_service("app", "web", "tenant-a", ", ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]");
  EXPECT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set<std::string>{"2001:db8::"}; }));
  sim.expect_rest();
}

// 28
TEST(DriverScenarios, AnUnrecordedPlaceholderGoesWithItsClaim) {
  DriverSim sim({.metallb = false});
  sim.put_class("public", k_ranges);
  sim.put_claim("web");
  ASSERT_TRUE(sim.eventually([&] { return sim.placeholders().size() == 1; }));
  sim.remove(DriverSim::claim_path("web"));
  EXPECT_TRUE(sim.eventually([&] { return sim.placeholders().empty(); }));
  sim.expect_rest();
}

// 31
TEST(DriverScenarios, AStaticAddressIsHeldBeforeItIsMatched) {
  DriverSim sim;
  sim.put_class("public", k_ranges);
  ASSERT_TRUE(sim.eventually([&] { return sim.get(DriverSim::pool_path("iad-public")).has_value(); }));
  sim.world.create(
      fmt::format("{{apiVersion: {}/v1alpha1, kind: IPAddress, metadata: {{name: the-mail-relay.example}}, spec: "
                  "{{address: 203.0.113.3, className: public, source: {{fromClass: {{}}}}}}}}",
                  api::group));
  ASSERT_TRUE(sim.eventually([&] { return !sim.holder_of("203.0.113.3").empty(); }));
  sim.put_claim("web");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  EXPECT_EQ(sim.ip_of("web"), "203.0.113.3");
  sim.expect_restart_writes_nothing();
  EXPECT_THAT(sim.placeholders(), SizeIs(1));
}

// 38, six writes; detach by deletion, six; by the annotation, at most six.
TEST(DriverScenarios, AttachAndDetachKeepToTheBudget) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Held sim("Retain", "IPv4", seed);
    sim.world.forget_audit();
    sim.attach();
    EXPECT_EQ(sim.driver_writes(), 6);
    EXPECT_EQ(sim.attached_to(sim.ip), "app");
    EXPECT_THAT(sim.placeholders(), IsEmpty());
    EXPECT_THAT(sim.event_reasons("app"), Contains("Associated"));

    sim.world.forget_audit();
    sim.remove(DriverSim::service_path("app"));
    ASSERT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
    ASSERT_TRUE(sim.world.settle());
    EXPECT_EQ(sim.driver_writes(), 6);
    EXPECT_EQ(sim.attached_to(sim.ip), "");
    EXPECT_FALSE(sim.get(DriverSim::service_path("app")));

    sim.attach("next");
    sim.world.forget_audit();
    sim.patch(DriverSim::service_path("next"),
              fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", api::claim_annotation));
    ASSERT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
    ASSERT_TRUE(sim.world.settle());
    EXPECT_LE(sim.driver_writes(), 6);
    EXPECT_EQ(sim.attached_to(sim.ip), "");
    for (const std::string_view key : {m::pin, m::pool, m::pinned, m::service_uid}) {
      EXPECT_EQ(sim.field(DriverSim::service_path("next"), annotation(key)), "") << key;
    }
    EXPECT_EQ(sim.address_phase(sim.ip), "Bound");
    EXPECT_EQ(sim.core_writes(), 0);
    sim.expect_restart_writes_nothing();
  }
}

// 39, 40
TEST(DriverScenarios, ASecondServiceTakesOverWhenTheFirstLetsGo) {
  Held sim;
  sim.attach();
  sim.put_service("second", "web");
  ASSERT_TRUE(sim.eventually([&] { return sim.event_reasons("second").contains("AssociationRejected"); }));
  sim.expect_rest();
  EXPECT_EQ(sim.attached_to(sim.ip), "app");
  EXPECT_THAT(sim.ingress("second"), ::testing::Not(Contains(sim.ip)));
  sim.remove(DriverSim::service_path("app"));
  EXPECT_TRUE(sim.eventually([&] { return sim.ingress("second") == std::set{sim.ip}; }));
  sim.expect_restart_writes_nothing();
  EXPECT_EQ(sim.attached_to(sim.ip), "second");
}

TEST(DriverScenarios, AServiceThatWentWithoutNoticePassesTheAddressOn) {
  Held sim;
  sim.attach();
  sim.world.crash("driver");
  sim.patch(DriverSim::service_path("app"), R"({"metadata":{"finalizers":null}})");
  sim.remove(DriverSim::service_path("app"));
  sim.world.run_for(seconds(1));
  sim.world.restart("driver");
  sim.put_service("next", "web");
  EXPECT_TRUE(sim.eventually([&] { return sim.ingress("next") == std::set{sim.ip}; }));
  sim.expect_rest();
}

// 35, 41c, 41d: the claim goes while attached.
TEST(DriverScenarios, AClaimDeletedWhileAttachedUnderDelete) {
  Held sim("Delete");
  sim.attach();
  sim.remove(DriverSim::claim_path("web"));
  ASSERT_TRUE(sim.eventually([&] { return !sim.get(DriverSim::address_path(name_of(sim.ip))); }));
  sim.expect_rest();
  EXPECT_THAT(sim.placeholders(), IsEmpty());
  EXPECT_THAT(sim.ingress("app"), IsEmpty());
  EXPECT_EQ(sim.field(DriverSim::service_path("app"), annotation(m::pin)), "");
  EXPECT_EQ(sim.field(DriverSim::service_path("app"), "metadata.finalizers"), "");
}

TEST(DriverScenarios, AClaimDeletedWhileAttachedUnderRetain) {
  Held sim("Retain");
  sim.attach();
  sim.remove(DriverSim::claim_path("web"));
  ASSERT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
  sim.expect_rest();
  EXPECT_EQ(sim.address_phase(sim.ip), "Released");
  EXPECT_EQ(sim.attached_to(sim.ip), "");
  EXPECT_THAT(sim.ingress("app"), IsEmpty());
}

TEST(DriverScenarios, DeletingAClaimUnderDeleteCostsTwoWrites) {
  Held sim("Delete");
  sim.world.forget_audit();
  sim.remove(DriverSim::claim_path("web"));
  ASSERT_TRUE(sim.eventually([&] { return !sim.get(DriverSim::address_path(name_of(sim.ip))); }));
  sim.expect_rest();
  EXPECT_EQ(sim.driver_writes(), 2);
  EXPECT_EQ(sim.core_writes(), 3);
}

TEST(DriverScenarios, DeletingAClaimUnderRetainCostsNothingAndTheHoldStays) {
  Held sim("Retain");
  const std::string hold = sim.holder_of(sim.ip);
  sim.world.forget_audit();
  sim.remove(DriverSim::claim_path("web"));
  ASSERT_TRUE(sim.eventually([&] { return sim.address_phase(sim.ip) == "Released"; }));
  sim.expect_rest();
  EXPECT_EQ(sim.driver_writes(), 0);
  EXPECT_EQ(sim.core_writes(), 2);
  EXPECT_EQ(sim.holder_of(sim.ip), hold);
}

// 38c, 38d: Dual.
TEST(DriverScenarios, ADualStackServiceGetsBothAndGivesBothBack) {
  DriverSim sim;
  sim.put_class("public", k_ranges);
  sim.put_claim("web", "public", "Dual");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  sim.put_service("app", "web", "tenant-a", ", ipFamilyPolicy: RequireDualStack");
  ASSERT_TRUE(sim.eventually([&] { return sim.ingress("app").size() == 2 && sim.placeholders().empty(); }));
  sim.expect_rest();
  sim.remove(DriverSim::service_path("app"));
  ASSERT_TRUE(sim.eventually([&] { return sim.placeholders().size() == 2; }));
  sim.expect_restart_writes_nothing();
  sim.put_service("six", "web", "tenant-a", ", ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]");
  ASSERT_TRUE(sim.eventually([&] { return sim.ingress("six").size() == 1; }));
  sim.expect_rest();
  EXPECT_THAT(sim.placeholders(), SizeIs(1));
}

// 41b
TEST(DriverScenarios, AServiceThatTurnsToAnotherClaimGetsItsAddress) {
  Held sim;
  sim.attach();
  sim.put_claim("other");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("other") == "Bound"; }));
  const std::string other = sim.ip_of("other");
  sim.patch(DriverSim::service_path("app"),
            fmt::format(R"({{"metadata":{{"annotations":{{"{}":"other"}}}}}})", api::claim_annotation));
  ASSERT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{other}; }));
  sim.expect_rest();
  EXPECT_NE(sim.holder_of(sim.ip), "");
  EXPECT_EQ(sim.attached_to(sim.ip), "");
}

// 31d
TEST(DriverScenarios, HoldsThatAreDeletedOrAlteredAreRepaired) {
  Held sim;
  sim.remove(DriverSim::service_path(sim.holder_of(sim.ip), "metallb-iad-system"));
  ASSERT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
  sim.expect_rest();
  const std::string hold = DriverSim::service_path(sim.holder_of(sim.ip), "metallb-iad-system");
  sim.patch(hold, R"({"metadata":{"annotations":{"metallb.io/loadBalancerIPs":null},"labels":null}})");
  ASSERT_TRUE(sim.eventually([&] { return sim.field(hold, annotation(m::pin)) == sim.ip; }));
  sim.expect_rest();
  EXPECT_THAT(sim.placeholders(), SizeIs(1));
}

TEST(DriverScenarios, ThePlaceholderNamespaceIsPutBack) {
  Held sim;
  sim.remove("/api/v1/namespaces/metallb-iad-system");
  sim.world.run_for(seconds(5));
  ASSERT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
  sim.expect_rest();
  EXPECT_EQ(sim.phase("web"), "Bound");
}

// 30
TEST(DriverScenarios, DeletingTheClassRevokesNothing) {
  Held sim;
  sim.put_claim("second");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("second") == "Bound"; }));
  sim.attach();
  sim.remove(DriverSim::class_path("public"));
  sim.expect_rest();
  EXPECT_EQ(sim.ingress("app"), std::set{sim.ip});
  EXPECT_NE(sim.holder_of(sim.ip_of("second")), "");
  sim.remove(DriverSim::service_path("app"));
  EXPECT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
}

// 28d
TEST(DriverScenarios, AnExhaustedClassServesTheNextWhenAnAddressComesFree) {
  DriverSim sim;
  sim.put_class("public", "203.0.113.1/32", "Delete");
  sim.put_claim("web");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  sim.put_claim("next");
  sim.world.run_for(seconds(1));  // which of two claims of one second is older is not said
  sim.put_claim("last");
  ASSERT_TRUE(sim.eventually([&] {
    return sim.field(DriverSim::claim_path("next"), "status.conditions").find("Exhausted") != std::string::npos;
  }));
  sim.expect_rest();
  sim.remove(DriverSim::claim_path("web"));
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("next") == "Bound"; }));
  sim.expect_rest();
  EXPECT_EQ(sim.phase("last"), "Pending");
}

// 37, 43
TEST(DriverScenarios, AThiefIsAConflictUntilItGoes) {
  Held sim;
  sim.world.crash("driver");
  sim.remove(DriverSim::service_path(sim.holder_of(sim.ip), "metallb-iad-system"));
  sim.world.run_for(seconds(1));
  sim.put_service("thief", "", "tenant-b");
  sim.patch(DriverSim::service_path("thief", "tenant-b"),
            fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", m::pin, sim.ip));
  ASSERT_TRUE(sim.eventually([&] { return sim.ingress("thief", "tenant-b").contains(sim.ip); }));
  sim.world.restart("driver");
  ASSERT_TRUE(sim.eventually([&] { return sim.address_phase(sim.ip) == "Conflict"; }));
  sim.expect_rest();
  sim.remove(DriverSim::service_path("thief", "tenant-b"));
  ASSERT_TRUE(sim.eventually([&] { return sim.address_phase(sim.ip) == "Bound"; }));
  sim.expect_rest();
  EXPECT_NE(sim.holder_of(sim.ip), "");
}

TEST(DriverScenarios, MetalLBDownAtDetachIsHarmlessAndHealed) {
  Held sim;
  sim.attach();
  sim.world.crash("metallb");
  sim.remove(DriverSim::service_path("app"));
  EXPECT_TRUE(sim.eventually([&] { return !sim.get(DriverSim::service_path("app")); }, minutes(2)));
  sim.world.run_for(minutes(3));
  sim.world.restart("metallb");
  EXPECT_TRUE(sim.eventually([&] { return !sim.holder_of(sim.ip).empty(); }));
  sim.expect_rest();
  EXPECT_EQ(sim.attached_to(sim.ip), "");
  EXPECT_EQ(sim.phase("web"), "Bound");
}

TEST(DriverScenarios, MetalLBDownAtAttachIsHealed) {
  Held sim;
  sim.world.crash("metallb");
  sim.put_service("app", "web");
  sim.world.run_for(minutes(3));
  sim.world.restart("metallb");
  EXPECT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{sim.ip}; }, minutes(5)));
  sim.expect_rest();
  EXPECT_THAT(sim.placeholders(), IsEmpty());
}

}  // namespace
}  // namespace metallb::sim
