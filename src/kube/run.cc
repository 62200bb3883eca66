#include "kube/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "base/log.h"
#include "base/thread_reactor.h"
#include "kube/client_config.h"
#include "kube/curl_transport.h"
#include "kube/flags.h"
#include "kube/manager.h"
#include "kube/signals.h"

namespace kube {
namespace {

using base::log::kv;

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

std::string env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return value == nullptr ? std::string() : value;
}

std::string pod_namespace() {
  if (std::string ns = env("POD_NAMESPACE"); !ns.empty()) return ns;
  std::ifstream file(Environment::of_process().service_account_dir + "/namespace");
  std::string ns;
  std::getline(file, ns);
  return ns;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (std::string pod = env("POD_NAME"); !pod.empty()) return pod;
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

LeaderOptions lease_of(const Flags& flags, const Controller& controller, const Surroundings& around,
                       const ClientConfig& config) {
  LeaderOptions lease;
  lease.name = controller.lease_name;
  lease.ns = !flags.leader_election_namespace.empty() ? flags.leader_election_namespace
             : !around.pod_namespace.empty()          ? around.pod_namespace
                                                      : config.ns;
  lease.identity = leader_identity();
  lease.lease_duration = flags.lease_duration;
  lease.renew_deadline = flags.renew_deadline;
  lease.retry_period = flags.retry_period;
  return lease;
}

TransportOptions transport_of(const Flags& flags, const ControllerMain& what, const Registry& registry) {
  TransportOptions options;
  options.user_agent = default_user_agent(what.name, what.version, "");
  options.http2 = env("DISABLE_HTTP2").empty();  // as client-go
  options.qps = flags.kube_api_qps;
  options.burst =
      flags.kube_api_burst > 0 ? flags.kube_api_burst : std::max(1, static_cast<int>(2 * flags.kube_api_qps));
  options.seed = random_seed();
  options.observer = registry.request_observer();
  return options;
}

int refuse(const ControllerMain& what, const std::string& message, int status = 1) {
  fmt::print(stderr, "{}: {}\n", what.name, message);
  return status;
}

// Everything after the command line. Members are destroyed in the order that their users need.
class Process {
 public:
  Process(const ControllerMain& what, const Flags& flags, bool drain, const Surroundings& around)
      : what_(what), flags_(flags), drain_(drain), around_(around) {}

  int run() {
    auto built = what_.build(around_);
    if (!built) return refuse(what_, built.error().message, 2);
    const Controller controller = drain_ ? releasing(*built) : std::move(*built);
    auto config = load_client_config(flags_.kubeconfig, Environment::of_process(), flags_.context);
    if (!config) return refuse(what_, config.error().message);
    if (config->exec) config->exec->policy = flags_.credential_plugins;
    const LeaderOptions lease = lease_of(flags_, controller, around_, *config);
    if (flags_.leader_elect) {
      if (auto valid = lease.validate(); !valid) return refuse(what_, valid.error().message, 2);
    }
    return work(controller, *config, lease);
  }

 private:
  int work(const Controller& controller, const ClientConfig& config, const LeaderOptions& lease) {
    base::ThreadReactor reactor;
    Manager* running = nullptr;  // touched on the reactor's thread only
    const SignalWatcher signals([&](int signal) {
      base::log::info("Received a signal", {kv("signal", signal == SIGTERM ? "SIGTERM" : "SIGINT")});
      reactor.post([&running] {
        if (running != nullptr) running->shut_down();
      });
    });
    const auto clock = [] { return base::MonoTime(std::chrono::steady_clock::now()); };
    Registry registry(controller, flags_.max_concurrent_reconciles, clock);
    auto transport = make_transport(config, reactor, transport_of(flags_, what_, registry));
    if (!transport) return refuse(what_, transport.error().message);
    Manager manager(controller, reactor, **transport, registry, manager_options(reactor, config, lease, clock));
    ProbeOptions probe_options{.metrics_address = flags_.metrics_bind_address,
                               .health_address = flags_.health_probe_bind_address,
                               .metrics = [&registry] { return registry.expose(); },
                               .healthz = manager.healthz(),
                               .readyz = manager.readyz()};
    auto probes = ProbeServer::start(std::move(probe_options));
    if (!probes) return refuse(what_, probes.error().message);
    base::log::info("Starting", {kv("controller", controller.name), kv("version", what_.version),
                                 kv("server", config.server), kv("config", config.source)});
    running = &manager;
    reactor.post([&manager] { manager.start(); });
    reactor.run();
    running = nullptr;
    if (drain_ && status_ == 0) tell_what_stays(manager.loop().stats());
    base::log::info("Ended", {kv("controller", controller.name), kv("status", status_)});
    return status_;
  }

  void tell_what_stays(const LoopStats& stats) const {
    fmt::print("{} has taken its finalizers off {} object{}. {}\n", what_.name, stats.stored,
               stats.stored == 1 ? "" : "s", what_.after_drain);
  }

  ManagerOptions manager_options(base::ThreadReactor& reactor, const ClientConfig& config, const LeaderOptions& lease,
                                 std::function<base::MonoTime()> clock) {
    ManagerOptions options;
    options.loop.identity = host_name();
    options.loop.max_concurrent = flags_.max_concurrent_reconciles;
    options.loop.seed = random_seed();
    options.leader_elect = flags_.leader_elect;
    options.until_settled = drain_;
    options.lease = lease;
    options.grace_period = flags_.grace_period;
    options.seed = random_seed();
    options.server = config.server;
    options.clock = std::move(clock);
    options.exit = [this, &reactor](int status, bool at_once) {
      // Another process may be acting already: not one more byte.
      if (at_once) std::_Exit(status);
      status_ = status;
      reactor.stop();
    };
    return options;
  }

  const ControllerMain& what_;
  const Flags& flags_;
  bool drain_;
  const Surroundings& around_;
  int status_ = 1;
};

}  // namespace

int run(const ControllerMain& what, int argc, const char* const* argv) {
  CLI::App app(what.description, what.name);
  app.set_version_flag("--version", fmt::format("{} {}", what.name, what.version));
  app.get_formatter()->column_width(44);
  Flags flags;
  if (what.add_flags) what.add_flags(app);
  flags.add_to(app);
  bool drain = false;
  if (!what.after_drain.empty()) {
    app.add_flag("--drain", drain,
                 "For leaving: take this controller's finalizers off all objects, say what stays behind, and end. No "
                 "other instance may run");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);
  } catch (const CLI::ParseError& wrong) {
    return refuse(what, fmt::format("{} (--help lists the flags)", wrong.what()), 2);
  }
  if (const auto valid = flags.validate(); !valid) return refuse(what, valid.error().message, 2);
  base::log::configure(flags.log_level, flags.log_format);
  const Surroundings around{pod_namespace()};
  return Process(what, flags, drain, around).run();
}

}  // namespace kube
