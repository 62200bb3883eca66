// A whole simulation: virtual time, the API server, the cluster's own controllers, and any number of processes that
// come, crash and come back. Replayable: the same seed and the same calls give the same history.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/api_server.h"
#include "sandbox/cluster_controllers.h"
#include "sandbox/faults.h"
#include "sandbox/sim_reactor.h"
#include "sandbox/sim_transport.h"

namespace sandbox {

struct WorldOptions {
  std::uint64_t seed = 1;
  bool shuffle = true;
  ServerOptions server = {};  // its seed is taken from `seed`
  Network network = {};
  bool cluster_controllers = true;  // garbage collector and namespace controller
};

// What a process is given to live with; outlives its actor.
struct Habitat {
  SimProcess& reactor;
  SimTransport& transport;
  std::uint64_t seed;  // for the process's own random source; another one after each restart
};

// Base of everything that a process consists of; destroyed when the process crashes or stops.
class Actor {
 public:
  virtual ~Actor() = default;
};

class World {
 public:
  using Factory = std::function<std::unique_ptr<Actor>(Habitat&)>;

  explicit World(WorldOptions options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimReactor& reactor() { return reactor_; }
  ApiServer& server() { return server_; }
  FaultPlan& faults() { return faults_; }
  Network& network() { return network_; }
  base::MonoTime now() const { return reactor_.now(); }

  // Starts a process; `make` is called now and at every restart. `name` is unique, `user` is who it is to the server.
  void start(const std::string& name, const std::string& user, Factory make, ClockSkew skew = {});
  // Kills it; may be called from one of its own tasks. With `restart_after` it comes back by itself.
  void crash(const std::string& name, std::optional<base::Duration> restart_after = {});
  void restart(const std::string& name);
  bool running(const std::string& name) const;
  // nullptr while it is not running.
  Actor* actor(const std::string& name);
  SimTransport* transport(const std::string& name);
  // After faults that kill a process it comes back this much later; nullopt: it stays down.
  void set_crash_restart(std::optional<base::Duration> delay) { crash_restart_ = delay; }
  int crashes() const { return crashes_; }

  // A request at this very instant, outside the network.
  kube::Response call(std::string_view method, std::string_view path, std::string_view body = {},
                      std::string_view user = "admin");
  // Creates what the documents of a YAML stream describe; throws std::runtime_error with the server's message if it
  // refuses.
  void create(std::string_view yaml, std::string_view user = "admin");
  // The stored document, "" if there is none.
  std::string get(std::string_view path) const;

  void run_for(base::Duration duration) { reactor_.run_for(duration); }
  bool run_until(const std::function<bool()>& done, base::Duration limit) { return reactor_.run_until(done, limit); }
  // Runs until nothing has changed in the store for `quiet` of virtual time (leases and events do not count); false if
  // that does not happen within `limit`.
  bool settle(base::Duration quiet = std::chrono::seconds(5), base::Duration limit = std::chrono::minutes(10));

  // Every write so far.
  const std::vector<AuditEntry>& audit() const { return audit_; }
  void forget_audit() { audit_.clear(); }
  // Called at each write, before it is answered; may crash processes.
  void on_write(std::function<void(const AuditEntry&)> observer) { on_write_ = std::move(observer); }
  // Writes by `user` since forget_audit(); events and leases do not count. `changed_only`: those that changed the
  // store.
  int writes(std::string_view user, bool changed_only = true) const;

 private:
  struct Process;
  void bury(Process& process);
  void launch(Process& process);

  WorldOptions options_;
  SimReactor reactor_;
  Network network_;
  FaultPlan faults_;
  ApiServer server_;
  std::unique_ptr<ClusterControllers> controllers_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
  std::optional<base::Duration> crash_restart_ = std::chrono::seconds(1);
  std::vector<AuditEntry> audit_;
  std::function<void(const AuditEntry&)> on_write_;
  base::MonoTime last_change_{};
  int crashes_ = 0;
};

}  // namespace sandbox
