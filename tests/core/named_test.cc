// Contract §3.7: claims that name one address; each way in which it cannot be had has a reason of its own.
#include "core_fixture.h"

namespace core {
namespace {

using testing::HasSubstr;
using testing::Not;

class Named : public CoreTest {
 protected:
  void SetUp() override {
    make_class("public");
    make_class("other");
  }
  void make_named(std::string_view name, std::string_view address, std::string_view more = R"(,"className":"public")") {
    make_claim(name, fmt::format(R"("addressName":"{}"{})", address, more));
  }
};

TEST_F(Named, ReasonsForEachCause) {
  make_address("of-other-class", "203.0.113.1", "other");
  make_address("of-other-family", "2001:db8::1");
  make_bound_pair("holder", "bound", "203.0.113.2");
  make_address("reserved", "203.0.113.3", "public", claim_ref("secret-name"));
  make_address("released", "203.0.113.4", "public", claim_ref("secret-name", "uid-gone"), R"("phase":"Released")");
  make_address("conflict", "203.0.113.5", "public", "", R"("phase":"Conflict")");
  make_address("lost", "203.0.113.6", "public", "", R"("phase":"Lost")");
  make_address("attached", "203.0.113.7", "public", "",
               R"("phase":"Bound","associatedTo":{"kind":"Service","namespace":"secret","name":"secret-name"})");
  make_address(
      "unreserved", "203.0.113.8", "public", "",
      R"("conditions":[{"type":"Reserved","status":"False","reason":"R","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}])");
  make_address("garbage", "nonsense");
  make_address("elder", "203.0.113.9");
  make_address("junior", "203.0.113.9");
  make_address("dying", "203.0.113.10", "public", "", "", R"(,"finalizers":["x/y"])");
  world.remove<Address>("", "dying");
  const std::pair<const char*, const char*> table[] = {{"absent", "AddressNotFound"},
                                                       {"of-other-class", "AddressOfOtherClass"},
                                                       {"of-other-family", "AddressOfOtherFamily"},
                                                       {"bound", "AddressBoundElsewhere"},
                                                       {"reserved", "AddressBoundElsewhere"},
                                                       {"released", "AddressBoundElsewhere"},
                                                       {"conflict", "AddressNotAvailable"},
                                                       {"lost", "AddressNotAvailable"},
                                                       {"attached", "AddressNotAvailable"},
                                                       {"unreserved", "AddressNotAvailable"},
                                                       {"garbage", "AddressNotAvailable"},
                                                       {"junior", "AddressNotAvailable"},
                                                       {"dying", "AddressNotAvailable"}};
  for (const auto& [address, why] : table) make_named(std::string("c-") + address, address);
  settle();
  for (const auto& [address, why] : table) {
    const std::string name = std::string("c-") + address;
    EXPECT_EQ(phase(name), "Pending") << address;
    EXPECT_EQ(bound_reason(name), std::string("False/") + why) << address;
    const std::string message = kube::find_condition(claim(name)->conditions, "Bound")->message;
    EXPECT_THAT(message, Not(HasSubstr("secret"))) << address;
    EXPECT_THAT(message, Not(HasSubstr("holder"))) << address;
    EXPECT_THAT(event_reasons(), testing::Contains(name + ":" + why)) << address;
  }
  expect_quiet();
}

TEST_F(Named, TakesItWhateverItsAge) {
  make_claim("older", R"("className":"public")");
  settle();
  EXPECT_EQ(phase("older"), "Pending");
  make_named("younger", "a");
  settle();
  EXPECT_EQ(bound_reason("younger"), "False/AddressNotFound");
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(phase("younger"), "Bound");
  EXPECT_EQ(phase("older"), "Pending");
  expect_quiet();
}

TEST_F(Named, OldestOfThoseThatNameItComesFirst) {
  make_named("first", "a");
  make_named("second", "a");
  make_named("third", "a");
  settle();
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(phase("first"), "Bound");
  EXPECT_EQ(bound_reason("second"), "False/AddressBoundElsewhere");
  EXPECT_EQ(bound_reason("third"), "False/AddressBoundElsewhere");
  clear();
  // Recycled: the next in line gets it, and nothing is written about the others.
  world.remove<Claim>("t", "first");
  settle();
  EXPECT_EQ(address_phase("a"), "Released");
  clear();
  change_address("a", R"({"spec":{"claimRef":null}})");
  settle();
  EXPECT_EQ(phase("second"), "Bound");
  EXPECT_EQ(bound_reason("third"), "False/AddressBoundElsewhere");
  EXPECT_EQ(world.writes, 4);  // Available, claimRef, address Bound, claim Bound
}

TEST_F(Named, OneThatCannotUseItIsNotInLine) {
  make_named("wrong-class", "a", R"(,"className":"other")");
  make_named("wrong-family", "a", R"(,"className":"public","family":"IPv6")");
  make_named("no-class", "a", R"(,"className":"nowhere")");
  settle();
  make_claim("any", R"("className":"public")");
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(phase("any"), "Bound");
  EXPECT_EQ(bound_reason("wrong-class"), "False/AddressOfOtherClass");
  EXPECT_EQ(bound_reason("wrong-family"), "False/AddressOfOtherFamily");
  EXPECT_EQ(bound_reason("no-class"), "False/ClassNotFound");
}

TEST_F(Named, ClassComesFromTheAddress) {
  make_class("default", "prov", true);
  make_address("a", "203.0.113.7", "other");
  make_named("web", "a", "");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(claim("web")->status_className, "other");
}

TEST_F(Named, StaticMatchBudget) {
  make_address("a", "203.0.113.7");
  settle();
  clear();
  make_named("web", "a");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(world.writes, 4);
  EXPECT_THAT(event_reasons(), testing::ElementsAre("web:Bound"));
}

TEST_F(Named, RetargetingWhileWaiting) {
  make_address("b", "203.0.113.8");
  make_named("web", "a");
  settle();
  EXPECT_EQ(bound_reason("web"), "False/AddressNotFound");
  EXPECT_EQ(address_phase("b"), "Available");
  change_claim("web", R"({"spec":{"addressName":"b"}})");
  settle();
  EXPECT_EQ(phase("web"), "Bound");
  EXPECT_EQ(reported("web"), "203.0.113.8");
  // Its former place in line is gone.
  make_claim("any", R"("className":"public")");
  make_address("a", "203.0.113.7");
  settle();
  EXPECT_EQ(phase("any"), "Bound");
}

TEST_F(Named, RetargetingClassFamilyAndBackToAny) {
  make_named("web", "a");
  settle();
  change_claim("web", R"({"spec":{"addressName":null,"family":"IPv6","className":"other"}})");
  make_address("v4", "203.0.113.7", "public");
  make_address("v6", "2001:db8::7", "other");
  settle();
  EXPECT_EQ(reported("web"), "2001:db8::7");
  EXPECT_EQ(claim("web")->status_className, "other");
  EXPECT_EQ(ref("v4"), "");
  expect_quiet();
}

TEST_F(Named, StoredWithDualUnderAnOlderSchema) {
  make_address("a", "203.0.113.7");
  make_named("web", "a", R"(,"className":"public","family":"Dual")");
  settle();
  EXPECT_EQ(bound_reason("web"), "False/AddressNameWithDual");
  EXPECT_EQ(ref("a"), "");
  expect_quiet();
}

// Which object stands for the IP is known in a moment: nothing is said that would have to be taken back.
TEST_F(Named, SaysNothingWhileAnotherObjectForTheIPIsBeingWritten) {
  make_address("a", "203.0.113.7");
  make_address("b", "203.0.113.7");
  settle();
  const kube::Ref other{&Address::kind().resource, "", "b"};
  world.begin_write(other);
  make_named("web", "a", R"(,"className":"public")");
  world.settle({"claim", "t", "web"});
  EXPECT_EQ(bound_reason("web"), "");
  world.end_write(other);
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.7");
}

TEST_F(Named, NotWhileAMatchForTheClaimIsInFlight) {
  make_address("a", "203.0.113.7");
  make_address("b", "203.0.113.8");
  settle();
  make_claim("web", R"("className":"public")");
  world.settle({"claim", "t", "web"});
  const kube::Plan match = world.run({"match", "", "public/IPv4"});
  ASSERT_EQ(match.writes.size(), 1U);
  EXPECT_EQ(match.writes[0].target.name, "a");
  // The tenant re-targets before the answer comes.
  world.begin_write(match.writes[0].target);
  change_claim("web", R"({"spec":{"addressName":"b"}})");
  EXPECT_TRUE(world.run({"claim", "t", "web"}).sends_nothing());
  world.end_write(match.writes[0].target);
  world.execute(match);
  settle();
  EXPECT_EQ(reported("web"), "203.0.113.7");
  EXPECT_EQ(ref("b"), "");
}

// Facts are gone after a restart, and whoever is planned first must not jump the queue or say something else for a
// moment.
TEST_F(Named, LineIsTheSameWhoeverIsPlannedFirst) {
  make_address("a", "203.0.113.7");
  settle();
  make_named("z-old", "a");
  make_named("a-young", "a");
  settle();
  EXPECT_EQ(phase("z-old"), "Bound");
  EXPECT_EQ(phase("a-young"), "Pending");
  expect_quiet();
}

TEST_F(Named, SaysSoWhenItCannotBeBoundForLong) {
  make_address("a", "203.0.113.7");
  settle();
  make_named("web", "a");
  const kube::Key key{"claim", "t", "web"};
  world.execute(world.run(key));
  kube::Plan plan = world.run(key);
  EXPECT_TRUE(plan.sends_nothing());
  ASSERT_TRUE(plan.revisit.has_value());
  world.advance(*plan.revisit);
  world.settle(key);  // its address's key did not get anywhere meanwhile
  EXPECT_EQ(bound_reason("web"), "False/AddressNotAvailable");
}

}  // namespace
}  // namespace core
