#include "sim/driver_sim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <stdexcept>

#include "api/names.h"
#include "base/log.h"
#include "core/controller.h"
#include "sandbox/metallb.h"

namespace metallb::sim {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Process final : public sandbox::Actor {
 public:
  Process(sandbox::Habitat& habitat, const kube::Controller& controller)
      : loop(controller, habitat.transport, habitat.reactor, metrics_, options_of(habitat)) {
    loop.set_leading(true);
    loop.start();
  }

 private:
  static kube::LoopOptions options_of(sandbox::Habitat& habitat) {
    kube::LoopOptions options;
    options.identity = "sim";
    options.seed = habitat.seed;
    options.field_validation = "Strict";
    options.abort_on_flaws = true;
    return options;
  }
  kube::MetricsSink metrics_;

 public:
  kube::Loop loop;
};

std::optional<json::object> parse(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return json::parse(text).as_object();
}

const json::value* at(const json::object& object, std::string_view path) {
  const json::object* here = &object;
  while (true) {
    std::string key;
    std::size_t i = 0;
    for (; i < path.size() && path[i] != '.'; ++i) {
      if (path[i] == '\\') ++i;
      key += path[i];
    }
    const json::value* value = here->if_contains(key);
    if (value == nullptr || i >= path.size()) return value;
    if (!value->is_object()) return nullptr;
    here = &value->get_object();
    path.remove_prefix(i + 1);
  }
}

std::string text_of(const json::value* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::set<std::string> shown_by(const json::object& service) {
  std::set<std::string> ips;
  const json::value* list = at(service, "status.loadBalancer.ingress");
  if (list == nullptr) return ips;
  for (const json::value& entry : list->as_array()) ips.insert(text_of(entry.as_object().if_contains("ip")));
  return ips;
}

sandbox::WorldOptions world_options(std::uint64_t seed) {
  sandbox::WorldOptions options;
  options.seed = seed;
  return options;
}

}  // namespace

std::string name_of(std::string_view ip) { return base::object_name(*base::IpAddress::parse(ip)); }

DriverSim::DriverSim(Setup s)
    : setup(std::move(s)),
      core(core::controller()),
      driver(controller(setup.options)),
      world(world_options(setup.seed)) {
  base::log::configure(base::log::Level::error, base::log::Format::text);
  world.server().load_crds(std::filesystem::path(PROJECT_DIR) / "crds");
  world.server().load_metallb_crds();
  for (const char* ns : {"metallb-system", "tenant-a", "tenant-b"}) {
    world.create(fmt::format("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", ns));
  }
  if (setup.metallb) sandbox::start_metallb(world, {.work = setup.metallb_work, .seed = setup.seed});
  if (setup.core) {
    world.start("core", "core", [this](sandbox::Habitat& h) { return std::make_unique<Process>(h, core); });
  }
  world.start("driver", "driver", [this](sandbox::Habitat& h) { return std::make_unique<Process>(h, driver); });
}

void DriverSim::put_class(std::string_view name, std::string_view addresses, std::string_view policy, bool is_default) {
  world.create(fmt::format(
      "{{apiVersion: {}/v1alpha1, kind: IPAddressClass, metadata: {{name: {}, annotations: {{{}: '{}'}}}}, spec: "
      "{{provisioner: {}, reclaimPolicy: {}, parameters: {{addresses: [{}]}}}}}}",
      api::group, name, api::default_class_annotation, is_default, api::metallb::provisioner, policy, addresses));
}

void DriverSim::put_claim(std::string_view name, std::string_view cls, std::string_view family, std::string_view ns) {
  world.create(
      fmt::format("{{apiVersion: {}/v1alpha1, kind: IPAddressClaim, metadata: {{name: {}, namespace: {}}}, spec: "
                  "{{className: '{}', family: {}}}}}",
                  api::group, name, ns, cls, family));
}

void DriverSim::put_service(std::string_view name, std::string_view claim, std::string_view ns, std::string_view spec) {
  world.create(
      fmt::format("{{apiVersion: v1, kind: Service, metadata: {{name: {}, namespace: {}, annotations: {{{}: '{}'}}}}, "
                  "spec: {{type: "
                  "LoadBalancer, selector: {{app: web}}, ports: [{{port: 80}}]{}}}}}",
                  name, ns, claim.empty() ? "unrelated" : api::claim_annotation, claim, spec));
}

kube::Response DriverSim::patch(const std::string& path, std::string_view body) {
  return world.call("PATCH", path, body);
}

std::string DriverSim::claim_path(std::string_view name, std::string_view ns) {
  return fmt::format("/apis/{}/v1alpha1/namespaces/{}/ipaddressclaims/{}", api::group, ns, name);
}
std::string DriverSim::address_path(std::string_view name) {
  return fmt::format("/apis/{}/v1alpha1/ipaddresses/{}", api::group, name);
}
std::string DriverSim::class_path(std::string_view name) {
  return fmt::format("/apis/{}/v1alpha1/ipaddressclasses/{}", api::group, name);
}
std::string DriverSim::service_path(std::string_view name, std::string_view ns) {
  return fmt::format("/api/v1/namespaces/{}/services/{}", ns, name);
}
std::string DriverSim::pool_path(std::string_view name) {
  return fmt::format("/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/{}", name);
}

std::optional<Document> DriverSim::get(const std::string& path) const { return parse(world.get(path)); }

std::string DriverSim::field(const std::string& path, std::string_view field) const {
  const auto document = get(path);
  return document ? text_of(at(*document, field)) : "";
}

std::vector<Document> DriverSim::list(const std::string& path) const {
  std::vector<Document> all;
  const kube::Response response = const_cast<sandbox::World&>(world).call("GET", path);
  const json::value parsed = json::parse(response.body);
  for (const json::value& item : parsed.at("items").as_array()) all.push_back(item.as_object());
  return all;
}

std::set<std::string> DriverSim::ingress(std::string_view name, std::string_view ns) const {
  const auto service = get(service_path(name, ns));
  return service ? shown_by(*service) : std::set<std::string>();
}

std::vector<std::string> DriverSim::placeholders() const {
  std::vector<std::string> names;
  for (const Document& service : list("/api/v1/namespaces/" + setup.options.placeholder_namespace + "/services")) {
    names.push_back(text_of(at(service, "metadata.name")));
  }
  return names;
}

std::string DriverSim::holder_of(std::string_view ip) const {
  for (const Document& service : list("/api/v1/namespaces/" + setup.options.placeholder_namespace + "/services")) {
    if (shown_by(service).contains(std::string(ip))) return text_of(at(service, "metadata.name"));
  }
  return "";
}

std::string DriverSim::phase(std::string_view claim, std::string_view ns) const {
  return field(claim_path(claim, ns), "status.phase");
}

std::string DriverSim::ip_of(std::string_view claim, std::string_view ns) const {
  const auto document = get(claim_path(claim, ns));
  const json::value* list = document ? at(*document, "status.addresses") : nullptr;
  if (list == nullptr || list->as_array().size() != 1) return "";
  return text_of(list->as_array()[0].as_object().if_contains("address"));
}

std::string DriverSim::address_phase(std::string_view ip) const {
  return field(address_path(name_of(ip)), "status.phase");
}
std::string DriverSim::attached_to(std::string_view ip) const {
  return field(address_path(name_of(ip)), "status.associatedTo.name");
}

std::set<std::string> DriverSim::event_reasons(std::string_view about) const {
  std::set<std::string> reasons;
  for (const Document& event : list("/apis/events.k8s.io/v1/events")) {
    if (text_of(at(event, "regarding.name")) == about && text_of(at(event, "reportingController")) == driver.name) {
      reasons.insert(text_of(at(event, "reason")));
    }
  }
  return reasons;
}

void DriverSim::step_until(const std::function<bool()>& done, base::Duration limit) {
  const base::MonoTime end = world.now() + limit;
  std::uint64_t seen = 0;
  while (!done()) {
    const auto next = world.reactor().next();
    if (!next || *next > end) return world.reactor().run_until(end);
    world.reactor().step();
    if (checks_.empty() || world.server().revision() == seen) continue;
    seen = world.server().revision();
    for (const auto& check : checks_) check();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

bool DriverSim::eventually(const std::function<bool()>& holds, base::Duration limit) {
  std::uint64_t seen = 0;
  bool held = holds();
  step_until(
      [&] {
        if (world.server().revision() != seen) {
          seen = world.server().revision();
          held = holds();
        }
        return held;
      },
      limit);
  return held || holds();
}

kube::Loop& DriverSim::loop(const std::string& process) { return static_cast<Process*>(world.actor(process))->loop; }

int DriverSim::driver_writes() const {
  int writes = 0;
  for (const sandbox::AuditEntry& entry : world.audit()) {
    const std::string& resource = entry.access.resource;
    const bool counted = resource.starts_with("services") || resource.starts_with("ipaddresses") ||
                         resource.starts_with("ipaddressclaims") || resource.starts_with("namespaces");
    writes += entry.access.user == "driver" && counted && entry.changed;
  }
  return writes;
}

std::string DriverSim::story() const {
  std::string text = "\n";
  for (const sandbox::AuditEntry& entry : world.audit()) {
    if (entry.access.resource == "leases") continue;
    text += fmt::format("{:>12.6f} {} {} {} {}/{} {}\n",
                        std::chrono::duration<double>(entry.when.time_since_epoch()).count(), entry.access.user,
                        entry.access.verb, entry.access.resource, entry.access.ns, entry.access.name, entry.code);
  }
  for (const char* path : {"/api/v1/services", "/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses"}) {
    for (const Document& object : list(path)) text += json::serialize(object) + "\n";
  }
  return text;
}

void DriverSim::expect_rest() {
  world.run_for(seconds(70));  // what follows at its own pace: a class's capacity
  ASSERT_TRUE(world.settle(seconds(10))) << "never at rest";
  for (const std::string process : {"core", "driver"}) {
    if (!world.running(process)) continue;
    EXPECT_THAT(loop(process).verify_settled(), ::testing::IsEmpty()) << process;
    EXPECT_EQ(loop(process).stats().noop_writes, 0u) << process;
  }
}

void DriverSim::restart(const std::string& process) {
  world.crash(process);
  world.restart(process);
}

void DriverSim::expect_restart_writes_nothing() {
  expect_rest();
  world.forget_audit();
  restart("core");
  restart("driver");
  world.run_for(seconds(30));
  EXPECT_EQ(world.writes("core", false), 0);
  EXPECT_EQ(world.writes("driver", false), 0);
  expect_rest();
}

}  // namespace metallb::sim
