// Driver design §6: a server that fails for a moment, or refuses for long, makes no Service let go of an address that
// nobody is about to hold, and nobody waits for ever for what is refused.
#include "metallb/gap.h"
#include "metallb/sharing_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class FutilityTest : public SharingTest {
 protected:
  // As the loop leaves it after a plan that failed; code 0: no answer.
  void fail(const kube::Key& key, int failures, int code, std::string words = {}) {
    world.memory(key).refusal = std::move(words);
    world.memory(key).failures = failures;
    world.memory(key).refusal_code = code;
  }
  void recover(const kube::Key& key) { fail(key, 0, 0); }
  void put_leaving() {
    put_bound();
    attach();
    annotate("app", api::claim_annotation, "null");
  }
  bool is_let_go() { return !service()->meta.annotations.contains(m::pin); }
  const kube::Key k_service = service_key("tenant-a", "app");
  const kube::Key k_address = address_key(name_of(k_v4));
  const kube::Fact k_gap = gap_fact("public", base::Family::v4);
};

// --- a hiccup ---

class HiccupTest : public FutilityTest, public ::testing::WithParamInterface<int> {};

TEST_P(HiccupTest, LetsNobodyGoWithoutAHold) {
  put_leaving();
  EXPECT_THAT(steps(plan(k_service)), ElementsAre("detach-share"));
  fail(k_service, 5, GetParam());
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  recover(k_service);
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(pass_address(), ElementsAre("hold-create"));
}

TEST_P(HiccupTest, OpensNoGapToTheClaims) {
  DriverTest::put_bound();
  world.vanish<api::Service>(k_home, k_hold);
  EXPECT_THAT(plan(k_address).facts, Contains(k_gap));
  fail(k_address, 9, GetParam());
  world.advance(seconds(3));
  EXPECT_THAT(plan(k_address).facts, Contains(k_gap));
}

INSTANTIATE_TEST_SUITE_P(Futility, HiccupTest, ::testing::Values(0, 403, 429, 500, 503));

// --- a server that is away for longer than --detach-timeout ---

TEST_F(FutilityTest, TheTimeInWhichTheServerDoesNotAnswerDoesNotCount) {
  put_leaving();
  plan(k_service);
  for (int i = 1; i < 20; ++i) {
    fail(k_service, i, 0);
    EXPECT_THAT(steps(plan(k_service)), ElementsAre("detach-share"));
    world.advance(seconds(30));
  }
  fail(k_address, 19, 0);
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  recover(k_service);
  recover(k_address);
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_FALSE(is_let_go());
  assign_home(k_hold, k_v4);
  settle();
  EXPECT_TRUE(is_let_go());
  EXPECT_THAT(event_reasons(), Not(Contains("DetachTimedOut")));
}

TEST_F(FutilityTest, AHoldThatIsStillToComeIsWaitedForForTheTimeOfABackOff) {
  put_leaving();
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  EXPECT_THAT(pass_service(), IsEmpty());
  world.advance(seconds(61));
  EXPECT_THAT(pass_service(), IsEmpty()) << "the address's key has not had its answer";
  world.advance(minutes(4));
  EXPECT_THAT(pass_service(), ElementsAre("detach-release")) << "but not for ever";
}

// --- what is refused for long ---

TEST_F(FutilityTest, WhoIsRefusedAKeyGoesByTheGap) {
  put_leaving();
  put_claim("waiting");
  world.settle(claim_key("tenant-a", "waiting"));
  world.settle(pool_key("public", base::Family::v4));
  ASSERT_NE(drawn("waiting"), nullptr);
  plan(k_service);
  fail(k_service, 3, 403);
  EXPECT_THAT(steps(plan(k_service)), ElementsAre("detach-share"));
  world.advance(k_futile_after);
  EXPECT_THAT(pass_service(), IsEmpty());
  recover(k_service);
  EXPECT_THAT(pass_service(), IsEmpty()) << "no hold yet";
  EXPECT_THAT(pass_address(), ElementsAre("hold-create"));
  EXPECT_EQ(key_of(hold(k_v4)), "");
  EXPECT_THAT(pass_service(), IsEmpty()) << "the gap is not open";
  world.settle(pool_key("public", base::Family::v4));
  ASSERT_EQ(drawn("waiting"), nullptr);
  EXPECT_THAT(pass_service(), ElementsAre("detach-release"));
  EXPECT_THAT(event_reasons(), Not(Contains("DetachTimedOut")));
}

TEST_F(FutilityTest, AKeyThatGetsNoAnswerIsNotWaitedForForEverEither) {
  put_leaving();
  EXPECT_THAT(steps(plan(k_service)), ElementsAre("detach-share"));
  world.advance(options.detach_timeout / 2);
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(pass_address(), ElementsAre("hold-create"));
  EXPECT_THAT(pass_service(), IsEmpty());
  world.settle(pool_key("public", base::Family::v4));
  EXPECT_THAT(pass_service(), ElementsAre("detach-release"));
}

// By code, or by words.
class RefusalTest : public FutilityTest, public ::testing::WithParamInterface<std::pair<int, const char*>> {};

INSTANTIATE_TEST_SUITE_P(
    Futility, RefusalTest,
    ::testing::Values(std::pair(403, ""),
                      std::pair(500, "Internal error occurred: failed to allocate a serviceIP: range is full")));

TEST_P(RefusalTest, AHoldThatIsRefusedIsWaitedForUntilTheTimeout) {
  put_leaving();
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(steps(plan(k_address)), ElementsAre("hold-create"));
  fail(k_address, 3, GetParam().first, GetParam().second);
  plan(k_address);
  world.advance(k_futile_after);
  plan(k_address);
  EXPECT_THAT(pass_service(), IsEmpty());
  world.advance(options.detach_timeout - seconds(1));
  EXPECT_THAT(pass_service(), IsEmpty());
  world.advance(seconds(1));
  EXPECT_THAT(pass_service(), ElementsAre("detach-release"));
  EXPECT_THAT(event_reasons(), Contains("DetachTimedOut"));
}

// Nothing of ours must be about when it lets go before MetalLB could hold the address again.
TEST_F(FutilityTest, BeforeTheTimeoutItAsksForTheGapToo) {
  put_leaving();
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_FALSE(publishes_gap(k_service));
  world.advance(options.detach_timeout / 2);
  EXPECT_TRUE(publishes_gap(k_service));
  settle();
  EXPECT_FALSE(is_let_go());
  EXPECT_NE(key_of(service()), "");
}

TEST_F(FutilityTest, WhatIsRefusedForLongIsTriedAfterAPauseHoweverOftenTheKeyIsWoken) {
  DriverTest::put_bound();
  world.vanish<api::Service>(k_home, k_hold);
  plan(k_address);
  fail(k_address, 3, 403);
  plan(k_address);
  world.advance(k_futile_after);
  EXPECT_THAT(plan(k_address).facts, Not(Contains(k_gap)));
  recover(k_address);  // as a plan without writes leaves it
  for (int i = 0; i < 5; ++i) {
    world.advance(seconds(10));
    EXPECT_THAT(plan(k_address).facts, Not(Contains(k_gap))) << i;
  }
  world.advance(seconds(11));
  EXPECT_THAT(plan(k_address).facts, Contains(k_gap));
}

}  // namespace
}  // namespace metallb::testing
