// Many handoffs under way when everything dies at once: afterwards every address is back within seconds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "api/names.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Effect = sandbox::Fault::Effect;

constexpr int k_handoffs = 57;

class Storm {
 public:
  explicit Storm(std::uint64_t seed) : sim({.seed = seed}) {
    sim.put_class("public", "203.0.113.0/25");
    for (int i = 0; i < k_handoffs; ++i) sim.put_claim(claim(i));
    EXPECT_TRUE(sim.eventually([&] { return all([&](int i) { return sim.phase(claim(i)) == "Bound"; }); }, minutes(5)));
    for (int i = 0; i < k_handoffs; ++i) sim.put_service(fmt::format("s{}", i), claim(i));
    EXPECT_TRUE(
        sim.eventually([&] { return all([&](int i) { return attached(fmt::format("s{}", i), i); }); }, minutes(5)));
    EXPECT_TRUE(sim.world.settle());
  }

  // Every Service goes; every second claim has another one that waits for it.
  void begin() {
    for (int i = 0; i < k_handoffs; i += 2) sim.put_service(fmt::format("t{}", i), claim(i));
    for (int i = 0; i < k_handoffs; ++i) sim.remove(DriverSim::service_path(fmt::format("s{}", i)));
  }

  // The server is away for a while; both controllers die with it and come back with it. MetalLB lives on.
  void strike(base::Duration away) {
    sim.world.crash("core");
    sim.world.crash("driver");
    sandbox::Fault fault;
    fault.effect = Effect::fail_before;
    fault.count = -1;
    sim.world.faults().add(fault);
    sim.world.transport("metallb")->reset_watches();
    sim.world.run_for(away);
    sim.world.faults().clear();
    sim.world.restart("core");
    sim.world.restart("driver");
  }

  // How long it takes until every address is where it belongs.
  base::Duration recovery() {
    const base::MonoTime from = sim.world.now();
    EXPECT_TRUE(sim.eventually(
        [&] {
          return all([&](int i) {
            return i % 2 == 0 ? attached(fmt::format("t{}", i), i) : !sim.holder_of(sim.ip_of(claim(i))).empty();
          });
        },
        minutes(10)))
        << sim.story();
    return sim.world.now() - from;
  }

  DriverSim sim;

 private:
  static std::string claim(int i) { return fmt::format("c{}", i); }
  static bool all(const std::function<bool(int)>& holds) {
    for (int i = 0; i < k_handoffs; ++i) {
      if (!holds(i)) return false;
    }
    return true;
  }
  bool attached(const std::string& service, int i) const { return sim.ingress(service).contains(sim.ip_of(claim(i))); }
};

TEST(DriverStorm, EverythingDiesInTheMiddleOfManyHandoffs) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Storm storm(seed);
    storm.begin();
    storm.sim.world.run_for(milliseconds(20 + 40 * seed));
    storm.strike(seconds(2));
    const base::Duration took = storm.recovery();
    EXPECT_LT(took, seconds(15)) << storm.sim.story();
    RecordProperty(fmt::format("recovery-ms-{}", seed), fmt::format("{}", duration_cast<milliseconds>(took).count()));
    storm.sim.expect_rest();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace metallb::sim
