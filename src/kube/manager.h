// Puts a controller to work: stores are filled at once, a Lease decides who acts, signals end it in good order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "kube/controller.h"
#include "kube/leader.h"
#include "kube/loop.h"
#include "kube/probe_server.h"
#include "kube/registry.h"
#include "kube/transport.h"

namespace kube {

struct ManagerOptions {
  LoopOptions loop;
  // Ends by itself, with exit(0), when it leads and nothing is left to do, not even something that waits for a time;
  // ended before that by shut_down() it exits with 1.
  bool until_settled = false;
  bool leader_elect = false;
  LeaderOptions lease;  // with leader_elect
  base::Duration grace_period = std::chrono::seconds(30);
  std::uint64_t seed = 1;
  std::string server;  // for messages
  // Called once, on the reactor's thread, with the process's exit status. With `at_once` nothing may be sent any more,
  // not even what is queued in the transport: leadership is lost.
  std::function<void(int status, bool at_once)> exit;
  // Thread-safe; the reactor's clock.
  std::function<base::MonoTime()> clock;
};

// Life of a process: start() fills the stores; once they are full it runs for the Lease (a standby has warm stores, a
// process that cannot list never leads); as leader it plans. Controller::objection: exit(1). The Lease lost: exit(1) at
// once. shut_down(): unready, nothing new is planned, what is in flight is waited for, events are sent, the Lease is
// given back, exit(0); after the grace period exit(1), the Lease kept because work may still be going on. Belongs to
// the reactor's thread, but for the probes' checks.
class Manager {
 public:
  // All references must outlive it.
  Manager(const Controller& controller, base::Reactor& reactor, Transport& transport, Registry& registry,
          ManagerOptions options);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Once.
  void start();
  // Any number of times; the first counts.
  void shut_down();

  Loop& loop();
  // For the probe server; they may outlive the manager. Liveness: the reactor and the transport's thread turn, and a
  // leader renews. Readiness: the stores are filled and no shutdown is under way; a standby is ready.
  std::vector<ProbeCheck> healthz() const;
  std::vector<ProbeCheck> readyz() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
