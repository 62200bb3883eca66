// Driver design §6, shared handoff, in a whole cluster: whatever happens to the Services, and wherever the driver dies,
// at every version of the cluster some Service shows the address, and no thief ever gets it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <map>
#include <memory>

#include "api/names.h"
#include "base/random.h"
#include "sandbox/workloads.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

namespace json = boost::json;
namespace m = api::metallb;
using Effect = sandbox::Fault::Effect;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;

std::string text(const json::object& object, std::string_view pointer) {
  boost::system::error_code error;
  const json::value whole(object);
  const auto* value = whole.find_pointer(pointer, error);
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}

std::set<std::string> shown_by(const json::object& service) {
  std::set<std::string> ips;
  boost::system::error_code error;
  const json::value whole(service);
  const auto* list = whole.find_pointer("/status/loadBalancer/ingress", error);
  if (list == nullptr || !list->is_array()) return ips;
  for (const json::value& entry : list->get_array()) ips.insert(std::string(entry.at("ip").as_string()));
  return ips;
}

// Looks at all Services after every change: what has been shown once is shown by somebody, and never by the thief.
class Watcher {
 public:
  explicit Watcher(DriverSim& sim) : sim_(sim) {
    sim_.watch([this] { look(); });
  }
  void guard(const std::string& ip) { guarded_.insert(ip); }
  void release() { guarded_.clear(); }

 private:
  void look() {
    if (guarded_.empty() || ::testing::Test::HasFailure()) return;
    std::set<std::string> shown;
    for (const Document& service : sim_.list("/api/v1/services")) {
      const std::set<std::string> ips = shown_by(service);
      if (text(service, "/metadata/name") == "thief") {
        for (const std::string& ip : ips) {
          if (guarded_.contains(ip)) ADD_FAILURE() << "the thief has " << ip << sim_.story();
        }
      }
      shown.insert(ips.begin(), ips.end());
    }
    for (const std::string& ip : guarded_) {
      if (!shown.contains(ip)) ADD_FAILURE() << "nobody shows " << ip << sim_.story();
    }
  }
  DriverSim& sim_;
  std::set<std::string> guarded_;
};

// Re-creates a Service of another tenant that is pinned to the address, again and again.
class Thief {
 public:
  Thief(DriverSim& sim, std::string ip, base::Duration longest)
      : sim_(sim),
        ip_(std::move(ip)),
        longest_(longest),
        random_(sim.setup.seed),
        alive_(std::make_shared<bool>(true)) {
    again();
  }
  Thief(const Thief&) = delete;
  Thief& operator=(const Thief&) = delete;
  ~Thief() { *alive_ = false; }
  int tries() const { return tries_; }

 private:
  void again() {
    const base::Duration pause(random_.below(static_cast<std::uint64_t>(longest_.count())));
    sim_.world.reactor().at(sim_.world.now() + pause, [this, alive = std::weak_ptr(alive_)] {
      if (alive.expired() || !*alive.lock()) return;
      if (sim_.get(DriverSim::service_path("thief", "tenant-b"))) {
        sim_.remove(DriverSim::service_path("thief", "tenant-b"));
      } else {
        ++tries_;
        sim_.world.create(fmt::format(
            "{{apiVersion: v1, kind: Service, metadata: {{name: thief, namespace: tenant-b, annotations: "
            "{{{}: '{}'}}}}, spec: {{type: LoadBalancer, selector: {{app: thief}}, ports: [{{port: 7}}]}}}}",
            m::pin, ip_));
      }
      again();
    });
  }
  DriverSim& sim_;
  const std::string ip_;
  const base::Duration longest_;
  base::Random random_;
  std::shared_ptr<bool> alive_;
  int tries_ = 0;
};

struct Kind {
  std::string_view name;
  std::string_view family;  // of the claim
  std::string_view spec;    // of the Services
};

std::string unannotated() {
  return fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", api::claim_annotation);
}

std::set<std::string> ips_of(DriverSim& sim, std::string_view claim) {
  std::set<std::string> ips;
  const auto document = sim.get(DriverSim::claim_path(claim));
  if (!document) return ips;
  boost::system::error_code error;
  const json::value whole(*document);
  const auto* list = whole.find_pointer("/status/addresses", error);
  if (list == nullptr) return ips;
  for (const json::value& entry : list->as_array()) ips.insert(std::string(entry.at("address").as_string()));
  return ips;
}

// Attach, detach by the annotation, attach another one, move to a third by deletion, to a fourth by the annotation,
// delete.
void play_story(DriverSim& sim, Watcher& watcher, const Kind& kind) {
  const auto soon = [&](const std::function<bool()>& holds, const char* what) {
    ASSERT_TRUE(sim.eventually(holds, minutes(5))) << what << sim.story();
  };
  sim.put_class("public", "203.0.113.0/29, '2001:db8::/126'");
  sim.put_claim("web", "public", kind.family);
  soon([&] { return sim.phase("web") == "Bound"; }, "bound");
  const std::set<std::string> ips = ips_of(sim, "web");
  const auto held = [&] {
    return std::ranges::all_of(ips, [&](const auto& ip) { return !sim.holder_of(ip).empty(); });
  };
  soon(held, "held");
  for (const std::string& ip : ips) watcher.guard(ip);
  std::set<std::string> served = ips;
  if (kind.spec.contains("[IPv6]")) std::erase_if(served, [](const std::string& ip) { return !ip.contains(':'); });
  const auto has = [&](std::string_view name) { return [&sim, &served, name] { return sim.ingress(name) == served; }; };
  const auto free = [&] {
    return held() && std::ranges::all_of(ips, [&](const auto& ip) { return sim.attached_to(ip).empty(); });
  };
  sim.put_service("one", "web", "tenant-a", kind.spec);
  soon(has("one"), "attached");
  sim.patch(DriverSim::service_path("one"), unannotated());
  soon(free, "detached");
  sim.put_service("two", "web", "tenant-a", kind.spec);
  soon(has("two"), "attached again");
  sim.put_service("three", "web", "tenant-a", kind.spec);
  sim.remove(DriverSim::service_path("two"));
  soon(has("three"), "moved by deletion");
  sim.put_service("four", "web", "tenant-a", kind.spec);
  sim.patch(DriverSim::service_path("three"), unannotated());
  soon(has("four"), "moved by the annotation");
  sim.remove(DriverSim::service_path("four"));
  soon([&] { return free() && !sim.get(DriverSim::service_path("four")); }, "held in the end");
}

// Kubernetes' own part: EndpointSlices of Services that have a selector, and the pods behind them.
class Cluster {
 public:
  explicit Cluster(DriverSim& sim) : workloads_(sim.world.server(), sim.world.reactor()) {}

 private:
  sandbox::Workloads workloads_;
};

void expect_plain_holds(DriverSim& sim) {
  for (const Document& hold : sim.list("/api/v1/namespaces/metallb-iad-system/services")) {
    const json::object& spec = hold.at("spec").as_object();
    EXPECT_FALSE(spec.contains("selector")) << json::serialize(hold);
    EXPECT_EQ(text(hold, "/spec/externalTrafficPolicy"), "Cluster");
    EXPECT_FALSE(spec.contains("healthCheckNodePort")) << json::serialize(hold);
  }
  EXPECT_THAT(sim.list("/apis/discovery.k8s.io/v1/namespaces/metallb-iad-system/endpointslices"), IsEmpty())
      << sim.story();
}

void expect_nothing_left_of_it(DriverSim& sim) {
  expect_plain_holds(sim);
  for (const Document& service : sim.list("/api/v1/services")) {
    const auto& annotations = service.at("metadata").as_object().contains("annotations")
                                  ? service.at("metadata").at("annotations").as_object()
                                  : json::object();
    EXPECT_FALSE(annotations.contains(m::sharing_key)) << text(service, "/metadata/name");
  }
}

constexpr std::string_view k_local = ", externalTrafficPolicy: Local";
constexpr std::string_view k_dual = ", ipFamilyPolicy: RequireDualStack";
constexpr std::string_view k_local_v6 =
    ", externalTrafficPolicy: Local, ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]";
constexpr std::string_view k_local_dual = ", externalTrafficPolicy: Local, ipFamilyPolicy: RequireDualStack";
constexpr std::string_view k_local_ports =
    ", externalTrafficPolicy: Local, selector: {a: b, c: d, e: f}, ports: [{name: a, port: 80}, {name: b, port: "
    "65535}, "
    "{name: c, port: 65534, protocol: SCTP}]";

class SharedHandoff : public ::testing::TestWithParam<Kind> {};

TEST_P(SharedHandoff, LeavesNoMomentInWhichNobodyShowsTheAddress) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    DriverSim sim({.seed = seed});
    const Cluster cluster(sim);
    Watcher watcher(sim);
    play_story(sim, watcher, GetParam());
    if (::testing::Test::HasFailure()) return;
    sim.expect_rest();
    expect_nothing_left_of_it(sim);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SharedHandoff,
    ::testing::Values(Kind{"Cluster", "IPv4", ""},
                      Kind{"IPv6", "IPv6", ", ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]"},
                      Kind{"Dual", "Dual", ", ipFamilyPolicy: RequireDualStack"},
                      Kind{"HalfOfDual", "Dual", ", ipFamilyPolicy: SingleStack, ipFamilies: [IPv6]"},
                      Kind{"NoSelector", "IPv4", ", selector: null"},
                      Kind{"LocalWithoutSelector", "IPv4", ", selector: null, externalTrafficPolicy: Local"},
                      Kind{"Local", "IPv4", k_local}, Kind{"LocalIPv6", "IPv6", k_local_v6},
                      Kind{"LocalDual", "Dual", k_local_dual}, Kind{"LocalHalfOfDual", "Dual", k_local_v6},
                      Kind{"LocalManyPorts", "IPv4", k_local_ports},
                      Kind{"ManyPorts", "IPv4",
                           ", ports: [{name: a, port: 80}, {name: b, port: 53, protocol: UDP}, {name: c, port: 65535}, "
                           "{name: d, port: 65534}, {name: e, port: 65535, protocol: UDP}, {name: f, port: 65533, "
                           "protocol: SCTP}]"}),
    [](const auto& test) { return std::string(test.param.name); });

class SharedHandoffFaults : public ::testing::TestWithParam<std::tuple<Effect, std::string_view>> {};

TEST_P(SharedHandoffFaults, EndTheSameAndLeaveNoUnheldMoment) {
  const auto [effect, spec] = GetParam();
  int last = 0;
  for (int skip = 0; skip < 80; ++skip) {
    SCOPED_TRACE(fmt::format("write {}", skip));
    DriverSim sim({.seed = static_cast<std::uint64_t>(skip + 1)});
    const Cluster cluster(sim);
    Watcher watcher(sim);
    sandbox::Fault fault;
    fault.effect = effect;
    fault.user = "driver";
    fault.verb = "write";
    fault.skip = skip;
    fault.code = 409;
    sim.world.faults().add(fault);
    play_story(sim, watcher, {"Dual", "Dual", spec});
    if (::testing::Test::HasFailure()) return;
    sim.world.faults().clear();
    sim.world.run_for(minutes(2));  // a request that hangs is given up
    sim.expect_rest();
    expect_nothing_left_of_it(sim);
    if (sim.world.faults().hits() == 0) break;
    last = skip;
  }
  EXPECT_GT(last, 30) << "the story has at least so many writes";
}

INSTANTIATE_TEST_SUITE_P(DriverFaults, SharedHandoffFaults,
                         ::testing::Combine(::testing::Values(Effect::fail_before, Effect::fail_after,
                                                              Effect::hang_after, Effect::status, Effect::crash_before,
                                                              Effect::crash_after),
                                            ::testing::Values(", ipFamilyPolicy: RequireDualStack", k_local_dual)));

TEST(SharedHandoffThief, GetsNothingInAThousandMoves) {
  DriverSim sim;
  Watcher watcher(sim);
  sim.put_class("public", "203.0.113.0/29");
  sim.put_claim("web");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  const std::string ip = sim.ip_of("web");
  watcher.guard(ip);
  Thief thief(sim, ip, milliseconds(60));
  std::string before;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = fmt::format("s{}", i);
    sim.put_service(name, "web");
    if (i % 2 == 0 && !before.empty()) {
      sim.patch(DriverSim::service_path(before), unannotated());
    } else if (!before.empty()) {
      sim.remove(DriverSim::service_path(before));
    }
    ASSERT_TRUE(sim.eventually([&] { return sim.ingress(name) == std::set{ip}; })) << name << sim.story();
    if (::testing::Test::HasFailure()) return;
    if (i % 2 == 0 && !before.empty()) sim.remove(DriverSim::service_path(before));
    before = name;
    sim.world.forget_audit();
  }
  EXPECT_GT(thief.tries(), 5'000);
}

void name_claim(DriverSim& sim, std::string_view service, bool on) {
  sim.patch(
      DriverSim::service_path(service),
      on ? fmt::format(R"({{"metadata":{{"annotations":{{"{}":"web"}}}}}})", api::claim_annotation) : unannotated());
}

// A tenant who changes its mind at any moment: what is on its way is never taken for what is there.
TEST(SharedHandoffTrouble, ATenantWhoChangesItsMindLeavesNoUnheldMoment) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    DriverSim sim({.seed = seed});
    const Cluster cluster(sim);
    Watcher watcher(sim);
    sim.put_class("public", "203.0.113.0/29");
    sim.put_claim("web");
    ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
    const std::string ip = sim.ip_of("web");
    watcher.guard(ip);
    base::Random random(seed);
    for (int i = 0; i < 4; ++i) {
      const bool local = seed % 3 == 0 || (seed % 3 == 1 && i % 2 == 0);
      sim.put_service(fmt::format("s{}", i), "", "tenant-a",
                      local ? fmt::format("{}, selector: {{app: w{}}}", k_local, i) : "");
    }
    for (int i = 0; i < 40; ++i) {
      const bool on = random.below(2) == 0;
      name_claim(sim, fmt::format("s{}", random.below(4)), on);
      sim.eventually([] { return false; }, milliseconds(random.below(on ? 60 : 1500)));
      if (::testing::Test::HasFailure()) return;
    }
    sim.world.run_for(minutes(3));
    sim.expect_rest();
    expect_nothing_left_of_it(sim);
  }
}

// MetalLB may have done in its books what it has not shown yet, however long that takes: what it was asked for is
// waited for before it is taken back.
TEST(SharedHandoffTrouble, TenantsWhoChangeTheirMindFasterThanMetalLBLeaveNoUnheldMoment) {
  for (std::uint64_t seed = 171; seed <= 230; ++seed) {
    SCOPED_TRACE(seed);
    DriverSim sim({.seed = seed, .metallb_work = milliseconds(20) * (1U << seed % 8)});
    const Cluster cluster(sim);
    Watcher watcher(sim);
    const bool dual = seed % 3 == 0;
    sim.put_class("public", "203.0.113.0/29, '2001:db8::/126'");
    sim.put_claim("web", "public", dual ? "Dual" : "IPv4");
    ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
    for (const std::string& ip : ips_of(sim, "web")) watcher.guard(ip);
    const std::string spec = fmt::format("{}{}", seed % 4 == 0 ? k_local : "", dual ? k_dual : "");
    base::Random random(seed);
    for (int i = 0; i < 60; ++i) {
      // A Service that is made anew has no past that its handoffs would be paced by.
      const std::string name = fmt::format("s{}", i / 6);
      if (i % 6 == 0) {
        sim.put_service(name, "web", "tenant-a", spec);
      } else {
        name_claim(sim, name, i % 2 == 0);
      }
      sim.eventually([] { return false; }, milliseconds(random.below(random.below(4) == 0 ? 1500 : 60)));
      if (::testing::Test::HasFailure()) return;
    }
    sim.world.run_for(minutes(5));
    sim.expect_rest();
    expect_nothing_left_of_it(sim);
  }
}

// It was let go of without a hold, since MetalLB was away: it comes to order by itself.
TEST(SharedHandoffTrouble, ResumesWhenMetalLBIsBack) {
  DriverSim sim;
  sim.put_class("public", "203.0.113.0/29");
  sim.put_claim("web");
  ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
  const std::string ip = sim.ip_of("web");
  sim.world.crash("metallb");
  sim.put_service("app", "web");
  sim.world.run_for(minutes(10));
  EXPECT_NE(sim.holder_of(ip), "") << "nothing is let go of while nobody answers";
  EXPECT_THAT(sim.event_reasons("app"), ::testing::Contains("HandoffTimedOut"));
  Watcher watcher(sim);
  watcher.guard(ip);
  sim.world.restart("metallb");
  ASSERT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{ip}; }));
  sim.expect_rest();
  EXPECT_THAT(sim.placeholders(), IsEmpty()) << sim.story();
  expect_nothing_left_of_it(sim);
}

// A server that restarts, has lost its rights or its webhook for a moment: nobody lets go of what nobody is about to
// hold.
TEST(SharedHandoffTrouble, AServerThatFailsForAWhileLeavesNoUnheldMoment) {
  for (const auto& [code, lasts] :
       {std::pair{403, seconds(3)}, {429, seconds(90)}, {500, seconds(3)}, {503, seconds(90)}}) {
    for (const bool deletes : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", code, deletes));
      DriverSim sim;
      sim.put_class("public", "203.0.113.0/30");
      sim.put_claim("web");
      ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
      const std::string ip = sim.ip_of("web");
      for (const char* other : {"a", "b", "c"}) sim.put_claim(other);  // more than there are addresses
      sim.put_service("app", "web");
      ASSERT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{ip} && sim.holder_of(ip).empty(); }));
      Watcher watcher(sim);
      watcher.guard(ip);
      const Thief thief(sim, ip, milliseconds(lasts) / 100);
      sandbox::Fault fault;
      fault.effect = Effect::status;
      fault.user = "driver";
      fault.verb = "write";
      fault.count = -1;
      fault.code = code;
      sim.world.faults().add(fault);
      if (deletes) {
        sim.remove(DriverSim::service_path("app"));
      } else {
        sim.patch(DriverSim::service_path("app"), unannotated());
      }
      sim.world.run_for(lasts);
      sim.world.faults().clear();
      ASSERT_TRUE(
          sim.eventually([&] { return !sim.holder_of(ip).empty() && sim.attached_to(ip).empty(); }, minutes(10)))
          << sim.story();
    }
  }
}

// Keys that a tenant takes off or alters in the middle cost it the address for a moment, but nobody else gets it.
TEST(SharedHandoffTrouble, SurvivesATenantWhoAltersItsServiceOnTheWay) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    DriverSim sim({.seed = seed});
    const Cluster cluster(sim);
    Watcher watcher(sim);
    sim.put_class("public", "203.0.113.0/29");
    sim.put_claim("web");
    ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
    const std::string ip = sim.ip_of("web");
    base::Random random(seed);
    sim.put_service("app", "web", "tenant-a", seed % 2 == 0 ? k_local : "");
    sim.eventually([] { return false; }, milliseconds(random.below(30)));
    const char* const patches[] = {R"({"metadata":{"annotations":{"metallb.io/allow-shared-ip":null}}})",
                                   R"({"metadata":{"annotations":{"metallb.io/allow-shared-ip":"mine"}}})",
                                   R"({"spec":{"externalTrafficPolicy":"Local"}})",
                                   R"({"spec":{"externalTrafficPolicy":"Cluster"}})",
                                   R"({"spec":{"selector":{"app":"other"}}})",
                                   R"({"spec":{"selector":null}})",
                                   R"({"spec":{"ports":[{"port":65535}]}})",
                                   R"({"spec":{"type":"ClusterIP"}})",
                                   R"({"metadata":{"annotations":null,"finalizers":null}})"};
    sim.patch(DriverSim::service_path("app"), patches[random.below(9)]);
    sim.eventually([] { return false; }, milliseconds(random.below(30)));
    sim.patch(DriverSim::service_path("app"), unannotated());
    sim.world.run_for(minutes(3));
    sim.expect_rest();
    EXPECT_NE(sim.holder_of(ip), "") << sim.story();
    EXPECT_EQ(sim.attached_to(ip), "");
    expect_plain_holds(sim);
    if (::testing::Test::HasFailure()) return;
  }
}

// Nobody is asked before an administrator puts one there: from then on the hold has endpoints for as long as it has a
// selector that matches.
TEST(SharedHandoffTrouble, APodThatAppearsAmongThePlaceholdersMakesGapsAndLeavesNothing) {
  constexpr std::string_view pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: metallb-iad-system, labels: {app: web}}, spec: "
      "{containers: [{name: c, image: i}]}}";
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    DriverSim sim({.seed = seed});
    const Cluster cluster(sim);
    sim.put_class("public", "203.0.113.0/29");
    sim.put_claim("web");
    ASSERT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound"; }));
    const std::string ip = sim.ip_of("web");
    base::Random random(seed);
    sim.put_service("app", "web", "tenant-a", k_local);
    if (seed % 2 == 0) {
      ASSERT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{ip}; }));
      sim.world.run_for(seconds(2));
      sim.patch(DriverSim::service_path("app"), unannotated());
    }
    sim.eventually([] { return false; }, milliseconds(random.below(60)));
    sim.world.create(pod);
    if (seed % 2 != 0) {
      ASSERT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{ip}; })) << sim.story();
      sim.patch(DriverSim::service_path("app"), unannotated());
    }
    sim.world.run_for(minutes(3));
    sim.expect_rest();
    EXPECT_NE(sim.holder_of(ip), "") << sim.story();
    EXPECT_EQ(sim.attached_to(ip), "");
    expect_nothing_left_of_it(sim);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace metallb::sim
