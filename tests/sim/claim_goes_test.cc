// A claim that is deleted while it is being served, at every instant of that: what was promised is kept, what was
// promised to nobody goes (contract §5, §6.2), and nothing waits for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// How it ended.
struct Ends {
  int nothing = 0;   // no trace of an address
  int released = 0;  // an address that was Bound
};

class Story {
 public:
  Story(std::uint64_t seed, std::string_view policy, std::string_view family) : sim_({.seed = seed}), policy_(policy) {
    sim_.put_class("public", "203.0.113.0/29, 2001:db8::/126", policy);
    sim_.world.run_for(seconds(1));
    sim_.watch([this] { note(); });
    sim_.put_claim("web", "public", family);
  }

  // The claim goes after the `instant`th change; false if there are not so many.
  bool run(int instant, Ends& ends) {
    for (changes_ = 0; changes_ < instant;) {
      const int before = changes_;
      if (!sim_.eventually([&] { return changes_ > before; }, seconds(30))) return false;
    }
    sim_.remove(DriverSim::claim_path("web"));
    EXPECT_TRUE(sim_.eventually([&] { return !sim_.get(DriverSim::claim_path("web")); }, minutes(2)));
    sim_.eventually([] { return false; }, seconds(20));  // every change is noted
    sim_.expect_rest();
    const auto left = sim_.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses");
    for (const Document& address : left) {
      const std::string name(address.at("metadata").at("name").as_string());
      const std::string phase = sim_.field(DriverSim::address_path(name), "status.phase");
      EXPECT_EQ(phase, "Released") << sim_.story();
      EXPECT_TRUE(bound_.contains(name)) << name << " was never promised and is kept" << sim_.story();
    }
    if (policy_ == "Retain") {
      EXPECT_EQ(left.size(), bound_.size()) << "what was Bound is kept" << sim_.story();
    } else {
      EXPECT_TRUE(left.empty()) << sim_.story();
    }
    EXPECT_EQ(sim_.placeholders().size(), left.size()) << sim_.story();
    ++(left.empty() ? ends.nothing : ends.released);
    return true;
  }

 private:
  void note() {
    ++changes_;
    for (const Document& address : sim_.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      const std::string name(address.at("metadata").at("name").as_string());
      if (sim_.field(DriverSim::address_path(name), "status.phase") == "Bound") bound_.insert(name);
    }
    // Reported is promised, whichever is written first.
    const auto claim = sim_.get(DriverSim::claim_path("web"));
    const auto* status = claim ? claim->if_contains("status") : nullptr;
    const auto* list = status != nullptr ? status->as_object().if_contains("addresses") : nullptr;
    if (list == nullptr) return;
    for (const auto& entry : list->as_array()) bound_.insert(std::string(entry.at("name").as_string()));
  }

  DriverSim sim_;
  const std::string policy_;
  int changes_ = 0;
  std::set<std::string> bound_;  // addresses that somebody was told of
};

class ClaimGoes : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ClaimGoes, AtEveryInstant) {
  const auto [policy, family] = GetParam();
  Ends ends;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    int instant = 0;
    for (;; ++instant) {
      SCOPED_TRACE(fmt::format("seed {} instant {}", seed, instant));
      if (!Story(seed, policy, family).run(instant, ends)) break;
      if (HasFailure()) return;
    }
    EXPECT_GT(instant, 8) << "serving a claim takes so many changes";
  }
  EXPECT_GT(ends.nothing, 5);
  EXPECT_EQ(ends.released > 5, std::string_view(policy) == "Retain");
}

INSTANTIATE_TEST_SUITE_P(PoliciesAndFamilies, ClaimGoes,
                         ::testing::Combine(::testing::Values("Retain", "Delete"), ::testing::Values("IPv4", "Dual")));

}  // namespace
}  // namespace metallb::sim
