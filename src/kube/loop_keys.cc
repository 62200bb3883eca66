// Keys that wake, queue, and wait: for their turn, for a time, for a version.
#include <algorithm>

#include "base/log.h"
#include "kube/check.h"
#include "kube/loop_impl.h"

namespace kube {
namespace {

using base::log::kv;

// Far enough for any purpose, near enough not to overflow.
constexpr base::Duration k_longest_wait = std::chrono::hours(24 * 180);
// Keys whose time has come, for one turn.
constexpr std::size_t k_due_at_once = 2000;

}  // namespace

KeyState& Loop::Impl::key_state(KeyId id) {
  const auto i = static_cast<std::size_t>(id);
  while (i >= keys.size()) keys.emplace_back();
  return keys[i];
}

KeyExtra& Loop::Impl::extra(KeyState& key) {
  if (key.extra == nullptr) key.extra = std::make_unique<KeyExtra>();
  return *key.extra;
}

const std::string& Loop::Impl::name_of(const KeyState& key) const {
  return controller.reconcilers[key.reconciler].name;
}

// Something the key read has changed, or its object was born.
void Loop::Impl::wake(KeyId id, State::Cause cause) {
  KeyState& key = key_state(id);
  const Lane lane = cause == State::Cause::fresh ? Lane::fresh : Lane::background;
  switch (key.phase) {
    case Phase::idle:
    case Phase::queued:
      enqueue(id, lane);
      break;
    case Phase::running:
      // What its own answers change is not news: it is planned again after them anyway, or has to back off.
      if (merging != id) key.dirty = true;
      break;
    case Phase::backing_off:
      // The change may be what it needs; but a key that fails again and again is not driven by changes.
      if (lane == Lane::fresh) plan_early(id);
      break;
    case Phase::awaiting_version:
      break;  // planned soon, and not usefully before
  }
}

void Loop::Impl::enqueue(KeyId id, Lane lane) {
  KeyState& key = key_state(id);
  const Key& name = state.keys()[id];
  key.reconciler = static_cast<std::uint16_t>(state.reconciler_of(name.reconciler));
  const bool was_queued = key.phase == Phase::queued;
  if (!queue.add(id, name.ns, ranks[key.reconciler], lane, reactor.now())) return;
  if (was_queued) {
    count_depth(key, -1);
  } else {
    metrics.queue_added(name.reconciler);
  }
  key.phase = Phase::queued;
  key.lane = lane;
  count_depth(key, +1);
  schedule();
}

void Loop::Impl::count_depth(const KeyState& key, int change) {
  std::size_t& depth = depths[key.reconciler][static_cast<std::size_t>(key.lane)];
  depth += static_cast<std::size_t>(change);
  metrics.queue_depth(name_of(key),
                      key.lane == Lane::fresh ? MetricsSink::QueueLane::fresh : MetricsSink::QueueLane::background,
                      depth);
}

// The next key to plan, marked as running; nothing if none may be planned now.
std::optional<KeyId> Loop::Impl::next_key() {
  if (!may_plan()) return std::nullopt;
  if (!continuing.empty()) {
    const KeyId id = continuing.front();
    continuing.pop_front();
    return id;
  }
  if (queue.in_flight() >= options.max_concurrent) return std::nullopt;
  const base::MonoTime now = reactor.now();
  const auto item = queue.pop(now);
  if (!item) return std::nullopt;
  KeyState& key = key_state(item->key);
  check(key.phase == Phase::queued && key.activation == nullptr, "a key is planned twice at once");
  count_depth(key, -1);
  metrics.queue_waited(name_of(key), now - item->since);
  key.phase = Phase::running;
  key.begun = now;
  count_active(key, +1);
  return item->key;
}

// Keys that were about to go on from live reads start over: what they read grows old.
void Loop::Impl::abandon_continuing() {
  for (const KeyId id : std::exchange(continuing, {})) {
    KeyState& key = key_state(id);
    extra(key).memory.confirmed.clear();
    leave_flight(id, MetricsSink::Result::requeue);
    enqueue(id, Lane::fresh);
  }
}

void Loop::Impl::set_due(KeyId id, base::MonoTime at) {
  KeyState& key = key_state(id);
  if (key.due == at) return;
  if (key.due != base::MonoTime::max()) due_keys.erase({key.due, id});
  key.due = at;
  if (at != base::MonoTime::max()) due_keys.emplace(at, id);
  arm_timer();
}

void Loop::Impl::arm_timer() {
  const base::MonoTime next = due_keys.empty() ? base::MonoTime::max() : due_keys.begin()->first;
  if (next == timer_at) return;
  reactor.cancel(timer);
  timer_at = next;
  timer = base::TimerId::none;
  if (next != base::MonoTime::max()) timer = reactor.at(next, later([](Impl& self) { self.timer_fired(); }));
}

void Loop::Impl::timer_fired() {
  timer = base::TimerId::none;
  timer_at = base::MonoTime::max();
  const base::MonoTime now = reactor.now();
  for (std::size_t n = 0; n < k_due_at_once && !due_keys.empty() && due_keys.begin()->first <= now; ++n) {
    const KeyId id = due_keys.begin()->second;
    due_keys.erase(due_keys.begin());
    key_state(id).due = base::MonoTime::max();
    due(id);
  }
  arm_timer();
}

void Loop::Impl::due(KeyId id) {
  KeyState& key = key_state(id);
  switch (key.phase) {
    case Phase::idle:
      enqueue(id, Lane::fresh);
      break;
    case Phase::queued:
      break;
    case Phase::running:
      key.dirty = true;
      break;
    case Phase::backing_off:
      extra(key).early_used = false;
      metrics.queue_retried(name_of(key));
      enqueue(id, Lane::fresh);
      break;
    case Phase::awaiting_version:
      stop_waiting(id);  // must_read stays: the store has not shown what the server knows
      enqueue(id, Lane::fresh);
      break;
  }
}

base::Duration Loop::Impl::backoff(int failures) {
  base::Duration delay = options.first_backoff;
  for (int i = 1; i < failures && delay < options.max_backoff; ++i) delay *= 2;
  delay = std::min(delay, options.max_backoff);
  return base::Duration(static_cast<std::int64_t>(static_cast<double>(delay.count()) * (0.5 + random.unit() / 2)));
}

// The activation is over and has failed. `error` may be null: then `what` says it all.
void Loop::Impl::back_off(KeyId id, const ApiError* error, std::string_view what) {
  KeyState& key = key_state(id);
  KeyExtra& more = extra(key);
  ++more.memory.failures;
  ++counts.failures;
  base::Duration delay = backoff(more.memory.failures);
  if (error != nullptr && error->retry_after) delay = std::max(delay, *error->retry_after);
  delay = std::min(delay, options.max_backoff);
  more.memory.refusal = error == nullptr ? std::string() : error->message;
  more.memory.refusal_code = error == nullptr ? 0 : error->code;
  std::string text = error == nullptr ? std::string(what) : error->to_string();
  const auto level = text == more.trouble ? base::log::Level::debug : base::log::Level::warn;
  if (base::log::enabled(level)) {
    const Key& name = state.keys()[id];
    base::log::write(level, "Reconciler error",
                     {kv("controller", name.reconciler), kv("namespace", name.ns), kv("name", name.name),
                      kv("step", what), kv("error", text), kv("failures", more.memory.failures),
                      kv("retryInMs", std::chrono::duration_cast<std::chrono::milliseconds>(delay).count())});
  }
  more.trouble = std::move(text);
  key.phase = Phase::backing_off;
  set_due(id, reactor.now() + delay);
  if (key.dirty) plan_early(id);
}

// Ends a back-off before its time, once until a back-off has run its course.
void Loop::Impl::plan_early(KeyId id) {
  if (std::exchange(extra(key_state(id)).early_used, true)) return;
  set_due(id, base::MonoTime::max());
  enqueue(id, Lane::fresh);
}

// Waits until one of the targets has another version than the one that was refused, or reads them when that takes too
// long.
void Loop::Impl::await_versions(KeyId id, std::vector<Ref> targets, const std::vector<const Node*>& nodes) {
  KeyState& key = key_state(id);
  KeyExtra& more = extra(key);
  more.must_read = std::move(targets);
  more.waits_for = nodes;
  for (const Node* node : nodes) version_waiters[node].push_back(id);
  key.phase = Phase::awaiting_version;
  set_due(id, reactor.now() + options.version_wait);
}

void Loop::Impl::stop_waiting(KeyId id) {
  KeyState& key = key_state(id);
  if (key.extra == nullptr) return;
  for (const Node* node : std::exchange(key.extra->waits_for, {})) {
    const auto it = version_waiters.find(node);
    if (it == version_waiters.end()) continue;
    std::erase(it->second, id);
    if (it->second.empty()) version_waiters.erase(it);
  }
}

void Loop::Impl::version_seen(const Node& node) {
  if (++changes_since_collect == k_collect_after) schedule();
  if (version_waiters.empty()) return;
  const auto it = version_waiters.find(&node);
  if (it == version_waiters.end()) return;
  const std::vector<KeyId> waiting = it->second;
  for (const KeyId id : waiting) {
    stop_waiting(id);
    extra(key_state(id)).must_read.clear();
    set_due(id, base::MonoTime::max());
    enqueue(id, Lane::fresh);
  }
}

// The key's object is gone and nothing is left to do.
void Loop::Impl::forget(KeyId id) {
  KeyState& key = key_state(id);
  check(key.phase == Phase::idle && key.activation == nullptr, "a busy key is forgotten");
  set_due(id, base::MonoTime::max());
  stop_waiting(id);
  state.forget(id);
  // Withdrawn facts may have woken the key itself.
  if (key.phase != Phase::idle) return;
  key = KeyState{};
  state.keys().release(id);
}

}  // namespace kube
