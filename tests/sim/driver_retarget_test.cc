// Claims that ask for another class or family at every instant of their provisioning: whatever has been reserved stays
// held from then on, and the claim gets what it asks for in the end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "api/names.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::string address_of(const Document& object) {
  return std::string(object.at("spec").as_object().at("address").as_string());
}

// Every address of the ledger, from its creation on, is shown by a placeholder: nothing is attached here.
class Held {
 public:
  explicit Held(DriverSim& sim) : sim_(sim) {
    sim_.watch([this] { check(); });
  }

  void check() {
    for (const Document& address : sim_.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      const std::string ip = address_of(address);
      if (sim_.holder_of(ip).empty() && lost_.insert(ip).second) ADD_FAILURE() << ip << " is not held" << sim_.story();
    }
  }

 private:
  DriverSim& sim_;
  std::set<std::string> lost_;
};

struct Change {
  const char* there;
  const char* back;
  bool returns;  // asks for what it asked for at first
};
class Retarget : public ::testing::TestWithParam<Change> {
 protected:
  static void ask(DriverSim& sim, const char* spec) { sim.patch(DriverSim::claim_path("web"), spec); }

  static void run_until_write(DriverSim& sim, std::uint64_t count) {
    const std::uint64_t end = sim.world.server().revision() + count;
    sim.eventually([&] { return sim.world.server().revision() >= end; }, seconds(20));
  }

  static void recycle_released(DriverSim& sim) {
    for (const Document& address : sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      const std::string ip = address_of(address);
      if (sim.address_phase(ip) == "Released") {
        sim.patch(DriverSim::address_path(name_of(ip)), R"({"spec":{"claimRef":null}})");
      }
    }
  }
};

TEST_P(Retarget, EveryAddressStaysHeld) {
  const Change& change = GetParam();
  for (std::uint64_t first = 0; first < 14; ++first) {
    for (std::uint64_t second = 0; second < (change.returns ? 8 : 1); ++second) {
      SCOPED_TRACE(fmt::format("after {} and {} writes", first, second));
      DriverSim sim({.seed = first * 100 + second + 1});
      sim.put_class("public", "203.0.113.0/29, '2001:db8::/126'");
      sim.put_class("other", "198.51.100.0/29, '2001:db8:1::/126'");
      sim.world.run_for(seconds(5));
      Held held(sim);
      sim.put_claim("web");
      run_until_write(sim, first);
      ask(sim, change.there);
      if (change.returns) {
        run_until_write(sim, second);
        ask(sim, change.back);
      }
      ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }, minutes(3))) << sim.story();
      recycle_released(sim);
      sim.eventually([] { return false; }, seconds(30));
      sim.expect_rest();
      held.check();
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Driver, Retarget,
    ::testing::Values(Change{R"({"spec":{"className":"other"}})", "", false},
                      Change{R"({"spec":{"family":"IPv6"}})", "", false},
                      Change{R"({"spec":{"className":"other"}})", R"({"spec":{"className":"public"}})", true},
                      Change{R"({"spec":{"family":"IPv6"}})", R"({"spec":{"family":"IPv4"}})", true},
                      Change{R"({"spec":{"family":"Dual"}})", R"({"spec":{"className":"other","family":"IPv4"}})",
                             true}));

}  // namespace
}  // namespace metallb::sim
