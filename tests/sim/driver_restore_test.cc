// Restore (contract §9) with driver and MetalLB: everything is saved and made again in another cluster, in many orders,
// with and without status and owners, the controllers killed at every write. Each claim has its own addresses again,
// the Service that was attached keeps its own, and nobody else shows any of them at any time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <map>
#include <numeric>

#include "api/names.h"
#include "base/random.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

namespace json = boost::json;
namespace m = api::metallb;
using Effect = sandbox::Fault::Effect;
using std::chrono::minutes;
using std::chrono::seconds;

struct Saved {
  std::string collection;
  Document document;
  std::string name() const { return std::string(document.at("metadata").at("name").as_string()); }
};
using Backup = std::map<std::string, std::vector<Saved>>;  // by part

const std::vector<std::pair<std::string, std::string>>& parts() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"classes", "/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclasses"},
      {"addresses", "/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses"},
      {"claims", "/apis/local.sdn.cozystack.io/v1alpha1/namespaces/tenant-a/ipaddressclaims"},
      {"services", "/api/v1/namespaces/tenant-a/services"},
      {"placeholders", "/api/v1/namespaces/metallb-iad-system/services"},
      {"pools", "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools"}};
  return all;
}

// Claim web is attached to Service app, the Dual claim two is held.
Backup make_backup(std::string& ip) {
  DriverSim sim;
  sim.put_class("public", "203.0.113.0/29, '2001:db8::/126'", "Delete");
  sim.put_claim("web");
  sim.put_claim("two", "public", "Dual");
  EXPECT_TRUE(sim.eventually([&] { return sim.phase("web") == "Bound" && sim.phase("two") == "Bound"; }));
  ip = sim.ip_of("web");
  sim.put_service("app", "web");
  EXPECT_TRUE(sim.eventually([&] { return sim.ingress("app") == std::set{ip} && sim.placeholders().size() == 2; }));
  sim.expect_rest();
  Backup backup;
  for (const auto& [part, path] : parts()) {
    for (Document document : sim.list(path)) {
      const bool is_service = path.ends_with("services");
      document["apiVersion"] = is_service        ? "v1"
                               : part == "pools" ? "metallb.io/v1beta1"
                                                 : "local.sdn.cozystack.io/v1alpha1";
      document["kind"] = is_service          ? "Service"
                         : part == "pools"   ? "IPAddressPool"
                         : part == "classes" ? "IPAddressClass"
                         : part == "claims"  ? "IPAddressClaim"
                                             : "IPAddress";
      json::object& metadata = document.at("metadata").as_object();
      for (const char* key : {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"})
        metadata.erase(key);
      if (is_service) {
        json::object& spec = document.at("spec").as_object();
        for (const char* key : {"clusterIP", "clusterIPs"}) spec.erase(key);
        for (auto& port : spec.at("ports").as_array()) port.as_object().erase("nodePort");
      }
      backup[part].push_back({path, std::move(document)});
    }
  }
  return backup;
}

struct Case {
  std::vector<std::size_t> order;  // of parts()
  bool with_status = false;
  bool with_owners = false;
  std::uint64_t seed = 1;
};

std::string text_of(const json::value* value) {
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}

class Restored {
 public:
  Restored(const Backup& backup, std::string ip, const Case& c)
      : backup_(backup), ip_(std::move(ip)), case_(c), sim_({.seed = c.seed + 1000}) {
    for (const Saved& saved : backup_.at("addresses"))
      values_.insert(text_of(&saved.document.at("spec").at("address")));
    sim_.watch([this] { check(); });
  }

  void play(std::optional<sandbox::Fault> fault = {}) {
    sim_.eventually([&] { return sim_.get("/api/v1/namespaces/metallb-iad-system").has_value(); });
    if (fault) sim_.world.faults().add(*fault);
    for (const std::size_t i : case_.order) {
      for (const Saved& saved : backup_.at(parts()[i].first)) make(saved);
      sim_.eventually([] { return false; }, std::chrono::milliseconds(700));
    }
    const auto is_back = [&] {
      return sim_.phase("web") == "Bound" && sim_.phase("two") == "Bound" && sim_.ingress("app") == std::set{ip_} &&
             sim_.attached_to(ip_) == "app" && sim_.placeholders().size() == 2;
    };
    ASSERT_TRUE(sim_.eventually(is_back, seconds(100))) << sim_.story();
    EXPECT_EQ(sim_.ip_of("web"), ip_);
    EXPECT_EQ(sim_.list(parts()[1].second).size(), 3U);
    sim_.world.faults().clear();
    sim_.world.run_for(minutes(7));
    ASSERT_TRUE(is_back()) << "not for good" << sim_.story();
    sim_.expect_restart_writes_nothing();
  }
  int hits() { return sim_.world.faults().hits(); }

 private:
  void make(const Saved& saved) {
    Document document = saved.document;
    if (!case_.with_owners) document.at("metadata").as_object().erase("ownerReferences");
    const kube::Response made = sim_.world.call("POST", saved.collection, json::serialize(document));
    // What is derived may have been made by the driver already.
    const bool derived = saved.name().starts_with("iad-");
    ASSERT_TRUE(made.status == 201 || (derived && made.status == 409)) << made.body;
    if (!case_.with_status || made.status != 201 || !document.contains("status")) return;
    const kube::Response said = sim_.patch(saved.collection + "/" + saved.name() + "/status",
                                           json::serialize(json::object{{"status", document.at("status")}}));
    ASSERT_EQ(said.status, 200) << said.body;
  }

  // Whoever shows an address of the backup is its own Service, or a placeholder that is labelled for it.
  void check() {
    for (const Document& service : sim_.list("/api/v1/services")) {
      const json::object& metadata = service.at("metadata").as_object();
      const std::string name = text_of(metadata.if_contains("name"));
      if (!service.contains("status") || !service.at("status").at("loadBalancer").as_object().contains("ingress"))
        continue;
      for (const json::value& entry : service.at("status").at("loadBalancer").at("ingress").as_array()) {
        const std::string shown = text_of(entry.as_object().if_contains("ip"));
        if (!values_.contains(shown)) continue;
        const bool is_placeholder = text_of(metadata.if_contains("namespace")) == "metallb-iad-system";
        const json::value* labels = metadata.if_contains("labels");
        const std::string held = labels == nullptr ? "" : text_of(labels->as_object().if_contains(m::ip_address));
        ASSERT_TRUE(is_placeholder ? held == name_of(shown) : (name == "app" && shown == ip_))
            << name << " shows " << shown << sim_.story();
      }
    }
    for (const Document& address : sim_.list(parts()[1].second)) {
      ASSERT_FALSE(address.at("metadata").as_object().contains("deletionTimestamp")) << sim_.story();
    }
  }

  const Backup& backup_;
  const std::string ip_;
  const Case& case_;
  DriverSim sim_;
  std::set<std::string> values_;
};

TEST(DriverRestore, InManyOrders) {
  std::string ip;
  const Backup backup = make_backup(ip);
  base::Random random(5);
  const char* more = std::getenv("SIM_SEEDS");
  const std::uint64_t count = 48 + (more == nullptr ? 0 : std::strtoull(more, nullptr, 10));
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Case c{{0, 1, 2, 3, 4, 5}, seed % 2 == 1, seed % 4 >= 2, seed};
    for (std::size_t i = c.order.size(); i > 1; --i) std::swap(c.order[i - 1], c.order[random.below(i)]);
    SCOPED_TRACE(fmt::format("seed {} order {} {} {} {} {} {} status {} owners {}", seed, c.order[0], c.order[1],
                             c.order[2], c.order[3], c.order[4], c.order[5], c.with_status, c.with_owners));
    Restored(backup, ip, c).play();
    if (testing::Test::HasFailure()) return;
  }
}

class DriverRestoreKilled : public testing::TestWithParam<std::string> {};

TEST_P(DriverRestoreKilled, AtEveryWriteTheEndIsTheSame) {
  std::string ip;
  const Backup backup = make_backup(ip);
  int hits = 0;
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{5, 3, 2, 0, 4, 1}, {1, 2, 0, 3, 4, 5}}) {
    for (int skip = 0;; ++skip) {
      SCOPED_TRACE(fmt::format("order {}.. write {}", order[0], skip));
      const Case c{order, skip % 2 == 1, false, static_cast<std::uint64_t>(skip)};
      Restored restored(backup, ip, c);
      sandbox::Fault fault;
      fault.effect = skip % 2 == 0 ? Effect::crash_before : Effect::crash_after;
      fault.user = GetParam();
      fault.verb = "write";
      fault.skip = skip;
      restored.play(fault);
      if (testing::Test::HasFailure()) return;
      if (restored.hits() == 0) break;
      ++hits;
    }
  }
  EXPECT_GT(hits, 8);
}

INSTANTIATE_TEST_SUITE_P(Users, DriverRestoreKilled, testing::Values("core", "driver"));

}  // namespace
}  // namespace metallb::sim
