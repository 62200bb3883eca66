#include "sandbox/world.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sandbox/server_impl.h"
#include "sandbox/yaml.h"

namespace sandbox {
namespace {

bool counts(const AuditEntry& entry) { return entry.access.resource != "events" && entry.access.resource != "leases"; }

}  // namespace

struct World::Process {
  std::string name;
  std::string user;
  Factory make;
  ClockSkew skew;
  int lives = 0;
  bool dying = false;
  std::optional<base::Duration> come_back = {};
  // in this order: the actor uses the transport, the transport the reactor
  std::unique_ptr<SimProcess> reactor;
  std::unique_ptr<SimTransport> transport;
  std::unique_ptr<Habitat> habitat;
  std::unique_ptr<Actor> actor;
};

World::World(WorldOptions options)
    : options_(std::move(options)),
      reactor_({.seed = options_.seed, .shuffle = options_.shuffle}),
      network_(options_.network),
      server_(reactor_, [this] {
        ServerOptions server = options_.server;
        server.seed = options_.seed * 31 + 7;
        return server;
      }()) {
  server_.set_audit([this](const AuditEntry& entry) {
    audit_.push_back(entry);
    if (on_write_) on_write_(audit_.back());
  });
  server_.impl().storage.observe([this](const Change& change) {
    if (change.kind->plural != "leases" && change.kind->plural != "events") last_change_ = reactor_.now();
  });
  if (options_.cluster_controllers) controllers_ = std::make_unique<ClusterControllers>(server_, reactor_);
}

World::~World() {
  for (auto& [name, process] : processes_) bury(*process);
}

void World::start(const std::string& name, const std::string& user, Factory make, ClockSkew skew) {
  auto& slot = processes_[name];
  if (slot != nullptr) throw std::logic_error("a process named " + name + " exists");
  slot = std::make_unique<Process>();
  slot->name = name;
  slot->user = user;
  slot->make = std::move(make);
  slot->skew = skew;
  launch(*slot);
}

void World::launch(Process& process) {
  ++process.lives;
  const std::uint64_t seed = reactor_.random().next();
  process.reactor = std::make_unique<SimProcess>(reactor_, process.name, process.skew);
  process.transport =
      std::make_unique<SimTransport>(reactor_, *process.reactor, server_, process.user, network_, faults_, seed,
                                     [this, name = process.name] { crash(name, crash_restart_); });
  process.habitat = std::make_unique<Habitat>(*process.reactor, *process.transport, seed ^ 0x5bd1e995ULL);
  process.actor = process.make(*process.habitat);
}

void World::bury(Process& process) {
  process.actor.reset();
  process.habitat.reset();
  process.transport.reset();
  process.reactor.reset();
  process.dying = false;
}

void World::crash(const std::string& name, std::optional<base::Duration> restart_after) {
  Process& process = *processes_.at(name);
  if (process.reactor == nullptr || process.dying) return;
  ++crashes_;
  process.dying = true;
  process.come_back = restart_after;
  process.reactor->kill();
  process.transport->detach();
  // this may be one of its own tasks: it is taken apart once that has returned
  reactor_.post([this, &process] {
    if (!process.dying) return;
    bury(process);
    if (process.come_back) {
      reactor_.after(*process.come_back, [this, &process] {
        if (process.reactor == nullptr) launch(process);
      });
    }
  });
}

void World::restart(const std::string& name) {
  Process& process = *processes_.at(name);
  if (process.reactor != nullptr) {
    process.reactor->kill();
    process.transport->detach();
    bury(process);
  }
  launch(process);
}

bool World::running(const std::string& name) const {
  const Process& process = *processes_.at(name);
  return process.reactor != nullptr && !process.dying;
}

Actor* World::actor(const std::string& name) { return running(name) ? processes_.at(name)->actor.get() : nullptr; }
SimTransport* World::transport(const std::string& name) {
  return running(name) ? processes_.at(name)->transport.get() : nullptr;
}

kube::Response World::call(std::string_view method, std::string_view path, std::string_view body,
                           std::string_view user) {
  return server_.handle(make_request(method, path, body), user);
}

void World::create(std::string_view yaml, std::string_view user) {
  const auto documents = parse_yaml(yaml);
  if (!documents) throw std::runtime_error(documents.error().message);
  for (const json::value& document : *documents) {
    const json::object& object = document.as_object();
    const Kind* kind = server_.impl().find_kind_of(object);
    if (kind == nullptr) throw std::runtime_error("unknown kind: " + to_text(document));
    std::string path = kind->group.empty() ? "/api/" : "/apis/";
    path += kind->api_version();
    std::string ns(text_at(object, {"metadata", "namespace"}));
    if (kind->namespaced) path += "/namespaces/" + (ns.empty() ? "default" : ns);
    path += "/" + kind->plural;
    const kube::Response response = call("POST", path, to_text(document), user);
    if (response.status != 201) throw std::runtime_error(response.body);
  }
}

std::string World::get(std::string_view path) const { return server_.get_raw(path).value_or(""); }

bool World::settle(base::Duration quiet, base::Duration limit) {
  const base::MonoTime end = reactor_.now() + limit;
  last_change_ = reactor_.now();
  while (reactor_.now() - last_change_ < quiet) {
    if (reactor_.now() >= end) return false;
    reactor_.run_until(std::min(end, last_change_ + quiet));
  }
  return true;
}

int World::writes(std::string_view user, bool changed_only) const {
  int count = 0;
  for (const AuditEntry& entry : audit_) {
    if (entry.access.user == user && counts(entry) && (entry.changed || !changed_only)) ++count;
  }
  return count;
}

}  // namespace sandbox
