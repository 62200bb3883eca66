// Core, driver and the model of MetalLB in one simulated cluster: tests play tenants, administrators and disaster.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "kube/controller.h"
#include "kube/loop.h"
#include "metallb/controller.h"
#include "sandbox/world.h"

namespace metallb::sim {

using Document = boost::json::object;

struct Setup {
  std::uint64_t seed = 1;
  Options options = {};
  bool core = true;
  bool metallb = true;
  // What MetalLB's worker takes for one Service: a busy machine, or many Services.
  base::Duration metallb_work = std::chrono::microseconds(200);
};

class DriverSim {
 public:
  explicit DriverSim(Setup setup = {});

  // --- acts ---
  void put_class(std::string_view name, std::string_view addresses, std::string_view policy = "Retain",
                 bool is_default = false);
  void put_claim(std::string_view name, std::string_view cls = "public", std::string_view family = "IPv4",
                 std::string_view ns = "tenant-a");
  void put_service(std::string_view name, std::string_view claim, std::string_view ns = "tenant-a",
                   std::string_view spec = {});
  // Merge patches; "" as the last word of the path for the object itself, "/status" for its status.
  kube::Response patch(const std::string& path, std::string_view body);
  kube::Response remove(const std::string& path) { return world.call("DELETE", path); }

  static std::string claim_path(std::string_view name, std::string_view ns = "tenant-a");
  static std::string address_path(std::string_view name);
  static std::string class_path(std::string_view name);
  static std::string service_path(std::string_view name, std::string_view ns = "tenant-a");
  static std::string pool_path(std::string_view name);

  // --- what is ---
  std::optional<Document> get(const std::string& path) const;
  // A field by its path: "status.phase", "metadata.annotations.a/b" (keys with dots by \.). "" if absent, JSON text if
  // no string.
  std::string field(const std::string& path, std::string_view field) const;
  std::vector<Document> list(const std::string& path) const;
  std::set<std::string> ingress(std::string_view name, std::string_view ns = "tenant-a") const;
  // Names of what is in the placeholder namespace.
  std::vector<std::string> placeholders() const;
  // The placeholder that shows this address; "" if none does.
  std::string holder_of(std::string_view ip) const;
  std::string phase(std::string_view claim, std::string_view ns = "tenant-a") const;
  // The one address that a claim reports.
  std::string ip_of(std::string_view claim, std::string_view ns = "tenant-a") const;
  std::string address_phase(std::string_view ip) const;
  std::string attached_to(std::string_view ip) const;
  std::set<std::string> event_reasons(std::string_view about) const;

  // --- time ---
  bool eventually(const std::function<bool()>& holds, base::Duration limit = std::chrono::seconds(60));
  // At rest; then nobody has anything left to say or has missed a wake-up, and nothing was written in vain.
  void expect_rest();
  // As expect_rest(); and a restart of both controllers writes nothing.
  void expect_restart_writes_nothing();
  void restart(const std::string& process);
  int driver_writes() const;
  int core_writes() const { return world.writes("core"); }
  kube::Loop& loop(const std::string& process);

  // Every write so far and the Services and addresses as they are now: what a failed test shows.
  std::string story() const;

  // Called after every task that changed the store: invariants.
  void watch(std::function<void()> check) { checks_.push_back(std::move(check)); }

  const Setup setup;
  const kube::Controller core;
  const kube::Controller driver;
  sandbox::World world;

 private:
  void step_until(const std::function<bool()>& done, base::Duration limit);
  std::vector<std::function<void()>> checks_;
};

std::string name_of(std::string_view ip);

}  // namespace metallb::sim
