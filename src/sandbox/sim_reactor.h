// Virtual time for a whole simulation: every process, the server and the network between them take turns on one queue,
// ordered by time and then by sequence. The same seed gives the same history.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "base/reactor.h"

namespace sandbox {

class SimReactor;

// How a process's clocks differ from true time.
struct ClockSkew {
  double rate = 0;                            // 0.01: runs one per cent fast
  base::Duration offset = base::Duration(0);  // of the wall clock
};

// One process's view of the reactor: its own clocks, its own tasks. Tasks of one process keep their order; a killed
// process's tasks never run. Lives as long as the SimReactor it came from is used; may be destroyed at any time outside
// its own tasks.
class SimProcess final : public base::Reactor {
 public:
  SimProcess(SimReactor& reactor, std::string name, ClockSkew skew = {});
  ~SimProcess() override;
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  base::MonoTime now() const override;
  base::WallTime wall() const override;
  void post(base::Task task) override;
  base::TimerId at(base::MonoTime when, base::Task task) override;
  void cancel(base::TimerId timer) override;

  // Runs `task` after `delay` of true time.
  base::TimerId after(base::Duration delay, base::Task task);
  const std::string& name() const { return name_; }
  // From here on no task of this process runs. Tasks are destroyed with the SimProcess, so that this may be called from
  // one of them.
  void kill() { alive_ = false; }
  bool alive() const { return alive_; }

 private:
  friend class SimReactor;
  SimReactor& reactor_;
  std::string name_;
  ClockSkew skew_;
  std::uint64_t lane_;
  base::MonoTime born_;
  bool alive_ = true;
};

// As a base::Reactor it is the world itself (server, network, controllers that never crash), with true time.
class SimReactor final : public base::Reactor {
 public:
  struct Options {
    std::uint64_t seed = 1;
    // Processes whose tasks fall on the same instant take turns in an order drawn from the seed instead of the order of
    // posting.
    bool shuffle = false;
    // Wall-clock time at the start: 2026-01-01T00:00:00Z.
    base::WallTime start = base::WallTime(std::chrono::seconds(1767225600));
  };
  SimReactor() : SimReactor(Options()) {}
  explicit SimReactor(Options options);
  ~SimReactor() override;

  base::MonoTime now() const override { return now_; }
  base::WallTime wall() const override;
  void post(base::Task task) override;
  base::TimerId at(base::MonoTime when, base::Task task) override;
  void cancel(base::TimerId timer) override;
  base::TimerId after(base::Duration delay, base::Task task) { return at(now_ + delay, std::move(task)); }

  // Runs the next task; false if there is none.
  bool step();
  // Runs everything that is due up to then and sets the clock there.
  void run_until(base::MonoTime when);
  void run_for(base::Duration duration) { run_until(now_ + duration); }
  // Runs until `done` holds (asked after every task); false if it still does not after `limit`.
  bool run_until(const std::function<bool()>& done, base::Duration limit);
  // Time of the next task; nullopt if there is none.
  std::optional<base::MonoTime> next() const;
  std::uint64_t steps() const { return steps_; }
  // The simulation's own random source; draw from it only within tasks, so that a seed replays.
  base::Random& random() { return random_; }

 private:
  friend class SimProcess;
  struct Key {
    base::MonoTime when;
    std::uint64_t turn = 0;  // of the lane within the instant
    std::uint64_t sequence = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Item {
    SimProcess* process = nullptr;  // nullptr: the world
    base::Task task;
  };
  base::TimerId schedule(base::MonoTime when, SimProcess* process, base::Task task);
  void drop(SimProcess* process);

  Options options_;
  base::Random random_;
  base::MonoTime now_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t lanes_ = 0;
  std::uint64_t steps_ = 0;
  std::map<Key, Item> queue_;
  std::unordered_map<std::uint64_t, Key> timers_;
};

}  // namespace sandbox
