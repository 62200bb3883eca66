// Driver design §6: a Service of policy Local shares with a hold that has its policy and selector for as long as that
// takes.
#include <boost/json/serialize.hpp>

#include "metallb/sharing.h"
#include "metallb/sharing_fixture.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LocalTest : public SharingTest {
 protected:
  static constexpr std::string_view k_local =
      R"("clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"externalTrafficPolicy":"Local","selector":{"app":"web","tier":"a"},"ports":[{"port":80}])";
  static kube::StringMap selector() { return {{"app", "web"}, {"tier", "a"}}; }

  void put_local() { put_service("app", "web", k_local); }
  void put_pod() { world.put<api::Pod>(fmt::format(R"({{"metadata":{{"name":"p","namespace":"{}"}}}})", k_home)); }
  void put_slice(std::string_view name = "slice-1") {
    world.put<api::EndpointSlice>(
        fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}","labels":{{"kubernetes.io/service-name":"{}"}}}}}})",
                    name, k_home, k_hold));
  }
  bool has_slice(std::string_view name = "slice-1") { return world.get<api::EndpointSlice>(k_home, name) != nullptr; }
  std::vector<std::string> pass_placeholder() {
    return pass({std::string(k_placeholder_reconciler), "", std::string(k_hold)});
  }
  void edit(std::string_view spec) {
    world.change<api::Service>("tenant-a", "app", fmt::format(R"({{"spec":{}}})", spec));
  }
  void expect_shares() {
    ASSERT_NE(hold(k_v4), nullptr);
    EXPECT_EQ(hold(k_v4)->externalTrafficPolicy, "Local");
    EXPECT_EQ(hold(k_v4)->selector, service()->selector);
    EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
    EXPECT_NE(key_of(service()), "");
  }
  void expect_plain() {
    ASSERT_NE(hold(k_v4), nullptr);
    EXPECT_NE(hold(k_v4)->externalTrafficPolicy, "Local");
    EXPECT_FALSE(hold(k_v4)->has_selector);
    EXPECT_EQ(key_of(hold(k_v4)), "");
  }
  // Attached to its very end.
  void attach_local() { attach("app", k_local); }
  void detach() { annotate("app", api::claim_annotation, "null"); }
};

TEST_F(LocalTest, AttachingIsTheSameSixWrites) {
  put_bound();
  put_local();
  EXPECT_THAT(pass_service(), ElementsAre("attach-associate"));
  EXPECT_THAT(pass_address(), ElementsAre("hold-repair"));
  EXPECT_EQ(hold(k_v4)->selector, selector());
  EXPECT_THAT(pass_service(), ElementsAre("attach-pin"));
  expect_shares();
  put_slice();
  settle();
  EXPECT_TRUE(has_slice()) << "Kubernetes would only make it again";
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  empty_holds();
  EXPECT_THAT(placeholders(), IsEmpty());
  settle_after(seconds(1));
  EXPECT_EQ(key_of(service()), "");
  EXPECT_EQ(service()->selector, selector()) << "the Service's own is not touched";
  EXPECT_EQ(service()->externalTrafficPolicy, "Local");
  EXPECT_EQ(world.writes, 6);
}

TEST_F(LocalTest, LettingGoIsTheSameSixWritesAndLeavesAPlainHold) {
  put_bound();
  attach_local();
  detach();
  EXPECT_THAT(pass_service(), ElementsAre("detach-share"));
  EXPECT_THAT(pass_service(), IsEmpty());
  EXPECT_THAT(pass_address(), ElementsAre("hold-create"));
  expect_shares();
  put_slice();
  settle();
  assign_home(k_hold, k_v4);
  EXPECT_THAT(pass_service(), ElementsAre("detach-release"));
  settle();
  EXPECT_TRUE(hold(k_v4)->has_selector) << "MetalLB has not taken the Service off yet: it would be the hold that loses";
  assign("tenant-a", "app", {});
  settle();
  EXPECT_TRUE(hold(k_v4)->has_selector) << "and does not say when it knows";
  EXPECT_TRUE(has_slice());
  settle_after(seconds(1));
  expect_plain();
  EXPECT_FALSE(has_slice());
  EXPECT_EQ(world.writes, 7) << "one for the slice that Kubernetes has left";
}

TEST_F(LocalTest, DeletingTheServiceLeavesAPlainHoldToo) {
  put_bound();
  attach_local();
  world.remove<api::Service>("tenant-a", "app");
  settle();
  assign_home(k_hold, k_v4);
  settle();
  assign("tenant-a", "app", {});
  settle();
  settle_after(seconds(1));
  EXPECT_EQ(service(), nullptr);
  expect_plain();
  EXPECT_EQ(world.writes, 6);
}

TEST_F(LocalTest, TheHoldFollowsTheSelectorWhileTheServiceIsOnItsWay) {
  put_bound();
  put_local();
  settle();
  edit(R"({"selector":{"app":"other","tier":null,"more":"b"}})");
  settle();
  EXPECT_EQ(hold(k_v4)->selector, (kube::StringMap{{"app", "other"}, {"more", "b"}}));
  expect_shares();
  edit(R"({"externalTrafficPolicy":"Cluster"})");
  settle();
  EXPECT_FALSE(hold(k_v4)->has_selector);
  EXPECT_NE(hold(k_v4)->externalTrafficPolicy, "Local");
  EXPECT_EQ(key_of(hold(k_v4)), key_of(service()));
  edit(R"({"externalTrafficPolicy":"Local"})");
  settle();
  expect_shares();
}

TEST_F(LocalTest, TheHoldFollowsTheSelectorOfOneThatLetsGo) {
  put_bound();
  attach_local();
  detach();
  settle();
  edit(R"({"selector":{"app":"other"}})");
  settle();
  expect_shares();
}

// Both show it and no longer fit: MetalLB takes it from one of them.
TEST_F(LocalTest, AHoldIsNotLetGoOfWhileMetalLBHasToChoose) {
  put_bound();
  put_local();
  settle();
  for (const std::string_view change :
       {R"({"selector":{"app":"other"}})", R"({"selector":null})", R"({"ports":[{"port":65535}]})"}) {
    const std::string before = boost::json::serialize(*world.document(api::Service::kind(), "tenant-a", "app"));
    assign("tenant-a", "app", {std::string(k_v4)});
    edit(change);
    EXPECT_THAT(pass_address(), IsEmpty()) << change;
    EXPECT_EQ(annotation(*hold(k_v4), m::pool), "iad-public") << change;
    assign("tenant-a", "app", {});
    settle();
    EXPECT_TRUE(is_joinable(*hold(k_v4), *service())) << change;
    world.put<api::Service>(before);
    settle();
  }
  assign("tenant-a", "app", {std::string(k_v4)});
  settle();
  empty_holds();
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(LocalTest, AHoldThatMetalLBTookItFromIsDeleted) {
  put_bound();
  put_local();
  settle();
  assign("tenant-a", "app", {std::string(k_v4)});
  edit(R"({"selector":{"app":"other"}})");
  assign(k_home, k_hold, {});
  settle();
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(LocalTest, WhoGivesUpLeavesAPlainHold) {
  put_bound();
  put_local();
  settle();
  expect_shares();
  detach();
  settle();
  EXPECT_EQ(attached_to(), "app") << "MetalLB may give it the address at any moment";
  settle_after(options.attach_timeout);
  settle_after(options.attach_timeout);
  EXPECT_EQ(attached_to(), "");
  expect_plain();
}

// An object Endpoints of its name, say: Kubernetes makes a slice of it again, under another name.
TEST_F(LocalTest, SlicesThatComeBackAreRemovedAtAPaceAndTheirMakerIsNamed) {
  put_bound();
  int removed = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("slice-{}", i);
    put_slice(name);
    world.change<api::EndpointSlice>(
        k_home, name, R"({"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":"mirror.k8s.io"}}})");
    settle();
    if (!has_slice(name)) ++removed;
  }
  EXPECT_EQ(removed, 5);
  ASSERT_EQ(std::ranges::count(event_reasons(), "ForeignEndpoints"), 1);
  EXPECT_THAT(world.events.back().note, ::testing::HasSubstr("that mirror.k8s.io makes"));
  settle_after(seconds(10));
  EXPECT_FALSE(has_slice("slice-19"));
}

// Wherever a process has died.
TEST_F(LocalTest, AHoldThatHasASelectorForNobodyIsRidOfItAndOfItsSlices) {
  put_bound();
  put_slice();
  settle();
  EXPECT_FALSE(has_slice()) << "whoever has made it";
  put_slice();
  world.change<api::Service>(
      k_home, k_hold,
      fmt::format(
          R"({{"metadata":{{"annotations":{{"{}":"{}"}}}},"spec":{{"externalTrafficPolicy":"Local","selector":{{"app":"web"}}}}}})",
          m::sharing_key, "iad-0123456789abcdef0123456789abcdef"));
  settle();
  EXPECT_TRUE(hold(k_v4)->has_selector);
  settle_after(seconds(1));
  expect_plain();
  EXPECT_FALSE(has_slice());
  put_slice("slice-2");
  settle();
  EXPECT_FALSE(has_slice("slice-2")) << "one that Kubernetes had on its way";
}

TEST_F(LocalTest, APodInTheNamespaceForbidsIt) {
  put_pod();
  put_bound();
  put_local();
  settle();
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
  EXPECT_EQ(hold(k_v4), nullptr);
  EXPECT_EQ(handoff_key(*service()), "");
  world.advance(milliseconds(20));
  assign("tenant-a", "app", {std::string(k_v4)});
  const kube::Plan landed = plan(address_key(name_of(k_v4)));
  ASSERT_EQ(landed.observations.size(), 1u);
  EXPECT_THAT(landed.observations[0].labels,
              ElementsAre(std::pair<std::string, std::string>("rule", "pods-in-namespace")));
  settle();
  detach();
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  expect_plain();
}

// Both rights are in a Role that goes with its namespace.
TEST_F(LocalTest, NotKnowingWhetherThereArePodsForbidsIt) {
  world.store(api::Pod::kind()).set_served(false);
  put_bound();
  put_local();
  settle();
  EXPECT_EQ(hold(k_v4), nullptr);
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
}

TEST_F(LocalTest, APodThatAppearsTakesTheSelectorOffAHoldThatWaits) {
  put_bound();
  attach_local();
  detach();
  settle();
  expect_shares();
  put_pod();
  settle();
  EXPECT_FALSE(hold(k_v4)->has_selector);
  EXPECT_EQ(key_of(hold(k_v4)), "");
  EXPECT_EQ(handoff_key(*service()), "");
  EXPECT_FALSE(service()->meta.annotations.contains(m::pin)) << "it goes on by the gap";
}

// The Service waits for its next try, in which the hold goes: until then it must not answer for it.
TEST_F(LocalTest, APodThatAppearsTakesTheSelectorOffAHoldWhoseServiceWaits) {
  put_bound();
  put_local();
  settle();
  put_pod();
  settle();
  settle_after(seconds(31));
  ASSERT_NE(hold(k_v4), nullptr) << "held again";
  assign_home(k_hold, k_v4);
  settle();
  world.vanish<api::Pod>(k_home, "p");
  settle();
  expect_shares();
  put_pod();
  settle();
  expect_plain();
}

TEST_F(LocalTest, APodThatAppearsWhileTheServiceWaitsMakesAGap) {
  put_bound();
  put_local();
  settle();
  put_pod();
  settle();
  EXPECT_EQ(hold(k_v4), nullptr);
  EXPECT_EQ(annotation(*service(), m::pin), k_v4);
}

}  // namespace
}  // namespace metallb::testing
