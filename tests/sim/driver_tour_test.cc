// The tour (one story from claim to recycling), with the controllers restarted between any two lines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

namespace m = api::metallb;
using std::chrono::seconds;
using ::testing::IsEmpty;

class Tour : public DriverSim {
 public:
  // `restarts`: kill both controllers between any two lines.
  Tour(std::uint64_t seed, bool restarts) : DriverSim({.seed = seed}), restarts_(restarts) {}

  void play() {
    claim_and_hold();
    attach_and_pass_on();
    withstand_a_thief();
    recycle();
    tidy_up();
  }

 private:
  void line() {
    if (!restarts_) return;
    restart("core");
    restart("driver");
  }

  void expect_soon(const std::function<bool()>& holds, std::string_view what) {
    line();
    ASSERT_TRUE(eventually(holds)) << what;
    line();
  }

  void claim_and_hold() {
    put_class("demo", "10.242.42.0/24", "Delete", true);
    expect_soon([&] { return get(pool_path("iad-demo")).has_value(); }, "the pool is rendered");
    EXPECT_EQ(field(pool_path("iad-demo"), "spec.autoAssign"), "false");
    put_claim("web", "");
    expect_soon([&] { return phase("web") == "Bound"; }, "the claim is bound");
    ip_ = ip_of("web");
    EXPECT_TRUE(ip_.starts_with("10.242.42."));
    EXPECT_EQ(field(claim_path("web"), "status.className"), "demo");
    expect_soon([&] { return holder_of(ip_) != ""; }, "a placeholder holds it");
  }

  void attach_and_pass_on() {
    for (const char* name : {"web", "web2"}) {
      put_service(name, "web");
      expect_soon([&] { return ingress(name) == std::set{ip_}; }, "the Service shows the claimed address");
      EXPECT_EQ(attached_to(ip_), name);
      expect_soon([&] { return placeholders().empty(); }, "the placeholder is gone");
      if (std::string(name) == "web2") return;
      remove(service_path(name));
      expect_soon([&] { return holder_of(ip_) != "" && attached_to(ip_).empty(); }, "held again");
      EXPECT_EQ(address_phase(ip_), "Bound");
    }
  }

  void withstand_a_thief() {
    put_service("thief", "", "tenant-b");
    patch(service_path("thief", "tenant-b"),
          fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", m::pin, ip_));
    world.run_for(seconds(5));
    EXPECT_THAT(ingress("thief", "tenant-b"), ::testing::Not(::testing::Contains(ip_)));
    EXPECT_EQ(address_phase(ip_), "Bound");
    remove(service_path("thief", "tenant-b"));
  }

  void recycle() {
    put_class("demo-retain", "10.242.43.0/24", "Retain");
    put_claim("keeper", "demo-retain");
    expect_soon([&] { return phase("keeper") == "Bound"; }, "keeper is bound");
    const std::string kept = ip_of("keeper");
    expect_soon([&] { return holder_of(kept) != ""; }, "and held");
    remove(claim_path("keeper"));
    expect_soon([&] { return address_phase(kept) == "Released" && !get(claim_path("keeper")); }, "released");
    const std::string hold = holder_of(kept);
    const std::string uid = field(service_path(hold, "metallb-iad-system"), "metadata.uid");
    EXPECT_NE(hold, "");
    patch(address_path(name_of(kept)), R"({"spec":{"claimRef":null}})");
    expect_soon([&] { return address_phase(kept) == "Available"; }, "available again");
    world.run_for(seconds(5));
    EXPECT_EQ(field(service_path(hold, "metallb-iad-system"), "metadata.uid"), uid);
    world.create(fmt::format(
        "{{apiVersion: {}/v1alpha1, kind: IPAddressClaim, metadata: {{name: keeper-2, namespace: tenant-a}}, "
        "spec: {{className: demo-retain, addressName: {}}}}}",
        api::group, name_of(kept)));
    expect_soon([&] { return phase("keeper-2") == "Bound"; }, "recycled");
    EXPECT_EQ(ip_of("keeper-2"), kept);
    kept_ = kept;
  }

  void tidy_up() {
    remove("/api/v1/namespaces/tenant-a");
    expect_soon([&] { return !get("/api/v1/namespaces/tenant-a"); }, "the namespace goes");
    expect_soon([&] { return !get(address_path(name_of(ip_))); }, "Delete addresses go");
    remove(address_path(name_of(kept_)));
    expect_soon([&] { return !get(address_path(name_of(kept_))); }, "deleted addresses go");
    for (const char* name : {"demo", "demo-retain"}) remove(class_path(name));
    expect_soon([&] { return !get(pool_path("iad-demo")) && !get(pool_path("iad-demo-retain")); }, "the pools go");
    EXPECT_THAT(placeholders(), IsEmpty());
    EXPECT_THAT(list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses"), IsEmpty());
    expect_rest();
  }

  const bool restarts_;
  std::string ip_;
  std::string kept_;
};

TEST(DriverTour, IsObservable) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Tour(seed, false).play();
  }
}

TEST(DriverTour, SurvivesRestartsBetweenAnyTwoLines) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Tour(seed, true).play();
  }
}

TEST(DriverTour, TheSameAddressAHundredTimes) {
  DriverSim sim;
  sim.put_class("demo", "10.242.42.0/24", "Delete");
  sim.put_claim("web", "demo");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  const std::string ip = sim.ip_of("web");
  for (int i = 0; i < 100; ++i) {
    sim.put_service("web2", "web");
    ASSERT_TRUE(sim.eventually([&] { return sim.ingress("web2") == std::set{ip}; })) << i << sim.story();
    sim.remove(DriverSim::service_path("web2"));
    ASSERT_TRUE(sim.eventually([&] { return !sim.get(DriverSim::service_path("web2")); })) << i;
  }
  sim.expect_restart_writes_nothing();
}

}  // namespace
}  // namespace metallb::sim
