// Activations: a key is planned, its plan carried out, and what comes of it decided when the last answer is in.
#include <algorithm>

#include "base/log.h"
#include "kube/check.h"
#include "kube/loop_impl.h"

namespace kube {

using base::log::kv;

void Loop::Impl::activate(KeyId id) {
  KeyState& key = key_state(id);
  key.activation = std::make_unique<Activation>();
  if (key.extra != nullptr && !key.extra->must_read.empty()) {
    return start_reads(id, key.extra->must_read, true);
  }
  plan(id);
}

void Loop::Impl::plan(KeyId id) {
  KeyState& key = key_state(id);
  key.dirty = false;
  KeyMemory scratch;
  KeyMemory& memory = key.extra != nullptr ? key.extra->memory : scratch;
  ++counts.passes;
  std::string flaw;
  Plan plan = state.pass(id, memory, options.abort_on_flaws ? nullptr : &flaw);
  if (&memory == &scratch && !is_empty(scratch)) extra(key).memory = std::move(scratch);
  if (!flaw.empty()) report(id, std::move(flaw));
  for (const Observation& observation : plan.observations) metrics.observe(observation);
  if (plan.revisit) {
    const base::Duration wait =
        std::clamp(*plan.revisit, base::Duration::zero(), base::Duration(std::chrono::hours(4320)));
    set_due(id, std::min(key.due, reactor.now() + wait));
  }
  if (!plan.confirms.empty()) {
    std::vector<Ref> targets;
    for (Confirm& confirm : plan.confirms) targets.push_back(std::move(confirm.target));
    return start_reads(id, std::move(targets), false);
  }
  if (!plan.writes.empty()) return start_writes(id, std::move(plan));
  settle(id, plan);
}

// One object that a reconciler is not up to must not keep the process from serving all others.
void Loop::Impl::report(KeyId id, std::string flaw) {
  const Key& name = state.keys()[id];
  base::log::error("Flawed plan", {kv("controller", name.reconciler), kv("namespace", name.ns), kv("name", name.name),
                                   kv("flaw", flaw)});
  ++counts.flaws;
  metrics.panicked(name.reconciler);
  key_state(id).activation->flaw = std::move(flaw);
}

bool Loop::Impl::back_off_if_flawed(KeyId id, const Activation& activation) {
  if (activation.flaw.empty()) return false;
  const std::string flaw = activation.flaw;
  leave_flight(id, MetricsSink::Result::error);
  back_off(id, nullptr, flaw);
  return true;
}

// Nothing to send but, perhaps, events that are sent once.
void Loop::Impl::settle(KeyId id, const Plan& plan) {
  KeyState& key = key_state(id);
  for (const EventNote& event : plan.events) events.record(event);
  if (back_off_if_flawed(id, *key.activation)) return;
  succeeded(key);
  leave_flight(id, plan.revisit ? MetricsSink::Result::requeue_after : MetricsSink::Result::success);
  if (key.dirty) return enqueue(id, Lane::fresh);
  if (plan.forget) forget(id);
}

// Whatever went wrong before is over.
void Loop::Impl::succeeded(KeyState& key) {
  if (key.extra == nullptr) return;
  key.extra->memory.failures = 0;
  key.extra->memory.refusal.clear();
  key.extra->memory.refusal_code = 0;
  key.extra->conflicts = 0;
  key.extra->early_used = false;
  key.extra->trouble.clear();
  if (key.extra->trivial()) key.extra.reset();
}

void Loop::Impl::start_reads(KeyId id, std::vector<Ref> targets, bool recovering) {
  Activation& activation = *key_state(id).activation;
  activation.recovering = recovering;
  activation.open = targets.size();
  for (Ref& target : targets) {
    Store* store = state.store_of(*target.resource);
    check(store != nullptr, "a live read of a kind that is not watched");
    Exchange read;
    const Slot* slot = store->find(target.ns, target.name);
    if (slot != nullptr && slot->object != nullptr) read.uid = slot->object->meta.uid;
    read.target = std::move(target);
    activation.exchanges.push_back(std::move(read));
  }
  reads_to_send.push_back(id);
  pump();
}

void Loop::Impl::start_writes(KeyId id, Plan plan) {
  KeyState& key = key_state(id);
  Activation& activation = *key.activation;
  for (Write& write : plan.writes) {
    if (busy(write.target)) {
      activation.held_back = true;
      parked[write.target.to_string()].push_back(id);
      continue;
    }
    Exchange exchange;
    exchange.target = write.target;
    exchange.write = std::move(write);
    activation.exchanges.push_back(std::move(exchange));
  }
  if (activation.exchanges.empty()) {
    ++counts.parked;
    leave_flight(id, MetricsSink::Result::requeue);
    if (key.dirty) enqueue(id, Lane::fresh);
    return;
  }
  for (const std::string& name : plan.spends) extra(key).memory.spend(name);
  activation.events = std::move(plan.events);
  activation.open = activation.exchanges.size();
  for (const Exchange& exchange : activation.exchanges) begin_write(exchange.target);
  writes_to_send.push_back(id);
  pump();
}

// All answers are in.
void Loop::Impl::finish(KeyId id) {
  KeyState& key = key_state(id);
  const std::unique_ptr<Activation> activation = std::move(key.activation);
  if (activation->exchanges.front().write) {
    finish_writes(id, *activation);
  } else {
    finish_reads(id, *activation);
  }
}

void Loop::Impl::finish_reads(KeyId id, Activation& activation) {
  KeyState& key = key_state(id);
  if (back_off_if_flawed(id, activation)) return;
  for (Exchange& exchange : activation.exchanges) {
    if (exchange.read != ReadOutcome::failed) continue;
    leave_flight(id, MetricsSink::Result::error);
    return back_off(id, exchange.error ? &*exchange.error : nullptr, "live read");
  }
  KeyExtra& more = extra(key);
  if (activation.recovering) {
    more.must_read.clear();
  } else {
    for (Exchange& exchange : activation.exchanges) more.memory.confirmed.push_back(std::move(exchange.target));
  }
  if (!leading || draining || !whole()) {
    more.memory.confirmed.clear();
    leave_flight(id, MetricsSink::Result::requeue);
    return enqueue(id, Lane::fresh);
  }
  // It keeps its place in flight: what it has read must not grow old.
  continuing.push_back(id);
  schedule();
}

void Loop::Impl::finish_writes(KeyId id, Activation& activation) {
  KeyState& key = key_state(id);
  Exchange* failed = nullptr;
  bool conflict = false;
  bool unsent = false;
  for (Exchange& exchange : activation.exchanges) {
    switch (exchange.outcome) {
      case Outcome::stored:
      case Outcome::gone:
        break;
      case Outcome::unclear:
        extra(key).must_read.push_back(exchange.target);
        break;
      case Outcome::unsent:
        unsent = true;
        break;
      case Outcome::conflict:
      case Outcome::exists:
        conflict = true;
        break;
      case Outcome::unknown:
        if (state.store_of(*exchange.target.resource) != nullptr) extra(key).must_read.push_back(exchange.target);
        [[fallthrough]];
      case Outcome::noop:
      case Outcome::failed:
        failed = &exchange;
        break;
    }
  }
  if (failed != nullptr) {
    leave_flight(id, MetricsSink::Result::error);
    const bool noop = failed->outcome == Outcome::noop;
    return back_off(id, failed->error ? &*failed->error : nullptr,
                    noop ? "write without change: " + failed->write->step : failed->write->step);
  }
  if (conflict) return conflicted(id, activation);
  if (!unsent) {
    for (const EventNote& event : activation.events) events.record(event);
    if (back_off_if_flawed(id, activation)) return;
    succeeded(key);
  }
  leave_flight(id, MetricsSink::Result::requeue);
  // A key that only waits for another one's write is woken by that.
  enqueue(id, Lane::fresh);
}

// Some writes were planned from a state that is not the server's. A normal outcome, unless it goes on.
void Loop::Impl::conflicted(KeyId id, const Activation& activation) {
  KeyState& key = key_state(id);
  KeyExtra& more = extra(key);
  const int row = ++more.conflicts;
  std::vector<Ref> targets;
  std::vector<const Node*> nodes;
  bool created = false;
  bool passed = false;  // the store shows another version already
  for (const Exchange& exchange : activation.exchanges) {
    if (exchange.outcome != Outcome::conflict && exchange.outcome != Outcome::exists) continue;
    const Key& name = state.keys()[id];
    base::log::debug("Conflict",
                     {kv("controller", name.reconciler), kv("namespace", name.ns), kv("name", name.name),
                      kv("step", exchange.write->step), kv("error", exchange.error->to_string()), kv("row", row)});
    ++counts.conflicts;
    Store* store = state.store_of(*exchange.target.resource);
    if (store == nullptr) continue;  // nothing to wait for, nothing to merge
    targets.push_back(exchange.target);
    created = created || exchange.outcome == Outcome::exists;
    const Slot& slot = store->slot(exchange.target.ns, exchange.target.name);
    passed = passed || slot.object == nullptr || slot.object->meta.resourceVersion != exchange.write->planned_from;
    nodes.push_back(&slot.node);
  }
  if (row % 3 == 0) metrics.repeated_conflict(name_of(key));
  leave_flight(id, MetricsSink::Result::requeue);
  if (row >= 3 || targets.empty()) {
    more.must_read.insert(more.must_read.end(), targets.begin(), targets.end());
    key.phase = Phase::backing_off;
    more.early_used = true;
    return set_due(id, reactor.now() + backoff(row));
  }
  if (created || !more.must_read.empty()) {
    more.must_read.insert(more.must_read.end(), targets.begin(), targets.end());
    return enqueue(id, Lane::fresh);
  }
  if (passed) return enqueue(id, Lane::fresh);
  await_versions(id, std::move(targets), nodes);
}

// The activation is over; the caller says what becomes of the key.
void Loop::Impl::leave_flight(KeyId id, MetricsSink::Result result) {
  KeyState& key = key_state(id);
  check(key.phase == Phase::running, "a key ends an activation that it has not begun");
  metrics.reconciled(name_of(key), result, reactor.now() - key.begun);
  key.activation.reset();
  key.phase = Phase::idle;
  queue.done(id);
  count_active(key, -1);
  schedule();  // others may have waited for the place
}

void Loop::Impl::count_active(const KeyState& key, int change) {
  std::size_t& n = active[key.reconciler];
  n += static_cast<std::size_t>(change);
  metrics.active_workers(name_of(key), n);
}

}  // namespace kube
