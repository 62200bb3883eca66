// Driver design §6: the shared handoff, step by step, and what forbids it.
#include "metallb/sharing.h"

#include "metallb/placeholder.h"
#include "metallb/sharing_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(SharingTest, AttachingIsSixWritesInOrder) {
  put_bound();
  put_service();
  EXPECT_THAT(pass_service(), ElementsAre("attach-associate"));
  EXPECT_THAT(pass_service(), IsEmpty()) << "the hold gets its key first";
  EXPECT_THAT(pass_address(), ElementsAre("hold-repair"));
  const std::string key = key_of(hold(k_v4));
  EXPECT_EQ(key.size(), 36u);
  EXPECT_THAT(pass_address(), IsEmpty());
  EXPECT_THAT(pass_service(), ElementsAre("attach-pin"));
  const api::Service& s = *service();
  EXPECT_EQ(annotation(s, m::pin), k_v4);
  EXPECT_EQ(annotation(s, m::pool), "iad-public");
  EXPECT_EQ(annotation(s, m::pinned), "true");
  EXPECT_EQ(annotation(s, m::service_uid), "uid-app");
  EXPECT_EQ(key_of(&s), key);
  EXPECT_THAT(s.meta.finalizers, ElementsAre(m::attached));
  settle();
  ASSERT_NE(hold(k_v4), nullptr) << "it stays until the Service has the address";
  EXPECT_FALSE(publishes_gap(address_key(name_of(k_v4))));
  assign("tenant-a", "app", {std::string(k_v4)});
  EXPECT_THAT(pass_address(), ElementsAre("hold-empty"));
  EXPECT_THAT(pass_address(), IsEmpty()) << "MetalLB has not done so yet";
  assign(k_home, k_hold, {});
  EXPECT_THAT(pass_address(), ElementsAre("hold-release"));
  settle();
  EXPECT_EQ(key_of(service()), key) << "MetalLB may not have seen yet that the hold is gone";
  settle_after(milliseconds(600));
  EXPECT_FALSE(service()->meta.annotations.contains(m::sharing_key));
  EXPECT_EQ(world.writes, 6);
  settle_after(seconds(10));  // what follows at its own pace: a class's capacity
  EXPECT_EQ(settle_after(seconds(60)), 0);
}

TEST_F(SharingTest, EveryHandoffHasItsOwnKey) {
  put_bound();
  put_service();
  settle();
  const std::string first = key_of(service());
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  empty_holds();
  settle_after(seconds(1));
  annotate("app", api::claim_annotation, "null");
  settle();
  const std::string second = key_of(service());
  EXPECT_NE(first, "");
  EXPECT_NE(second, "");
  EXPECT_NE(first, second);
}

TEST_F(SharingTest, AKeyIsReadBackFromTheHold) {
  put_bound();
  put_service();
  pass_service();
  pass_address();
  const std::string key = key_of(hold(k_v4));
  world.memory(address_key(name_of(k_v4))) = {};  // a restart
  settle();
  EXPECT_EQ(key_of(service()), key);
  EXPECT_EQ(key_of(hold(k_v4)), key);
}

TEST_F(SharingTest, AKeyThatLooksLikeOursIsNotTaken) {
  put_bound();
  put_service();
  const std::string guess = "iad-0123456789abcdef0123456789abcdef";
  annotate("app", m::sharing_key, fmt::format("\"{}\"", guess));
  settle();
  EXPECT_NE(key_of(hold(k_v4)), "");
  EXPECT_NE(key_of(hold(k_v4)), guess);
  EXPECT_EQ(key_of(service()), key_of(hold(k_v4)));
}

TEST_F(SharingTest, AKeyOfItsOwnThatComesLaterIsTold) {
  put_bound();
  attach();
  annotate("app", m::sharing_key, R"("mine")");
  settle();
  EXPECT_THAT(event_reasons(), Contains("SharingKeySet"));
  EXPECT_EQ(key_of(service()), "mine") << "not written by us";
  EXPECT_EQ(attached_to(), "app");
}

TEST_F(SharingTest, AnotherObjectForTheAddressIsNotWaitedFor) {
  put_bound();
  attach();
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"junior","uid":"uid-junior","finalizers":["{}"],"creationTimestamp":"2030-01-01T00:00:00Z"}},
          "spec":{{"address":"{}","className":"public","reclaimPolicy":"Retain","source":{{"fromClass":{{}}}}}},
          "status":{{"phase":"Available"}}}})",
      m::teardown, k_v4));
  annotate("app", api::claim_annotation, "null");
  settle();
  assign_home(k_hold, k_v4);
  settle();
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
}

TEST_F(SharingTest, RemovingTheAnnotationIsSixWritesInOrder) {
  put_bound();
  attach();
  annotate("app", api::claim_annotation, "null");
  EXPECT_THAT(pass_address(), IsEmpty()) << "the Service gets the key first";
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  const std::string key = key_of(service());
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(pass_address(), ElementsAre("hold-create"));
  EXPECT_EQ(key_of(hold(k_v4)), key);
  EXPECT_FALSE(publishes_gap(address_key(name_of(k_v4))));
  EXPECT_FALSE(publishes_gap(service_key("tenant-a", "app")));
  EXPECT_THAT(pass_service(), IsEmpty()) << "the hold has not joined yet";
  assign_home(k_hold, k_v4);
  EXPECT_THAT(pass_service(), ElementsAre("detach-release"));
  EXPECT_EQ(key_of(service()), "");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
  settle();
  EXPECT_EQ(key_of(hold(k_v4)), key) << "MetalLB has not taken the Service off yet";
  assign("tenant-a", "app", {});
  EXPECT_THAT(pass_address(), ElementsAre("address-status"));
  settle();
  EXPECT_EQ(attached_to(), "");
  settle_after(seconds(1));
  EXPECT_EQ(key_of(hold(k_v4)), "");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pool));
  EXPECT_EQ(world.writes, 6);
  settle_after(seconds(10));  // what follows at its own pace: a class's capacity
  EXPECT_EQ(settle_after(seconds(60)), 0);
}

// The claim was taken off and put back between two passes: each would wait for the other for ever.
TEST_F(SharingTest, AHandoffThatTheLedgerHasLostSightOfGoesOn) {
  put_bound();
  put_service();
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  world.change<api::IPAddress>("", name_of(k_v4), R"({"status":{"associatedTo":null}})");
  ASSERT_NE(key_of(hold(k_v4)), "");
  EXPECT_THAT(pass_service(), ElementsAre("attach-associate"));
  settle();
  empty_holds();
  settle_after(seconds(1));
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(key_of(service()), "");
  EXPECT_THAT(placeholders(), IsEmpty());
  EXPECT_THAT(event_reasons(), Not(Contains("AddressConflict")));
}

TEST_F(SharingTest, AServiceThatWaitsForAnotherHandoffToEndIsTold) {
  put_bound();
  world.change<api::Service>(k_home, k_hold,
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", m::sharing_key,
                                         "iad-0123456789abcdef0123456789abcdef"));
  put_service();
  EXPECT_THAT(pass_service(), IsEmpty());
  world.advance(seconds(29));
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(event_reasons(), Not(Contains("HandoffTimedOut")));
  world.advance(seconds(2));
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(event_reasons(), Contains("HandoffTimedOut"));
}

TEST_F(SharingTest, DeletingTheServiceIsSixWrites) {
  put_bound();
  attach();
  world.remove<api::Service>("tenant-a", "app");
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  ASSERT_NE(service(), nullptr);
  assign_home(k_hold, k_v4);
  settle();
  ASSERT_NE(service(), nullptr) << "MetalLB overlooks deletions while it loads: it is emptied before it goes";
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
  assign("tenant-a", "app", {});
  settle();
  EXPECT_EQ(service(), nullptr);
  EXPECT_EQ(attached_to(), "");
  EXPECT_NE(key_of(hold(k_v4)), "") << "MetalLB does not say when it has seen that the Service is gone";
  settle_after(seconds(1));
  EXPECT_EQ(key_of(hold(k_v4)), "");
  EXPECT_EQ(world.writes, 6);
  settle_after(seconds(10));  // what follows at its own pace: a class's capacity
  EXPECT_EQ(settle_after(seconds(60)), 0);
}

TEST_F(SharingTest, TheNextServiceWaitsUntilTheLastKeyIsGone) {
  put_bound();
  attach();
  put_service("next");
  settle();
  world.remove<api::Service>("tenant-a", "app");
  settle();
  assign_home(k_hold, k_v4);
  settle();
  assign("tenant-a", "app", {});
  settle();
  EXPECT_EQ(attached_to(), "");
  settle_after(seconds(1));
  EXPECT_EQ(attached_to(), "next");
}

TEST_F(SharingTest, AHoldThatDoesNotJoinIsNotWaitedForForEver) {
  put_bound();
  attach();
  annotate("app", api::claim_annotation, "null");
  settle();
  settle_after(seconds(61));
  EXPECT_THAT(event_reasons(), Contains("DetachTimedOut"));
  EXPECT_THAT(service()->meta.finalizers, IsEmpty());
  EXPECT_EQ(key_of(service()), "");
  ASSERT_NE(hold(k_v4), nullptr);
}

TEST_F(SharingTest, APinThatDoesNotLandIsSaidOnceAndTheHoldStays) {
  put_bound();
  put_service();
  settle();
  for (int i = 0; i < 100; ++i) settle_after(seconds(31));
  EXPECT_EQ(std::ranges::count(event_reasons(), "HandoffTimedOut"), 1);
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_NE(annotation(*service(), m::touched), "");
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  EXPECT_EQ(annotation(*hold(k_v4), m::pool), m::awaiting_pool);
}

TEST_F(SharingTest, AHoldAvoidsThePortsOfTheService) {
  put_bound();
  put_service("app", "web", R"("clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"ports":[
      {"port":65535,"protocol":"UDP"},{"port":65535},{"port":65534}])");
  settle();
  ASSERT_EQ(hold(k_v4)->ports.size(), 1u);
  EXPECT_EQ(hold(k_v4)->ports[0], (api::ServicePort{"TCP", 65533}));
  // And one that it gets meanwhile.
  world.change<api::Service>("tenant-a", "app", R"({"spec":{"ports":[{"port":65533}]}})");
  settle();
  EXPECT_EQ(hold(k_v4)->ports[0], (api::ServicePort{"TCP", 65535}));
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  empty_holds();
  annotate("app", api::claim_annotation, "null");
  world.change<api::Service>("tenant-a", "app", R"({"spec":{"ports":[{"port":65535}]}})");
  settle();
  EXPECT_EQ(hold(k_v4)->ports[0], (api::ServicePort{"TCP", 65534}));
}

TEST_F(SharingTest, BothHalvesOfADualClaimGoByOneKey) {
  put_claim("web", "Dual");
  for (const std::string_view ip : {k_v4, k_v6}) {
    put_address(ip);
    put_hold(ip);
  }
  bind("web", {std::string(k_v4), std::string(k_v6)});
  settle();
  settle_after(seconds(2));
  put_service("app", "web",
              R"("clusterIPs":["10.96.0.9","fd00::9"],"ipFamilies":["IPv4","IPv6"],"ports":[{"port":80}])");
  settle();
  EXPECT_NE(key_of(service()), "");
  EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
  EXPECT_EQ(key_of(hold(k_v6)), key_of(service()));
  EXPECT_EQ(annotation(*service(), m::pin), fmt::format("{},{}", k_v4, k_v6));
  assign("tenant-a", "app", {std::string(k_v6), std::string(k_v4)});
  settle();
  empty_holds();
  settle_after(seconds(1));
  EXPECT_THAT(placeholders(), IsEmpty());
  EXPECT_EQ(key_of(service()), "");
  annotate("app", api::claim_annotation, "null");
  settle();
  EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
  EXPECT_EQ(key_of(hold(k_v6)), key_of(service()));
  assign_home(hold_name(name_of(k_v4)), k_v4);
  settle();
  EXPECT_TRUE(service()->meta.annotations.contains(m::pin)) << "both go together";
  assign_home(hold_name(name_of(k_v6)), k_v6);
  settle();
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
}

TEST_F(SharingTest, AServiceWithALocalPolicyAndNoSelectorShares) {
  put_bound();
  put_service(
      "app", "web",
      R"("clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"externalTrafficPolicy":"Local","ports":[{"port":80}])");
  settle();
  EXPECT_NE(key_of(service()), "");
}

TEST_F(SharingTest, AKeyThatIsStrippedOnTheWayIsPutBack) {
  put_bound();
  put_service();
  settle();
  const std::string key = key_of(service());
  annotate("app", m::sharing_key, "null");
  settle();
  EXPECT_EQ(key_of(service()), key);
}

TEST_F(SharingTest, AKeyOfSomebodyElseOnAHoldIsTakenOff) {
  put_bound();
  world.change<api::Service>(k_home, k_hold,
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":"shared"}}}}}})", m::old_sharing_key));
  settle();
  EXPECT_FALSE(hold(k_v4)->meta.annotations.contains(m::old_sharing_key));
}

TEST_F(SharingTest, ACopyIsRidOfTheKeyToo) {
  put_bound();
  put_service();
  settle();
  put_service("copy", "");
  for (const std::string_view key : {m::pin, m::pinned, m::service_uid, m::sharing_key}) {
    annotate("copy", key, fmt::format("\"{}\"", annotation(*service(), key)));
  }
  settle();
  EXPECT_FALSE(service("copy")->meta.annotations.contains(m::sharing_key));
  EXPECT_TRUE(service("app")->meta.annotations.contains(m::sharing_key));
}

// While somebody else shows the address, a Service whose key changed would lose it.
TEST_F(SharingTest, TheKeyStaysWhileAnotherServiceHasJoined) {
  put_bound();
  put_service();
  settle();
  put_service("joined", "");
  assign("tenant-a", "app", {std::string(k_v4)});
  assign("tenant-a", "joined", {std::string(k_v4)});
  settle();
  empty_holds();
  settle_after(seconds(5));
  EXPECT_NE(key_of(service()), "");
  world.vanish<api::Service>("tenant-a", "joined");
  settle();
  settle_after(seconds(60));
  EXPECT_EQ(key_of(service()), "");
}

// --- what forbids it ---

struct Forbidden {
  std::string_view name;
  std::string_view spec;
  std::string_view annotation;
  std::string_view value;
  std::string_view class_spec;
  std::string_view rule;
};

class ForbiddenTest : public SharingTest, public ::testing::WithParamInterface<Forbidden> {};

TEST_P(ForbiddenTest, TheGapHandoffIsUsedAndItsLengthSaysWhy) {
  const Forbidden& forbidden = GetParam();
  if (!forbidden.class_spec.empty()) put_class("public", forbidden.class_spec);
  settle();
  put_bound();
  put_service("app", "", forbidden.spec);
  if (!forbidden.annotation.empty()) annotate("app", forbidden.annotation, forbidden.value);
  annotate("app", api::claim_annotation, "\"web\"");
  settle();
  EXPECT_EQ(attached_to(), "app");
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(hold(k_v4), nullptr);
  EXPECT_EQ(handoff_key(*service()), "");
  world.advance(milliseconds(20));
  assign("tenant-a", "app", {std::string(k_v4)});
  const kube::Plan landed = plan(address_key(name_of(k_v4)));
  ASSERT_EQ(landed.observations.size(), 1u);
  EXPECT_THAT(landed.observations[0].labels, ElementsAre(std::pair<std::string, std::string>("rule", forbidden.rule)));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ForbiddenTest,
    ::testing::Values(
        Forbidden{"OwnKey",
                  {},
                  m::sharing_key,
                  "\"mine\"",
                  R"("parameters":{"addresses":["203.0.113.0/29"],"allowSharing":true})",
                  rule::own_key},
        Forbidden{"OwnOldKey",
                  {},
                  m::old_sharing_key,
                  "\"mine\"",
                  R"("parameters":{"addresses":["203.0.113.0/29"],"allowSharing":true})",
                  rule::own_key},
        Forbidden{
            "Selectors",
            {},
            {},
            {},
            R"("parameters":{"addresses":["203.0.113.0/29"],"advertise":{"l2":{"serviceSelectors":[{"matchLabels":{"a":"b"}}]}}})",
            rule::selectors}),
    [](const auto& test) { return std::string(test.param.name); });

// --- how long MetalLB is given ---

TEST(UntilAlone, IsAtLeastHalfASecondAndFourTimesWhatTheHandoffTook) {
  EXPECT_EQ(until_alone_for_sure(milliseconds(0), milliseconds(0)), milliseconds(500));
  EXPECT_EQ(until_alone_for_sure(milliseconds(510), milliseconds(500)), milliseconds(0));
  EXPECT_EQ(until_alone_for_sure(milliseconds(1500), milliseconds(500)), milliseconds(3500));
  EXPECT_EQ(until_alone_for_sure(seconds(1000), seconds(0)), seconds(30));
  EXPECT_EQ(until_alone_for_sure(seconds(1030), seconds(30)), seconds(0));
}

}  // namespace
}  // namespace metallb::testing
