// Runs a controller: feeds its stores, wakes and plans its keys, carries out their plans, merges the answers, and plans
// again until every plan is empty. It owns all state; everything happens on the reactor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "kube/controller.h"
#include "kube/event_recorder.h"
#include "kube/metrics.h"
#include "kube/reflector.h"
#include "kube/state.h"
#include "kube/transport.h"

namespace kube {

// What feeds one store: a Reflector, or a test.
class Source {
 public:
  virtual ~Source() = default;
  virtual void start() = 0;
  // Nothing reaches the store after this.
  virtual void stop() = 0;
  // How the watch is doing; null if it is none.
  virtual const ReflectorStatus* status() const { return nullptr; }
};
// `settled` is to be called when the store has had its first complete list, or the optional kind is known to be
// missing; and again whenever Store::served() has changed.
using SourceFactory = std::function<std::unique_ptr<Source>(const WatchSpec&, Store&, std::function<void()> settled)>;

struct LoopOptions {
  std::string identity;              // of this process, in events: the pod's name
  std::size_t max_concurrent = 128;  // keys in flight
  std::size_t per_namespace = 32;    // keys of one namespace in flight
  std::size_t max_requests = 128;    // writes and live reads in flight; the rest waits in the order of planning
  base::Duration write_timeout = std::chrono::seconds(5);
  base::Duration read_timeout = std::chrono::seconds(10);
  std::string field_validation;  // of creates and patches; "" leaves it to the server, "Strict" for tests
  // A failing key waits first_backoff · 2^(failures-1), at most max_backoff, of which a random half is taken off.
  base::Duration first_backoff = std::chrono::milliseconds(5);
  base::Duration max_backoff = std::chrono::minutes(5);
  // After 409 or 404: how long the store may take to show what the write was refused for, before it is read live.
  base::Duration version_wait = std::chrono::seconds(1);
  // One turn plans no more keys than this, and none after this time.
  std::size_t keys_per_turn = 64;
  base::Duration turn = std::chrono::milliseconds(5);
  std::size_t objects_per_turn = 2000;  // of a long list
  std::uint64_t seed = 1;
  bool abort_on_flaws = false;  // for tests: see below
  EventOptions events;          // controller and instance are filled in
};

// Counts since the start, and sizes now.
struct LoopStats {
  std::uint64_t passes = 0;
  std::uint64_t writes = 0;     // sent
  std::uint64_t stored = 0;     // writes that are known to have taken effect
  std::uint64_t reads = 0;      // live ones
  std::uint64_t conflicts = 0;  // 409 and 404 on a write
  std::uint64_t noop_writes = 0;
  std::uint64_t failures = 0;   // activations that failed
  std::uint64_t flaws = 0;      // passes that threw, or planned what no plan may
  std::uint64_t held_back = 0;  // planned writes that were not sent because leadership had ended
  std::uint64_t parked = 0;     // plans that waited for another key's write
  std::size_t keys = 0;
  std::size_t queued = 0;
  std::size_t in_flight = 0;  // keys
  std::size_t requests = 0;   // in flight
  std::size_t waiting = 0;    // keys that back off or wait for a version
};

// How keys and answers are dealt with:
// - A key is planned when it is woken, never twice at once; woken while in flight, it is planned once more afterwards.
// - All writes of a plan go out together. A write on an object that another key is writing is held back, and the key
//   planned again when that write has been answered.
// - 409 and 404: the key waits until the store has another version than the one it planned from, at most version_wait,
//   then reads live. From the third conflict in a row on it reads live and backs off. A create that meets something
//   reads it.
// - No answer, or a 5xx: whether the write took effect is unknown; the key backs off, then reads all its targets, then
//   plans.
// - Other refusals and writes that changed nothing back off. One change to what the key read may plan it early once;
//   then it stays quiet until its delay, longer by then, has passed.
// - A pass that throws, or plans what no plan may (State::pass), is a bug: it is logged and counted as a panic, as
//   controller-runtime does, and the key backs off. What can be carried out of the plan is.
// - Nothing is planned while a kind that is not optional is not served: it would read as if there were nothing of it.
// - Keys are planned and writes sent only while set_leading(true), and a write only if the lease outlives its time-out.
class Loop {
 public:
  // All references must outlive it. Without `sources`, each watch is fed by a Reflector.
  Loop(const Controller& controller, Transport& transport, base::Reactor& reactor, MetricsSink& metrics,
       LoopOptions options, SourceFactory sources = {});
  // Nothing happens any more after this; answers still to come are dropped.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Starts to fill the stores. Once.
  void start();
  // Whether all stores have had their first complete list, or are of optional kinds that the server does not serve.
  bool synced() const;
  // Runs `f` once, when synced() becomes true; at the next turn if it is.
  void when_synced(base::Task f);
  // Whether every kind that is not optional can be seen. While one is not, since the server has ceased to serve it,
  // nothing is planned: it would read as if there were nothing of it.
  bool whole() const;
  // Runs `f` once, at the next turn at which all stores are filled and whole().
  void when_whole(base::Task f);

  // Leadership won or lost. When lost, nothing is sent from now on, not even what has been planned.
  void set_leading(bool leading);
  bool leading() const;
  // Tells until when the lease is ours for sure (Elector::lease_until). Asked before each write. Without it there is no
  // such end.
  void set_lease(std::function<base::MonoTime()> lease_until);
  // The same, as a time that stands until the next call.
  void set_lease_deadline(base::MonoTime until);

  // Plans nothing from now on, waits for the answers in flight, sends the events, then runs `done`. Once.
  void drain(base::Task done);

  // Nothing is queued, in flight or about to be planned; keys may still wait for a time.
  bool idle() const;
  LoopStats stats() const;
  State& state();
  const State& state() const;
  EventRecorder& events();
  // In the order of Controller::watches.
  std::vector<const Source*> sources() const;
  // The key's failures in a row; 0 if it is unknown.
  int failures(const Key& key) const;

  // For simulations, at rest (idle, in sync with the server): plans every key once more without doing anything and says
  // what is wrong in a sentence each. Nothing is wrong if every plan is empty, reads and publishes what it did, and
  // every key that an object gives birth to is known or has nothing to do.
  std::vector<std::string> verify_settled();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
