// Driver design §9, inventory: what was adopted stays when its Service is made anew, its claim is deleted or the
// placeholders move.
#include <fmt/format.h>

#include "metallb/inventory_fixture.h"
#include "metallb/inventory_report.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view k_next = "203.0.113.2";

class InventoryAgainTest : public InventoryTest {
 protected:
  using InventoryTest::InventoryTest;

  // The manifest without the claim's name, as whoever deploys has it; MetalLB gives it another address.
  void make_anew(std::string_view ip = k_next, int generation = 2) {
    world.vanish<api::Service>("tenant-a", "app");
    world.put<api::Service>(fmt::format(
        R"({{"metadata":{{"name":"app","namespace":"tenant-a","uid":"uid-app-{}","annotations":{{"{}":"iad-public"}}}},
            "spec":{{"type":"LoadBalancer","clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"ports":[{{"port":80}}]}}}})",
        generation, m::pool));
    assign("tenant-a", "app", {std::string(ip)});
    settle();
    if (hold(k_v4) != nullptr && hold(k_v4)->ingress.empty()) assign_home(hold(k_v4)->meta.name, k_v4);
    settle();
  }
  void sign(std::string_view ip = k_v4) {
    world.change<api::IPAddress>("", name_of(ip),
                                 fmt::format(R"({{"spec":{{"claimRef":{{"uid":"uid-{}"}}}}}})", claim_name(ip)));
  }
};

TEST_F(InventoryAgainTest, AServiceThatIsMadeAnewIsAdoptedBesideWhatItLeft) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  make_anew();
  adopt({std::string(k_next)});
  EXPECT_EQ(state_of(k_v4), "adopted");
  EXPECT_NE(hold(k_v4), nullptr) << "the first claim keeps its address";
  EXPECT_EQ(state_of(k_next), "adopted");
  EXPECT_EQ(annotation(*service(), m::pin), k_next);
  EXPECT_EQ(condition(), "True/Adopted: 2 adopted");
  EXPECT_EQ(settle_after(std::chrono::minutes(10)), 0);
}

TEST_F(InventoryAgainTest, OfOneThatIsMadeAnewAPlanTellsBoth) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  set_mode("DryRun");
  make_anew();
  EXPECT_EQ(condition(), "True/Planned: 1 would be adopted: tenant-a/app (203.0.113.2); 1 adopted");
  EXPECT_EQ(address(k_next), nullptr);
}

TEST_F(InventoryAgainTest, TheReportHasBothToo) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  set_mode("DryRun");
  make_anew();
  std::vector<ReportList> lists;
  for (const kube::Kind* kind : {&api::IPAddressClass::kind(), &api::IPAddress::kind(), &api::IPAddressClaim::kind(),
                                 &api::Service::kind(), &api::IPAddressPool::kind()}) {
    lists.push_back({kind, {}});
    world.store(*kind).for_each([&](const kube::ObjectPtr& object) { lists.back().objects.push_back(object); });
  }
  const auto rows = report_inventory(options, "public", std::move(lists));
  ASSERT_TRUE(rows);
  std::vector<std::string> plans;
  for (const ReportRow& row : *rows) plans.push_back(row.service + " " + row.addresses + " " + row.plan);
  EXPECT_THAT(plans, ::testing::ElementsAre("app 203.0.113.1 adopted", "app 203.0.113.2 adopt"));
}

TEST_F(InventoryAgainTest, OfOneThatIsMadeAnewRevertingTakesTheSecondBack) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  make_anew();
  const std::string before = document();
  adopt({std::string(k_next)});
  set_mode("Revert");
  core_reclaims({std::string(k_next)});
  settle();
  core_lets_go(k_next);
  settle();
  EXPECT_EQ(address(k_next), nullptr);
  EXPECT_EQ(document(), before);
  EXPECT_EQ(condition(),
            "True/Reverted: 1 stay claimed: tenant-a/app (203.0.113.1): it is not attached to that Service any more: "
            "its claim is one like any other, and can be deleted");
}

TEST_F(InventoryAgainTest, OneThatIsMadeAnewOnTheWayIsAdoptedAndTheFirstTakenBack) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  make_anew();
  core_lets_go(k_v4);
  adopt({std::string(k_next)});
  EXPECT_EQ(address(k_v4), nullptr) << "promised to nobody";
  EXPECT_EQ(state_of(k_next), "adopted");
  EXPECT_EQ(condition(), "True/Adopted: 1 adopted");
}

// Of two that act the one whose writes fail does not keep the other from it.
TEST_F(InventoryAgainTest, TwoThatActDoSoOneAtATime) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  core_binds();
  world.vanish<api::Service>("tenant-a", "app");
  put_stranger("app", {std::string(k_next)});
  world.change<api::Service>("tenant-a", "app", R"({"metadata":{"uid":"uid-app-2"}})");
  const kube::Key key = inventory_key("tenant-a", "app");
  EXPECT_THAT(steps(plan(key)), ::testing::ElementsAre("adopt-settle"));
  world.memory(key).failures = 1;
  EXPECT_THAT(steps(plan(key)), ::testing::ElementsAre("adopt-address"));
  world.memory(key).failures = 2;
  EXPECT_THAT(steps(plan(key)), ::testing::ElementsAre("adopt-settle"));
}

TEST_F(InventoryAgainTest, WhatItsClaimHasHadIsLeftToTheCoresReclaim) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  sign();
  world.vanish<api::IPAddressClaim>("tenant-a", claim_name());
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_FALSE(address(k_v4)->meta.deleting) << "it is Retain";
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_NE(address(k_v4)->claimRef->uid, "");
  EXPECT_THAT(event_reasons(), Contains("AddressConflict")) << "the Service uses it without a claim now";
  EXPECT_THAT(condition(), HasSubstr("True/Adopted: 1 cannot be adopted: tenant-a/app (203.0.113.1): there is an "
                                     "IPAddress object for 203.0.113.1 already; 1 adopted"));
  EXPECT_EQ(settle_after(std::chrono::minutes(10)), 0);
}

TEST_F(InventoryAgainTest, AClaimThatIsMadeAnewIsAnotherOne) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  sign();
  const std::string name = claim_name();
  world.vanish<api::IPAddressClaim>("tenant-a", name);
  world.put<api::IPAddressClaim>(
      fmt::format(R"({{"metadata":{{"name":"{}","namespace":"tenant-a","uid":"another"}},"spec":{{}}}})", name));
  settle();
  EXPECT_EQ(state_of(), "adopted") << "nothing is to come of it";
  EXPECT_FALSE(address(k_v4)->meta.deleting);
}

TEST_F(InventoryAgainTest, AClaimThatIsNotSeenYetIsAskedFor) {
  put_stranger();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  sign();
  const kube::Key key = inventory_key("tenant-a", "app");
  const std::string name = claim_name();
  world.vanish<api::IPAddressClaim>("tenant-a", name);
  const kube::Plan asks = plan(key);
  EXPECT_THAT(steps(asks), ::testing::IsEmpty());
  ASSERT_EQ(asks.confirms.size(), 1U);
  EXPECT_EQ(asks.confirms.front().target.name, name);
}

TEST_F(InventoryAgainTest, WhatAnEarlierClaimLeftIsNoHalfOfWhatIsAdoptedLater) {
  put_stranger();
  set_mode("Adopt");
  adopt();
  const std::string first = claim_name();
  world.vanish<api::IPAddressClaim>("tenant-a", first);
  settle();
  // The same Service, with another address.
  put_stranger("app", {std::string(k_next)});
  settle();
  ASSERT_NE(address(k_next), nullptr);
  EXPECT_EQ(claim_name(k_next), first) << "of the same Service";
  EXPECT_EQ(state_of(k_next), "adopting");
  adopt({std::string(k_next)});
  EXPECT_EQ(state_of(k_v4), "adopted");
  EXPECT_EQ(state_of(k_next), "adopted");
  EXPECT_NE(generated(k_next), nullptr);
}

TEST_F(InventoryAgainTest, AdoptingTheSameAgainHasAPace) {
  put_stranger();
  set_mode("Adopt");
  int times = 0;
  for (int i = 0; i < 20 && address(k_v4) != nullptr; ++i, ++times) {
    world.vanish<api::IPAddress>("", name_of(k_v4));
    settle();
  }
  EXPECT_EQ(times, 5);
  EXPECT_THAT(condition(), HasSubstr("1 to be adopted"));
  settle_after(seconds(10));
  EXPECT_NE(address(k_v4), nullptr);
}

TEST_F(InventoryAgainTest, RevertingTakesAClaimBackThatTheCoreHasNotSeen) {
  put_stranger();
  const std::string before = document();
  set_mode("Adopt");
  core_sees(k_v4);
  settle();
  ASSERT_NE(generated(), nullptr);
  const std::string name = claim_name();
  set_mode("Revert");
  EXPECT_EQ(claim(name), nullptr);
  core_lets_go(k_v4);
  settle();
  EXPECT_EQ(address(k_v4), nullptr);
  EXPECT_EQ(document(), before);
  set_mode("Adopt");
  EXPECT_NE(address(k_v4), nullptr) << "nothing is in the way of it";
}

class InventoryFormerHomeTest : public InventoryAgainTest {
 protected:
  InventoryFormerHomeTest() : InventoryAgainTest(options_there()) {}
  static Options options_there() {
    Options options = with_inventory();
    options.former_placeholder_namespaces = {"former"};
    return options;
  }
};

TEST_F(InventoryFormerHomeTest, APlaceholderThatIsLeftBehindIsNoStranger) {
  set_mode("Adopt");
  put_claim();
  settle();
  const std::string name = drawn()->meta.name;
  world.vanish<api::Service>(k_home, name);
  world.put<api::Service>(fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"former","labels":{{"{}":"true"}},"annotations":{{"{}":"iad-public","{}":"tenant-a","{}":"web"}}}},
          "spec":{{"type":"LoadBalancer","clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"ports":[{{"port":65535}}]}}}})",
      name, m::placeholder, m::pool, m::claim_namespace, m::claim_name));
  assign("former", name, {std::string(k_v4)});
  EXPECT_THAT(steps(plan(inventory_key("former", name))), ::testing::IsEmpty());
  settle();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_EQ(address(k_v4)->claimRef->name, "web") << "the claim that drew it";
  EXPECT_EQ(state_of(), "none");
  EXPECT_THAT(event_reasons(), Not(Contains("NotAdopted")));
  EXPECT_EQ(condition(), "True/Adopted: no Service has an address of the class without a claim");
}

// --- restored in the middle ---

class InventoryRestoredTest : public InventoryTest {
 protected:
  // Adopting had begun when the backup was taken, and nobody had signed: all that is back has another uid.
  void restore_adopting() {
    put_stranger();
    set_mode("Adopt");
    settle();
    core_sees(k_v4);
    world.vanish<api::Service>("tenant-a", "app");
    world.change<api::IPAddress>("", name_of(k_v4), R"({"metadata":{"uid":"uid-again"}})");
    put_stranger();
    world.change<api::Service>("tenant-a", "app", R"({"metadata":{"uid":"uid-app-again"}})");
    settle();
  }
};

TEST_F(InventoryRestoredTest, WhatNobodyHasSignedIsSaidAndTakenBackWhenItsClaimDoesNotCome) {
  restore_adopting();
  ASSERT_NE(address(k_v4), nullptr);
  EXPECT_THAT(condition(), HasSubstr("it has been restored, and so its claim may still be"));
  settle_after(std::chrono::minutes(3));
  core_lets_go(k_v4);
  settle_after(std::chrono::minutes(1));
  core_lets_go(k_v4);
  adopt();
  EXPECT_EQ(state_of(), "adopted");
  EXPECT_EQ(adoption_of(*address(k_v4))->uid, "uid-app-again");
}

}  // namespace
}  // namespace metallb::testing
