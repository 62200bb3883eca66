// Contract §2 "Holds", §3.3 and §4.3 as the driver reads them.
#include "metallb/ledger.h"

#include <fmt/format.h>

#include "metallb/driver_fixture.h"

namespace metallb::testing {
namespace {

class LedgerTest : public DriverTest {
 protected:
  void put(std::string_view name, std::string_view ip, std::string_view uid, std::string_view more_spec = "",
           std::string_view status = "{}") {
    world.put<api::IPAddress>(fmt::format(
        R"({{"metadata":{{"name":"{}"}},"spec":{{"address":"{}","className":"public"{},"claimRef":{{"namespace":"tenant-a","name":"web","uid":"{}"}}}},"status":{}}})",
        name, ip, more_spec, uid, status));
  }
  // Asks within a pass.
  template <class F>
  void look(F ask) {
    kube::KeyMemory memory;
    world.dependencies().begin_pass();
    kube::View view(world, memory);
    ask(view);
    world.dependencies().end_pass(world.keys().intern({"claim", "", "probe"}));
  }
  std::string counts(base::Family family = base::Family::v4) {
    std::string name;
    look([&](kube::View& view) {
      const auto* a = counted(view, *view.get<api::IPAddressClaim>("tenant-a", "web")).of(family);
      if (a != nullptr) name = a->meta.name;
    });
    return name;
  }
  bool held(std::string_view name) {
    bool result = false;
    look([&](kube::View& view) { result = holder_of(view, *view.get<api::IPAddress>(name)) != nullptr; });
    return result;
  }
};

TEST_F(LedgerTest, CompleteUidBeforeEmptyThenTheOldest) {
  put_claim();
  put("pre", "203.0.113.1", "");
  EXPECT_EQ(counts(), "pre");
  put("young", "203.0.113.3", "uid-web");
  EXPECT_EQ(counts(), "young");
  put("older", "203.0.113.2", "uid-web");
  EXPECT_EQ(counts(), "young");  // created before
  EXPECT_TRUE(held("young"));
  EXPECT_FALSE(held("older"));
  EXPECT_FALSE(held("pre"));
}

TEST_F(LedgerTest, WhatIsReportedComesFirst) {
  put_claim();
  put("a", "203.0.113.1", "uid-web");
  put("b", "203.0.113.2", "uid-web");
  world.change<api::IPAddressClaim>("tenant-a", "web",
                                    R"({"status":{"addresses":[{"name":"b","address":"203.0.113.2"}]}})");
  EXPECT_EQ(counts(), "b");
}

TEST_F(LedgerTest, OtherUidsReleasedOnesOtherFamiliesAndOtherClassesDoNotCount) {
  put_claim();
  put("other", "203.0.113.1", "another");
  put("released", "203.0.113.2", "uid-web", "", R"({"phase":"Released"})");
  put("six", "2001:db8::1", "uid-web");
  put("class", "203.0.113.3", "uid-web", R"(,"className":"elsewhere")");
  EXPECT_EQ(counts(), "");
}

TEST_F(LedgerTest, ALostOneStillCounts) {
  put_claim();
  put("lost", "203.0.113.2", "uid-web", "", R"({"phase":"Lost"})");
  EXPECT_EQ(counts(), "lost");
}

TEST_F(LedgerTest, OfTwoObjectsForOneIPTheOneOfALiveClaimIsSenior) {
  put_claim();
  world.put<api::IPAddress>(R"({"metadata":{"name":"first"},"spec":{"address":"203.0.113.1","className":"public"}})");
  put("second", "203.0.113.1", "uid-web");
  EXPECT_EQ(counts(), "second");
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  look([&](kube::View& view) {
    EXPECT_TRUE(is_senior(view, *view.get<api::IPAddress>("first")));
    EXPECT_FALSE(is_senior(view, *view.get<api::IPAddress>("second")));
  });
}

TEST_F(LedgerTest, AClaimThatIsBeingDeletedHoldsNothing) {
  put_claim();
  put("a", "203.0.113.1", "uid-web");
  EXPECT_TRUE(held("a"));
  world.remove<api::IPAddressClaim>("tenant-a", "web");
  EXPECT_FALSE(held("a"));
}

// What the cache says of other objects is no proof: they are read live, with what they rest on.
TEST_F(LedgerTest, BeforeTeardownEverythingIsReadLiveThatSaysNobodyHoldsIt) {
  const std::string guarded = fmt::format(R"(,"finalizers":["{}"])", api::metallb::teardown);
  const auto put_dying = [&](std::string_view name, std::string_view ip) {
    world.put<api::IPAddress>(fmt::format(
        R"({{"metadata":{{"name":"{}","deletionTimestamp":"2024-05-05T00:00:00Z"{}}},"spec":{{"address":"{}","className":"public","claimRef":{{"namespace":"tenant-a","name":"web","uid":"uid-web"}}}}}})",
        name, guarded, ip));
  };
  const auto reads = [&](std::string_view name) {
    std::vector<std::string> names;
    for (const kube::Confirm& confirm : plan(address_key(name)).confirms) {
      names.push_back(confirm.target.name);
    }
    return names;
  };
  put_claim();
  put_claim("other");
  put("counts", "203.0.113.1", "uid-web");
  put_dying("surplus", "203.0.113.2");
  EXPECT_THAT(reads("surplus"), ::testing::UnorderedElementsAre("web", "counts"));
  // Another object stands for the IP, as the claim of that one has reported it.
  world.change<api::IPAddressClaim>("tenant-a", "other",
                                    R"({"status":{"addresses":[{"name":"senior","address":"203.0.113.3"}]}})");
  put_dying("junior", "203.0.113.3");
  world.put<api::IPAddress>(
      R"({"metadata":{"name":"senior"},"spec":{"address":"203.0.113.3","className":"public","claimRef":{"namespace":"tenant-a","name":"other","uid":"uid-other"}},"status":{"phase":"Bound"}})");
  EXPECT_THAT(reads("junior"), ::testing::UnorderedElementsAre("web", "senior", "other"));
}

// A hold is removed without the address's version to guard it.
TEST_F(LedgerTest, BeforeItsHoldGoesTheAddressItselfIsReadLiveToo) {
  put_bound();
  world.remove<api::IPAddressClaim>("tenant-a", "web");
  world.vanish<api::IPAddressClaim>("tenant-a", "web");
  world.remove<api::IPAddress>("", name_of(k_v4));
  const kube::Key key = address_key(name_of(k_v4));
  std::vector<std::string> names;
  for (const kube::Confirm& confirm : plan(key).confirms) names.push_back(confirm.target.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("web", name_of(k_v4)));
  EXPECT_THAT(steps(plan(key)), ::testing::ElementsAre("hold-teardown"));
}

TEST_F(LedgerTest, ReportedFamiliesAreReadByValue) {
  api::IPAddressClaim claim;
  claim.addresses = {{"x", "2001:DB8::1"}};
  EXPECT_TRUE(is_reported(claim, base::Family::v6));
  EXPECT_FALSE(is_reported(claim, base::Family::v4));
}

}  // namespace
}  // namespace metallb::testing
