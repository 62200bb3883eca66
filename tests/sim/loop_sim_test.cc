// The runtime as a whole under fire: a small controller whose keys depend on other objects, on indexes and on each
// other's facts, against the in-memory API server, with faults, crashes and tenants. Whatever happened, in the end
// everything is as the controller wants it, nobody has missed a wake-up, and a restart writes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "base/log.h"
#include "kube/loop.h"
#include "sandbox/world.h"
#include "support/thing.h"

namespace kube::testing {
namespace {
using namespace std::chrono_literals;
namespace json = boost::json;
using Effect = sandbox::Fault::Effect;
using ::testing::IsEmpty;

constexpr std::string_view k_crd = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.tests.example}
spec:
  group: tests.example
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              value: {type: string}
              group: {type: string}
              links: {type: array, items: {type: string}}
          status:
            type: object
            properties:
              state: {type: string}
)";

const Resource& things() { return Thing::kind().resource; }

// A thing gets a finalizer and a state that lists the values of what it links to. It publishes its value to its group.
Plan plan_thing(const Key& key, View& view) {
  Plan plan;
  const Thing* t = view.get<Thing>(key.ns, key.name);
  if (t == nullptr) {
    plan.forget = true;
    return plan;
  }
  if (t->meta.deleting) {
    // A pillar stays while somebody leans on it, and the server has the last word about that.
    for (const Thing* other : view.all<Thing>("links", key.ns + "/" + key.name)) {
      if (!other->meta.deleting) return plan;
    }
    const Ref self{&things(), key.ns, key.name};
    if (!t->meta.has_finalizer("f")) return plan;
    if (!view.confirmed(self)) {
      plan.confirms.push_back({self});
      return plan;
    }
    plan.writes.push_back(patch(things(), *t, {{"metadata", {{"finalizers", json::array()}}}}, "release"));
    return plan;
  }
  if (!t->group.empty()) {
    plan.facts.push_back({"members/" + t->group, key.ns + "/" + key.name, t->value, {"group", "", t->group}});
  }
  if (!t->meta.has_finalizer("f")) {
    if (view.busy({&things(), key.ns, key.name})) return plan;
    plan.writes.push_back(patch(things(), *t, {{"metadata", {{"finalizers", json::array{"f"}}}}}, "protect"));
    return plan;
  }
  std::string state;
  for (const std::string& link : t->links) {
    const Thing* other = view.get<Thing>(key.ns, link);
    state += other == nullptr ? "-," : other->value + ",";
  }
  if (state != t->state) {
    plan.writes.push_back(patch_status(things(), *t, {{"status", {{"state", state}}}}, "state"));
    plan.events.push_back(
        {{&things(), key.ns, key.name}, t->meta.uid, false, "Stated", "State", "it is " + state, false});
  }
  return plan;
}

// A group keeps a thing "sums/sum-GROUP" whose value lists the values of its members; it goes with the last of them.
Plan plan_group(const Key& key, View& view) {
  Plan plan;
  std::string sum;
  view.each_fact("members/" + key.name, [&](std::string_view, const FactBucket::Value& v) {
    sum += v.value + ";";
    return true;
  });
  const std::string name = "sum-" + key.name;
  const Thing* t = view.get<Thing>("sums", name);
  if (sum.empty()) {
    if (t == nullptr) {
      plan.forget = true;
    } else if (!t->meta.deleting) {
      plan.writes.push_back(remove(things(), *t, true, "remove-sum"));
    }
  } else if (t == nullptr) {
    plan.writes.push_back(create(
        things(), {{"metadata", {{"namespace", "sums"}, {"name", name}}}, {"spec", {{"value", sum}}}}, "create-sum"));
  } else if (t->value != sum && !t->meta.deleting) {
    plan.writes.push_back(patch(things(), *t, {{"spec", {{"value", sum}}}}, "update-sum"));
  }
  return plan;
}

Controller ledger() {
  Controller c;
  c.name = "ledger";
  WatchSpec watch;
  watch.kind = &Thing::kind();
  watch.indexes = {{"links", [](const Object& o, std::vector<IndexEntry>& out) {
                      const auto& t = static_cast<const Thing&>(o);
                      for (const std::string& link : t.links) out.push_back({t.meta.ns + "/" + link, t.meta.name});
                    }}};
  watch.keys = [](const Object& o, std::vector<Key>& out) {
    out.push_back({"thing", o.meta.ns, o.meta.name});
    // A sum gives birth to its group's key: after a restart nobody else would think of one without members.
    if (o.meta.ns == "sums") out.push_back({"group", "", o.meta.name.substr(4)});
  };
  c.watches = {watch};
  c.reconcilers = {{"thing", plan_thing, 0}, {"group", plan_group, 1}};
  return c;
}

class Process final : public sandbox::Actor {
 public:
  Process(sandbox::Habitat& habitat, const Controller& controller)
      : loop(controller, habitat.transport, habitat.reactor, metrics, options_of(habitat)) {
    loop.set_leading(true);
    loop.start();
  }
  MetricsSink metrics;
  Loop loop;

 private:
  static LoopOptions options_of(sandbox::Habitat& habitat) {
    LoopOptions options;
    options.identity = "ledger-0";
    options.seed = habitat.seed;
    options.field_validation = "Strict";
    options.abort_on_flaws = true;
    options.max_concurrent = 8;
    options.per_namespace = 3;
    options.objects_per_turn = 7;
    return options;
  }
};

struct LedgerSim {
  explicit LedgerSim(std::uint64_t seed) : random(seed), world(options(seed)) {
    base::log::configure(base::log::Level::error, base::log::Format::text);
    world.server().load_crds(k_crd);
    for (const char* ns : {"a", "b", "c", "sums"}) {
      world.create(std::string("{apiVersion: v1, kind: Namespace, metadata: {name: ") + ns + "}}");
    }
    start();
  }
  static sandbox::WorldOptions options(std::uint64_t seed) {
    sandbox::WorldOptions o;
    o.seed = seed;
    return o;
  }
  void start() {
    world.start("ledger", "ledger", [this](sandbox::Habitat& h) { return std::make_unique<Process>(h, controller); });
  }
  Loop& loop() { return static_cast<Process*>(world.actor("ledger"))->loop; }

  // One act of a tenant.
  void act() {
    const std::string ns(1, static_cast<char>('a' + random.below(3)));
    const std::string name = "t" + std::to_string(random.below(6));
    const std::string path = "/apis/tests.example/v1/namespaces/" + ns + "/things";
    json::object spec;
    if (random.below(3) > 0) spec["value"] = "v" + std::to_string(random.below(4));
    if (random.below(3) > 0) spec["group"] = "g" + std::to_string(random.below(3));
    if (random.below(2) == 0) spec["links"] = json::array{"t" + std::to_string(random.below(6))};
    switch (random.below(5)) {
      case 0:
      case 1:
        world.call("POST", path,
                   json::serialize(json::object{{"apiVersion", "tests.example/v1"},
                                                {"kind", "Thing"},
                                                {"metadata", {{"name", name}}},
                                                {"spec", spec}}));
        break;
      case 2:
      case 3:
        world.call("PATCH", path + "/" + name, json::serialize(json::object{{"spec", spec}}));
        break;
      default:
        world.call("DELETE", path + "/" + name);
        break;
    }
    if (random.below(20) == 0) world.call("DELETE", "/apis/tests.example/v1/namespaces/sums/things/sum-g1");
  }

  void faults() {
    for (const Effect effect :
         {Effect::fail_before, Effect::fail_after, Effect::hang_before, Effect::hang_after, Effect::status,
          Effect::expired, Effect::drop_watch, Effect::delay_answer, Effect::crash_before, Effect::crash_after}) {
      sandbox::Fault fault;
      fault.effect = effect;
      fault.user = "ledger";
      fault.count = -1;
      fault.probability = effect == Effect::crash_before || effect == Effect::crash_after ? 0.004 : 0.02;
      fault.delay = std::chrono::milliseconds(random.below(4000));
      if (effect == Effect::status) {
        constexpr int codes[] = {409, 429, 500, 503, 403};
        fault.code = codes[random.below(5)];
        fault.retry_after = std::chrono::seconds(1);
      }
      world.faults().add(fault);
    }
  }

  // What the server has, as "ns/name" → document.
  std::map<std::string, json::object> stored() {
    std::map<std::string, json::object> all;
    const Response list = world.call("GET", "/apis/tests.example/v1/things");
    json::value parsed = json::parse(list.body);
    for (json::value& item : parsed.at("items").as_array()) {
      json::object& o = item.get_object();
      const json::object& m = o.at("metadata").get_object();
      all[std::string(m.at("namespace").get_string()) + "/" + std::string(m.at("name").get_string())] = o;
    }
    return all;
  }

  // Everything is as the controller wants it, by looking at the server alone.
  void expect_right() {
    const auto all = stored();
    const auto text = [](const json::object& o, const char* part, const char* field) {
      const json::value* p = o.if_contains(part);
      const json::value* f = p == nullptr ? nullptr : p->get_object().if_contains(field);
      return f == nullptr ? std::string() : std::string(f->get_string());
    };
    const auto deleting = [](const json::object& o) {
      return o.at("metadata").get_object().contains("deletionTimestamp");
    };
    std::map<std::string, std::string> sums;
    for (const auto& [name, o] : all) {
      if (deleting(o)) continue;  // somebody leans on it
      EXPECT_TRUE(o.at("metadata").get_object().contains("finalizers")) << name;
      std::string state;
      const json::value* links = o.contains("spec") ? o.at("spec").get_object().if_contains("links") : nullptr;
      const json::array none;
      for (const json::value& link : links == nullptr ? none : links->get_array()) {
        const auto other = all.find(name.substr(0, name.find('/') + 1) + std::string(link.get_string()));
        state += other == all.end() ? "-," : text(other->second, "spec", "value") + ",";
      }
      EXPECT_EQ(text(o, "status", "state"), state) << name;
      if (const std::string group = text(o, "spec", "group"); !group.empty())
        sums[group] += text(o, "spec", "value") + ";";
    }
    for (const char* group : {"g0", "g1", "g2"}) {
      const auto sum = all.find(std::string("sums/sum-") + group);
      EXPECT_EQ(sum != all.end(), sums.contains(group)) << group;
      if (sum != all.end() && sums.contains(group)) {
        EXPECT_EQ(text(sum->second, "spec", "value"), sums[group]);
      }
    }
  }

  // After the storm.
  void expect_rest() {
    world.faults().clear();
    world.run_for(2s);
    if (!world.running("ledger")) world.restart("ledger");
    world.transport("ledger")->stall_watches(world.now());
    world.run_for(10min);  // the longest back-off
    ASSERT_TRUE(world.settle()) << "never at rest";
    expect_right();
    EXPECT_THAT(loop().verify_settled(), IsEmpty());
    EXPECT_EQ(loop().stats().noop_writes, 0u);
    world.forget_audit();
    world.crash("ledger");
    world.restart("ledger");
    world.run_for(30s);
    EXPECT_EQ(world.writes("ledger", false), 0) << "a restart over settled objects";
    EXPECT_THAT(loop().verify_settled(), IsEmpty());
  }

  base::Random random;
  const Controller controller = ledger();
  sandbox::World world;
};

TEST(LoopSim, QuietWork) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LedgerSim sim(seed);
    for (int i = 0; i < 100; ++i) {
      sim.act();
      sim.world.run_for(std::chrono::milliseconds(sim.random.below(20)));
    }
    sim.expect_rest();
  }
}

TEST(LoopSim, FaultsCrashesAndStaleCaches) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LedgerSim sim(seed);
    sim.faults();
    for (int i = 0; i < 150; ++i) {
      sim.act();
      if (sim.random.below(25) == 0 && sim.world.running("ledger")) {
        sim.world.transport("ledger")->stall_watches(sim.world.now() +
                                                     std::chrono::milliseconds(sim.random.below(5000)));
      }
      if (sim.random.below(40) == 0 && sim.world.running("ledger")) sim.world.transport("ledger")->reset_watches();
      if (sim.random.below(60) == 0) sim.world.server().compact();
      sim.world.run_for(std::chrono::milliseconds(sim.random.below(500)));
    }
    sim.expect_rest();
    if (::testing::Test::HasFailure()) return;
  }
}

// The same seed gives the same history, to the last request.
TEST(LoopSim, ASeedReplays) {
  const auto history = [](std::uint64_t seed) {
    LedgerSim sim(seed);
    sim.faults();
    for (int i = 0; i < 60; ++i) {
      sim.act();
      sim.world.run_for(std::chrono::milliseconds(sim.random.below(500)));
    }
    std::string text;
    for (const sandbox::AuditEntry& entry : sim.world.audit()) {
      text += std::to_string(entry.when.time_since_epoch().count()) + entry.access.user + entry.access.verb +
              entry.access.name + std::to_string(entry.code) + "\n";
    }
    return text;
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

// Exactly one write per real change, though the watch lags by two seconds.
TEST(LoopSim, T41_T52_WritesNoMoreThanNeeded) {
  LedgerSim sim(3);
  sim.world.network().least_watch_delay = 1900ms;
  sim.world.network().most_watch_delay = 2000ms;
  sim.world.run_for(5s);
  sim.world.forget_audit();
  for (int i = 0; i < 20; ++i) {
    sim.world.create("{apiVersion: tests.example/v1, kind: Thing, metadata: {namespace: a, name: n" +
                     std::to_string(i) + "}, spec: {value: x, links: [n0]}}");
  }
  ASSERT_TRUE(sim.world.settle());
  EXPECT_EQ(sim.world.writes("ledger", false), 40) << "protect and state, each once";
  EXPECT_EQ(sim.loop().stats().conflicts, 0u);
}

}  // namespace
}  // namespace kube::testing
