// Contract §2 and §3.3: what counts for a claim, and several objects for one IP (§4.3).
#include "core/holds.h"
#include "core_fixture.h"

namespace core {
namespace {

using testing::ElementsAre;

class Counted : public CoreTest {
 protected:
  void SetUp() override {
    make_class("public");
    make_class("other");
  }
  // Name of the address that counts, or "".
  std::string counts(std::string_view claim_name, base::Family family = base::Family::v4) {
    kube::KeyMemory memory;
    kube::View view(world, memory);
    world.dependencies().begin_pass();
    const Counting counting = count(view, *claim(claim_name));
    world.dependencies().end_pass(world.keys().intern({"claim", "", "test"}));
    return counting.of(family) == nullptr ? "" : counting.of(family)->meta.name;
  }
};

TEST_F(Counted, PreferenceReportedThenSignedThenOldestThenName) {
  const std::string same_time = R"(,"creationTimestamp":"2024-01-01T00:00:00Z")";
  make_claim("web", R"("className":"public")");
  make_address("d", "203.0.113.4", "public", claim_ref("web"), "", same_time);
  make_address("c", "203.0.113.3", "public", claim_ref("web"), "", same_time);
  EXPECT_EQ(counts("web"), "c");  // name
  make_address("e", "203.0.113.5", "public", claim_ref("web"), "", R"(,"creationTimestamp":"2023-01-01T00:00:00Z")");
  EXPECT_EQ(counts("web"), "e");  // oldest
  make_address("f", "203.0.113.6", "public", claim_ref("web", "uid-web"));
  EXPECT_EQ(counts("web"), "f");  // signed
  make_claim("web", R"("className":"public")", R"("addresses":[{"name":"d","address":"203.0.113.4"}])");
  EXPECT_EQ(counts("web"), "d");  // reported
  // Under that name there is another IP now: not what was reported.
  make_claim("web", R"("className":"public")", R"("addresses":[{"name":"d","address":"203.0.113.99"}])");
  EXPECT_EQ(counts("web"), "f");
}

TEST_F(Counted, WhatIsNotCollected) {
  make_claim("web", R"("className":"public")");
  make_address("released", "203.0.113.1", "public", claim_ref("web", "uid-web"), R"("phase":"Released")");
  make_address("stale", "203.0.113.2", "public", claim_ref("web", "uid-former"));
  make_address("garbage", "nonsense", "public", claim_ref("web", "uid-web"));
  make_address("loopback", "127.0.0.1", "public", claim_ref("web", "uid-web"));
  make_address("other-name", "203.0.113.3", "public", claim_ref("web2", "uid-web"));
  EXPECT_EQ(counts("web"), "");
  make_address("dying", "203.0.113.4", "public", claim_ref("web", "uid-web"), "", R"(,"finalizers":["x/y"])");
  world.remove<Address>("", "dying");
  EXPECT_EQ(counts("web"), "dying");  // counts until it is gone
}

TEST_F(Counted, ClassMattersOnlyWhileNothingIsReported) {
  make_address("a", "203.0.113.1", "other", claim_ref("web"));
  make_claim("web", R"("className":"public")");
  EXPECT_EQ(counts("web"), "");
  make_claim("web", "");
  EXPECT_EQ(counts("web"), "a");
  make_claim("web", R"("className":"public")", R"("phase":"Lost","addresses":[{"name":"x","address":"203.0.113.9"}])");
  EXPECT_EQ(counts("web"), "a");
}

TEST_F(Counted, FamiliesAskedFor) {
  make_address("v4", "203.0.113.1", "public", claim_ref("web"));
  make_address("v6", "2001:db8::1", "public", claim_ref("web"));
  make_address("mapped", "::ffff:203.0.113.2", "public", claim_ref("web2"));
  for (const auto& [family, v4, v6] :
       {std::tuple("IPv4", "v4", ""), std::tuple("IPv6", "", "v6"), std::tuple("Dual", "v4", "v6")}) {
    make_claim("web", fmt::format(R"("family":"{}")", family));
    EXPECT_EQ(counts("web", base::Family::v4), v4) << family;
    EXPECT_EQ(counts("web", base::Family::v6), v6) << family;
  }
  make_claim("web2");
  EXPECT_EQ(counts("web2", base::Family::v4), "mapped");
}

// --- surplus ---

TEST_F(Counted, SurplusByKind) {
  make_claim("web", R"("className":"public")");
  make_address("counts", "203.0.113.1", "public", claim_ref("web", "uid-web"));
  make_address("surplus-retain", "203.0.113.2", "public", claim_ref("web", "uid-web"));
  make_address("surplus-delete", "203.0.113.3", "public", claim_ref("web", "uid-web") + R"(,"reclaimPolicy":"Delete")");
  make_address("surplus-unsigned", "203.0.113.4", "public", claim_ref("web"));
  make_address("wrong-family", "2001:db8::1", "public", claim_ref("web", "uid-web"));
  make_address("wrong-family-unsigned", "2001:db8::2", "public", claim_ref("web"));
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.1");
  EXPECT_EQ(address_phase("counts"), "Bound");
  EXPECT_EQ(address_phase("surplus-retain"), "Released");
  EXPECT_EQ(address_reason("surplus-retain"), "False/Surplus");
  EXPECT_EQ(address("surplus-delete"), nullptr);
  EXPECT_EQ(address_phase("surplus-unsigned"), "Pending");
  EXPECT_EQ(address_reason("surplus-unsigned"), "False/Surplus");
  EXPECT_EQ(ref("surplus-unsigned"), "t/web/");
  EXPECT_EQ(address_phase("wrong-family"), "Released");
  EXPECT_EQ(address_reason("wrong-family"), "False/FamilyNotRequested");
  EXPECT_EQ(address_phase("wrong-family-unsigned"), "Pending");
  EXPECT_EQ(address_reason("wrong-family-unsigned"), "False/FamilyNotRequested");
  expect_quiet();
}

TEST_F(Counted, SurplusMovesUpWhenTheCountedOneGoes) {
  make_claim("web", R"("className":"public")");
  make_address("a", "203.0.113.1", "public", claim_ref("web", "uid-web"));
  make_address("b", "203.0.113.2", "public", claim_ref("web"));
  settle();
  EXPECT_EQ(address_reason("b"), "False/Surplus");
  world.vanish<Address>("", "a");
  settle();
  // What an administrator pre-bound takes the place of what is lost.
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.2");
  EXPECT_EQ(address_phase("b"), "Bound");
  EXPECT_EQ(address_reason("b"), "");
  expect_quiet();
}

// --- lost and found ---

TEST_F(Counted, LostAndBack) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_address("a", R"({"status":{"phase":"Lost"}})");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(reported("web"), "203.0.113.1");
  EXPECT_EQ(world.writes, 1);
  change_address("a", R"({"status":{"phase":"Pending"}})");
  settle();
  EXPECT_EQ(address_phase("a"), "Bound");
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 3);
  EXPECT_THAT(event_reasons(), ElementsAre("web:AddressLost", "web:Bound"));
  expect_quiet();
}

TEST_F(Counted, LostHalfOfADualClaim) {
  make_address("v4", "203.0.113.1");
  make_address("v6", "2001:db8::1");
  make_claim("web", R"("className":"public","family":"Dual")");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  change_address("v6", R"({"status":{"phase":"Lost"}})");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(reported("web"), "203.0.113.1 2001:db8::1");
  EXPECT_EQ(address_phase("v4"), "Bound");
}

TEST_F(Counted, LostHalfWhileTheOtherWasNeverThere) {
  make_address("v4", "203.0.113.1");
  make_claim("web", R"("className":"public","family":"Dual")");
  settle();
  EXPECT_EQ(phase("web"), "Pending");
  world.vanish<Address>("", "v4");
  settle();
  EXPECT_EQ(phase("web"), "Lost");  // also when the claim never was Bound
  make_address("v6", "2001:db8::1");
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.1 2001:db8::1");  // the family never reported is still matched
  EXPECT_EQ(phase("web"), "Lost");
  expect_quiet();
}

TEST_F(Counted, BackWhenAClaimRefNamesItAgain) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_address("a", R"({"spec":{"claimRef":null}})");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  change_address("a", R"({"spec":{"claimRef":{"namespace":"t","name":"web"}}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(ref("a"), "t/web/uid-web");
}

TEST_F(Counted, ConflictDoesNotDisturbTheClaim) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_address("a", R"({"status":{"phase":"Conflict"}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 0);
}

TEST_F(Counted, LostBeforeItWasReportedIsReportedAsLost) {
  make_address("a", "203.0.113.1", "public", claim_ref("web", "uid-web"), R"("phase":"Lost")");
  make_address("b", "203.0.113.2");
  make_claim("web", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(ref("b"), "");  // nothing comes in its place
  expect_quiet();
}

TEST_F(Counted, NeverBackToPending) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.vanish<Address>("", "a");
  change_claim("web", R"({"status":{"addresses":[]}})");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  make_address("b", "203.0.113.2");
  change_claim("web", R"({"spec":{"addressName":null}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
}

TEST_F(Counted, StatusThatSomebodyEmptiedIsWrittenAgain) {
  make_bound_pair("web", "a", "203.0.113.1");
  change_claim("web", R"({"status":{"addresses":null,"conditions":null,"className":null}})");
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.1");
  EXPECT_EQ(claim("web")->status_className, "public");
  EXPECT_EQ(bound_reason("web"), "True/Bound");
  expect_quiet();
}

// Objects come and go, and an administrator names them freely: the record of what was served is kept all the same.
TEST_F(Counted, NameOfALostAddressComesBackWithTheOtherFamily) {
  make_address("x", "203.0.113.1");
  make_claim("web", R"("className":"public","family":"Dual")");
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.1");
  world.vanish<Address>("", "x");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  make_address("x", "2001:db8::1");
  settle();
  EXPECT_EQ(ref("x"), "t/web/uid-web");
  EXPECT_EQ(reported("web"), "203.0.113.1 2001:db8::1");
  EXPECT_EQ(phase("web"), "Lost");  // the IPv4 address is still missing, and nothing is matched in its place
  make_address("y", "203.0.113.2");
  settle();
  EXPECT_EQ(ref("y"), "");
  expect_quiet();
}

// The same name and family, another IP: not the address that was lost, but one that an administrator pre-binds takes
// its place.
TEST_F(Counted, NameOfALostAddressComesBackWithAnotherIp) {
  make_bound_pair("web", "x", "203.0.113.1");
  world.vanish<Address>("", "x");
  make_address("x", "203.0.113.2");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(ref("x"), "");
  change_address("x", R"({"spec":{"claimRef":{"namespace":"t","name":"web"}}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.2");
  expect_quiet();
}

// --- several objects for one IP ---

TEST_F(Counted, OnlyTheSeniorOfSeveralIsUsed) {
  make_address("elder", "203.0.113.1");
  make_address("mapped", "::ffff:203.0.113.1");
  make_address("third", "203.0.113.1", "other");
  make_claim("one", R"("className":"public")");
  make_claim("two", R"("className":"public")");
  make_claim("three", R"("className":"other")");
  settle();
  EXPECT_EQ(ref("elder"), "t/one/uid-one");
  for (const char* name : {"mapped", "third"}) {
    EXPECT_EQ(address_phase(name), "Pending") << name;
    EXPECT_EQ(address_reason(name, "Usable"), "False/DuplicateAddress") << name;
  }
  EXPECT_EQ(phase("two"), "Pending");
  EXPECT_EQ(phase("three"), "Pending");
  expect_quiet();
  // The senior goes: the next one takes its place.
  world.remove<Claim>("t", "one");
  settle();
  world.remove<Address>("", "elder");
  settle();
  EXPECT_EQ(phase("two"), "Bound");
  EXPECT_EQ(address_reason("mapped", "Usable"), "");
  EXPECT_EQ(phase("three"), "Pending");
  expect_quiet();
}

TEST_F(Counted, HeldIsSeniorToOlder) {
  make_claim("web", R"("className":"public")");
  make_address("older", "203.0.113.1", "public", "", "", R"(,"creationTimestamp":"2020-01-01T00:00:00Z")");
  make_address("held", "203.0.113.1", "public", claim_ref("web", "uid-web"));
  settle();
  EXPECT_EQ(address_phase("held"), "Bound");
  EXPECT_EQ(address_phase("older"), "Pending");
  EXPECT_EQ(phase("web"), "Bound");
  expect_quiet();
}

TEST_F(Counted, OneIpNeverServesTwoClaimsWhateverAnAdministratorBinds) {
  make_claim("one", R"("className":"public")");
  make_address("b", "203.0.113.1", "public", claim_ref("one", "uid-one"));
  settle();
  EXPECT_EQ(phase("one"), "Bound");
  make_claim("two", R"("className":"public")");
  make_address("a", "203.0.113.1", "public", claim_ref("two", "uid-two"), "",
               R"(,"creationTimestamp":"2020-01-01T00:00:00Z")");
  settle();
  // Older, but the other one was reported.
  EXPECT_EQ(phase("one"), "Bound");
  EXPECT_EQ(reported("one"), "203.0.113.1");
  EXPECT_EQ(phase("two"), "Pending");
  EXPECT_EQ(address_phase("a"), "Pending");
  EXPECT_EQ(address_reason("a", "Usable"), "False/DuplicateAddress");
  expect_quiet();
}

TEST_F(Counted, UndecidedWhileATwinIsBeingWritten) {
  make_address("a", "203.0.113.1");
  make_address("b", "203.0.113.1");
  settle();
  make_claim("web", R"("className":"public")");
  world.settle({"claim", "t", "web"});
  world.begin_write({&Address::kind().resource, "", "b"});
  EXPECT_TRUE(world.run({"match", "", "public/IPv4"}).writes.empty());
  world.end_write({&Address::kind().resource, "", "b"});
  settle();
  EXPECT_EQ(ref("a"), "t/web/uid-web");
}

TEST_F(Counted, JuniorsOfGoneClaimsAreReclaimedByDeleteOnly) {
  make_address("elder", "203.0.113.1");
  make_address("junior-retain", "203.0.113.1", "public", claim_ref("gone", "uid-gone"), R"("phase":"Released")");
  make_address("junior-delete", "203.0.113.1", "public", claim_ref("gone", "uid-gone") + R"(,"reclaimPolicy":"Delete")",
               R"("phase":"Bound")");
  settle();
  EXPECT_EQ(address_phase("junior-retain"), "Released");
  EXPECT_EQ(address("junior-delete"), nullptr);
  expect_quiet();
}

// §3.4: what an administrator puts in the place of a lost one is not the claim's yet while it is attached for another.
TEST_F(Counted, AReplacementThatIsStillAttachedIsNotReported) {
  make_bound_pair("web", "a", "203.0.113.1");
  world.vanish<Address>("", "a");
  make_address("b", "203.0.113.2", "public", claim_ref("web"),
               R"("phase":"Available","associatedTo":{"kind":"Service","namespace":"u","name":"former"})");
  settle();
  EXPECT_EQ(phase("web"), "Lost");
  EXPECT_EQ(reported("web"), "203.0.113.1");
  EXPECT_EQ(ref("b"), "t/web/");
  change_address("b", R"({"status":{"associatedTo":null}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.2");
  EXPECT_EQ(ref("b"), "t/web/uid-web");
  expect_quiet();
}

}  // namespace
}  // namespace core
