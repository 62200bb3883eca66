// What scenarios and the table of objects run on: a server that answers requests, a clock, and the processes around it.
// Two implementations: the in-memory server under virtual time, and a real control plane on loopback.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/transport.h"

namespace scenarios {

// apiserver and etcd serve and keep the objects: they run to begin with, and can only be killed and started again.
enum class Process : std::uint8_t { core, driver, metallb, apiserver, etcd };
std::string_view to_string(Process process);
bool is_server(Process process);  // one of the last two
base::Result<Process> process_named(std::string_view name);

// A scenario's name as the name of the folder of its logs.
std::string folder_name(std::string_view scenario);

// One request that asked for a change, as the server saw it.
struct WriteRecord {
  std::string user;    // "core", "driver", "metallb", "admin", …
  std::string verb;    // create, update, patch, delete, deletecollection
  std::string plural;  // "ipaddressclaims"
  std::string subresource;
  std::string ns;
  std::string name;
  int code = 0;
  bool changed = true;    // false: the server stored nothing new
  bool reminder = false;  // only brings a Service to MetalLB's notice again, which has been slow

  std::string to_string() const;
  // It changed something that is kept: events and leases are nobody's state.
  bool counts() const { return changed && plural != "events" && plural != "leases"; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  // "memory", "metallb-0.15", …: what `only` and `except` of a scenario name.
  virtual std::string_view name() const = 0;

  // One request, as `user`. Blocks until it is answered.
  virtual kube::Answer send(std::string_view user, const kube::Request& request) = 0;

  virtual base::MonoTime now() const = 0;
  // Lets time go by: virtual time at once, real time by waiting.
  virtual void let_pass(base::Duration time) = 0;

  // A fresh start for one scenario. What its objects may have left behind is the caller's to clean up.
  virtual base::Result<void> begin(const std::string& scenario) = 0;
  // Ends the scenario. Keeps its logs in a folder of that name if it failed.
  virtual void end(const std::string& scenario, bool failed) = 0;

  // What the driver's command line has besides the usual; one that runs with others is ended.
  virtual base::Result<void> set_driver_flags(const std::vector<std::string>& flags) = 0;
  // Whether MetalLB's admission webhook is asked; it answers while MetalLB runs.
  virtual base::Result<void> set_webhook(bool on) = 0;
  // Which MetalLB is started from now on, "0.15" or "0.16"; "": that of the run.
  virtual base::Result<void> set_metallb_version(const std::string& version) = 0;
  // Makes exactly these run; already running ones are left alone.
  virtual base::Result<void> run_only(const std::vector<Process>& processes) = 0;
  virtual bool running(Process process) = 0;
  virtual base::Result<void> start(Process process) = 0;
  // While somebody else leads: returns when it is ready.
  virtual base::Result<void> start_behind(Process process) = 0;
  // It must end by itself, and say why in these words.
  virtual base::Result<void> start_refused(Process process, const std::string& words) = 0;
  // Runs it with --drain until it ends by itself.
  virtual base::Result<void> drain(Process process) = 0;
  // `kill`: without a moment's notice; else asked to end, as by SIGTERM. Returns when it has ended.
  virtual base::Result<void> stop(Process process, bool kill) = 0;
  // Kills `victim` as soon as a controller has made so many more writes, before it can make another; 0: not any more.
  // Ends with that, and with stop() of the victim.
  virtual base::Result<void> kill_after(Process writer, std::size_t writes, Process victim) = 0;
  // Whether that has happened. The victim is no longer running() then.
  virtual bool has_struck() = 0;

  // Writes logged from position `from` on. Positions only grow; position() is the end of the log.
  virtual std::size_t position() = 0;
  virtual std::vector<WriteRecord> writes(std::size_t from) = 0;
  // What core and driver did since the last call that they must never do, whatever the scenario: forbidden requests,
  // unguarded or empty writes.
  virtual std::vector<std::string> take_breaches() = 0;

  // The events of a watch of that collection from `version` until now, in their order.
  virtual base::Result<std::vector<boost::json::value>> changes(const std::string& collection,
                                                                const std::string& version) = 0;

  // Which of the controllers has not seen everything yet, or is at work on it; "" if none, or where that cannot be
  // told.
  virtual std::string unrest() { return {}; }
  // At rest: what would be done if everything were looked at once more. Empty where that cannot be told.
  virtual std::vector<std::string> check_settled() { return {}; }

  // Stores an object as a server with an older CRD would have: without the rules of ours.
  virtual base::Result<void> store_unchecked(const boost::json::object& object) = 0;
};

}  // namespace scenarios
