// Contract §9.5: what a backup tool made again is left alone until what belongs to it is there.
#include <fmt/format.h>

#include "api/restore.h"
#include "metallb/driver_fixture.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The Service "app" was attached to the claim "web" and its address; all were made again with new uids.
class RestoreTest : public DriverTest {
 protected:
  explicit RestoreTest(Options with = {}) : DriverTest(std::move(with)) {}

  void restore_service(std::string_view name = "app", bool shown = true) {
    world.put<api::Service>(fmt::format(
        R"({{"metadata":{{"name":"{0}","namespace":"tenant-a","uid":"new-{0}","finalizers":["{1}"],
             "annotations":{{"{2}":"web","{3}":"{4}","{5}":"iad-public","{6}":"true","{7}":"uid-{0}"}}}},
             "spec":{{"type":"LoadBalancer","clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"ports":[{{"port":80}}]}}}})",
        name, m::attached, api::claim_annotation, m::pin, k_v4, m::pool, m::pinned, m::service_uid));
    if (shown) assign("tenant-a", name, {std::string(k_v4)});
  }
  // Waiting: its claim, whose uid was "uid-web", is not back.
  void restore_address(std::string_view associated = "", std::string_view claim = "web") {
    put_address(k_v4, claim);
    world.change<api::IPAddress>(
        "", name_of(k_v4),
        fmt::format(
            R"({{"metadata":{{"annotations":{{"{}":"uid-before"}}}},"status":{{"associatedTo":{}}}}})",
            api::recorded_uid_annotation,
            associated.empty()
                ? "null"
                : fmt::format(R"({{"kind":"Service","namespace":"tenant-a","name":"app","uid":"{}"}})", associated)));
  }
  // The core has given it back.
  void give_back() {
    put_claim();
    world.change<api::IPAddress>("", name_of(k_v4),
                                 fmt::format(R"({{"metadata":{{"annotations":{{"{}":"uid-{}"}}}}}})",
                                             api::recorded_uid_annotation, name_of(k_v4)));
    bind("web", {std::string(k_v4)});
  }
  std::string user() {
    const auto& to = address(k_v4)->associatedTo;
    return to ? to->name + "/" + to->uid : "";
  }
  void expect_kept(std::string_view name = "app") {
    EXPECT_EQ(annotation(*service(name), m::pin), k_v4);
    EXPECT_EQ(annotation(*service(name), m::pool), "iad-public");
    EXPECT_TRUE(service(name)->meta.has_finalizer(m::attached));
  }
};

TEST_F(RestoreTest, AServiceKeepsItsPinAndItsAddressAndBecomesItsClaimsAgain) {
  for (const std::string_view associated : {"", "uid-app"}) {
    for (const bool service_first : {true, false}) {
      SCOPED_TRACE(fmt::format("associated {} service first {}", associated, service_first));
      if (service_first) restore_service();
      settle();
      restore_address(associated);
      settle();
      if (!service_first) {
        put_hold(k_v4);
        settle();
        restore_service("app", false);
        settle();
      }
      expect_kept();
      EXPECT_EQ(annotation(*service(), m::service_uid), "uid-app") << "not its claim's yet";
      give_back();
      settle();
      expect_kept();
      EXPECT_EQ(annotation(*service(), m::service_uid), "new-app");
      EXPECT_EQ(user(), "app/new-app");
      if (service_first) {
        EXPECT_EQ(hold(k_v4), nullptr) << "it had the address all the time";
      }
      EXPECT_THAT(event_reasons(), ::testing::Not(Contains("AddressConflict")));
      if (hold(k_v4) != nullptr) world.vanish<api::Service>(k_home, hold(k_v4)->meta.name);
      world.vanish<api::Service>("tenant-a", "app");
      world.vanish<api::IPAddressClaim>("tenant-a", "web");
      world.vanish<api::IPAddress>("", name_of(k_v4));
      settle();
    }
  }
}

TEST_F(RestoreTest, TheLedgerKnowsBeforeTheServiceIsTakenUp) {
  restore_service();
  restore_address();
  give_back();
  const kube::Plan first = plan(service_key("tenant-a", "app"));
  EXPECT_THAT(steps(first), ElementsAre("attach-associate"));
  world.execute(first);
  const kube::Plan second = plan(service_key("tenant-a", "app"));
  EXPECT_THAT(steps(second), ElementsAre("restore-service"));
}

// No backup has it, but anybody may write it.
TEST_F(RestoreTest, APinThatNamesAnAddressTwiceIsTakenUpOnce) {
  restore_service();
  world.change<api::Service>("tenant-a", "app",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{0}":"{1},{1}"}}}}}})", m::pin, k_v4));
  restore_address();
  give_back();
  const kube::Plan first = plan(service_key("tenant-a", "app"));
  EXPECT_THAT(steps(first), ElementsAre("attach-associate"));
  world.execute(first);
  settle();
  expect_kept();
  EXPECT_EQ(user(), "app/new-app");
}

TEST_F(RestoreTest, AServiceWhoseClaimDoesNotComeLetsGo) {
  restore_service();
  settle();
  EXPECT_EQ(settle_after(seconds(119)), 0);
  expect_kept();
  settle_after(seconds(1));
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool);
  EXPECT_FALSE(service()->meta.has_finalizer(m::attached));
}

TEST_F(RestoreTest, AServiceThatMayNotKeepItsAddressLetsGoOfItToAHold) {
  restore_service();
  restore_address();
  settle();
  expect_kept();
  EXPECT_EQ(hold(k_v4), nullptr);
  settle_after(seconds(121));
  ASSERT_NE(hold(k_v4), nullptr) << "it stands ready";
  settle();
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
  EXPECT_THAT(event_reasons(), ::testing::Not(Contains("DetachTimedOut")));
}

TEST_F(RestoreTest, MoreAddressesThatComeLengthenTheWaitOfServices) {
  restore_service();
  settle();
  settle_after(seconds(90));
  put_address("203.0.113.5", "other");
  world.change<api::IPAddress>(
      "", name_of("203.0.113.5"),
      fmt::format(R"({{"metadata":{{"annotations":{{"{}":"uid-before"}}}}}})", api::recorded_uid_annotation));
  settle();
  settle_after(seconds(100));
  expect_kept();
  settle_after(seconds(20));
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin));
}

// What it is pinned to has become somebody else's, or free: it is a copy like any other.
TEST_F(RestoreTest, AServiceDoesNotKeepWhatIsNotItsClaims) {
  for (const std::string_view owner : {"other", ""}) {
    restore_service();
    put_address(k_v4, owner);
    settle();
    EXPECT_FALSE(service()->meta.annotations.contains(m::pin)) << owner;
    world.vanish<api::Service>("tenant-a", "app");
    world.vanish<api::IPAddress>("", name_of(k_v4));
    if (hold(k_v4) != nullptr) world.vanish<api::Service>(k_home, hold(k_v4)->meta.name);
    settle();
  }
}

TEST_F(RestoreTest, ACopyOfALiveServiceIsStrippedAtOnce) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  restore_service("copy", false);
  world.change<api::Service>("tenant-a", "copy",
                             fmt::format(R"({{"metadata":{{"annotations":{{"{}":"uid-app"}}}}}})", m::service_uid));
  settle();
  EXPECT_FALSE(service("copy")->meta.annotations.contains(m::pin));
  EXPECT_EQ(user(), "app/uid-app");
}

TEST_F(RestoreTest, TheOneThatHadTheClaimComesBeforeAnOlderOneThatNamesIt) {
  put_service("older", "web");
  restore_service();
  restore_address();
  give_back();
  settle();
  EXPECT_EQ(user(), "app/new-app");
  expect_kept();
}

TEST_F(RestoreTest, AServiceThatIsDeletedMeanwhileLetsGo) {
  restore_service();
  restore_address();
  settle();
  world.remove<api::Service>("tenant-a", "app");
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  settle_after(minutes(1));
  EXPECT_EQ(service(), nullptr);
}

// --- placeholders ---

TEST_F(RestoreTest, AHoldThatComesBeforeItsAddressIsLeftAloneAndThenTakenUp) {
  restore_address();
  put_hold(k_v4);
  world.vanish<api::IPAddress>("", name_of(k_v4));
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  settle_after(seconds(119));
  ASSERT_NE(hold(k_v4), nullptr);
  restore_address();
  world.change<api::IPAddress>("", name_of(k_v4), R"({"metadata":{"labels":{"x":"y"}}})");
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  settle_after(minutes(5));
  EXPECT_NE(hold(k_v4), nullptr);
}

TEST_F(RestoreTest, AHoldWhoseAddressDoesNotComeGoes) {
  restore_address();
  put_hold(k_v4);
  world.vanish<api::IPAddress>("", name_of(k_v4));
  settle();
  settle_after(minutes(2));
  settle_after(minutes(2));
  EXPECT_EQ(hold(k_v4), nullptr);
}

TEST_F(RestoreTest, AHoldWithTheUidOfTheFormerAddressIsRepaired) {
  restore_address();
  put_hold(k_v4);
  world.change<api::Service>(
      k_home, hold(k_v4)->meta.name,
      fmt::format(
          R"({{"metadata":{{"ownerReferences":[{{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","name":"{}","uid":"uid-before"}}]}}}})",
          name_of(k_v4)));
  settle();
  ASSERT_EQ(hold(k_v4)->meta.owners.size(), 1U);
  EXPECT_EQ(hold(k_v4)->meta.owners[0].uid, address(k_v4)->meta.uid);
}

// --- allocation ---

TEST_F(RestoreTest, NothingIsDrawnFromAClassWhoseAddressesWait) {
  put_claim("waiting");
  settle();
  ASSERT_NE(drawn("waiting"), nullptr);
  restore_address();
  put_hold(k_v4);
  settle();
  EXPECT_EQ(drawn("waiting"), nullptr) << "it could be given what is about to be pinned again";
  settle_after(seconds(110));
  EXPECT_EQ(drawn("waiting"), nullptr);
  settle_after(seconds(10));
  EXPECT_NE(drawn("waiting"), nullptr);
}

class SlowRestoreTest : public RestoreTest {
 protected:
  static Options slow() {
    Options options;
    options.restore_grace = minutes(10);
    return options;
  }
  SlowRestoreTest() : RestoreTest(slow()) {}
};

// Its gap is a patient one by then, and one of the restore all the same.
TEST_F(SlowRestoreTest, NothingIsDrawnHoweverLongAHoldWaitsForItsAddress) {
  restore_address();
  put_hold(k_v4);
  assign_home(hold(k_v4)->meta.name, {});
  put_claim("waiting");
  for (int minute = 0; minute < 9; ++minute) {
    settle_after(minutes(1));
    EXPECT_EQ(drawn("waiting"), nullptr) << minute;
  }
}

TEST_F(RestoreTest, AClaimWithTheUidOfAnotherIsNotProvisioned) {
  put_claim();
  world.change<api::IPAddressClaim>(
      "tenant-a", "web",
      fmt::format(R"({{"metadata":{{"annotations":{{"{}":"uid-before"}}}}}})", api::recorded_uid_annotation));
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

// --- pools ---

TEST_F(RestoreTest, APoolStaysWhileARestoredServiceHasAnAddressOfIt) {
  restore_service();
  settle();
  world.vanish<api::IPAddressClass>("", "public");
  settle();
  ASSERT_NE(world.get<api::IPAddressPool>("metallb-system", "iad-public"), nullptr);
  settle_after(minutes(2));
  assign("tenant-a", "app", {});
  settle();
  EXPECT_EQ(world.get<api::IPAddressPool>("metallb-system", "iad-public"), nullptr);
}

}  // namespace
}  // namespace metallb::testing
