// The loop's life: sources, turns, leadership, draining.
#include "kube/loop.h"

#include <algorithm>

#include "base/log.h"
#include "kube/check.h"
#include "kube/loop_impl.h"

namespace kube {
namespace {

// The distinct ranks of a controller, in order; and for each reconciler which of them it has.
std::vector<std::size_t> positions_of_ranks(const Controller& controller) {
  std::set<int> ranks;
  for (const ReconcilerSpec& reconciler : controller.reconcilers) ranks.insert(reconciler.rank);
  std::vector<std::size_t> positions;
  for (const ReconcilerSpec& reconciler : controller.reconcilers) {
    positions.push_back(static_cast<std::size_t>(std::distance(ranks.begin(), ranks.find(reconciler.rank))));
  }
  return positions;
}

std::size_t number_of_ranks(const Controller& controller) {
  std::set<int> ranks;
  for (const ReconcilerSpec& reconciler : controller.reconcilers) ranks.insert(reconciler.rank);
  return std::max<std::size_t>(ranks.size(), 1);
}

EventOptions event_options(const Controller& controller, const LoopOptions& options) {
  EventOptions events = options.events;
  events.controller = controller.name;
  events.instance = options.identity.empty() ? controller.name : options.identity;
  return events;
}

// Feeds a store by list and watch.
class WatchSource final : public Source {
 public:
  WatchSource(base::Reactor& reactor, Transport& transport, Store& store, ReflectorOptions options, std::uint64_t seed,
              Reflector::Listener listener)
      : reflector_(reactor, transport, store, std::move(options), seed, std::move(listener)) {}
  void start() override { reflector_.start(); }
  void stop() override { reflector_.stop(); }
  const ReflectorStatus* status() const override { return &reflector_.status(); }

 private:
  Reflector reflector_;
};

SourceFactory reflectors(base::Reactor& reactor, Transport& transport, MetricsSink& metrics, std::uint64_t seed) {
  return [&reactor, &transport, &metrics, random = base::Random(seed)](const WatchSpec& watch, Store& store,
                                                                       std::function<void()> settled) mutable {
    ReflectorOptions options;
    options.kind = watch.kind;
    options.ns = watch.ns;
    options.label_selector = watch.label_selector;
    options.field_selector = watch.field_selector;
    options.policy.optional = watch.optional;
    options.policy.right = watch.right;
    Reflector::Listener listener;
    listener.available = [settled](bool) { settled(); };
    listener.settled = std::move(settled);
    listener.counted = [&metrics, kind = watch.kind](WatchMachine::Counter what, std::string_view reason) {
      metrics.watch_counted(kind->resource, what, reason);
    };
    return std::make_unique<WatchSource>(reactor, transport, store, std::move(options), random.next(),
                                         std::move(listener));
  };
}

}  // namespace

Loop::Impl::Impl(const Controller& c, Transport& t, base::Reactor& r, MetricsSink& m, LoopOptions o)
    : controller(c),
      transport(t),
      reactor(r),
      metrics(m),
      options(std::move(o)),
      random(options.seed),
      state(controller,
            {[this](KeyId id, State::Cause cause) { wake(id, cause); }, [this](Store& store) { unfinished(store); },
             [this](const Node& node) { version_seen(node); }},
            reactor, random.next()),
      queue(number_of_ranks(controller), options.per_namespace),
      events(transport, reactor, metrics, event_options(controller, options), random.next()),
      ranks(positions_of_ranks(controller)),
      settled(controller.watches.size()),
      gone(controller.watches.size()),
      active(controller.reconcilers.size()),
      depths(controller.reconcilers.size()) {
  state.set_births(false);
  check(options.max_concurrent > 0 && options.max_requests > 0, "a loop that may do nothing");
}

void Loop::Impl::open_sources(const SourceFactory& factory) {
  for (std::size_t i = 0; i < controller.watches.size(); ++i) {
    sources.push_back(factory(controller.watches[i], *state.stores()[i], [weak = weak_from_this(), i] {
      const auto self = weak.lock();
      if (!self) return;
      self->settled[i] = true;
      self->schedule();
    }));
  }
}

void Loop::Impl::schedule() {
  if (scheduled) return;
  scheduled = true;
  reactor.post(later([](Impl& self) { self.turn(); }));
}

// One turn: a slice of the queue, short enough that timers and answers never wait for long.
void Loop::Impl::turn() {
  scheduled = false;
  notice_what_is_served();
  pump();  // what had to wait while a kind was gone and back before anybody noticed
  bear_some();
  if (changes_since_collect >= k_collect_after) collect();
  if (!try_start()) return finish_drain();
  if (!whole_tasks.empty() && whole()) {
    for (base::Task& task : std::exchange(whole_tasks, {})) task();
  }
  const base::MonoTime begin = reactor.now();
  std::size_t planned = 0;
  bool more = true;
  while (planned < options.keys_per_turn && reactor.now() - begin <= options.turn) {
    const std::optional<KeyId> id = next_key();
    more = id.has_value();
    if (!more) break;
    activate(*id);
    ++planned;
  }
  if (more) schedule();
  changes_since_collect += planned;
  metrics.turn(reactor.now() - begin);
  finish_drain();
}

// Whether the reconcilers run: from the moment on when every store has had its first complete list, or is of an
// optional kind that the server is known not to serve.
bool Loop::Impl::try_start() {
  if (started) return true;
  for (std::size_t i = 0; i < controller.watches.size(); ++i) {
    const Store& store = *state.stores()[i];
    const bool missing = controller.watches[i].optional && settled[i] && !store.replacing();
    if (!store.available() && !missing) return false;
  }
  started = true;
  base::log::info("The stores are filled", {base::log::kv("controller", controller.name)});
  for (const Key& key : controller.initial_keys) wake(state.keys().intern(key), State::Cause::initial);
  for (base::Task& task : std::exchange(synced_tasks, {})) task();
  return true;
}

bool Loop::Impl::may_plan() {
  if (!started || !leading || draining || replacing() || !newborn.empty() || !whole()) return false;
  if (lease_outlives(options.write_timeout)) return true;
  if (queue.size() > 0 || !continuing.empty()) wait_for_lease();
  return false;
}

bool Loop::Impl::replacing() const {
  return std::ranges::any_of(state.stores(), [](const auto& store) { return store->replacing(); });
}

// A kind that is not served reads as if there were nothing of it. Where a controller cannot do without the kind, no
// plan may follow from that.
bool Loop::Impl::whole() const {
  for (std::size_t i = 0; i < controller.watches.size(); ++i) {
    if (!controller.watches[i].optional && !state.stores()[i]->available()) return false;
  }
  return true;
}

// Called before anything is planned in a turn.
void Loop::Impl::notice_what_is_served() {
  for (std::size_t i = 0; i < controller.watches.size(); ++i) {
    const Store& store = *state.stores()[i];
    if (store.synced() && !store.served() && !gone[i]) {
      gone[i] = true;
      if (whole()) continue;
      give_up_unsent();
      abandon_continuing();
    } else if (store.available() && gone[i]) {
      gone[i] = false;
      bear_all(i);  // their keys may have found nothing meanwhile, and be forgotten
    }
  }
}

void Loop::Impl::collect() {
  changes_since_collect = 0;
  state.collect(k_collect_at_once);
}

// A standby keeps no keys. When it begins to lead, what it has seen gives birth to them all, in slices.
void Loop::Impl::begin_births() {
  if (std::exchange(births, true)) return;
  state.set_births(true);
  for (std::size_t i = 0; i < state.stores().size(); ++i) bear_all(i);
}

void Loop::Impl::bear_all(std::size_t watch) {
  if (!births) return;
  std::vector<ObjectPtr> objects;
  objects.reserve(state.stores()[watch]->size());
  state.stores()[watch]->for_each([&](const ObjectPtr& object) { objects.push_back(object); });
  if (!objects.empty()) newborn.emplace_back(watch, std::move(objects));
}

void Loop::Impl::bear_some() {
  for (std::size_t n = 0; n < options.objects_per_turn && !newborn.empty(); ++n) {
    auto& [watch, objects] = newborn.front();
    state.bear(watch, *objects.back(), State::Cause::initial);
    objects.pop_back();
    if (objects.empty()) newborn.pop_front();
  }
  if (!newborn.empty()) schedule();
}

void Loop::Impl::unfinished(Store& store) {
  reactor.post(later([&store](Impl& self) { self.resume(store); }));
}

void Loop::Impl::resume(Store& store) {
  const base::MonoTime begin = reactor.now();
  const bool was_replacing = store.replacing();
  const bool finished = store.resume(options.objects_per_turn);
  metrics.turn(reactor.now() - begin);
  if (!finished) return unfinished(store);
  if (was_replacing) schedule();
}

void Loop::Impl::set_leading(bool now_leading) {
  if (std::exchange(leading, now_leading) == now_leading) return;
  if (leading) {
    begin_births();
  } else {
    give_up_unsent();
    abandon_continuing();
  }
  schedule();
}

void Loop::Impl::finish_drain() {
  if (!draining || !drained || queue.in_flight() > 0) return;
  events.flush(std::exchange(drained, {}));
}

Loop::Loop(const Controller& controller, Transport& transport, base::Reactor& reactor, MetricsSink& metrics,
           LoopOptions options, SourceFactory sources)
    : impl_(std::make_shared<Impl>(controller, transport, reactor, metrics, std::move(options))) {
  impl_->open_sources(sources ? sources : reflectors(reactor, transport, metrics, impl_->random.next()));
}

Loop::~Loop() {
  for (const auto& source : impl_->sources) source->stop();
  impl_->reactor.cancel(impl_->timer);
  impl_->reactor.cancel(impl_->lease_timer);
}

void Loop::start() {
  for (const auto& source : impl_->sources) source->start();
  impl_->schedule();
}

bool Loop::synced() const { return impl_->started; }

void Loop::when_synced(base::Task f) {
  if (impl_->started) {
    impl_->reactor.post(std::move(f));
  } else {
    impl_->synced_tasks.push_back(std::move(f));
  }
}

bool Loop::whole() const { return impl_->whole(); }

void Loop::when_whole(base::Task f) {
  impl_->whole_tasks.push_back(std::move(f));
  impl_->schedule();
}

void Loop::set_leading(bool leading) { impl_->set_leading(leading); }
bool Loop::leading() const { return impl_->leading; }

void Loop::set_lease(std::function<base::MonoTime()> lease_until) {
  impl_->lease_until = std::move(lease_until);
  impl_->pump();
  impl_->schedule();
}

void Loop::set_lease_deadline(base::MonoTime until) {
  set_lease([until] { return until; });
}

void Loop::drain(base::Task done) {
  check(!impl_->draining, "a loop is drained twice");
  impl_->draining = true;
  impl_->drained = std::move(done);
  impl_->give_up_unsent();
  impl_->abandon_continuing();
  impl_->schedule();
}

bool Loop::idle() const {
  return !impl_->scheduled && impl_->newborn.empty() && impl_->queue.size() == 0 && impl_->queue.in_flight() == 0 &&
         !impl_->replacing() && impl_->events.pending() == 0;
}

LoopStats Loop::stats() const {
  LoopStats stats = impl_->counts;
  stats.keys = impl_->state.keys().size();
  stats.queued = impl_->queue.size();
  stats.in_flight = impl_->queue.in_flight();
  stats.requests = impl_->requests;
  for (const KeyState& key : impl_->keys) {
    if (key.phase == KeyState::Phase::backing_off || key.phase == KeyState::Phase::awaiting_version) ++stats.waiting;
  }
  return stats;
}

State& Loop::state() { return impl_->state; }
const State& Loop::state() const { return impl_->state; }
EventRecorder& Loop::events() { return impl_->events; }

std::vector<const Source*> Loop::sources() const {
  std::vector<const Source*> all;
  for (const auto& source : impl_->sources) all.push_back(source.get());
  return all;
}

int Loop::failures(const Key& key) const {
  const KeyId* id = impl_->state.keys().find(key);
  if (id == nullptr || static_cast<std::size_t>(*id) >= impl_->keys.size()) return 0;
  const KeyState& at = impl_->keys[static_cast<std::size_t>(*id)];
  return at.extra == nullptr ? 0 : at.extra->memory.failures;
}

}  // namespace kube
