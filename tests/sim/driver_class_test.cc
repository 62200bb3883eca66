// Classes under fire: administrators who edit, delete and re-create overlapping classes, addresses that come and go, a
// network and a process that fail at any moment. At every revision of the store no two pools overlap and no pool loses
// an address that lives; in the end everything is as the reconciler wants it, and a restart writes nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "api/metallb.h"
#include "base/log.h"
#include "kube/loop.h"
#include "metallb/class_world.h"
#include "sandbox/world.h"

namespace metallb::testing {
namespace {

using namespace std::chrono_literals;
namespace js = boost::json;
using Effect = sandbox::Fault::Effect;
using ::testing::IsEmpty;

constexpr std::string_view k_pools = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools";
constexpr std::string_view k_classes = "/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclasses";
constexpr std::string_view k_addresses = "/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses";
// Longer than any cache is stale: what is older than this is known to the reconciler.
constexpr base::Duration k_tenure = 8s;

class Process final : public sandbox::Actor {
 public:
  Process(sandbox::Habitat& habitat, const kube::Controller& controller)
      : loop(controller, habitat.transport, habitat.reactor, metrics, options_of(habitat)) {
    loop.set_leading(true);
    loop.start();
  }
  kube::MetricsSink metrics;
  kube::Loop loop;

 private:
  static kube::LoopOptions options_of(sandbox::Habitat& habitat) {
    kube::LoopOptions options;
    options.identity = "driver-0";
    options.seed = habitat.seed;
    options.field_validation = "Strict";
    options.abort_on_flaws = true;
    return options;
  }
};

// Sees every revision of the pools.
class Witness final : public sandbox::WatchSink {
 public:
  struct Life {
    std::string pool;
    base::MonoTime since;
  };
  explicit Witness(sandbox::World& world) : world_(world) {}

  void event(std::shared_ptr<const std::string> line) override {
    const js::object event = js::parse(*line).as_object();
    const std::string_view type = event.at("type").as_string();
    if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") return;
    const js::object& pool = event.at("object").as_object();
    const std::string name(pool.at("metadata").at("name").as_string());
    std::vector<std::string> entries;
    if (type != "DELETED") {
      for (const js::value& entry : pool.at("spec").at("addresses").as_array()) entries.emplace_back(entry.as_string());
    }
    pools_[name] = pool_ranges(entries);
    if (strict) check(name, entries);
  }
  void ended() override { FAIL() << "the witness must not miss anything"; }

  bool contains(const std::string& pool, const base::IpAddress& ip) const {
    const auto it = pools_.find(pool);
    return it != pools_.end() && it->second.contains(ip);
  }
  bool contains(const base::IpAddress& ip) const {
    return std::ranges::any_of(pools_, [&](const auto& pool) { return pool.second.contains(ip); });
  }
  void expect_disjoint() const {
    base::IpRangeSet all;
    for (const auto& [name, ranges] : pools_) {
      for (const base::IpRange& range : ranges.ranges()) {
        EXPECT_FALSE(all.intersects(range)) << name << " overlaps with another pool at " << entry_text(range);
        all.add(range);
      }
    }
  }

  bool strict = true;
  std::map<base::IpAddress, Life> lives;

 private:
  void check(const std::string& name, const std::vector<std::string>& entries) {
    expect_disjoint();
    for (const auto& [ip, life] : lives) {
      if (life.pool == name && world_.now() - life.since > k_tenure) {
        EXPECT_TRUE(pools_[name].contains(ip))
            << name << " lost " << ip.to_string() << " to " << js::serialize(js::value_from(entries));
      }
    }
  }

  sandbox::World& world_;
  std::map<std::string, base::IpRangeSet> pools_;
};

struct ClassSim {
  explicit ClassSim(std::uint64_t seed) : random(seed), world(options(seed)), witness(world) {
    base::log::configure(base::log::Level::error, base::log::Format::text);
    world.server().load_crds(std::filesystem::path(PROJECT_DIR) / "crds");
    world.server().load_metallb_crds();
    world.create("{apiVersion: v1, kind: Namespace, metadata: {name: metallb-system}}");
    kube::Request watch;
    watch.path = k_pools;
    watch.query = {{"watch", "true"}};
    watch_ = *world.server().watch(watch, "witness", witness);
    world.start("driver", "driver", [this](sandbox::Habitat& h) { return std::make_unique<Process>(h, controller); });
  }
  ~ClassSim() { world.server().unwatch(watch_); }
  static sandbox::WorldOptions options(std::uint64_t seed) {
    sandbox::WorldOptions o;
    o.seed = seed;
    return o;
  }
  kube::Loop& loop() { return static_cast<Process*>(world.actor("driver"))->loop; }

  std::string random_class() { return fmt::format("c{}", random.below(3)); }
  base::IpAddress random_ip() {
    return base::IpAddress::v4((10U << 24) + static_cast<std::uint32_t>(random.below(64)));
  }

  // Parameters over eight small networks that all classes draw from; now and then unreadable.
  js::object random_parameters() {
    if (random.below(8) == 0) return {{"addresses", js::array{"banana"}}};
    std::set<std::uint64_t> blocks;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) blocks.insert(random.below(8));
    js::array addresses;
    for (const std::uint64_t block : blocks) addresses.emplace_back(fmt::format("10.0.0.{}/29", 8 * block));
    js::object parameters{{"addresses", std::move(addresses)}, {"includeNetworkAddresses", random.below(2) == 0}};
    if (random.below(3) == 0) parameters["exclude"] = js::array{random_ip().to_string()};
    if (random.below(3) == 0)
      parameters["advertise"] = random.below(2) == 0 ? js::object{{"bgp", js::object{}}}
                                                     : js::object{{"l2", js::object{}}, {"bgp", js::object{}}};
    return parameters;
  }

  void act() {
    const std::string name = random_class();
    const std::string path = fmt::format("{}/{}", k_classes, name);
    switch (random.below(8)) {
      case 0:
        world.call("DELETE", path);
        break;
      case 1:
      case 2: {
        const js::object spec{{"provisioner", api::metallb::provisioner}, {"parameters", random_parameters()}};
        const js::object cls{{"apiVersion", "local.sdn.cozystack.io/v1alpha1"},
                             {"kind", "IPAddressClass"},
                             {"metadata", {{"name", name}}},
                             {"spec", spec}};
        if (world.call("POST", k_classes, js::serialize(cls)).status == 409) {
          // A merge patch would mix old and new parameters.
          world.call("PATCH", path, R"({"spec":{"parameters":null}})");
          world.call("PATCH", path, js::serialize(js::object{{"spec", spec}}));
        }
        break;
      }
      case 3:
      case 4:
      case 5:
        put_address(name, random_ip());
        break;
      default:
        if (!witness.lives.empty()) {
          auto it = witness.lives.begin();
          std::advance(it, static_cast<std::ptrdiff_t>(random.below(witness.lives.size())));
          const base::IpAddress ip = it->first;
          witness.lives.erase(it);
          world.server().remove_raw(fmt::format("{}/{}", k_addresses, base::object_name(ip)));
        }
    }
  }

  // An address that the class's pool has and that is held from now on.
  void put_address(const std::string& class_name, const base::IpAddress& ip) {
    if (witness.lives.contains(ip) || !witness.contains(pool_name(class_name), ip)) return;
    const js::object address{
        {"apiVersion", "local.sdn.cozystack.io/v1alpha1"},
        {"kind", "IPAddress"},
        {"metadata", {{"name", base::object_name(ip)}, {"finalizers", js::array{api::metallb::teardown}}}},
        {"spec", {{"address", ip.to_string()}, {"className", class_name}, {"source", {{"fromClass", js::object{}}}}}}};
    const auto answer = world.call("POST", k_addresses, js::serialize(address));
    ASSERT_EQ(answer.status, 201) << answer.body;
    // Only what was in the pool all the time until it was known counts as live: an edit may have crossed it.
    witness.lives[ip] = {pool_name(class_name), world.now()};
  }

  // Often so short that what the last act led to is still under way.
  void pause() { world.run_for(std::chrono::milliseconds(random.below(random.below(2) == 0 ? 5 : 2000))); }

  void vandalise() {
    const std::string path = fmt::format("{}/{}", k_pools, pool_name(random_class()));
    switch (random.below(3)) {
      case 0:
        world.call("DELETE", path);
        break;
      case 1:
        world.call("PATCH", path, R"({"spec":{"autoAssign":true}})");
        break;
      default:
        world.call("PATCH", path, R"({"metadata":{"labels":null,"ownerReferences":[{"apiVersion":
            "local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClass","name":"c0","uid":"nobody"}]}})");
    }
  }

  void faults() {
    for (const Effect effect :
         {Effect::fail_before, Effect::fail_after, Effect::hang_before, Effect::hang_after, Effect::status,
          Effect::drop_watch, Effect::delay_answer, Effect::crash_before, Effect::crash_after}) {
      sandbox::Fault fault;
      fault.effect = effect;
      fault.user = "driver";
      fault.count = -1;
      fault.probability = effect == Effect::crash_before || effect == Effect::crash_after ? 0.01 : 0.03;
      fault.delay = std::chrono::milliseconds(random.below(3000));
      if (effect == Effect::status) {
        constexpr int codes[] = {409, 429, 500, 503, 403};
        fault.code = codes[random.below(5)];
        fault.retry_after = 1s;
      }
      world.faults().add(fault);
    }
  }

  // An address that had not been known yet when its class gave it up may have gone before it was held.
  void forget_what_never_was_held() {
    std::erase_if(witness.lives, [&](const auto& life) {
      if (world.now() - life.second.since > k_tenure || witness.contains(life.second.pool, life.first)) return false;
      world.server().remove_raw(fmt::format("{}/{}", k_addresses, base::object_name(life.first)));
      return true;
    });
  }

  void expect_rest() {
    world.faults().clear();
    world.run_for(2s);
    if (!world.running("driver")) world.restart("driver");
    world.run_for(11min);  // the longest back-off, and the pause after a fight
    ASSERT_TRUE(world.settle()) << "never at rest";
    EXPECT_THAT(loop().verify_settled(), IsEmpty());
    EXPECT_EQ(loop().stats().noop_writes, 0U);
    witness.expect_disjoint();
    for (const auto& [ip, life] : witness.lives) {
      EXPECT_TRUE(witness.strict ? witness.contains(life.pool, ip) : witness.contains(ip)) << ip.to_string();
    }
    world.forget_audit();
    world.crash("driver");
    world.restart("driver");
    world.run_for(30s);
    EXPECT_EQ(world.writes("driver", false), 0) << "a restart over settled objects";
  }

  base::Random random;
  const kube::Controller controller = class_controller();
  sandbox::World world;
  Witness witness;

 private:
  sandbox::WatchId watch_ = sandbox::WatchId::none;
};

TEST(DriverClassSim, NoPoolLosesALiveAddressAndNoTwoPoolsOverlap) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ClassSim sim(seed);
    for (int i = 0; i < 150; ++i) {
      sim.act();
      sim.pause();
      sim.forget_what_never_was_held();
    }
    sim.expect_rest();
    if (HasFailure()) return;
  }
}

TEST(DriverClassSim, NorUnderFaultsAndCrashes) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ClassSim sim(seed);
    sim.faults();
    for (int i = 0; i < 150; ++i) {
      sim.act();
      if (sim.random.below(25) == 0 && sim.world.running("driver"))
        sim.world.transport("driver")->stall_watches(sim.world.now() +
                                                     std::chrono::milliseconds(sim.random.below(3000)));
      sim.pause();
      sim.forget_what_never_was_held();
    }
    sim.expect_rest();
    if (HasFailure()) return;
  }
}

TEST(DriverClassSim, WhatVandalsDoIsRepaired) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ClassSim sim(seed);
    sim.witness.strict = false;
    sim.faults();
    for (int i = 0; i < 150; ++i) {
      if (sim.random.below(4) == 0) sim.vandalise();
      sim.act();
      sim.pause();
    }
    sim.expect_rest();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace metallb::testing
