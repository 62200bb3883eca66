// For a while the server, or what stands before it, says of a kind that there is none. Nobody loses anything by that,
// and what comes afterwards is served.
#include <gtest/gtest.h>

#include <chrono>

#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

using std::chrono::minutes;

class Unserved : public ::testing::TestWithParam<const char*> {
 protected:
  Unserved() {
    sim.put_class("public", "203.0.113.0/28", "Delete");
    for (const char* claim : {"web", "mail", "kept"}) sim.put_claim(claim);
    EXPECT_TRUE(sim.eventually([&] { return sim.phase("kept") == "Bound" && sim.phase("mail") == "Bound"; }));
    sim.put_service("app", "web");
    sim.put_service("smtp", "mail");
    EXPECT_TRUE(sim.eventually([&] { return is_attached(); }));
    sim.expect_rest();
  }
  bool is_attached() const {
    return sim.ingress("app") == std::set{sim.ip_of("web")} && sim.ingress("smtp") == std::set{sim.ip_of("mail")};
  }
  // Watches live ten minutes at most.
  void unserve() {
    for (const char* process : {"core", "driver"}) {
      for (const char* verb : {"list", "watch"}) {
        sim.world.faults().add({.effect = sandbox::Fault::Effect::status,
                                .user = process,
                                .verb = verb,
                                .resource = GetParam(),
                                .count = -1,
                                .code = 404});
      }
    }
    sim.world.run_for(minutes(15));
    EXPECT_GT(sim.world.faults().hits(), 0);
  }
  void serve() { sim.world.faults().clear(); }
  DriverSim sim;
};

TEST_P(Unserved, NobodyLosesAnythingAndWhatComesIsServed) {
  sim.watch([this] { EXPECT_TRUE(is_attached()) << sim.story(); });
  const int before = sim.driver_writes() + sim.core_writes();
  unserve();
  if (GetParam() != std::string_view("ipaddresspools")) {
    EXPECT_EQ(sim.driver_writes() + sim.core_writes(), before) << sim.story();
  }
  EXPECT_EQ(sim.phase("web"), "Bound");
  serve();
  sim.world.run_for(minutes(1));
  sim.expect_rest();
  sim.put_claim("late");
  EXPECT_TRUE(sim.eventually([&] { return sim.phase("late") == "Bound"; })) << sim.story();
  // What was there before is still looked after.
  const std::string ip = sim.ip_of("kept");
  sim.remove(sim.claim_path("kept"));
  EXPECT_TRUE(sim.eventually([&] { return !sim.get(sim.address_path(name_of(ip))); })) << sim.story();
  sim.expect_rest();
}

TEST_P(Unserved, WhatChangesMeanwhileIsServedAfterwards) {
  sim.put_class("other", "198.51.100.0/29", "Delete");
  sim.world.run_for(minutes(1));
  const std::string ip = sim.ip_of("kept");
  unserve();
  sim.put_claim("new", "other");
  sim.remove(sim.claim_path("kept"));
  sim.world.run_for(minutes(1));
  serve();
  EXPECT_TRUE(sim.eventually([&] { return sim.phase("new") == "Bound" && !sim.get(sim.address_path(name_of(ip))); }))
      << sim.story();
  sim.expect_rest();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Unserved,
                         ::testing::Values("ipaddresses", "ipaddressclaims", "ipaddressclasses", "services",
                                           "ipaddresspools"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace metallb::sim
