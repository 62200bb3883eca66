// The mark of the default class moves at every instant while a Dual claim without a class is served: both its addresses
// are of one class (contract §3.6), whether they are matched or provisioned.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

void mark(DriverSim& sim, std::string_view name, bool is_default) {
  sim.patch(DriverSim::class_path(name),
            fmt::format(
                R"({{"metadata":{{"annotations":{{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"{}"}}}}}})",
                is_default));
}

// Of either class there are addresses of both families at hand; static ones if `matched`.
void put_classes(DriverSim& sim, bool matched) {
  sim.put_class("a", "203.0.113.0/29, 2001:db8:a::/126", "Retain", true);
  sim.put_class("b", "198.51.100.0/29, 2001:db8:b::/126");
  sim.world.run_for(seconds(5));
  if (!matched) return;
  for (const auto& [cls, ip] : {std::pair("a", "203.0.113.1"), std::pair("a", "2001:db8:a::1"),
                                std::pair("b", "198.51.100.1"), std::pair("b", "2001:db8:b::1")}) {
    sim.world.create(fmt::format(
        "{{apiVersion: local.sdn.cozystack.io/v1alpha1, kind: IPAddress, metadata: {{name: {}}}, spec: {{address: "
        "'{}', className: {}, source: {{fromClass: {{}}}}}}}}",
        name_of(ip), ip, cls));
    ASSERT_TRUE(sim.eventually([&] { return sim.address_phase(ip) == "Available"; }));
  }
  sim.world.run_for(seconds(10));
}

// The classes of the addresses that the claim has; false if the claim was served before `instant` changes.
bool run(std::uint64_t seed, int instant, bool matched, std::set<std::string>& classes) {
  DriverSim sim({.seed = seed});
  put_classes(sim, matched);
  int changes = 0;
  sim.watch([&] { ++changes; });
  sim.put_claim("web", "", "Dual");
  while (changes < instant) {
    const int before = changes;
    if (!sim.eventually([&] { return changes > before; }, seconds(30))) return false;
  }
  // The order in which a careful administrator moves it, and the other one.
  mark(sim, instant % 2 == 0 ? "a" : "b", instant % 2 != 0);
  mark(sim, instant % 2 == 0 ? "b" : "a", instant % 2 == 0);
  EXPECT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }, minutes(5))) << sim.story();
  for (const Document& address : sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
    const auto& spec = address.at("spec").as_object();
    if (spec.contains("claimRef")) classes.insert(std::string(spec.at("className").as_string()));
  }
  EXPECT_EQ(classes.size(), 1u) << sim.story();
  sim.expect_rest();
  return true;
}

class DefaultMoves : public ::testing::TestWithParam<bool> {};

TEST_P(DefaultMoves, ADualClaimHasBothAddressesOfOneClass) {
  std::set<std::string> ever;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (int instant = 0;; ++instant) {
      SCOPED_TRACE(fmt::format("seed {} instant {}", seed, instant));
      std::set<std::string> classes;
      if (!run(seed, instant, GetParam(), classes)) break;
      if (HasFailure()) return;
      ever.merge(classes);
    }
  }
  EXPECT_EQ(ever.size(), 2u) << "it moves in time, and too late";
}

INSTANTIATE_TEST_SUITE_P(MatchedAndProvisioned, DefaultMoves, ::testing::Bool());

}  // namespace
}  // namespace metallb::sim
