// Driver design §4: placeholders that are deleted and wait for somebody's finalizer. MetalLB never looks at deletion
// timestamps, so they are made to let go, and then keep nobody waiting.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Not;

class GoingTest : public DriverTest {
 protected:
  void keep(std::string_view name) {
    world.change<api::Service>(k_home, name, R"({"metadata":{"finalizers":["somebody/else"]}})");
  }
  // Somebody deletes it, and somebody keeps it.
  void doom(std::string_view name) {
    keep(name);
    world.remove<api::Service>(k_home, name);
  }
  bool gets_nothing(std::string_view name) {
    return annotation(*placeholder(name), m::pool) == m::awaiting_pool && annotation(*placeholder(name), m::pin) == "";
  }
};

TEST_F(GoingTest, AnUnassignedOneKeepsNoGapShut) {
  put_unshared_class();
  put_bound();
  put_claim("waiting");
  settle();
  keep("iad-uid-waiting-v4");
  put_service();
  settle();
  ASSERT_TRUE(drawn("waiting")->meta.deleting);
  EXPECT_TRUE(gets_nothing("iad-uid-waiting-v4"));
  EXPECT_EQ(hold(k_v4), nullptr) << "handed over";
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_NE(placeholder("iad-uid-waiting-v4-2"), nullptr) << "the claim draws again";
}

// Whoever deletes it, and whether anybody wants a gap or not: MetalLB would serve it at any moment.
TEST_F(GoingTest, NorCanItBeGivenAnAddress) {
  put_claim();
  settle();
  doom("iad-uid-web-v4");
  settle();
  EXPECT_TRUE(gets_nothing("iad-uid-web-v4"));
  ASSERT_NE(placeholder("iad-uid-web-v4-2"), nullptr);
  assign_home("iad-uid-web-v4-2", k_v4);
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_EQ(address(k_v4)->claimRef->name, "web");
  EXPECT_EQ(annotation(*placeholder("iad-uid-web-v4-2"), m::pin), k_v4);
}

TEST_F(GoingTest, WhatItWasGivenIsGivenUp) {
  put_claim();
  settle();
  keep("iad-uid-web-v4");
  world.remove<api::Service>(k_home, "iad-uid-web-v4");
  assign_home("iad-uid-web-v4", k_v4);
  settle();
  EXPECT_TRUE(gets_nothing("iad-uid-web-v4"));
  EXPECT_EQ(placeholder("iad-uid-web-v4-2"), nullptr) << "not before MetalLB has emptied it";
  assign(k_home, "iad-uid-web-v4", {});
  settle();
  EXPECT_NE(placeholder("iad-uid-web-v4-2"), nullptr);
}

// What the ledger has for somebody must not fall to the next one that waits.
TEST_F(GoingTest, WhatIsSomebodysIsGivenBackThroughAGap) {
  put_claim("waiting");
  put_claim();
  settle();
  doom("iad-uid-web-v4");
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4, "");
  const kube::Key key = claim_key("tenant-a", "web");
  EXPECT_THAT(plan(key).facts, Contains(gap_fact("public", base::Family::v4)));
  EXPECT_THAT(steps(plan(key)), Not(Contains("placeholder-empty"))) << "the gap is not open yet";
  settle();
  EXPECT_TRUE(gets_nothing("iad-uid-web-v4"));
  EXPECT_EQ(drawn("waiting"), nullptr) << "as long as MetalLB has not emptied it";
  assign(k_home, "iad-uid-web-v4", {});
  assign_home(hold_name(name_of(k_v4)), k_v4);
  settle();
  EXPECT_NE(drawn("waiting"), nullptr);
}

// Somebody who keeps every one of them is not given Services without end.
TEST_F(GoingTest, AClaimLeavesAFewBehindAndThenWaits) {
  put_claim();
  for (const char* name : {"iad-uid-web-v4", "iad-uid-web-v4-2", "iad-uid-web-v4-3", "iad-uid-web-v4-4"}) {
    settle();
    ASSERT_NE(placeholder(name), nullptr) << name;
    doom(name);
  }
  settle();
  EXPECT_EQ(placeholders().size(), 4U);
  settle_after(seconds(11));
  EXPECT_EQ(provisioning(), "False/Queued");
  world.vanish<api::Service>(k_home, "iad-uid-web-v4-2");
  settle();
  EXPECT_NE(placeholder("iad-uid-web-v4-2"), nullptr);
}

// Recording has begun: it is the address's hold, and how that lets go is the address's business.
TEST_F(GoingTest, WhatIsBeingRecordedIsLeftToItsAddress) {
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4);
  doom("iad-uid-web-v4");
  const kube::Key key = claim_key("tenant-a", "web");
  world.settle(key);
  EXPECT_EQ(annotation(*placeholder("iad-uid-web-v4"), m::pool), "iad-public");
}

// It would be given the address in the middle of somebody's handoff, or when its object is gone.
TEST_F(GoingTest, AHoldThatShowsNothingIsGivenNothingEither) {
  put_bound();
  assign(k_home, hold_name(name_of(k_v4)), {});
  doom(hold_name(name_of(k_v4)));
  settle();
  EXPECT_TRUE(gets_nothing(hold_name(name_of(k_v4))));
  EXPECT_EQ(placeholders().size(), 2U) << "the next one is there";
}

TEST_F(GoingTest, NorIsOneWhoseAddressIsTornDown) {
  put_bound();
  assign(k_home, hold_name(name_of(k_v4)), {});
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  doom(hold_name(name_of(k_v4)));
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_TRUE(gets_nothing(hold_name(name_of(k_v4))));
}

// Whoever waits for the address learns who has it.
TEST_F(GoingTest, WhatDoesNotLetGoOfAnAddressIsNamedThere) {
  put_claim();
  settle();
  doom("iad-uid-web-v4");
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4, "");
  settle();
  settle_after(seconds(61));
  const auto* said = kube::find_condition(address(k_v4)->conditions, api::condition::reserved);
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->reason, "BackendSilent");
  EXPECT_THAT(said->message, ::testing::HasSubstr("iad-uid-web-v4 in namespace metallb-iad-system"));
  EXPECT_THAT(said->message, ::testing::HasSubstr("kept by somebody/else"));
}

// Its address is gone, and MetalLB would keep what it has from all others.
TEST_F(GoingTest, AnOrphanIsEmptied) {
  put_bound();
  keep(hold_name(name_of(k_v4)));
  world.vanish<api::IPAddress>("", name_of(k_v4));
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  settle();
  settle_after(minutes(3));
  ASSERT_TRUE(placeholder(hold_name(name_of(k_v4)))->meta.deleting);
  EXPECT_TRUE(gets_nothing(hold_name(name_of(k_v4))));
}

// The garbage collector was faster.
TEST_F(GoingTest, AnOrphanThatSomebodyElseHasDeletedIsEmptiedToo) {
  put_bound();
  doom(hold_name(name_of(k_v4)));
  world.vanish<api::IPAddress>("", name_of(k_v4));
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  settle();
  settle_after(minutes(3));
  EXPECT_TRUE(gets_nothing(hold_name(name_of(k_v4))));
}

TEST_F(GoingTest, OneWithoutItsLabelIsEmptiedToo) {
  put_claim();
  settle();
  world.change<api::Service>(k_home, "iad-uid-web-v4",
                             fmt::format(R"({{"metadata":{{"labels":{{"{}":null}}}}}})", m::placeholder));
  doom("iad-uid-web-v4");
  settle();
  EXPECT_TRUE(gets_nothing("iad-uid-web-v4"));
  EXPECT_NE(placeholder("iad-uid-web-v4-2"), nullptr);
}

}  // namespace
}  // namespace metallb::testing
