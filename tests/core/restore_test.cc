// Contract §9: objects that a backup tool made again, with other uids.
#include <algorithm>
#include <array>
#include <set>

#include "api/holds.h"
#include "core_fixture.h"

namespace core {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The claim "web" had the uid "uid-web" and the addresses "a" (and "b") when the backup was taken, and was bound.
class Restore : public CoreTest {
 protected:
  void SetUp() override { make_class("public"); }

  // What backup tools make of the annotations and finalizers of `kind` (claim or address): they keep them.
  static std::string copied(std::string_view former_uid, std::string_view kind, std::string_view uid,
                            std::string_view more = "") {
    return fmt::format(
        R"(,"uid":"{}","finalizers":["local.sdn.cozystack.io/{}-protection"],"annotations":{{"local.sdn.cozystack.io/recorded-uid":"{}"{}}})",
        uid, kind, former_uid, more);
  }
  void restore_claim(bool with_status = false, std::string_view family = "IPv4", std::string_view name = "web") {
    const std::string b = family == "Dual" ? R"(,{"name":"b","address":"2001:db8::1"})" : "";
    make_claim(
        name, fmt::format(R"("className":"public","family":"{}")", family),
        with_status
            ? fmt::format(
                  R"("phase":"Bound","className":"public","addresses":[{{"name":"a","address":"203.0.113.1"}}{}])", b)
            : "",
        copied(fmt::format("uid-{}", name), "claim", fmt::format("new-{}", name),
               R"(,"local.sdn.cozystack.io/provisioner":"prov")"));
  }
  void restore_address(std::string_view name = "a", std::string_view ip = "203.0.113.1", std::string_view phase = "",
                       std::string_view policy = "Retain", std::string_view claim = "web") {
    const std::string metadata = copied(fmt::format("uid-{}", name), "address", fmt::format("new-{}", name));
    make_address(name, ip, "public",
                 claim_ref(claim, fmt::format("uid-{}", claim)) + fmt::format(R"(,"reclaimPolicy":"{}")", policy),
                 phase.empty() ? "" : fmt::format(R"("phase":"{}")", phase), metadata);
  }
  std::string recorded(const kube::Meta& meta) {
    return std::string(meta.annotations.get(api::recorded_uid_annotation));
  }
  // Lets time go by, and everybody looks again.
  void wait_for(base::Duration d) {
    world.advance(d);
    std::vector<kube::Key> keys;
    world.store(Address::kind()).for_each([&](const kube::ObjectPtr& o) {
      keys.push_back({std::string(k_address), "", o->meta.name});
    });
    world.store(Claim::kind()).for_each([&](const kube::ObjectPtr& o) {
      keys.push_back({std::string(k_claim), o->meta.ns, o->meta.name});
    });
    // Addresses first: the timers of both are due at the same time, and what they tell is read by claims.
    for (const kube::Key& key : keys) world.settle(key);
    settle();
  }
  void expect_back(std::string_view claim_name = "web", std::string_view address_name = "a") {
    const std::string uid = fmt::format("new-{}", claim_name);
    EXPECT_EQ(phase(claim_name), "Bound");
    EXPECT_EQ(bound_reason(claim_name), "True/Bound");
    EXPECT_EQ(recorded(claim(claim_name)->meta), uid);
    EXPECT_EQ(stamp(claim_name), "prov");
    EXPECT_EQ(ref(address_name), fmt::format("t/{}/{}", claim_name, uid));
    EXPECT_EQ(address_phase(address_name), "Bound");
    EXPECT_EQ(recorded(address(address_name)->meta), fmt::format("new-{}", address_name));
    EXPECT_EQ(address_reason(address_name, "Restored"), "");
  }
};

// Every order of three objects, with the core running in between or not, with their status or without.
TEST_F(Restore, WhateverComesFirstEachGoesBackToItsOwn) {
  std::array<int, 3> order{0, 1, 2};
  do {
    for (const bool with_status : {false, true}) {
      for (const bool running : {false, true}) {
        SCOPED_TRACE(fmt::format("{}{}{} status {} running {}", order[0], order[1], order[2], with_status, running));
        make_address("free", "203.0.113.0");  // older, and in name order before none: nobody may be given it
        settle();
        for (const int what : order) {
          if (what == 0) restore_claim(with_status, "Dual");
          if (what == 1) restore_address("a", "203.0.113.1", with_status ? "Bound" : "", "Delete");
          if (what == 2) restore_address("b", "2001:db8::1", with_status ? "Bound" : "");
          if (running) settle();
        }
        settle();
        expect_back("web", "a");
        expect_back("web", "b");
        EXPECT_EQ(reported("web"), "203.0.113.1 2001:db8::1");
        EXPECT_EQ(address_phase("free"), "Available");
        expect_quiet();
        for (const char* name : {"a", "b", "free"}) world.vanish<Address>("", name);
        world.vanish<Claim>("t", "web");
      }
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(Restore, TheAddressesFirstTheClaimLast) {
  restore_claim();
  restore_address();
  world.execute(world.run({"address", "", "a"}));
  ASSERT_EQ(address_phase("a"), "Pending");
  kube::Plan plan = world.run({"claim", "t", "web"});
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0].step, "restore-binding");
  EXPECT_EQ(plan.writes[0].target.name, "a");
  world.execute(plan);
  EXPECT_EQ(recorded(address("a")->meta), "new-a");
  EXPECT_EQ(recorded(claim("web")->meta), "uid-web");
  plan = world.run({"claim", "t", "web"});
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0].target.name, "web");
  world.execute(plan);
  EXPECT_EQ(recorded(claim("web")->meta), "new-web");
}

// §6.2: without a phase it would look like what its driver made for a claim that went before it was Bound.
TEST_F(Restore, AnAddressThatIsBackIsNeverTakenForOneThatNobodyWasPromised) {
  restore_claim();
  restore_address();
  change_address("a", R"({"metadata":{"finalizers":["local.sdn.cozystack.io/address-protection","driver/teardown"]}})");
  EXPECT_TRUE(world.run({"claim", "t", "web"}).writes.size() <= 1);
  for (int pass = 0; pass < 4; ++pass) {
    world.execute(world.run({"claim", "t", "web"}));
    EXPECT_FALSE(api::was_never_promised(*address("a"), nullptr));
    world.execute(world.run({"address", "", "a"}));
    EXPECT_FALSE(api::was_never_promised(*address("a"), nullptr));
  }
  settle();
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
}

TEST_F(Restore, AClaimWhoseAddressIsMissingWaitsAndSaysUntilWhen) {
  make_address("free", "203.0.113.9");
  restore_claim();
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  EXPECT_EQ(stamp("web"), "") << "drivers are kept from it";
  EXPECT_EQ(recorded(claim("web")->meta), "uid-web");
  const std::string said = kube::find_condition(claim("web")->conditions, "Bound")->message;
  EXPECT_THAT(said, HasSubstr("until 2025-01-01T00:02:00Z"));
  EXPECT_THAT(said, HasSubstr("remove the annotation local.sdn.cozystack.io/recorded-uid"));
  EXPECT_THAT(event_reasons(), ElementsAre("web:RestoredWaiting"));
  expect_quiet();
  const int writes = world.writes;
  wait_for(seconds(119));
  EXPECT_EQ(world.writes, writes);
  EXPECT_EQ(address_phase("free"), "Available");
  wait_for(seconds(1));
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.9");
  EXPECT_EQ(recorded(claim("web")->meta), "new-web");
  // Too late: it is kept for an administrator to decide.
  restore_address();
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
  EXPECT_EQ(address_reason("a", "Restored"), "True/Restored");
  expect_quiet();
}

// A claim whose status came along is Lost until its address is there: it is never given another one.
TEST_F(Restore, AClaimThatReportedAnAddressWaitsForThatOne) {
  make_address("free", "203.0.113.9");
  restore_claim(true);
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  wait_for(minutes(2));
  EXPECT_EQ(bound_reason("web"), "False/AddressLost");
  EXPECT_EQ(recorded(claim("web")->meta), "new-web");
  EXPECT_EQ(address_phase("free"), "Available");
  expect_quiet();
}

TEST_F(Restore, EveryAddressThatComesLengthensTheWaitOfAllButNotForEver) {
  make_class("other");
  restore_claim();
  settle();
  std::set<std::string> said;
  for (int minute = 0; minute < 29; ++minute) {
    wait_for(minutes(1));
    const std::string other = fmt::format("other-{}", minute);
    restore_address(other, fmt::format("198.51.100.{}", minute), "", "Retain", other);
    if (minute % 2 == 0) restore_claim(false, "IPv4", other);  // one that is back counts too
    settle();
    ASSERT_EQ(bound_reason("web"), "False/RestoredWaiting") << minute;
    said.insert(kube::find_condition(claim("web")->conditions, "Bound")->message);
  }
  EXPECT_EQ(said.size(), 2U) << "it is not said anew for each";
  wait_for(seconds(59));
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  wait_for(seconds(1));
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
  EXPECT_EQ(stamp("web"), "prov");
}

TEST_F(Restore, TheEndIsCountedFromTheYoungestAddress) {
  restore_claim();
  settle();
  wait_for(seconds(90));
  restore_address("x", "198.51.100.1", "", "Retain", "absent");
  settle();
  wait_for(seconds(31));
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  EXPECT_THAT(kube::find_condition(claim("web")->conditions, "Bound")->message,
              HasSubstr("until no address has come for 2m, 2025-01-01T00:30:00Z at the latest"));
  wait_for(seconds(88));
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  wait_for(seconds(1));
  EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning");
}

TEST_F(Restore, AnotherGraceIsAnotherGrace) {
  const kube::Controller hasty = controller({.restore_grace = seconds(5)});
  kube::testing::FakeWorld quick(hasty);
  quick.put<Claim>(
      R"({"metadata":{"namespace":"t","name":"web","annotations":{"local.sdn.cozystack.io/recorded-uid":"x"}},"spec":{}})");
  quick.settle_all();
  quick.advance(seconds(5));
  quick.settle({"claim", "t", "web"});
  EXPECT_EQ(quick.get<Claim>("t", "web")->meta.annotations.get(api::recorded_uid_annotation), "uid-web");
}

// --- what ends the waiting (§9.4, §9.7) ---

TEST_F(Restore, TheTenantEndsTheWaitingByRemovingTheAnnotation) {
  make_address("free", "203.0.113.9");
  restore_claim();
  settle();
  change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/recorded-uid":null}}})");
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.9");
  expect_quiet();
}

TEST_F(Restore, AnAdministratorEndsTheWaitingOfAnAddress) {
  for (const bool clears : {true, false}) {
    restore_address("a", "203.0.113.1", clears ? "" : "Bound");
    settle();
    EXPECT_EQ(address_reason("a", "Restored"), "True/Restored");
    make_claim("web", R"("className":"public")", "", R"(,"uid":"uid-hand")");
    settle();
    EXPECT_EQ(bound_reason("web"), "False/WaitingForProvisioning") << "never adopted";
    change_address("a", clears ? R"({"spec":{"claimRef":null}})" : R"({"spec":{"claimRef":{"uid":"uid-hand"}}})");
    settle();
    EXPECT_EQ(reported("web"), "203.0.113.1");
    EXPECT_EQ(ref("a"), "t/web/uid-hand");
    EXPECT_EQ(recorded(address("a")->meta), "new-a");
    EXPECT_EQ(address_reason("a", "Restored"), "");
    expect_quiet();
    world.vanish<Claim>("t", "web");
    world.vanish<Address>("", "a");
  }
}

// --- what is no restore (§9.1, §9.6) ---

TEST_F(Restore, ACopyOfALiveClaimsManifestIsAClaimLikeAnyOther) {
  make_bound_pair("web", "a", "203.0.113.1");
  make_claim("copy", R"("className":"public")", R"("phase":"Bound")",
             copied("uid-web", "claim", "uid-copy", R"(,"local.sdn.cozystack.io/provisioner":"prov")"));
  settle();
  EXPECT_EQ(recorded(claim("copy")->meta), "uid-copy");
  EXPECT_EQ(stamp("copy"), "prov");
  EXPECT_EQ(reported("web"), "203.0.113.1");
  // Its original is going: then it is a copy of something that is gone.
  make_claim("late", R"("className":"public")", "", copied("uid-copy", "claim", "uid-late"));
  settle();
  EXPECT_EQ(recorded(claim("late")->meta), "uid-late");
  expect_quiet();
}

TEST_F(Restore, TheOriginalThatIsBeingDeletedDoesNotLive) {
  make_claim("web", R"("className":"public")", "", R"(,"finalizers":["x/y"])");
  world.remove<Claim>("t", "web");
  make_claim("copy", R"("className":"public")", "", copied("uid-web", "claim", "uid-copy"));
  settle();
  EXPECT_EQ(bound_reason("copy"), "False/RestoredWaiting");
}

TEST_F(Restore, AClaimOfAnotherNameNamespaceOrUidGetsNothing) {
  restore_address("a", "203.0.113.1", "Bound");
  restore_claim(false, "IPv4", "other");
  make_claim("web", R"("className":"public")", "", copied("uid-of-another-web", "claim", "new-web"));
  settle();
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  EXPECT_EQ(bound_reason("other"), "False/RestoredWaiting");
  wait_for(minutes(2));
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(address_phase("a"), "Bound") << "as it was";
  EXPECT_EQ(address_reason("a", "Restored"), "True/Restored");
  expect_quiet();
}

TEST_F(Restore, ALiveAddressDoesNotGoToACopy) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.remove<Claim>("t", "web");
  settle();
  restore_claim();
  settle();
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  EXPECT_EQ(address_phase("a"), "Released") << "nobody restored it";
}

TEST_F(Restore, APreBindingThatIsRestoredIsAPreBinding) {
  make_address("a", "203.0.113.1", "public", claim_ref("web"), "", copied("uid-a", "address", "new-a"));
  settle();
  EXPECT_EQ(address_phase("a"), "Available");
  EXPECT_EQ(recorded(address("a")->meta), "new-a");
  EXPECT_EQ(address_reason("a", "Restored"), "");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
}

TEST_F(Restore, AnAddressThatWasFreeIsFree) {
  make_address("a", "203.0.113.1", "public", "", "", copied("uid-a", "address", "new-a"));
  settle();
  EXPECT_EQ(address_phase("a"), "Available");
  EXPECT_EQ(recorded(address("a")->meta), "new-a");
}

TEST_F(Restore, AForgedAnnotationOnABoundClaimIsCorrectedAndDisturbsNothing) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/recorded-uid":"forged"}}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(recorded(claim("web")->meta), "uid-web");
  EXPECT_EQ(world.writes, 1);
  EXPECT_THAT(event_reasons(), IsEmpty());
}

TEST_F(Restore, AForgedAnnotationOnAWaitingClaimTakesItOutOfTheLine) {
  make_claim("web", R"("className":"public")");
  settle();
  change_claim("web", R"({"metadata":{"annotations":{"local.sdn.cozystack.io/recorded-uid":"forged"}}})");
  make_address("a", "203.0.113.1");
  world.settle({"address", "", "a"});
  // Before the claim's own key has looked.
  EXPECT_THAT(world.run({"match", "", "public/IPv4"}).writes, IsEmpty());
  settle();
  EXPECT_EQ(ref("a"), "");
}

// --- what is missing, surplus or in the way ---

TEST_F(Restore, HalfOfADualClaimComesBackAndTheOtherHalfIsWaitedFor) {
  make_address("free", "2001:db8::9");
  restore_claim(false, "Dual");
  restore_address();
  settle();
  EXPECT_EQ(ref("a"), "t/web/new-web");
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(stamp("web"), "");
  EXPECT_EQ(recorded(claim("web")->meta), "uid-web") << "the claim last";
  expect_quiet();
  wait_for(minutes(2));
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.1 2001:db8::9");
  EXPECT_EQ(recorded(claim("web")->meta), "new-web");
}

TEST_F(Restore, OfTwoAddressesOneGoesBackAndTheOtherIsKept) {
  restore_address("a", "203.0.113.1", "Released", "Delete");
  restore_address("c", "203.0.113.3", "Bound", "Delete");
  restore_claim();
  settle();
  expect_back("web", "c");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(address_reason("a", "Restored"), "True/Restored");
  expect_quiet();
}

TEST_F(Restore, AReleasedOneGoesBackToo) {
  restore_address("a", "203.0.113.1", "Released");
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
  restore_claim();
  settle();
  expect_back();
  expect_quiet();
}

// §4.3: another object for the same IP, which was the junior when the backup was taken, may come first now.
TEST_F(Restore, AnotherObjectForTheSameIpDoesNotGetAheadOfIt) {
  make_address("twin", "203.0.113.1");
  restore_address();
  make_claim("stranger", R"("className":"public")");
  settle();
  EXPECT_EQ(bound_reason("stranger"), "False/WaitingForProvisioning");
  restore_claim();
  settle();
  expect_back();
  EXPECT_EQ(address_reason("twin", "Usable"), "False/DuplicateAddress");
  expect_quiet();
}

TEST_F(Restore, AnAddressThatSomebodyDeletesIsNotTakenBack) {
  restore_address();
  change_address("a", R"({"metadata":{"finalizers":["local.sdn.cozystack.io/address-protection","driver/teardown"]}})");
  settle();
  world.remove<Address>("", "a");
  restore_claim();
  settle();
  EXPECT_THAT(address("a")->meta.finalizers, ElementsAre("driver/teardown"));
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
}

TEST_F(Restore, AnAddressThatIsAttachedGoesBackAsItIs) {
  restore_address("a", "203.0.113.1", "Bound");
  world.change<Address>(
      "", "a",
      R"({"status":{"associatedTo":{"kind":"Service","namespace":"t","name":"web","uid":"uid-of-the-service-before"}}})");
  restore_claim();
  settle();
  expect_back();
  EXPECT_TRUE(address("a")->associatedTo.has_value());
}

TEST_F(Restore, WhenItTakesLongToComeBackTheClaimSaysSo) {
  restore_claim();
  restore_address();
  world.settle({"address", "", "a"});
  world.begin_write({&Address::kind().resource, "", "a"});
  settle();
  EXPECT_EQ(bound_reason("web"), "");
  wait_for(seconds(6));
  EXPECT_EQ(bound_reason("web"), "False/RestoredWaiting");
  world.end_write({&Address::kind().resource, "", "a"});
  settle();
  expect_back();
}

}  // namespace
}  // namespace core
