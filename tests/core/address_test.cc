// Contract §4 and §5: what becomes of addresses.
#include "core_fixture.h"

namespace core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Addresses : public CoreTest {
 protected:
  void SetUp() override { make_class("public"); }
};

// --- §4.4 to §4.6: phase by phase and relation by relation ---

struct PhaseRow {
  const char* name;
  const char* spec;    // beyond address and class
  const char* before;  // phase
  const char* after;   // "" = absent, "(none)" = not set
};

std::ostream& operator<<(std::ostream& out, const PhaseRow& row) { return out << row.name << " from " << row.before; }

class PhaseTable : public CoreTest, public testing::WithParamInterface<PhaseRow> {};

constexpr const char* k_live = R"(,"claimRef":{"namespace":"t","name":"live","uid":"uid-live"})";
constexpr const char* k_live_unsigned = R"(,"claimRef":{"namespace":"t","name":"live"})";
constexpr const char* k_gone = R"(,"claimRef":{"namespace":"t","name":"gone","uid":"uid-gone"})";
constexpr const char* k_gone_delete =
    R"(,"claimRef":{"namespace":"t","name":"gone","uid":"uid-gone"},"reclaimPolicy":"Delete")";
constexpr const char* k_future = R"(,"claimRef":{"namespace":"t","name":"future"})";
constexpr const char* k_stale = R"(,"claimRef":{"namespace":"t","name":"live","uid":"uid-former"})";

TEST_P(PhaseTable, Holds) {
  make_class("public");
  const PhaseRow& row = GetParam();
  make_claim("live", R"("className":"public")");
  make_address("a", "203.0.113.1", "public", row.spec,
               *row.before == '\0' ? "" : fmt::format(R"("phase":"{}")", row.before));
  settle();
  EXPECT_EQ(address_phase("a"), *row.after == '\0' ? "(absent)" : row.after);
  expect_quiet();
}

INSTANTIATE_TEST_SUITE_P(
    All, PhaseTable,
    testing::Values(
        PhaseRow{"held", k_live, "", "Bound"}, PhaseRow{"held", k_live, "Pending", "Bound"},
        PhaseRow{"held", k_live, "Available", "Bound"}, PhaseRow{"held", k_live, "Bound", "Bound"},
        PhaseRow{"held", k_live, "Conflict", "Conflict"}, PhaseRow{"held", k_live, "Lost", "Lost"},
        PhaseRow{"unsigned", k_live_unsigned, "", "Bound"}, PhaseRow{"unsigned", k_live_unsigned, "Available", "Bound"},
        PhaseRow{"unsigned", k_live_unsigned, "Released", "Bound"},
        PhaseRow{"unsigned", k_live_unsigned, "Bound", "Bound"}, PhaseRow{"unsigned", k_live_unsigned, "Lost", "Lost"},
        PhaseRow{"gone", k_gone, "", "Released"}, PhaseRow{"gone", k_gone, "Pending", "Released"},
        PhaseRow{"gone", k_gone, "Available", "Released"}, PhaseRow{"gone", k_gone, "Bound", "Released"},
        PhaseRow{"gone", k_gone, "Released", "Released"}, PhaseRow{"gone", k_gone, "Conflict", "Conflict"},
        PhaseRow{"gone", k_gone, "Lost", "Lost"}, PhaseRow{"gone, Delete", k_gone_delete, "", ""},
        PhaseRow{"gone, Delete", k_gone_delete, "Bound", ""}, PhaseRow{"gone, Delete", k_gone_delete, "Conflict", ""},
        PhaseRow{"gone, Delete", k_gone_delete, "Lost", ""}, PhaseRow{"gone, Delete", k_gone_delete, "Released", ""},
        PhaseRow{"future", k_future, "", "Available"}, PhaseRow{"future", k_future, "Released", "Available"},
        PhaseRow{"future", k_future, "Bound", "Available"}, PhaseRow{"future", k_future, "Lost", "Lost"},
        PhaseRow{"stale", k_stale, "Bound", "Released"}, PhaseRow{"stale", k_stale, "", "Released"}));

TEST_F(Addresses, AvailableOnlyOnceNothingIsAttached) {
  make_address("a", "203.0.113.1", "public", "",
               R"("phase":"Bound","associatedTo":{"kind":"Service","namespace":"x","name":"y"})");
  settle();
  EXPECT_EQ(address_phase("a"), "Bound");
  expect_quiet();
  change_address("a", R"({"status":{"associatedTo":null}})");
  settle();
  EXPECT_EQ(address_phase("a"), "Available");
}

TEST_F(Addresses, OneWithoutAClassSaysSo) {
  make_address("a", "203.0.113.1", "none");
  settle();
  const auto said = [&] {
    const auto* found = kube::find_condition(world.get<Address>("", "a")->conditions, api::condition::class_resolved);
    return found == nullptr ? "" : found->status + "/" + found->reason;
  };
  EXPECT_EQ(address_phase("a"), "Available");
  EXPECT_EQ(said(), "") << "its class may come a moment later";
  world.advance(std::chrono::seconds(10));
  world.settle({"address", "", "a"});
  settle();
  EXPECT_EQ(said(), "False/ClassNotFound");
  expect_quiet();
  make_class("none");
  settle();
  EXPECT_EQ(said(), "");
  world.remove<api::ClassRead>("", "none");
  settle();
  world.advance(std::chrono::seconds(10));
  world.settle({"address", "", "a"});
  settle();
  EXPECT_EQ(said(), "False/ClassNotFound");
  make_claim("web", R"("className":"none")", "", "");
  change_address("a", R"({"spec":{"claimRef":{"namespace":"t","name":"web"}}})");
  settle();
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(said(), "") << "a binding needs no class";
}

TEST_F(Addresses, RecyclingAReleasedOne) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
  make_claim("next", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("next"), "Pending");
  change_address("a", R"({"spec":{"claimRef":null}})");
  settle();
  EXPECT_EQ(phase("next"), "Bound");
  expect_quiet();
}

TEST_F(Addresses, ReCreatedClaimOfTheSameNameNeverAdopts) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.remove<Claim>("t", "web");
  settle();
  make_claim("web", R"("className":"public")", "", R"(,"uid":"uid-second")");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  EXPECT_EQ(address_phase("a"), "Released");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  expect_quiet();
  // Re-created while nobody looked: the binding of the first one is released all the same.
  world.vanish<Claim>("t", "web");
  make_address("b", "203.0.113.2", "public", claim_ref("web", "uid-second"), R"("phase":"Bound")");
  make_claim("web", R"("className":"public")", "", R"(,"uid":"uid-third")");
  settle();
  EXPECT_EQ(address_phase("b"), "Released");
  EXPECT_EQ(phase("web"), "Pending");
}

TEST_F(Addresses, HandedToAnotherNamespaceInOneGlance) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.remove<Claim>("t", "web");
  settle();
  make_claim("heir", R"("className":"public")");
  settle();
  // Cleared and set again before anything was seen.
  change_address("a", R"({"spec":{"claimRef":{"namespace":"t","name":"heir","uid":null}}})");
  settle();
  EXPECT_EQ(phase("heir"), "Bound");
  EXPECT_EQ(ref("a"), "t/heir/uid-heir");
  expect_quiet();
}

TEST_F(Addresses, UidStrippedFromABindingIsCompletedAgain) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_address("a", R"({"spec":{"claimRef":{"uid":null}}})");
  settle();
  EXPECT_EQ(ref("a"), "t/web/uid-web");
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 1);
}

TEST_F(Addresses, NotCompletedWhileAttached) {
  make_address("a", "203.0.113.1", "public", claim_ref("web"),
               R"("associatedTo":{"kind":"Service","namespace":"x","name":"y"})");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(ref("a"), "t/web/");
  EXPECT_EQ(bound_reason("web"), "False/AddressStillAttached");
  expect_quiet();
  change_address("a", R"({"status":{"associatedTo":null}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
}

// --- live reads before what cannot be undone ---

TEST_F(Addresses, ReclaimAsksTheServerFirst) {
  make_address("a", "203.0.113.1", "public", k_gone, R"("phase":"Bound")",
               R"(,"annotations":{"local.sdn.cozystack.io/recorded-uid":"uid-a"})");
  const kube::Key key{"address", "", "a"};
  world.execute(world.run(key));  // protection
  kube::Plan plan = world.run(key);
  EXPECT_THAT(plan.writes, IsEmpty());
  ASSERT_EQ(plan.confirms.size(), 1U);
  EXPECT_EQ(plan.confirms[0].target.to_string(), "ipaddressclaims/t/gone");
  // The answer: it exists after all, the cache was behind.
  make_claim("gone", R"("className":"public")");
  EXPECT_TRUE(world.run(key).sends_nothing());
  settle();
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(phase("gone"), "Bound");
}

TEST_F(Addresses, DeletionOfASurplusOneReadsWhatCountsInstead) {
  make_bound_pair("web", "a", "203.0.113.1");
  make_address("b", "203.0.113.2", "public", claim_ref("web", "uid-web") + R"(,"reclaimPolicy":"Delete")");
  const kube::Key key{"address", "", "b"};
  world.execute(world.run(key));  // protection
  kube::Plan plan = world.run(key);
  ASSERT_EQ(plan.confirms.size(), 2U);
  EXPECT_EQ(plan.confirms[1].target.name, "a");
  plan = world.run(key);
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0].step, "address-status");  // says why
  world.execute(plan);
  settle();
  EXPECT_EQ(address("b"), nullptr);
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.1");
}

TEST_F(Addresses, DeletesCarryUidAndVersion) {
  make_address("a", "203.0.113.1", "public", k_gone_delete, R"("phase":"Bound")");
  const kube::Key key{"address", "", "a"};
  world.execute(world.run(key));
  world.run(key);
  const kube::Plan plan = world.run(key);
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0].verb, kube::Write::Verb::remove);
  const auto& preconditions = plan.writes[0].body.at("preconditions").get_object();
  EXPECT_EQ(preconditions.at("uid"), "uid-a");
  EXPECT_EQ(preconditions.at("resourceVersion"), address("a")->meta.resourceVersion.c_str());
}

TEST_F(Addresses, NothingIsPlannedOnAnObjectThatSomebodyWrites) {
  make_address("a", "203.0.113.1");
  world.begin_write({&Address::kind().resource, "", "a"});
  EXPECT_TRUE(world.run({"address", "", "a"}).sends_nothing());
  world.end_write({&Address::kind().resource, "", "a"});
  EXPECT_TRUE(world.is_woken({"address", "", "a"}));
}

// --- deletion ---

TEST_F(Addresses, DeletedUnheldGoesAtOnce) {
  for (const char* spec : {"", k_gone, k_future}) {
    make_address("a", "203.0.113.1", "public", spec);
    settle();
    world.remove<Address>("", "a");
    settle();
    EXPECT_EQ(address("a"), nullptr) << spec;
  }
}

TEST_F(Addresses, DeletedHeldInAnyPhaseStays) {
  make_bound_pair("web", "a", "203.0.113.1");
  for (const char* phase : {"Conflict", "Lost", "Pending", "Bound"}) {
    change_address("a", fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase));
    if (!address("a")->meta.deleting) world.remove<Address>("", "a");
    settle();
    ASSERT_NE(address("a"), nullptr) << phase;
    EXPECT_THAT(address("a")->meta.finalizers, ElementsAre(api::address_protection)) << phase;
  }
  // The phase is still looked after.
  EXPECT_EQ(address_phase("a"), "Bound");
  int blocked = 0;
  for (const auto& e : world.events) blocked += e.reason == "DeletionBlocked" ? 1 : 0;
  EXPECT_EQ(blocked, 1);
}

TEST_F(Addresses, DeletedPreBoundThatWouldCountStaysAndIsCompleted) {
  make_address("a", "203.0.113.1", "public", k_live_unsigned);
  world.settle({"address", "", "a"});
  world.remove<Address>("", "a");
  make_claim("live", R"("className":"public")");
  settle();
  ASSERT_NE(address("a"), nullptr);
  EXPECT_EQ(ref("a"), "t/live/uid-live");
  EXPECT_EQ(phase("live"), "Bound");
}

TEST_F(Addresses, ForeignFinalizersAreLeftAlone) {
  make_bound_pair("web", "a", "203.0.113.1", "Delete");
  change_address(
      "a", R"({"metadata":{"finalizers":["driver/teardown","local.sdn.cozystack.io/address-protection","x/y"]}})");
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(claim("web"), nullptr);  // it does not wait for the driver
  ASSERT_NE(address("a"), nullptr);
  EXPECT_TRUE(address("a")->meta.deleting);
  EXPECT_THAT(address("a")->meta.finalizers, ElementsAre("driver/teardown", "x/y"));
}

// --- §5 ---

TEST_F(Addresses, ReclaimOfAClaimWithManyKinds) {
  make_claim("web", R"("className":"public","family":"Dual")", R"("phase":"Bound")",
             R"(,"finalizers":["local.sdn.cozystack.io/claim-protection","x/y"])");
  const auto own = claim_ref("web", "uid-web");
  make_address("retain", "203.0.113.1", "public", own, R"("phase":"Bound")");
  make_address("delete", "2001:db8::1", "public", own + R"(,"reclaimPolicy":"Delete")", R"("phase":"Bound")");
  make_address("conflict", "203.0.113.2", "public", own, R"("phase":"Conflict")");
  make_address("lost-delete", "203.0.113.3", "public", own + R"(,"reclaimPolicy":"Delete")", R"("phase":"Lost")");
  make_address("unsigned", "203.0.113.4", "public", claim_ref("web"), R"("phase":"Available")");
  make_address("former", "203.0.113.5", "public", claim_ref("web", "uid-former"), R"("phase":"Released")");
  world.remove<Claim>("t", "web");
  const kube::Key key{"claim", "t", "web"};
  const kube::Plan first = world.run(key);
  EXPECT_EQ(first.writes.size(), 3U);  // addresses first, the finalizer last
  world.execute(first);
  settle();
  EXPECT_THAT(claim("web")->meta.finalizers, ElementsAre("x/y"));
  EXPECT_EQ(address_phase("retain"), "Released");
  EXPECT_EQ(address("delete"), nullptr);
  EXPECT_EQ(address_phase("conflict"), "Conflict");
  EXPECT_EQ(address("lost-delete"), nullptr);
  EXPECT_EQ(address_phase("unsigned"), "Available");
  EXPECT_EQ(ref("unsigned"), "t/web/");
  EXPECT_EQ(address_phase("former"), "Released");
  expect_quiet();
}

TEST_F(Addresses, ReclaimWaitsForWritesOfOthers) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.begin_write({&Address::kind().resource, "", "a"});
  world.remove<Claim>("t", "web");
  EXPECT_TRUE(world.run({"claim", "t", "web"}).sends_nothing());
  world.end_write({&Address::kind().resource, "", "a"});
  settle();
  EXPECT_EQ(claim("web"), nullptr);
  EXPECT_EQ(address_phase("a"), "Released");
}

TEST_F(Addresses, PolicyIsTheAddressesOwn) {
  make_bound_pair("web", "a", "203.0.113.1", "Retain");
  change_address("a", R"({"spec":{"reclaimPolicy":"Delete"}})");
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(address("a"), nullptr);
}

TEST_F(Addresses, ThousandsOfReleasedOnesOfOneClaimNameCostNothing) {
  for (int i = 0; i < 300; ++i)
    make_address(fmt::format("r{}", i), fmt::format("10.1.{}.{}", i / 250, i % 250), "public",
                 claim_ref("web", fmt::format("uid-{}", i)), R"("phase":"Released")");
  settle();
  make_address("a", "203.0.113.1");
  settle();
  make_claim("web", R"("className":"public")");
  clear();
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 4);
}

// --- §6.2: promised to nobody ---

constexpr const char* k_driver_made = R"(,"finalizers":["driver/teardown"])";

TEST_F(Addresses, WhatWasMadeForAClaimThatIsGoneIsLeftToItsDriver) {
  make_address("a", "203.0.113.1", "public", k_gone, "", k_driver_made);
  settle();
  EXPECT_EQ(world.writes, 0);
  // Its driver deletes it, and it waits for nothing of ours then.
  world.remove<Address>("", "a");
  settle();
  EXPECT_EQ(world.writes, 0);
  // By this policy it is deleted, promised or not.
  make_address("b", "203.0.113.2", "public", k_gone_delete, "", k_driver_made);
  settle();
  EXPECT_TRUE(address("b")->meta.deleting);
  EXPECT_EQ(address_phase("b"), "");
}

TEST_F(Addresses, WhatItsClaimNeverReportedIsLeftToItsDriver) {
  make_claim("web", R"("className":"public")", R"("phase":"Pending")",
             R"(,"finalizers":["local.sdn.cozystack.io/claim-protection"])");
  make_address("a", "203.0.113.1", "public", claim_ref("web", "uid-web"), "", k_driver_made);
  world.execute(world.run({"address", "", "a"}));  // seen and protected, not yet Bound
  ASSERT_EQ(address_phase("a"), "");
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(claim("web"), nullptr);
  EXPECT_EQ(address_phase("a"), "");
  expect_quiet();
  world.remove<Address>("", "a");
  settle();
  EXPECT_THAT(address("a")->meta.finalizers, ElementsAre("driver/teardown"));
}

// A write in flight may make it Bound.
TEST_F(Addresses, AClaimDoesNotGoWhileAnAddressThatIsLeftToItsDriverIsBeingWritten) {
  make_claim("web", R"("className":"public")", R"("phase":"Pending")",
             R"(,"finalizers":["local.sdn.cozystack.io/claim-protection"])");
  make_address("a", "203.0.113.1", "public", claim_ref("web", "uid-web"), "", k_driver_made);
  world.execute(world.run({"address", "", "a"}));
  const kube::Plan bound = world.run({"address", "", "a"});
  ASSERT_EQ(bound.writes.size(), 1U);
  world.begin_write({&Address::kind().resource, "", "a"});
  world.remove<Claim>("t", "web");
  EXPECT_TRUE(world.run({"claim", "t", "web"}).sends_nothing());
  world.end_write({&Address::kind().resource, "", "a"});
  world.execute(bound);
  settle();
  EXPECT_EQ(claim("web"), nullptr);
  EXPECT_EQ(address_phase("a"), "Released");
}

TEST_F(Addresses, WhatItsClaimReportedIsReleasedThoughItWasNotSaidToBeBound) {
  make_claim("web", R"("className":"public")", R"("phase":"Bound","addresses":[{"name":"a","address":"203.0.113.1"}])",
             R"(,"finalizers":["local.sdn.cozystack.io/claim-protection"])");
  make_address("a", "203.0.113.1", "public", claim_ref("web", "uid-web"), "", k_driver_made);
  world.remove<Claim>("t", "web");
  settle();
  EXPECT_EQ(claim("web"), nullptr);
  EXPECT_EQ(address_phase("a"), "Released");
}

// Copies of a backup from before the annotation, whose status was not restored; with their finalizers or without. They
// get the annotation when their binding is intact (§9.6), and not before: it would make them look like new ones.
TEST_F(Addresses, ACopyWithoutStatusAndAnnotationIsReleasedAndNotTakenForOneThatWasNeverPromised) {
  for (const char* finalizers : {R"(,"finalizers":["local.sdn.cozystack.io/address-protection","driver/teardown"])",
                                 R"(,"finalizers":["local.sdn.cozystack.io/address-protection"])", ""}) {
    make_address("a", "203.0.113.1", "public", k_gone, "", finalizers);
    settle();
    EXPECT_EQ(address_phase("a"), "Released") << finalizers;
    EXPECT_FALSE(address("a")->meta.annotations.contains(api::recorded_uid_annotation)) << finalizers;
    expect_quiet();
    change_address("a", R"({"spec":{"claimRef":null}})");
    settle();
    EXPECT_EQ(address_phase("a"), "Available");
    EXPECT_EQ(address("a")->meta.annotations.get(api::recorded_uid_annotation), "uid-a");
    world.vanish<Address>("", "a");
  }
}

// §9.7
TEST_F(Addresses, ARestoredCopyThatIsReleasedGoesToTheClaimWhoseUidAnAdministratorSets) {
  make_address("a", "203.0.113.1", "public", k_gone, R"("phase":"Released")",
               R"(,"annotations":{"local.sdn.cozystack.io/recorded-uid":"uid-before"})");
  make_claim("gone", R"("className":"public")", "", R"(,"uid":"uid-next")");
  settle();
  ASSERT_EQ(phase("gone"), "Pending");
  ASSERT_EQ(address_phase("a"), "Released");
  change_address("a", R"({"spec":{"claimRef":{"uid":"uid-next"}}})");
  settle();
  EXPECT_EQ(phase("gone"), "Bound");
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(address("a")->meta.annotations.get(api::recorded_uid_annotation), "uid-a");
  expect_quiet();
}

// A restored copy is not reclaimed because its claim is missing.
TEST_F(Addresses, RestoredCopyWaits) {
  for (const char* spec : {k_gone, k_gone_delete}) {
    make_address("a", "203.0.113.1", "public", spec, R"("phase":"Bound")",
                 R"(,"annotations":{"local.sdn.cozystack.io/recorded-uid":"uid-before"})");
    settle();
    ASSERT_NE(address("a"), nullptr);
    EXPECT_EQ(address_phase("a"), "Bound");
    EXPECT_EQ(address_reason("a", "Restored"), "True/Restored");
    EXPECT_EQ(address("a")->meta.annotations.get(api::recorded_uid_annotation), "uid-before");
    expect_quiet();
    // An administrator ends the waiting.
    change_address("a", R"({"spec":{"claimRef":null}})");
    settle();
    EXPECT_EQ(address_phase("a"), "Available");
    EXPECT_EQ(address_reason("a", "Restored"), "");
    EXPECT_EQ(address("a")->meta.annotations.get(api::recorded_uid_annotation), "uid-a");
    world.vanish<Address>("", "a");
  }
}

}  // namespace
}  // namespace core
