// Driver design §6: the keys of shared handoffs, which nobody may know before.
#include <set>

#include "metallb/sharing_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view k_known = "iad-0123456789abcdef0123456789abcdef";

// In one write with the annotation: an attached Service that is alone is rid of such a key in half a second.
TEST_F(SharingTest, ALettingGoServiceIsNotJoinedByAKeyThatATenantKnows) {
  put_bound();
  attach();
  world.change<api::Service>("tenant-a", "app",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":null,"{}":"{}"}}}}}})",
                                         api::claim_annotation, m::sharing_key, k_known));
  EXPECT_THAT(pass_address(), IsEmpty());
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  EXPECT_NE(key_of(service()), k_known);
  const std::string key = key_of(service());
  settle();
  EXPECT_EQ(key_of(service()), key);
  EXPECT_EQ(key_of(hold(k_v4)), key);
  EXPECT_EQ(world.writes, 2);
}

TEST_F(SharingTest, AnOldKeyOfOursIsOneThatATenantKnows) {
  put_bound();
  put_service();
  settle();
  const std::string old = key_of(service());
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  empty_holds();
  settle_after(seconds(1));
  world.change<api::Service>("tenant-a", "app",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":null,"{}":"{}"}}}}}})",
                                         api::claim_annotation, m::sharing_key, old));
  settle();
  EXPECT_NE(key_of(service()), old);
  EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
}

TEST_F(SharingTest, AKeyThatIsPutOverOursOnTheWayOutIsReplaced) {
  put_bound();
  attach();
  annotate("app", api::claim_annotation, "null");
  pass_service();
  annotate("app", m::sharing_key, fmt::format("\"{}\"", k_known));
  settle();
  EXPECT_NE(key_of(service()), k_known);
  EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
}

// Its hold could have been made meanwhile, or not: both come to an end.
TEST_F(SharingTest, AKeyThatNoHoldHasIsReplacedAfterARestart) {
  put_bound();
  attach();
  annotate("app", api::claim_annotation, "null");
  pass_service();
  const std::string key = key_of(service());
  world.memory(service_key("tenant-a", "app")) = {};
  world.publish(service_key("tenant-a", "app"), {});
  settle();
  EXPECT_NE(key_of(service()), key);
  EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
}

TEST_F(SharingTest, AKeyThatAHoldHasIsKeptAfterARestart) {
  put_bound();
  attach();
  annotate("app", api::claim_annotation, "null");
  settle();
  const std::string key = key_of(hold(k_v4));
  world.memory(service_key("tenant-a", "app")) = {};
  world.publish(service_key("tenant-a", "app"), {});
  settle();
  EXPECT_EQ(key_of(service()), key);
  EXPECT_EQ(key_of(hold(k_v4)), key);
}

// Whose key changes while somebody else is beside it loses the address, and that one would keep it for itself.
TEST_F(SharingTest, AKeyIsNotReplacedUnderAStrangerThatHasJoined) {
  put_bound();
  attach();
  put_service("joined", "");
  assign("tenant-a", "joined", {std::string(k_v4)});
  world.change<api::Service>("tenant-a", "app",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":null,"{}":"{}"}}}}}})",
                                         api::claim_annotation, m::sharing_key, k_known));
  settle();
  EXPECT_EQ(key_of(service()), k_known);
  EXPECT_EQ(key_of(hold(k_v4)), k_known) << "the hold gets in too";
}

TEST_F(SharingTest, AnAttachingServiceDoesNotChooseTheKey) {
  put_bound();
  put_service();
  settle();
  annotate("app", m::sharing_key, fmt::format("\"{}\"", k_known));
  world.change<api::Service>(k_home, k_hold,
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", m::sharing_key));
  settle();
  EXPECT_NE(key_of(hold(k_v4)), k_known);
  EXPECT_EQ(key_of(service()), key_of(hold(k_v4)));
}

class SecretTest : public DriverTest, public ::testing::WithParamInterface<std::string_view> {
 protected:
  static Options with(std::string_view secret) {
    Options options;
    options.secret = secret;
    return options;
  }
  SecretTest() : DriverTest(with(GetParam())) {}
};

// The sequence that the process draws from is no secret: whoever has seen one number knows all that follow.
TEST_P(SecretTest, KeysDoNotTellWhatTheyWereMadeOf) {
  put_bound();
  put_service();
  settle();
  const std::string key = annotation(*service(), m::sharing_key);
  kube::testing::FakeWorld other(driver);
  std::set<std::string> foretold;
  std::uint64_t before = other.entropy();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t next = other.entropy();
    foretold.insert(fmt::format("iad-{:016x}{:016x}", before, next));
    before = next;
  }
  EXPECT_FALSE(foretold.contains(key));
  static std::set<std::string> seen;
  EXPECT_TRUE(seen.insert(key).second) << "another secret makes another key of the same numbers";
}

INSTANTIATE_TEST_SUITE_P(Secrets, SecretTest, ::testing::Values("one", "two", ""));

// It has put a key of its own over ours before MetalLB has got to it: others could join by that, and nothing is
// released for it. While the hold has the address the Service can only lose its turn.
TEST_F(SharingTest, WhoBreaksARuleOnTheWayIsReleasedNothingAndLosesItsTurn) {
  put_bound();
  put_service("app", "web");
  settle();
  ASSERT_NE(key_of(service()), "");
  annotate("app", m::sharing_key, R"("mine")");
  settle();
  settle_after(seconds(29));
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_EQ(annotation(*hold(k_v4), m::pin), k_v4);
  EXPECT_THAT(event_reasons(), ::testing::Contains("SharingKeySet"));
  settle_after(seconds(2));
  EXPECT_EQ(attached_to(), "");
  EXPECT_EQ(annotation(*service(), m::pin), "");
  ASSERT_NE(hold(k_v4), nullptr);
  settle_after(seconds(31));
  EXPECT_EQ(key_of(hold(k_v4)), "");
}

}  // namespace
}  // namespace metallb::testing
