// The loop's insides, shared by its source files: loop.cc (life and turns), loop_keys.cc (waking and waiting),
// loop_plans.cc (activations), loop_requests.cc (requests and answers), loop_verify.cc.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kube/exchange.h"
#include "kube/loop.h"
#include "kube/work_queue.h"

namespace kube {

// Places that passes have asked for and objects have left are looked through after so many passes and changes, and so
// many of them at once: more than these bring about, so that the rest stays small.
inline constexpr std::size_t k_collect_after = 512;
inline constexpr std::size_t k_collect_at_once = 4096;

// State, with the loop's clock and random source.
class LoopState final : public State {
 public:
  LoopState(const Controller& controller, Listener listener, base::Reactor& reactor, std::uint64_t seed)
      : State(controller, std::move(listener)), reactor_(reactor), random_(seed) {}
  base::MonoTime now() const override { return reactor_.now(); }
  base::WallTime wall() const override { return reactor_.wall(); }
  std::uint64_t entropy() override { return random_.next(); }

 private:
  base::Reactor& reactor_;
  base::Random random_;
};

// One write or live read of an activation.
struct Exchange {
  std::optional<Write> write;  // none: a live read
  Ref target;
  std::string uid;  // that was held when a read was sent, or that a deletion is about
  bool answered = false;
  Outcome outcome = Outcome::unsent;
  ReadOutcome read = ReadOutcome::failed;
  std::optional<ApiError> error;
  base::MonoTime sent;
};

// A key in flight: from its pass to its last answer.
struct Activation {
  bool recovering = false;  // its reads are for the loop's own sake, not confirms
  std::vector<Exchange> exchanges;
  std::size_t open = 0;    // not answered yet
  std::size_t sent = 0;    // they are sent in order
  bool held_back = false;  // some writes of the plan were not sent because their targets are busy
  std::vector<EventNote> events;
  std::string flaw;  // of its pass; "" if there is none
};

// Nothing to remember.
inline bool is_empty(const KeyMemory& memory) {
  return memory.failures == 0 && memory.since.empty() && memory.notes.empty() && memory.throttles.empty() &&
         memory.confirmed.empty();
}

// What few keys have.
struct KeyExtra {
  KeyMemory memory;
  std::vector<Ref> must_read;          // before the next pass
  int conflicts = 0;                   // in a row
  bool early_used = false;             // planned early in this back-off
  std::string trouble;                 // the last failure, so that it is not logged each time
  std::vector<const Node*> waits_for;  // where it is listed in version_waiters
  bool trivial() const {
    return is_empty(memory) && must_read.empty() && conflicts == 0 && !early_used && trouble.empty() &&
           waits_for.empty();
  }
};

struct KeyState {
  enum class Phase : std::uint8_t { idle, queued, running, backing_off, awaiting_version };
  Phase phase = Phase::idle;
  bool dirty = false;  // woken while running
  WorkQueue::Lane lane = WorkQueue::Lane::fresh;
  std::uint16_t reconciler = 0;
  base::MonoTime begun;                        // its activation, while running
  base::MonoTime due = base::MonoTime::max();  // end of back-off or waiting, or revisit
  std::unique_ptr<Activation> activation;      // while running
  std::unique_ptr<KeyExtra> extra;
};

struct Loop::Impl : std::enable_shared_from_this<Loop::Impl> {
  using Phase = KeyState::Phase;
  using Lane = WorkQueue::Lane;

  Impl(const Controller& controller, Transport& transport, base::Reactor& reactor, MetricsSink& metrics,
       LoopOptions options);

  // loop.cc
  void open_sources(const SourceFactory& sources);
  void schedule();
  void turn();
  bool may_plan();
  bool try_start();
  void unfinished(Store& store);
  void resume(Store& store);
  bool replacing() const;
  bool whole() const;
  void notice_what_is_served();
  void collect();
  void begin_births();
  void bear_all(std::size_t watch);
  void bear_some();
  void finish_drain();
  void set_leading(bool now_leading);
  // A task that runs `f(impl)` unless the loop is gone.
  template <class F>
  base::Task later(F f) {
    return [weak = weak_from_this(), f = std::move(f)]() mutable {
      if (const auto self = weak.lock()) f(*self);
    };
  }

  // loop_keys.cc
  KeyState& key_state(KeyId id);
  KeyExtra& extra(KeyState& key);
  const std::string& name_of(const KeyState& key) const;
  void wake(KeyId id, State::Cause cause);
  void enqueue(KeyId id, Lane lane);
  std::optional<KeyId> next_key();
  void abandon_continuing();
  void stop_waiting(KeyId id);
  void set_due(KeyId id, base::MonoTime at);
  void arm_timer();
  void timer_fired();
  void due(KeyId id);
  base::Duration backoff(int failures);
  void plan_early(KeyId id);
  void back_off(KeyId id, const ApiError* error, std::string_view what);
  void await_versions(KeyId id, std::vector<Ref> targets, const std::vector<const Node*>& nodes);
  void version_seen(const Node& node);
  void forget(KeyId id);
  void count_depth(const KeyState& key, int change);

  // loop_verify.cc
  std::string missed(KeyId id, const Key& key);

  // loop_plans.cc
  void activate(KeyId id);
  void plan(KeyId id);
  void start_reads(KeyId id, std::vector<Ref> targets, bool recovering);
  void start_writes(KeyId id, Plan plan);
  void settle(KeyId id, const Plan& plan);
  void report(KeyId id, std::string flaw);
  bool back_off_if_flawed(KeyId id, const Activation& activation);
  void succeeded(KeyState& key);
  void finish(KeyId id);
  void finish_reads(KeyId id, Activation& activation);
  void finish_writes(KeyId id, Activation& activation);
  void conflicted(KeyId id, const Activation& activation);
  void leave_flight(KeyId id, MetricsSink::Result result);
  void count_active(const KeyState& key, int change);

  // loop_requests.cc
  bool busy(const Ref& target);
  void begin_write(const Ref& target);
  void end_write(const Ref& target);
  void pump();
  bool lease_outlives(base::Duration timeout) const;
  void wait_for_lease();
  void transmit(KeyId id, std::size_t index);
  void answered(KeyId id, std::size_t index, Reply reply);
  void merge_write(Exchange& exchange, Reply reply);
  void merge_read(Exchange& exchange, Reply reply);
  void close_exchange(KeyId id, Exchange& exchange);
  void give_up_unsent();

  const Controller& controller;
  Transport& transport;
  base::Reactor& reactor;
  MetricsSink& metrics;
  LoopOptions options;
  base::Random random;
  LoopState state;
  WorkQueue queue;
  EventRecorder events;
  std::vector<std::unique_ptr<Source>> sources;
  std::vector<std::size_t> ranks;  // by reconciler: position of its rank

  std::deque<KeyState> keys;  // by KeyId; references stay valid while it grows
  std::set<std::pair<base::MonoTime, KeyId>> due_keys;
  base::TimerId timer = base::TimerId::none;
  base::MonoTime timer_at = base::MonoTime::max();
  std::deque<KeyId> continuing;  // in flight; their live reads are in, their next pass comes before anything else
  std::optional<KeyId> merging;  // the key whose own answer is being merged: it is planned again anyway
  std::unordered_map<const Node*, std::vector<KeyId>> version_waiters;
  std::unordered_map<std::string, std::vector<KeyId>> parked;  // by target: planned again when its write is answered
  std::unordered_map<std::string, int> foreign_writes;         // by target: in flight, of kinds without a store

  // Keys with something to send, in turn: one that has much to write does not hold up the others.
  std::deque<KeyId> reads_to_send, writes_to_send;
  std::size_t requests = 0;

  bool scheduled = false;
  bool started = false;  // reconcilers
  bool leading = false;
  bool draining = false;
  std::function<base::MonoTime()> lease_until;
  base::TimerId lease_timer = base::TimerId::none;  // looks whether a lease that was too short has been renewed
  base::Task drained;
  std::vector<base::Task> synced_tasks;
  std::vector<base::Task> whole_tasks;
  std::size_t changes_since_collect = 0;  // passes, and changes to the stores
  bool births = false;                    // has led: objects give birth to keys
  // Objects that were there when the loop began to lead, still to give birth to their keys; by watch.
  std::deque<std::pair<std::size_t, std::vector<ObjectPtr>>> newborn;
  std::vector<bool> settled;                       // by watch: its source knows whether there is anything to know
  std::vector<bool> gone;                          // by watch: it was listed and is not served now
  std::vector<std::size_t> active;                 // by reconciler
  std::vector<std::array<std::size_t, 2>> depths;  // by reconciler and lane
  LoopStats counts;
};

}  // namespace kube
