// The core end to end in a simulated cluster: scenarios, write counts, crashes at every write.
#include <set>

#include "core_sim.h"

namespace core {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Effect = sandbox::Fault::Effect;

TEST(CoreSimulation, StaticMatchTakesFourWritesAndOneEvent) {
  CoreSim sim;
  ASSERT_EQ(sim.make_class("public"), 201) << sim.refusal;
  ASSERT_EQ(sim.make_address("a", "203.0.113.7"), 201) << sim.refusal;
  ASSERT_TRUE(sim.settle());
  EXPECT_EQ(sim.address("a")->phase, "Available");
  sim.world.forget_audit();
  EXPECT_EQ(sim.make_claim("web"), 201);
  ASSERT_TRUE(sim.settle());
  EXPECT_EQ(sim.phase("web"), "Bound");
  EXPECT_EQ(sim.writes(), 4);
  EXPECT_EQ(sim.sent(), 4);
  EXPECT_THAT(sim.events(), ElementsAre("web:Bound"));
  EXPECT_EQ(sim.loop()->stats().conflicts, 0U);
  sim.expect_at_rest();
}

TEST(CoreSimulation, ProvisionedClaimAndReclaimByBothPolicies) {
  for (const bool deletes : {false, true}) {
    CoreSim sim;
    sim.make_class("public");
    sim.make_claim("web");
    ASSERT_TRUE(sim.settle());
    EXPECT_EQ(sim.phase("web"), "Pending");
    EXPECT_EQ(sim.reason("web"), "WaitingForProvisioning");
    EXPECT_EQ(sim.sent(), 3);  // the last one, after 30 s: nothing is heard of the provisioner
    const std::string uid = sim.claim("web")->meta.uid;
    sim.make_address("ip-203-0-113-7", "203.0.113.7",
                     fmt::format(R"(,"reclaimPolicy":"{}","claimRef":{{"namespace":"t","name":"web","uid":"{}"}})",
                                 deletes ? "Delete" : "Retain", uid),
                     "public", R"(,"finalizers":["driver.example/teardown"])");
    ASSERT_TRUE(sim.settle());
    EXPECT_EQ(sim.phase("web"), "Bound");
    EXPECT_EQ(sim.sent(), 6);
    sim.world.forget_audit();
    sim.remove(CoreSim::claim_path("web"));
    ASSERT_TRUE(sim.settle());
    EXPECT_EQ(sim.claim("web"), nullptr);
    EXPECT_EQ(sim.sent(), deletes ? 3 : 2);
    if (deletes) {
      EXPECT_THAT(sim.address("ip-203-0-113-7")->meta.finalizers, ElementsAre("driver.example/teardown"));
    } else {
      EXPECT_EQ(sim.address("ip-203-0-113-7")->phase, "Released");
    }
    sim.expect_at_rest();
  }
}

TEST(CoreSimulation, BurstOfClaimsAtFourWritesEach) {
  constexpr int n = 300;
  CoreSim sim;
  sim.make_class("public");
  for (int i = 0; i < n; ++i) sim.make_address(fmt::format("a{}", i), fmt::format("10.0.{}.{}", i / 250, i % 250 + 1));
  ASSERT_TRUE(sim.settle());
  sim.world.forget_audit();
  for (int i = 0; i < n; ++i) sim.make_claim(fmt::format("c{}", i), R"("className":"public")", i % 2 == 0 ? "t" : "u");
  ASSERT_TRUE(sim.settle());
  EXPECT_EQ(sim.sent(), 4 * n);
  EXPECT_EQ(sim.loop()->stats().conflicts, 0U);
  std::set<std::string> served;
  for (const auto& c : sim.list<api::IPAddressClaim>()) {
    ASSERT_EQ(c->phase, "Bound");
    EXPECT_TRUE(served.insert(c->addresses.at(0).address).second);
  }
  EXPECT_EQ(sim.events().size(), std::size_t{n});
  sim.expect_at_rest();
}

TEST(CoreSimulation, ColdStartTakesAtMostSevenWritesEach) {
  constexpr int n = 100;
  CoreSim sim(1, false);
  sim.make_class("public");
  for (int i = 0; i < n; ++i) sim.make_address(fmt::format("a{}", i), fmt::format("10.0.0.{}", i + 1));
  for (int i = 0; i < n; ++i) sim.make_claim(fmt::format("c{}", i));
  sim.start();
  ASSERT_TRUE(sim.settle());
  EXPECT_LE(sim.sent(), 7 * n);
  EXPECT_EQ(sim.loop()->stats().conflicts, 0U);
  for (const auto& c : sim.list<api::IPAddressClaim>()) ASSERT_EQ(c->phase, "Bound");
  sim.expect_at_rest();
}

TEST(CoreSimulation, MoreClaimsThanAddresses) {
  CoreSim sim;
  sim.make_class("public");
  for (int i = 0; i < 40; ++i) {
    sim.make_claim(fmt::format("c{:02}", i));
    sim.world.run_for(std::chrono::seconds(1));  // creation times differ
  }
  ASSERT_TRUE(sim.settle());
  for (int i = 0; i < 5; ++i) sim.make_address(fmt::format("a{}", i), fmt::format("10.0.0.{}", i + 1));
  ASSERT_TRUE(sim.settle());
  for (int i = 0; i < 40; ++i) EXPECT_EQ(sim.phase(fmt::format("c{:02}", i)), i < 5 ? "Bound" : "Pending") << i;
  // A recycled address goes to the next one, and nothing is written about the others.
  const std::string address = sim.claim("c00")->addresses.at(0).name;
  sim.remove(CoreSim::claim_path("c00"));
  ASSERT_TRUE(sim.settle());
  sim.world.forget_audit();
  sim.patch(CoreSim::address_path(address), R"({"spec":{"claimRef":null}})");
  ASSERT_TRUE(sim.settle());
  EXPECT_EQ(sim.phase("c05"), "Bound");
  EXPECT_EQ(sim.sent(), 4) << sim.audit();
  sim.expect_at_rest();
}

// The story of claim, Service-less use, recycling; crashed or failed at each write in turn, it ends the same.
void story(CoreSim& sim) {
  sim.make_class("public", true);
  sim.make_address("s1", "203.0.113.1");
  sim.make_address("s2", "2001:db8::1", R"(,"reclaimPolicy":"Delete")");
  ASSERT_TRUE(sim.settle());
  sim.make_claim("dual", R"("family":"Dual")");
  sim.world.run_for(std::chrono::seconds(1));  // older than the other
  sim.make_claim("waits", R"("className":"public")");
  ASSERT_TRUE(sim.settle());
  EXPECT_EQ(sim.phase("dual"), "Bound");
  sim.make_address("pre", "203.0.113.2", R"(,"claimRef":{"namespace":"u","name":"heir"})");
  sim.make_claim("heir", "", "u");
  ASSERT_TRUE(sim.settle());
  EXPECT_EQ(sim.phase("heir", "u"), "Bound");
  sim.remove(CoreSim::claim_path("dual"));
  ASSERT_TRUE(sim.settle());
  sim.patch(CoreSim::address_path("s1"), R"({"spec":{"claimRef":null}})");
  ASSERT_TRUE(sim.settle());
}

void expect_end_of_story(CoreSim& sim) {
  EXPECT_EQ(sim.claim("dual"), nullptr);
  EXPECT_EQ(sim.phase("waits"), "Bound");
  EXPECT_EQ(sim.phase("heir", "u"), "Bound");
  EXPECT_EQ(sim.address("s2"), nullptr);
  EXPECT_EQ(sim.address("s1")->phase, "Bound");
  EXPECT_EQ(sim.address("s1")->claimRef->name, "waits");
  sim.expect_at_rest();
}

TEST(CoreSimulation, Story) {
  CoreSim sim;
  story(sim);
  EXPECT_EQ(sim.loop()->stats().conflicts, 0U);
  expect_end_of_story(sim);
}

class FaultAtEveryWrite : public testing::TestWithParam<Effect> {};

TEST_P(FaultAtEveryWrite, EndsTheSame) {
  int hit = 0;
  for (int at = 0; at < 60; ++at) {
    SCOPED_TRACE(at);
    CoreSim sim(static_cast<std::uint64_t>(at) + 1);
    sim.world.faults().add({.effect = GetParam(), .user = CoreSim::k_user, .verb = "write", .skip = at, .code = 500});
    story(sim);
    expect_end_of_story(sim);
    if (sim.world.faults().hits() > 0) ++hit;
    if (testing::Test::HasFailure()) return;
    if (sim.world.faults().hits() == 0) break;
  }
  EXPECT_GE(hit, 20);  // the story has that many writes
}

std::string name_of(const testing::TestParamInfo<Effect>& effect) {
  switch (effect.param) {
    case Effect::fail_before:
      return "FailBefore";
    case Effect::fail_after:
      return "FailAfter";
    case Effect::hang_after:
      return "HangAfter";
    case Effect::status:
      return "Status500";
    case Effect::crash_before:
      return "CrashBefore";
    default:
      return "CrashAfter";
  }
}

INSTANTIATE_TEST_SUITE_P(All, FaultAtEveryWrite,
                         testing::Values(Effect::fail_before, Effect::fail_after, Effect::hang_after, Effect::status,
                                         Effect::crash_before, Effect::crash_after),
                         name_of);

}  // namespace
}  // namespace core
