// What the API server does not let the core write: whoever waits for it is told.
#include <gmock/gmock.h>

#include <chrono>

#include "core_fixture.h"

namespace core {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Refused : public CoreTest {
 protected:
  Refused() {
    make_class("public");
    make_claim("web", R"("className":"public")");
  }
  // The step of the next plan; it is carried out if it is a status.
  std::string next() {
    const kube::Plan plan = world.run(key);
    if (plan.writes.empty()) return "";
    if (plan.writes.front().step == "claim-status") {
      world.execute(plan);
      refuse(0, "", 0);
    }
    return plan.writes.front().step;
  }
  void refuse(int times, std::string words = "claims need a label team", int code = 403) {
    auto& memory = world.memory(key);
    memory.failures = times;
    memory.refusal = std::move(words);
    memory.refusal_code = code;
  }
  std::string said() { return kube::find_condition(claim("web")->conditions, "Bound")->message; }

  const kube::Key key{"claim", "t", "web"};
};

TEST_F(Refused, AClaimThatMayNotBeProtectedSaysSoOnceAndIsTriedOn) {
  EXPECT_EQ(next(), "claim-protect-and-stamp");
  refuse(1);
  EXPECT_EQ(next(), "claim-status");
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(bound_reason("web"), "False/ClaimRefused");
  EXPECT_THAT(said(), HasSubstr("claims need a label team"));
  EXPECT_THAT(event_reasons(), Contains("web:ClaimRefused"));
  EXPECT_EQ(next(), "claim-protect-and-stamp");
  for (int times = 1; times < 10; ++times) {
    refuse(times);
    EXPECT_EQ(next(), "claim-protect-and-stamp") << times;
  }
  refuse(0, "", 0);
  world.settle(key);
  settle();
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
}

TEST_F(Refused, WhatIsRefusedWithOtherWordsEachTimeIsToldAtAPace) {
  int told = 0;
  for (int i = 0; i < 20; ++i) {
    refuse(1, "request " + std::to_string(i));
    told += next() == "claim-status" ? 1 : 0;
  }
  EXPECT_EQ(told, 3);
  world.advance(std::chrono::minutes(10));
  refuse(1, "request 20");
  EXPECT_EQ(next(), "claim-status");
  EXPECT_THAT(said(), HasSubstr("request 20"));
}

TEST_F(Refused, AStatusThatIsRefusedTooTakesTurns) {
  refuse(1);
  EXPECT_EQ(world.run(key).writes.front().step, "claim-status");
  refuse(2);
  EXPECT_EQ(world.run(key).writes.front().step, "claim-protect-and-stamp");
  refuse(3);
  EXPECT_EQ(world.run(key).writes.front().step, "claim-status");
}

TEST_F(Refused, AServerThatIsInTroubleIsWaitedFor) {
  refuse(1, "failed calling webhook \"labels.example\"", 500);
  const kube::Plan plan = world.run(key);
  EXPECT_EQ(plan.writes.front().step, "claim-protect-and-stamp");
  EXPECT_TRUE(plan.revisit.has_value());
  world.advance(std::chrono::seconds(11));
  refuse(5, "failed calling webhook \"labels.example\"", 500);
  EXPECT_EQ(next(), "claim-status");
  EXPECT_THAT(said(), HasSubstr("labels.example"));
}

TEST_F(Refused, WhatHappensToItsAddressIsToldAllTheSame) {
  make_bound_pair("bound", "a", "203.0.113.1");
  change_claim("bound", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/recorded-uid":null}}})");
  change_address("a", R"({"status":{"phase":"Lost"}})");
  const kube::Key bound{"claim", "t", "bound"};
  EXPECT_EQ(world.run(bound).writes.front().step, "claim-protect-and-stamp");
  world.memory(bound).failures = 1;
  world.memory(bound).refusal = "no";
  world.memory(bound).refusal_code = 403;
  world.execute(world.run(bound));
  EXPECT_EQ(phase("bound"), "Lost");
  EXPECT_EQ(bound_reason("bound"), "False/AddressLost");
}

TEST_F(Refused, AnAddressThatMayNotBeCompletedIsNamedAsTheReason) {
  make_address("a", "203.0.113.1", "public", claim_ref("web"));
  world.execute(world.run(key));
  EXPECT_EQ(next(), "claim-complete-binding");
  refuse(1, "addresses need a label owner");
  EXPECT_EQ(next(), "claim-status");
  EXPECT_EQ(bound_reason("web"), "False/AddressRefused");
  EXPECT_THAT(said(), HasSubstr("addresses need a label owner"));
  settle();
  EXPECT_EQ(phase("web"), "Bound");
}

}  // namespace
}  // namespace core
