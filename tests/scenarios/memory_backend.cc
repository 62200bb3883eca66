#include "scenarios/memory_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <stdexcept>

#include "core/controller.h"
#include "kube/loop.h"
#include "metallb/controller.h"
#include "sandbox/metallb.h"
#include "scenarios/scenario.h"

namespace scenarios {
namespace {

namespace json = boost::json;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view k_original = "as-installed";

// One controller as a process: its loop, and nothing else. It leads from the start.
class ControllerProcess final : public sandbox::Actor {
 public:
  ControllerProcess(sandbox::Habitat& habitat, kube::Controller controller)
      : controller_(std::move(controller)),
        loop_(controller_, habitat.transport, habitat.reactor, metrics_, options(habitat)) {
    loop_.when_synced([this] {
      objection_ = loop_.state().objection();
      loop_.set_leading(!objection_);
    });
    loop_.start();
  }
  kube::Loop& loop() { return loop_; }
  // Why it does not work: such a process would end.
  const std::optional<std::string>& objection() const { return objection_; }

 private:
  static kube::LoopOptions options(const sandbox::Habitat& habitat) {
    kube::LoopOptions options;
    options.identity = habitat.reactor.name();
    options.seed = habitat.seed;
    options.field_validation = "Strict";
    options.abort_on_flaws = true;
    return options;
  }

  kube::Controller controller_;
  kube::MetricsSink metrics_;
  std::optional<std::string> objection_;
  kube::Loop loop_;
};

WriteRecord record_of(const sandbox::AuditEntry& entry) {
  const auto& access = entry.access;
  const std::size_t slash = access.resource.find('/');
  return {access.user,
          access.verb,
          access.resource.substr(0, slash),
          slash == std::string::npos ? "" : access.resource.substr(slash + 1),
          access.ns,
          access.name,
          entry.code,
          entry.changed};
}

}  // namespace

MemoryBackend::MemoryBackend(MemoryOptions options)
    : options_(std::move(options)), metallb_version_(options_.metallb) {}
MemoryBackend::~MemoryBackend() = default;

// As they are to be at the time of each start.
sandbox::World::Factory MemoryBackend::factory_of(Process process) const {
  return [this, process](sandbox::Habitat& habitat) -> std::unique_ptr<sandbox::Actor> {
    switch (process) {
      case Process::core:
        return std::make_unique<ControllerProcess>(habitat, core::controller());
      case Process::driver:
        return std::make_unique<ControllerProcess>(habitat, metallb::controller(driver_options_));
      case Process::metallb:
      case Process::apiserver:
      case Process::etcd:
        break;
    }
    using Version = sandbox::MetalLbOptions::Version;
    sandbox::MetalLbOptions options;
    options.version = metallb_version_ == "0.15" ? Version::v0_15 : Version::v0_16;
    options.seed = habitat.seed;
    return std::make_unique<sandbox::MetalLb>(habitat.reactor, habitat.transport, options);
  };
}

base::Result<std::unique_ptr<MemoryBackend>> MemoryBackend::open(MemoryOptions options) {
  std::unique_ptr<MemoryBackend> backend(new MemoryBackend(std::move(options)));
  auto rights = Rights::of_manifest(backend->options_.sources + "/deploy/core.yaml");
  if (!rights) return base::fail(rights.error().message);
  backend->rights_["core"] = std::move(*rights);
  if (auto granted = backend->grant(false); !granted) return std::unexpected(granted.error());
  try {
    backend->new_world();
  } catch (const std::runtime_error& e) {  // the definitions cannot be read
    return base::fail(e.what());
  }
  return backend;
}

void MemoryBackend::new_world() {
  sandbox::WorldOptions options;
  options.seed = options_.seed;
  started_.clear();
  down_.clear();
  writes_left_ = 0;
  webhook_.reset();
  workloads_.reset();
  world_ = std::make_unique<sandbox::World>(options);
  auto& server = world_->server();
  server.load_crds(std::filesystem::path(options_.sources) / "crds");
  server.load_metallb_crds();
  for (const auto* ns : {"default", "metallb-system", "metallb-iad-system"}) put_namespace(ns, k_original);
  world_->on_write([this](const sandbox::AuditEntry& entry) { count_down(entry); });
  workloads_ = std::make_unique<sandbox::Workloads>(server, world_->reactor());
  server.set_authorizer([this](const sandbox::Access& access) {
    if (is_allowed(access)) return true;
    breaches_.push_back(
        fmt::format("forbidden: {} {} {} {}/{}", access.user, access.verb, access.resource, access.ns, access.name));
    return false;
  });
}

void MemoryBackend::put_namespace(std::string_view name, std::string_view uid) {
  world_->server().put_raw(
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}","uid":"{}"}},)"
                  R"("spec":{{"finalizers":["kubernetes"]}},"status":{{"phase":"Active"}}}})",
                  name, uid));
}

// By the manifest, whose Roles go with their namespaces; or by the controller's Role of that namespace, which a
// scenario has made.
bool MemoryBackend::is_allowed(const sandbox::Access& access) const {
  const auto rights = rights_.find(access.user);
  if (rights == rights_.end()) return true;
  const auto allow = [&](const Rights& by, bool namespaced) {
    return by.allow(access.group, access.resource, access.ns, access.name, access.verb, namespaced);
  };
  const std::string ns = world_->get("/api/v1/namespaces/" + access.ns);
  if (allow(rights->second, ns.find(k_original) != std::string::npos)) return true;
  const auto* name = access.user == "core" ? "address-controller" : "metallb-iad";
  const std::string role =
      world_->get(fmt::format("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles/{}", access.ns, name));
  return !role.empty() && allow(Rights::of_role(json::parse(role)), true);
}

kube::Answer MemoryBackend::send(std::string_view user, const kube::Request& request) {
  return world_->server().handle(request, user);
}

base::Result<std::vector<json::value>> MemoryBackend::changes(const std::string& collection,
                                                              const std::string& version) {
  struct Collector final : sandbox::WatchSink {
    void event(std::shared_ptr<const std::string> line) override { events.push_back(json::parse(*line)); }
    void ended() override {}
    std::vector<json::value> events;
  } collector;
  kube::Request request;
  request.path = collection;
  request.query = {{"watch", "true"}, {"resourceVersion", version}};
  const auto id = world_->server().watch(request, "admin", collector);
  if (!id) return base::fail("the watch is refused: " + id.error().body);
  world_->server().unwatch(*id);
  return std::move(collector.events);
}

base::MonoTime MemoryBackend::now() const { return world_->now(); }

void MemoryBackend::let_pass(base::Duration time) { world_->run_for(time); }

base::Result<void> MemoryBackend::begin(const std::string&) {
  new_world();
  breaches_.clear();
  return {};
}

void MemoryBackend::end(const std::string&, bool) {}

bool MemoryBackend::running(Process process) {
  if (is_server(process)) return !down_.contains(process);
  return started_.contains(process) && world_->running(std::string(to_string(process)));
}

// The rights of the driver, and those that it needs for inventory.
base::Result<void> MemoryBackend::grant(bool inventory) {
  auto rights = Rights::of_manifest(options_.sources + "/deploy/driver.yaml");
  auto more = Rights::of_manifest(options_.sources + "/deploy/driver-inventory.yaml");
  if (!rights || !more) return base::fail((rights ? more : rights).error().message);
  if (inventory) rights->add(*more);
  rights_["driver"] = std::move(*rights);
  return {};
}

base::Result<void> MemoryBackend::set_driver_flags(const std::vector<std::string>& flags) {
  metallb::Options options;
  for (const std::string& flag : flags) {
    if (flag == "--evict-intruders") {
      options.evict_intruders = true;
    } else if (flag.starts_with("--placeholder-namespace=")) {
      options.placeholder_namespace = flag.substr(flag.find('=') + 1);
    } else if (flag.starts_with("--former-placeholder-namespaces=")) {
      options.former_placeholder_namespaces = {flag.substr(flag.find('=') + 1)};
    } else if (flag.starts_with("--detach-timeout=")) {
      auto timeout = parse_duration(flag.substr(flag.find('=') + 1));
      if (!timeout) return base::fail(timeout.error().message);
      options.detach_timeout = *timeout;
    } else if (flag.starts_with("--max-placeholders=")) {
      options.max_placeholders = std::stoul(flag.substr(flag.find('=') + 1));
    } else if (flag == "--inventory") {
      options.inventory = true;
    } else {
      return base::fail(flag + " is not known here; add it to memory_backend.cc");
    }
  }
  driver_options_ = std::move(options);
  return grant(driver_options_.inventory);
}

base::Result<void> MemoryBackend::set_metallb_version(const std::string& version) {
  const std::string wanted = version.empty() ? options_.metallb : version;
  if (std::exchange(metallb_version_, wanted) == wanted) return {};
  return stop(Process::metallb, false);
}

base::Result<void> MemoryBackend::set_webhook(bool on) {
  webhook_ = on ? std::make_unique<sandbox::MetalLbWebhook>(world_->server()) : nullptr;
  if (on) webhook_->set_down(!running(Process::metallb));
  return {};
}

base::Result<void> MemoryBackend::run_only(const std::vector<Process>& processes) {
  for (const auto process : {Process::core, Process::driver, Process::metallb}) {
    const bool wanted = std::ranges::find(processes, process) != processes.end();
    if (wanted == running(process)) continue;
    if (auto changed = wanted ? start(process) : stop(process, false); !changed) return changed;
  }
  return {};
}

// As whoever installs it does: definitions and namespace, should they be gone.
void MemoryBackend::install_metallb() {
  auto& server = world_->server();
  if (world_->get("/apis/metallb.io/v1beta1/ipaddresspools").empty()) server.load_metallb_crds();
  if (world_->get("/api/v1/namespaces/metallb-system").empty()) put_namespace("metallb-system", "installed-again");
  if (webhook_ != nullptr) webhook_->set_down(false);
}

base::Result<void> MemoryBackend::start(Process process) {
  const std::string name(to_string(process));
  if (running(process)) return {};
  if (is_server(process)) {
    serve_again(process);
    return {};
  }
  if (process == Process::metallb) install_metallb();
  if (started_.insert(process).second) {
    world_->start(name, name, factory_of(process));
  } else {
    world_->restart(name);
  }
  auto* started = dynamic_cast<ControllerProcess*>(world_->actor(name));
  if (!started) return {};
  const auto is_known = [&] { return started->loop().leading() || started->objection(); };
  if (!world_->run_until(is_known, seconds(30))) {
    return base::fail(fmt::format("{} does not come to know the cluster", name));
  }
  if (!started->objection()) return {};
  const std::string why = *started->objection();
  world_->crash(name);
  world_->run_for(std::chrono::milliseconds(1));
  return base::fail(why);
}

base::Result<void> MemoryBackend::kill_after(Process writer, std::size_t writes, Process victim) {
  writer_ = to_string(writer);
  writes_left_ = writes;
  victim_ = victim;
  struck_ = false;
  return {};
}

// The answer is still on its way: a controller that is killed never hears of it.
void MemoryBackend::count_down(const sandbox::AuditEntry& entry) {
  if (writes_left_ == 0 || entry.access.user != writer_ || !record_of(entry).counts() || --writes_left_ > 0) return;
  struck_ = true;
  if (is_server(victim_)) return cut_off(victim_);
  world_->crash(std::string(to_string(victim_)));
}

// An API server that is gone resets all connections. Without etcd it is there, answers nobody and has no news.
// Scenarios themselves go past all this.
void MemoryBackend::cut_off(Process part) {
  using Effect = sandbox::Fault::Effect;
  down_.insert(part);
  world_->faults().add({.effect = part == Process::etcd ? Effect::hang_before : Effect::fail_before, .count = -1});
  if (part == Process::etcd) return;
  for (const auto process : {Process::core, Process::driver, Process::metallb}) {
    if (running(process)) world_->transport(std::string(to_string(process)))->reset_watches();
  }
}

void MemoryBackend::serve_again(Process part) {
  down_.erase(part);
  world_->faults().clear();
  for (const Process other : std::set<Process>(down_)) cut_off(other);
}

base::Result<void> MemoryBackend::stop(Process process, bool kill) {
  const std::string name(to_string(process));
  if (process == victim_) writes_left_ = 0;
  if (!running(process)) return {};
  if (is_server(process)) {
    cut_off(process);
    return {};
  }
  if (process == Process::metallb && webhook_ != nullptr) webhook_->set_down(true);
  auto* actor = dynamic_cast<ControllerProcess*>(world_->actor(name));
  if (actor && !kill) {
    bool drained = false;
    actor->loop().drain([&drained] { drained = true; });
    if (!world_->run_until([&] { return drained; }, minutes(1)))
      return base::fail(fmt::format("{} does not end", name));
  }
  world_->crash(name);
  world_->run_for(std::chrono::milliseconds(1));  // it is taken apart in a task of its own
  return {};
}

base::Result<void> MemoryBackend::start_behind(Process) {
  return base::fail("in memory every controller leads: use only");
}

base::Result<void> MemoryBackend::start_refused(Process process, const std::string& words) {
  const auto started = start(process);
  if (started) return base::fail(fmt::format("{} works", to_string(process)));
  if (started.error().message.find(words) == std::string::npos) return started;
  return {};
}

base::Result<void> MemoryBackend::drain(Process process) {
  const std::string user(to_string(process));
  const std::string name = fmt::format("{}-drain-{}", user, drains_++);
  world_->start(name, user, [this, process](sandbox::Habitat& habitat) {
    return std::make_unique<ControllerProcess>(
        habitat, kube::releasing(process == Process::core ? core::controller() : metallb::controller(driver_options_)));
  });
  auto& loop = dynamic_cast<ControllerProcess*>(world_->actor(name))->loop();
  const bool done =
      world_->run_until([&] { return loop.synced() && loop.idle() && loop.stats().waiting == 0; }, minutes(1));
  world_->crash(name);
  world_->run_for(std::chrono::milliseconds(1));
  return done ? base::Result<void>() : base::fail(fmt::format("{} does not come to its end", name));
}

std::size_t MemoryBackend::position() { return world_->audit().size(); }

std::vector<WriteRecord> MemoryBackend::writes(std::size_t from) {
  std::vector<WriteRecord> out;
  const auto& all = world_->audit();
  for (std::size_t i = from; i < all.size(); ++i) out.push_back(record_of(all[i]));
  return out;
}

std::vector<std::string> MemoryBackend::take_breaches() {
  for (const auto& record : writes(0)) {
    const bool ours = record.user == "core" || record.user == "driver";
    if (ours && !record.changed && record.code < 300 && record.plural != "events" && record.plural != "leases") {
      breaches_.push_back("write without change: " + record.to_string());
    }
  }
  return std::exchange(breaches_, {});
}

std::vector<std::string> MemoryBackend::check_settled() {
  std::vector<std::string> problems;
  for (const auto process : {Process::core, Process::driver}) {
    if (!running(process)) continue;
    auto* actor = dynamic_cast<ControllerProcess*>(world_->actor(std::string(to_string(process))));
    if (!actor || !actor->loop().idle()) continue;
    for (const auto& problem : actor->loop().verify_settled())
      problems.push_back(fmt::format("{}: {}", to_string(process), problem));
  }
  return problems;
}

base::Result<void> MemoryBackend::store_unchecked(const json::object& object) {
  try {
    world_->server().put_raw(json::serialize(object));
  } catch (const std::runtime_error& e) {
    return base::fail(e.what());
  }
  return {};
}

}  // namespace scenarios
