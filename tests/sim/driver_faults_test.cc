// The driver under fire: a failed call, a conflict and a crash at every single write of the story; and random histories
// in which unassigned placeholders and gaps must never meet.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <map>

#include "api/names.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

namespace json = boost::json;
namespace m = api::metallb;
using Effect = sandbox::Fault::Effect;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string text(const json::value* value) {
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}
const json::value* find(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::object* here = &object;
  const json::value* value = nullptr;
  for (const std::string_view key : path) {
    if (here == nullptr) return nullptr;
    value = here->if_contains(key);
    here = value != nullptr && value->is_object() ? &value->get_object() : nullptr;
  }
  return value;
}

std::vector<std::string> ingress_of(const json::object& service) {
  std::vector<std::string> ips;
  const json::value* list = find(service, {"status", "loadBalancer", "ingress"});
  if (list == nullptr) return ips;
  for (const json::value& entry : list->as_array()) ips.push_back(text(entry.as_object().if_contains("ip")));
  return ips;
}

// What must never be (contract §8), looked at after every change of the store.
class Invariants {
 public:
  explicit Invariants(DriverSim& sim) : sim_(sim) {
    sim_.watch([this] { check(); });
  }
  int own_theft = 0;  // an address of the ledger given to an unassigned placeholder of ours

  void check() {
    std::map<std::string, std::string> owner;  // IP → claim uid
    std::set<std::string> going;
    for (const Document& address : sim_.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      const std::string ip = text(find(address, {"spec", "address"}));
      // What is being torn down is free for others as soon as its hold has gone, a moment before its object goes.
      if (find(address, {"metadata", "deletionTimestamp"}) != nullptr) going.insert(ip);
      EXPECT_TRUE(owner.emplace(ip, text(find(address, {"spec", "claimRef", "uid"}))).second)
          << "two objects for " << ip;
    }
    std::map<std::string, std::string> shown;
    const std::vector<Document> services = sim_.list("/api/v1/services");
    std::set<std::string> shared;  // for as long as the hold has a key
    for (const Document& service : services) {
      if (find(service, {"metadata", "annotations", m::sharing_key}) == nullptr) continue;
      for (const std::string& ip : ingress_of(service)) shared.insert(ip);
    }
    for (const Document& service : services) {
      const std::string name =
          text(find(service, {"metadata", "namespace"})) + "/" + text(find(service, {"metadata", "name"}));
      for (const std::string& ip : ingress_of(service)) {
        EXPECT_TRUE(shown.emplace(ip, name).second || shared.contains(ip))
            << ip << " on " << name << " and " << shown[ip];
        if (!going.contains(ip)) judge(service, name, ip, owner);
      }
    }
    for (const Document& claim : sim_.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclaims")) remember(claim);
  }

 private:
  void judge(const Document& service, const std::string& name, const std::string& ip,
             const std::map<std::string, std::string>& owner) {
    const auto it = owner.find(ip);
    if (it == owner.end() || !name.starts_with("metallb-iad-system/")) return;
    if (find(service, {"metadata", "labels", m::ip_address}) != nullptr) return;
    if (!name.starts_with("metallb-iad-system/iad-" + it->second + "-v")) {
      if (stolen_.insert(name + ip).second && ++own_theft == 1)
        ADD_FAILURE() << name << " stole " << ip << sim_.story();
    }
  }

  // An address never changes under a claim that reported it.
  void remember(const Document& claim) {
    const json::value* list = find(claim, {"status", "addresses"});
    if (list == nullptr || list->as_array().empty()) return;
    const std::string text_now = json::serialize(*list);
    const auto [it, fresh] = reported_.emplace(text(find(claim, {"metadata", "uid"})), text_now);
    if (!fresh && it->second.size() < text_now.size()) it->second = text_now;  // the second half of a Dual claim
    EXPECT_EQ(it->second, text_now);
  }

  DriverSim& sim_;
  std::map<std::string, std::string> reported_;
  std::set<std::string> stolen_;
};

// Claim, attach, detach, attach elsewhere, delete; whatever fails on the way, the end is the same.
void play_story(DriverSim& sim) {
  const auto soon = [&](const std::function<bool()>& holds, const char* what) {
    ASSERT_TRUE(sim.eventually(holds, minutes(5))) << what;
  };
  sim.put_class("public", "203.0.113.0/29", "Delete");
  sim.put_claim("web");
  soon([&] { return sim.phase("web") == "Bound"; }, "bound");
  const std::string ip = sim.ip_of("web");
  sim.put_service("app", "web");
  soon([&] { return sim.ingress("app") == std::set{ip}; }, "attached");
  sim.patch(DriverSim::service_path("app"),
            fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", api::claim_annotation));
  soon([&] { return !sim.holder_of(ip).empty(); }, "detached");
  sim.put_service("next", "web");
  soon([&] { return sim.ingress("next") == std::set{ip}; }, "attached elsewhere");
  sim.remove(DriverSim::service_path("next"));
  soon([&] { return !sim.holder_of(ip).empty() && !sim.get(DriverSim::service_path("next")); }, "held again");
  sim.remove(DriverSim::claim_path("web"));
  soon([&] { return !sim.get(DriverSim::address_path(name_of(ip))) && sim.placeholders().empty(); }, "torn down");
  EXPECT_EQ(sim.field(DriverSim::service_path("app"), "metadata.finalizers"), "");
}

class EveryWrite : public ::testing::TestWithParam<Effect> {};

TEST_P(EveryWrite, TheStoryEndsTheSame) {
  int last = 0;
  for (int skip = 0; skip < 60; ++skip) {
    SCOPED_TRACE(fmt::format("write {}", skip));
    DriverSim sim({.seed = static_cast<std::uint64_t>(skip + 1)});
    Invariants invariants(sim);
    sandbox::Fault fault;
    fault.effect = GetParam();
    fault.user = "driver";
    fault.verb = "write";
    fault.skip = skip;
    fault.code = 409;
    sim.world.faults().add(fault);
    play_story(sim);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(invariants.own_theft, 0);
    sim.world.faults().clear();
    sim.world.run_for(minutes(2));  // a request that hangs is given up
    sim.expect_rest();
    if (sim.world.faults().hits() == 0) break;
    last = skip;
  }
  EXPECT_GT(last, 15) << "the story has at least so many writes";
}

INSTANTIATE_TEST_SUITE_P(DriverFaults, EveryWrite,
                         ::testing::Values(Effect::fail_before, Effect::fail_after, Effect::hang_after, Effect::status,
                                           Effect::crash_before, Effect::crash_after));

// Tenants at random on a class that is too small, so that unassigned placeholders are always about.
class Crowd {
 public:
  explicit Crowd(std::uint64_t seed) : random_(seed), sim({.seed = seed}) {
    sim.put_class("public", "203.0.113.0/29, '2001:db8::/126'", random_.below(2) == 0 ? "Delete" : "Retain");
    sim.world.run_for(seconds(1));
  }

  void act() {
    constexpr const char* families[] = {"IPv4", "IPv4", "IPv6", "Dual"};
    constexpr const char* specs[] = {"", "", ", ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]",
                                     ", ipFamilyPolicy: RequireDualStack"};
    const std::string ns = random_.below(2) == 0 ? "tenant-a" : "tenant-b";
    const std::string claim = fmt::format("c{}", random_.below(6));
    const std::string service = fmt::format("s{}", random_.below(5));
    switch (random_.below(8)) {
      case 0:
      case 1:
        quietly([&] { sim.put_claim(claim, "public", families[random_.below(4)], ns); });
        break;
      case 2:
      case 3:
        quietly([&] { sim.put_service(service, claim, ns, specs[random_.below(4)]); });
        break;
      case 4:
        sim.remove(DriverSim::service_path(service, ns));
        break;
      case 5:
        sim.patch(DriverSim::service_path(service, ns),
                  fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", api::claim_annotation,
                              random_.below(2) == 0 ? "null" : "\"" + claim + "\""));
        break;
      case 6:
        if (random_.below(3) == 0) sim.remove(DriverSim::claim_path(claim, ns));
        break;
      default:
        recycle();
    }
  }

  // Released addresses go back on the market, so that there is something to wait for.
  void recycle() {
    for (const Document& address : sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      if (text(find(address, {"status", "phase"})) != "Released") continue;
      const std::string path = DriverSim::address_path(text(find(address, {"metadata", "name"})));
      if (random_.below(2) == 0) {
        sim.patch(path, R"({"spec":{"claimRef":null}})");
      } else {
        sim.remove(path);
      }
    }
  }

  void faults() {
    for (const Effect effect : {Effect::fail_before, Effect::fail_after, Effect::status, Effect::delay_answer,
                                Effect::drop_watch, Effect::crash_before, Effect::crash_after}) {
      sandbox::Fault fault;
      fault.effect = effect;
      fault.user = random_.below(3) == 0 ? "core" : "driver";
      fault.count = -1;
      fault.probability = effect == Effect::crash_before || effect == Effect::crash_after ? 0.004 : 0.02;
      fault.delay = milliseconds(random_.below(2000));
      fault.code = random_.below(2) == 0 ? 409 : 503;
      sim.world.faults().add(fault);
    }
  }

  // Somebody who may deletes or alters what holds addresses.
  void damage() {
    const std::vector<std::string> names = sim.placeholders();
    if (names.empty()) return;
    const std::string path = DriverSim::service_path(names[random_.below(names.size())], "metallb-iad-system");
    switch (random_.below(4)) {
      case 0:
        sim.remove(path);
        break;
      case 1:
        sim.patch(path, R"({"metadata":{"labels":null}})");
        break;
      case 2:
        sim.patch(path, R"({"metadata":{"annotations":{"metallb.io/loadBalancerIPs":"203.0.113.4"}}})");
        break;
      default:
        sim.patch(path, R"({"metadata":{"annotations":null,"ownerReferences":null}})");
    }
  }

  // Whatever has happened, in the end every address is held or attached, and nobody waits who need not.
  void expect_order() {
    sim.world.faults().clear();
    sim.world.run_for(seconds(2));
    for (const char* process : {"core", "driver"}) {
      if (!sim.world.running(process)) sim.world.restart(process);
    }
    sim.world.run_for(minutes(12));  // the longest back-off, throttles and deadlines
    sim.expect_rest();
    std::map<std::string, std::vector<std::string>> shown;
    for (const Document& service : sim.list("/api/v1/services")) {
      for (const std::string& ip : ingress_of(service)) {
        shown[ip].push_back(text(find(service, {"metadata", "namespace"})) + "/" +
                            text(find(service, {"metadata", "name"})));
      }
    }
    for (const Document& address : sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      const std::string ip = text(find(address, {"spec", "address"}));
      ASSERT_EQ(shown[ip].size(), 1u) << ip;
      const std::string to = text(find(address, {"status", "associatedTo", "name"}));
      if (to.empty()) {
        EXPECT_TRUE(shown[ip][0].starts_with("metallb-iad-system/")) << ip << " on " << shown[ip][0];
      } else {
        EXPECT_EQ(shown[ip][0], text(find(address, {"status", "associatedTo", "namespace"})) + "/" + to);
      }
      EXPECT_NE(text(find(address, {"status", "phase"})), "Conflict") << ip;
    }
  }

 private:
  static void quietly(const std::function<void()>& act) {
    try {
      act();
    } catch (const std::runtime_error&) {  // it exists already
    }
  }
  base::Random random_;

 public:
  DriverSim sim;
};

// SIM_SEEDS="1000" runs that many more seeds; SIM_SEED="17" only that one.
std::vector<std::uint64_t> seeds(std::uint64_t first, std::uint64_t count) {
  const char* more = std::getenv("SIM_SEEDS");
  const char* only = std::getenv("SIM_SEED");
  if (only != nullptr) return {std::strtoull(only, nullptr, 10)};
  if (more != nullptr) count += std::strtoull(more, nullptr, 10);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

TEST(DriverCrowd, NoUnassignedPlaceholderEverMeetsAGap) {
  for (const std::uint64_t seed : seeds(1, 15)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    Crowd crowd(seed);
    Invariants invariants(crowd.sim);
    base::Random pace(seed);
    for (int i = 0; i < 150; ++i) {
      crowd.act();
      crowd.sim.eventually([] { return false; }, milliseconds(pace.below(200)));
    }
    EXPECT_EQ(invariants.own_theft, 0);
    crowd.expect_order();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DriverCrowd, OrderReturnsAfterFaultsAndCrashes) {
  for (const std::uint64_t seed : seeds(100'001, 15)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    Crowd crowd(seed);
    Invariants invariants(crowd.sim);
    crowd.faults();
    base::Random pace(seed);
    for (int i = 0; i < 100; ++i) {
      crowd.act();
      crowd.sim.eventually([] { return false; }, milliseconds(pace.below(400)));
    }
    EXPECT_EQ(invariants.own_theft, 0);
    crowd.expect_order();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DriverCrowd, OrderReturnsAfterDamage) {
  for (const std::uint64_t seed : seeds(200'001, 15)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    Crowd crowd(seed);
    base::Random pace(seed);
    for (int i = 0; i < 100; ++i) {
      crowd.act();
      if (pace.below(4) == 0) crowd.damage();
      if (pace.below(40) == 0) crowd.sim.restart("metallb");
      crowd.sim.world.run_for(milliseconds(pace.below(400)));
    }
    crowd.expect_order();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace metallb::sim
