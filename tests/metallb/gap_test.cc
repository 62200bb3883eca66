// Driver design §4: a gap waits for the unassigned placeholders to go, whoever opens it, and keeps nobody waiting for
// ever.
#include <fmt/format.h>

#include "metallb/driver_fixture.h"
#include "metallb/gap.h"
#include "metallb/placeholder.h"

namespace metallb::testing {
namespace {

namespace m = api::metallb;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class GapTest : public DriverTest {
 protected:
  // All writes until everything is settled, by their steps.
  std::vector<std::string> all_steps() {
    std::vector<std::string> all;
    for (int i = 0; i < 200; ++i) {
      const auto woken = world.take_woken();
      if (woken.empty()) return all;
      for (const kube::Key& key : woken) {
        for (int pass = 0; pass < 20; ++pass) {
          const kube::Plan next = plan(key);
          for (const std::string& step : steps(next)) all.push_back(step);
          world.execute(next);
          if (next.sends_nothing()) break;
        }
      }
    }
    ADD_FAILURE() << "never at rest";
    return all;
  }
  static std::ptrdiff_t place(const std::vector<std::string>& all, std::string_view step) {
    const auto found = std::ranges::find(all, step);
    EXPECT_NE(found, all.end()) << step;
    return found - all.begin();
  }
  // Another object for the address of `ip`: unclaimed, younger.
  void put_junior(std::string_view ip = k_v4, std::string_view cls = "public") {
    world.put<api::IPAddress>(fmt::format(
        R"({{"metadata":{{"name":"junior","uid":"uid-junior","finalizers":["{}"],"creationTimestamp":"2030-01-01T00:00:00Z"}},
            "spec":{{"address":"{}","className":"{}","reclaimPolicy":"Retain","source":{{"fromClass":{{}}}}}},
            "status":{{"phase":"Available"}}}})",
        m::teardown, ip, cls));
  }
  void relabel_hold(std::string_view object) {
    world.change<api::Service>(
        k_home, hold_name(name_of(k_v4)),
        fmt::format(
            R"({{"metadata":{{"labels":{{"{}":"{}"}},"ownerReferences":[{{"apiVersion":"{}/v1alpha1","kind":"IPAddress","name":"{}","uid":"uid-{}"}}]}}}})",
            m::ip_address, object, api::group, object, object));
  }
  const api::Service* held_by(std::string_view object) {
    const auto* hold = placeholder(hold_name(name_of(k_v4)));
    return hold != nullptr && hold->meta.labels.get(m::ip_address) == object ? hold : nullptr;
  }
};

// --- what is given back to the ledger's owner ---

// Its claimRef was cleared before it was labelled: the claim's placeholder shows what the ledger has for nobody.
TEST_F(GapTest, AnAddressIsGivenBackOnlyWhenNoUnassignedPlaceholderIsAbout) {
  put_claim("waiting");
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4, "");
  const std::vector<std::string> all = all_steps();
  EXPECT_LT(place(all, "placeholder-before-gap"), place(all, "placeholder-replace"));
  EXPECT_EQ(drawn("waiting"), nullptr);
  assign_home(hold_name(name_of(k_v4)), k_v4);
  settle();
  EXPECT_NE(drawn("waiting"), nullptr);
}

TEST_F(GapTest, NorIsItWhenItsClaimGoes) {
  put_claim("waiting");
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  put_address(k_v4, "");
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  const std::vector<std::string> all = all_steps();
  EXPECT_LT(place(all, "placeholder-before-gap"), place(all, "placeholder-unneeded"));
}

// --- several objects for one address ---

TEST_F(GapTest, APlaceholderThatKeepsAGapFromOpeningIsSaid) {
  put_unshared_class();
  put_bound();
  put_claim("waiting");
  settle();
  world.begin_write({&api::Service::kind().resource, std::string(k_home), "iad-uid-waiting-v4"});
  put_service();
  settle();
  ASSERT_NE(hold(k_v4), nullptr);
  EXPECT_THAT(event_reasons(), Not(Contains("HandoffTimedOut")));
  settle_after(seconds(31));
  EXPECT_THAT(event_reasons(), Contains("HandoffTimedOut"));
  EXPECT_NE(hold(k_v4), nullptr);
}

// A claim goes whose address an administrator has given to another one already.
TEST_F(GapTest, AJuniorIsRidOfItsServiceWithoutAHoldOfItsOwn) {
  put_bound();
  put_attached("app", {std::string(k_v4)});
  put_claim("next");
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"again","finalizers":["{}"]}},"spec":{{"address":"{}","className":"public",
          "claimRef":{{"namespace":"tenant-a","name":"next","uid":"uid-next"}},"source":{{"providerRef":{{"id":"x"}}}}}},
          "status":{{"phase":"Bound"}}}})",
      m::teardown, k_v4));
  settle();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  settle();
  EXPECT_EQ(annotation(*service(), m::pool), m::awaiting_pool) << "the hold of the other one is ready";
  assign("tenant-a", "app", {});
  settle();
  EXPECT_EQ(address(k_v4)->associatedTo, std::nullopt);
}

TEST_F(GapTest, AJuniorThatGoesLeavesItsHoldToTheSenior) {
  put_bound();
  put_junior();
  relabel_hold("junior");
  world.remove<api::IPAddress>("", "junior");
  const kube::Key key = address_key("junior");
  const kube::Plan next = plan(key);
  EXPECT_THAT(steps(next), ElementsAre("hold-inherit"));
  world.execute(next);
  ASSERT_NE(held_by(name_of(k_v4)), nullptr);
  settle();
  EXPECT_EQ(world.get<api::IPAddress>("", "junior"), nullptr);
  EXPECT_TRUE(shows(*hold(k_v4), *base::IpAddress::parse(k_v4)));
}

TEST_F(GapTest, ASeniorThatGoesLeavesItsHoldToTheJunior) {
  put_bound();
  put_junior();
  settle();
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  const std::vector<std::string> all = all_steps();
  EXPECT_THAT(all, Contains("hold-inherit"));
  EXPECT_THAT(all, Not(Contains("hold-teardown")));
  EXPECT_EQ(address(k_v4), nullptr);
  ASSERT_NE(held_by("junior"), nullptr);
}

TEST_F(GapTest, AHeirOfAnotherClassGetsTheAddressThroughAGap) {
  put_class("other", R"("parameters":{"addresses":["198.51.100.0/29"]})");
  put_claim("waiting");
  put_bound();
  put_junior(k_v4, "other");
  settle();
  ASSERT_NE(drawn("waiting"), nullptr);
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  const std::vector<std::string> all = all_steps();
  EXPECT_LT(place(all, "placeholder-before-gap"), place(all, "hold-teardown"));
}

TEST_F(GapTest, AHeirThatCannotBeHeldKeepsNoDeletionWaiting) {
  put_class("other", R"("parameters":{"addresses":["198.51.100.0/29"]})");
  put_bound();
  put_junior(k_v4, "other");
  settle();
  world.vanish<api::IPAddressPool>("metallb-system", "iad-public");
  world.vanish<api::IPAddressClass>("", "public");
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.change<api::IPAddress>("", name_of(k_v4),
                               fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", m::teardown));
  world.remove<api::IPAddress>("", name_of(k_v4));
  all_steps();
  settle_after(minutes(3));
  EXPECT_EQ(address(k_v4), nullptr);
}

// --- placeholders that nobody looks after ---

// The object that the ledger has for the address is another driver's, and asks for no gap.
TEST_F(GapTest, AnOrphanOfAnAddressThatIsAnotherDriversGoes) {
  put_bound();
  world.vanish<api::IPAddress>("", name_of(k_v4));
  world.put<api::IPAddressClass>(R"({"metadata":{"name":"theirs"},"spec":{"provisioner":"other.example/driver"}})");
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"theirs"}},"spec":{{"address":"{}","className":"theirs","reclaimPolicy":"Retain","source":{{"providerRef":{{"id":"x"}}}}}},
          "status":{{"phase":"Available"}}}})",
      k_v4));
  settle();
  world.advance(minutes(3));
  const kube::Key key{std::string(k_placeholder_reconciler), "", hold_name(name_of(k_v4))};
  const kube::Fact gap = gap_fact("theirs", base::Family::v4);
  EXPECT_THAT(plan(key).facts, Contains(gap));
  world.settle(pool_key("theirs", base::Family::v4));
  const kube::Plan next = plan(key);
  EXPECT_EQ(next.confirms.size(), 1U);
  EXPECT_THAT(next.facts, Contains(gap)) << "the gap must not close while the live read is on its way";
  settle_after(seconds(1));
  EXPECT_THAT(placeholders(), IsEmpty());
}

TEST_F(GapTest, ItsGapStaysUntilItIsGone) {
  put_bound();
  relabel_hold("gone");
  const kube::Key key{std::string(k_placeholder_reconciler), "", hold_name(name_of(k_v4))};
  world.change<api::Service>(k_home, key.name, R"({"metadata":{"finalizers":["other.example/slow"]}})");
  world.remove<api::Service>(k_home, key.name);
  EXPECT_THAT(plan(key).facts, Contains(gap_fact("public", base::Family::v4)));
}

TEST_F(GapTest, WhatDoesNotGoIsPatientInTheEnd) {
  put_bound();
  put_claim("waiting");
  relabel_hold("gone");
  world.change<api::Service>(k_home, hold_name(name_of(k_v4)), R"({"metadata":{"finalizers":["other.example/slow"]}})");
  world.remove<api::Service>(k_home, hold_name(name_of(k_v4)));
  settle();
  EXPECT_EQ(drawn("waiting"), nullptr);
  settle_after(minutes(5));
  settle_after(seconds(6));  // the eager ones have been quiet for long enough
  EXPECT_NE(drawn("waiting"), nullptr);
}

// --- gaps that get nowhere ---

class UnhonouredTest : public GapTest {
 protected:
  // For so long that nobody waits for it.
  void be_refused(const kube::Key& key) {
    world.memory(key).failures = 5;
    world.memory(key).refusal_code = 403;
    plan(key);
    world.advance(k_futile_after);
  }
  void land_holds() {
    for (const std::string& name : placeholders()) {
      const auto* hold = placeholder(name);
      if (is_recorded(*hold) && hold->ingress.empty()) assign_home(name, pin_of(*hold));
    }
  }
};

TEST_F(UnhonouredTest, ManyPinsThatAreNeverHonouredLeaveTheOthersTheirTurn) {
  put_unshared_class(R"("203.0.113.0/28")");
  for (int i = 1; i <= 12; ++i) {
    put_bound(fmt::format("203.0.113.{}", i), fmt::format("c{}", i));
    put_service(fmt::format("s{}", i), fmt::format("c{}", i));
    for (int step = 0; step < 10; ++step) {
      settle_after(seconds(1));
      land_holds();
      settle();
    }
  }
  put_claim("other");
  int served = 0;
  int waits = 0;
  int longest = 0;
  for (int step = 0; step < 600; ++step) {
    settle_after(seconds(1));
    land_holds();
    settle();
    waits = drawn("other") == nullptr ? waits + 1 : 0;
    longest = std::max(longest, waits);
    served += waits == 0 ? 1 : 0;
  }
  EXPECT_GE(served, 240) << "of 600 s";
  EXPECT_LE(longest, 100);
}

TEST_F(UnhonouredTest, AHoldThatIsRefusedForEverOpensNoGapForEver) {
  put_bound();
  world.vanish<api::Service>(k_home, hold_name(name_of(k_v4)));
  const kube::Key key = address_key(name_of(k_v4));
  EXPECT_THAT(plan(key).facts, Contains(gap_fact("public", base::Family::v4)));
  be_refused(key);
  EXPECT_THAT(plan(key).facts, Not(Contains(gap_fact("public", base::Family::v4))));
}

// MetalLB gives what is somebody else's again and again.
TEST_F(UnhonouredTest, WhatIsReplacedAtADistanceOpensNoGapMeanwhile) {
  put_bound(k_v4, "owner");
  put_claim();
  settle();
  const kube::Key key = claim_key("tenant-a", "web");
  for (int i = 0; i < 5; ++i) {
    if (drawn("web") != nullptr) assign_home("iad-uid-web-v4", k_v4);
    settle();
  }
  ASSERT_NE(drawn("web"), nullptr) << "the throttle holds";
  EXPECT_THAT(plan(key).facts, Not(Contains(gap_fact("public", base::Family::v4))));
}

TEST_F(UnhonouredTest, WhatCannotBeGivenBackOpensNoGapForEver) {
  put_bound(k_v4, "owner");
  put_claim();
  settle();
  assign_home("iad-uid-web-v4", k_v4);
  const kube::Key key = claim_key("tenant-a", "web");
  const kube::Fact gap = gap_fact("public", base::Family::v4);
  EXPECT_THAT(plan(key).facts, Contains(gap));
  be_refused(key);
  const kube::Plan next = plan(key);
  EXPECT_THAT(next.facts, Not(Contains(gap)));
  EXPECT_TRUE(next.revisit.has_value());
}

TEST_F(UnhonouredTest, AHoldThatCannotBeDeletedIsTriedAgain) {
  put_unshared_class();
  put_bound();
  put_service();
  world.settle(service_key("tenant-a", "app"));
  const kube::Key key = address_key(name_of(k_v4));
  be_refused(key);
  const kube::Plan next = plan(key);
  EXPECT_THAT(next.facts, IsEmpty());
  EXPECT_THAT(next.writes, IsEmpty());
  EXPECT_TRUE(next.revisit.has_value());
}

// --- gaps that somebody makes ---

// With a MetalLB that looks at placeholders that take anything before it looks at pins.
class FlippedTest : public GapTest {
 protected:
  FlippedTest() { put_unshared_class(); }
  void put_user(int n) {
    put_bound(fmt::format("203.0.113.{}", n), fmt::format("c{}", n));
    put_service(fmt::format("s{}", n), fmt::format("c{}", n));
    settle();
    play_metallb();
    ASSERT_TRUE(has_its_own(n));
  }
  bool has_its_own(int n) {
    return shows(*service(fmt::format("s{}", n)), *base::IpAddress::parse(fmt::format("203.0.113.{}", n)));
  }
  void flip(const std::string& name) {
    world.change<api::Service>(
        "tenant-a", name, fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", m::pool, m::awaiting_pool));
    assign("tenant-a", name, {});
  }
  void play_metallb() {
    for (int i = 0; i < 20; ++i) {
      settle();
      if (!serve_one()) return;
    }
    ADD_FAILURE() << "never at rest";
  }

 private:
  bool is_free(const std::string& ip) {
    bool free = true;
    for (const kube::ObjectPtr& object : all()) {
      free = free && !shows(static_cast<const api::Service&>(*object), *base::IpAddress::parse(ip));
    }
    return free;
  }
  std::vector<kube::ObjectPtr> all() {
    std::vector<kube::ObjectPtr> found;
    world.store(api::Service::kind()).for_each([&](const kube::ObjectPtr& object) { found.push_back(object); });
    std::ranges::sort(found, {}, [](const kube::ObjectPtr& o) {
      const auto& service = static_cast<const api::Service&>(*o);
      return std::pair(!pin_of(service).empty(), service.meta.name);
    });
    return found;
  }
  std::string wanted_by(const api::Service& service) {
    if (pool_of(service) != "iad-public" || !service.ingress.empty() || service.meta.deleting) return "";
    if (!pin_of(service).empty()) return is_free(std::string(pin_of(service))) ? std::string(pin_of(service)) : "";
    for (int n = 1; n <= 6; ++n) {
      if (const std::string ip = fmt::format("203.0.113.{}", n); is_free(ip)) return ip;
    }
    return "";
  }
  bool serve_one() {
    for (const kube::ObjectPtr& object : all()) {
      const auto& service = static_cast<const api::Service&>(*object);
      if (const std::string ip = wanted_by(service); !ip.empty()) {
        assign(service.meta.ns, service.meta.name, {ip});
        return true;
      }
    }
    return false;
  }
};

TEST_F(FlippedTest, ServicesThatAreMadeToLoseTheirAddressesAgainAndAgainDoNotKeepTheOthersWaiting) {
  put_user(1);
  put_user(2);
  for (int step = 0; step < 200; ++step) {
    if (step == 100) put_claim("other");
    settle_after(seconds(1));
    play_metallb();
    const int n = 1 + step % 2;
    if (has_its_own(n)) flip(fmt::format("s{}", n));
    play_metallb();
  }
  ASSERT_NE(address("203.0.113.3"), nullptr);
  EXPECT_EQ(address("203.0.113.3")->claimRef->name, "other");
}

// Its repair is delayed, its address is not left to others meanwhile.
TEST_F(FlippedTest, AnAddressWhoseServicePointsElsewhereIsHeld) {
  put_user(1);
  for (int i = 0; i < 20; ++i) {
    settle_after(seconds(1));
    play_metallb();
    if (has_its_own(1)) flip("s1");
    play_metallb();
    EXPECT_TRUE(has_its_own(1) || (hold(k_v4) != nullptr && shows(*hold(k_v4), *base::IpAddress::parse(k_v4)))) << i;
  }
  for (int i = 0; i < 30; ++i) {
    settle_after(seconds(1));
    play_metallb();
  }
  EXPECT_TRUE(has_its_own(1)) << "when it is left alone";
  EXPECT_EQ(hold(k_v4), nullptr);
}

// Every time with another uid.
TEST_F(FlippedTest, AServiceThatIsMadeAnewAllTheTimeOpensFewGaps) {
  put_bound();
  int gaps = 0;
  for (int i = 0; i < 60; ++i) {
    put_service();
    world.change<api::Service>("tenant-a", "app", fmt::format(R"({{"metadata":{{"uid":"uid-app-{}"}}}})", i));
    settle_after(seconds(1));
    play_metallb();
    gaps += shows(*service(), *base::IpAddress::parse(k_v4)) ? 1 : 0;
    world.remove<api::Service>("tenant-a", "app");
    settle_after(seconds(1));
    play_metallb();
    ASSERT_EQ(service(), nullptr);
  }
  EXPECT_GE(gaps, 5);
  EXPECT_LE(gaps, 10);
  EXPECT_THAT(event_reasons(), Contains("HandoffThrottled"));
}

}  // namespace
}  // namespace metallb::testing
