#include "kube/event_recorder.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <deque>
#include <optional>

#include "base/log.h"
#include "base/random.h"
#include "kube/api_error.h"
#include "kube/recent_map.h"

namespace kube {

namespace {

using base::log::kv;

constexpr Resource k_events{"events.k8s.io", "v1", "events", "Event", true};
constexpr std::size_t k_remembered = 4096;  // once names, objects' budgets, running series: bounds, not expectations

// Of an event that happened, and perhaps goes on.
struct Series {
  EventNote note;
  std::string ns, name;
  int count = 1;
  int written = 1;       // the count the server knows
  bool lost = false;     // the server does not have it: write it anew
  bool pending = false;  // a request about it is queued or in flight: they go one after the other
  bool due = false;      // its count is to be written after that
  base::MonoTime last;
  base::WallTime last_wall;
  base::MonoTime heartbeat;
};

struct Job {
  std::string identity;  // of the series; "" for once events
  Request request;
  int tries = 0;
  bool create = true;
};

struct Budget {
  double tokens = 0;
  base::MonoTime at;
};
struct Nothing {};

std::string identity_of(const EventNote& note) {
  std::string id = note.regarding_uid;
  for (const std::string_view part : {std::string_view(note.regarding.name), std::string_view(note.reason),
                                      std::string_view(note.action), std::string_view(note.note)}) {
    id += '\n';
    id += part;
  }
  return id + (note.warning ? "\nw" : "\nn");
}

bool may_pass(const ApiError& error) {
  return error.is_transport() || error.is_too_many_requests() || error.is_server_error();
}

}  // namespace

struct EventRecorder::Impl : std::enable_shared_from_this<EventRecorder::Impl> {
  Impl(Transport& t, base::Reactor& r, MetricsSink& m, EventOptions o, std::uint64_t seed)
      : transport(t), reactor(r), metrics(m), options(std::move(o)), random(seed) {}

  void record(const EventNote& note);
  void record_once(const EventNote& note);
  void repeat(Series& series);
  bool spend(const EventNote& note);
  void create(const EventNote& note, std::string_view name, std::string identity);
  void write_count(Series& series);
  void push(Job job);
  void pump();
  void answered(Job job, std::optional<ApiError> error);
  void settled(const Job& job, bool stored, bool rewrite = false);
  void again_later(Job job);
  void drop(std::string_view why);
  void watch_series();
  void end_series();
  void finish_flush();

  Transport& transport;
  base::Reactor& reactor;
  MetricsSink& metrics;
  EventOptions options;
  base::Random random;
  RecentMap<Series> series{k_remembered};   // by identity; at worst a count stays behind
  RecentMap<Nothing> once{k_remembered};    // by "ns/name"
  RecentMap<Budget> budgets{k_remembered};  // by uid
  std::deque<Job> queue;
  std::size_t in_flight = 0;
  std::size_t sleeping = 0;  // between two tries
  base::TimerId timer = base::TimerId::none;
  base::Task flushed;
  bool flushing = false;
};

void EventRecorder::Impl::record(const EventNote& note) {
  if (flushing) return drop("shutting down");
  if (note.once) return record_once(note);
  std::string identity = identity_of(note);
  if (const Series* known = series.find(identity)) {
    if (reactor.now() - known->last <= options.quiet) return repeat(series.use(identity).first);
    series.erase(identity);
  }
  if (!spend(note)) return drop("too many about one object");
  const std::string name = event_name(note.regarding.name, random.next());
  const std::string ns = note.regarding.ns.empty() ? "default" : note.regarding.ns;
  Series& fresh = series.use(identity).first;
  fresh.note = note;
  fresh.ns = ns;
  fresh.name = name;
  fresh.last = fresh.heartbeat = reactor.now();
  fresh.last_wall = reactor.wall();
  fresh.pending = true;
  watch_series();
  create(note, name, std::move(identity));
}

void EventRecorder::Impl::record_once(const EventNote& note) {
  std::string name = once_name(note);
  const std::string place = note.regarding.ns + "/" + name;
  if (once.find(place) == nullptr && !spend(note)) return drop("too many about one object");
  if (once.use(place).second) create(note, name, {});
}

// The first repeat makes it a series at once; later ones are counted and written now and then.
void EventRecorder::Impl::repeat(Series& of) {
  ++of.count;
  of.last = reactor.now();
  of.last_wall = reactor.wall();
  if (of.written == 1 || reactor.now() - of.heartbeat >= options.heartbeat) {
    write_count(of);
  }
}

bool EventRecorder::Impl::spend(const EventNote& note) {
  const base::MonoTime now = reactor.now();
  const auto [budget, fresh] = budgets.use(note.regarding_uid);
  if (fresh) budget = {static_cast<double>(options.burst), now};
  budget.tokens += static_cast<double>((now - budget.at).count()) / static_cast<double>(options.refill.count());
  budget.tokens = std::min(budget.tokens, static_cast<double>(options.burst));
  budget.at = now;
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

void EventRecorder::Impl::create(const EventNote& note, std::string_view name, std::string identity) {
  Job job;
  job.identity = std::move(identity);
  job.request.method = "POST";
  job.request.path = k_events.collection_path(note.regarding.ns.empty() ? "default" : note.regarding.ns);
  job.request.content_type = "application/json";
  job.request.timeout = options.timeout;
  job.request.body = boost::json::serialize(event_body(note, options, name, reactor.wall()));
  push(std::move(job));
}

void EventRecorder::Impl::write_count(Series& of) {
  if (of.pending) {
    of.due = true;
    return;
  }
  of.pending = true;
  of.due = false;
  const boost::json::object counted{{"count", of.count}, {"lastObservedTime", micro_time(of.last_wall)}};
  of.written = of.count;
  of.heartbeat = reactor.now();
  Job job;
  job.identity = identity_of(of.note);
  job.create = of.lost;
  job.request.timeout = options.timeout;
  if (std::exchange(of.lost, false)) {
    of.name = event_name(of.note.regarding.name, random.next());
    boost::json::object body = event_body(of.note, options, of.name, reactor.wall());
    body["series"] = counted;
    job.request.method = "POST";
    job.request.path = k_events.collection_path(of.ns);
    job.request.content_type = "application/json";
    job.request.body = boost::json::serialize(body);
  } else {
    job.request.method = "PATCH";
    job.request.path = k_events.object_path(of.ns, of.name);
    job.request.content_type = "application/merge-patch+json";
    job.request.body = boost::json::serialize(boost::json::object{{"series", counted}});
  }
  push(std::move(job));
}

void EventRecorder::Impl::drop(std::string_view why) {
  metrics.event_dropped();
  base::log::debug("Event dropped", {kv("why", why)});
}

void EventRecorder::Impl::push(Job job) {
  if (queue.size() + sleeping >= options.queue) {
    drop("the queue is full");
    settled(job, false);
    return;
  }
  queue.push_back(std::move(job));
  pump();
}

void EventRecorder::Impl::pump() {
  while (!queue.empty() && in_flight < options.in_flight) {
    Job job = std::move(queue.front());
    queue.pop_front();
    ++in_flight;
    Request request = job.request;
    transport.send(std::move(request),
                   [weak = weak_from_this(), job = std::move(job)](Answer answer) mutable -> base::Task {
                     return [weak, job = std::move(job), error = error_of(answer)]() mutable {
                       if (const auto self = weak.lock()) self->answered(std::move(job), std::move(error));
                     };
                   });
  }
  finish_flush();
}

void EventRecorder::Impl::answered(Job job, std::optional<ApiError> error) {
  --in_flight;
  if (error && job.create && error->is_already_exists()) error.reset();
  if (!error) {
    metrics.event_sent();
    settled(job, true);
  } else if (may_pass(*error) && ++job.tries < options.tries && !flushing) {
    again_later(std::move(job));
  } else {
    const bool expired = !job.create && error->is_not_found();
    if (!expired) {
      metrics.event_dropped();
      base::log::warn("Event not recorded", {kv("error", error->to_string())});
    }
    settled(job, false, expired);
  }
  pump();
}

// A request about a series is over. If the server does not have the event (any more), its next count is written as a
// new one.
void EventRecorder::Impl::settled(const Job& job, bool stored, bool rewrite) {
  Series* of = job.identity.empty() ? nullptr : series.find(job.identity);
  if (of == nullptr) return;
  of->pending = false;
  if (!stored) of->lost = true;
  if (of->due || rewrite) write_count(*of);
}

void EventRecorder::Impl::again_later(Job job) {
  const double part = job.tries == 1 ? random.unit() : 1.0;
  const base::Duration delay(static_cast<std::int64_t>(static_cast<double>(options.retry.count()) * part));
  ++sleeping;
  reactor.at(reactor.now() + delay, [weak = weak_from_this(), job = std::move(job)]() mutable {
    const auto self = weak.lock();
    if (!self) return;
    --self->sleeping;
    if (self->flushing) return self->drop("shutting down");
    self->queue.push_back(std::move(job));
    self->pump();
  });
}

// Sees to it that series are looked at when they may have ended.
void EventRecorder::Impl::watch_series() {
  if (timer != base::TimerId::none || flushing) return;
  timer = reactor.at(reactor.now() + options.quiet, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer = base::TimerId::none;
    self->end_series();
  });
}

// Writes the counts of series that have ended or go on for long, and forgets what cannot be repeated any more.
void EventRecorder::Impl::end_series() {
  const base::MonoTime now = reactor.now();
  series.erase_if([&](Series& one) {
    const bool ended = now - one.last >= options.quiet;
    if (one.count != one.written && (ended || now - one.heartbeat >= options.heartbeat)) write_count(one);
    return ended;
  });
  if (series.size() > 0) watch_series();
}

void EventRecorder::Impl::finish_flush() {
  if (flushed && queue.empty() && in_flight == 0) std::exchange(flushed, {})();
}

EventRecorder::EventRecorder(Transport& transport, base::Reactor& reactor, MetricsSink& metrics, EventOptions options,
                             std::uint64_t seed)
    : impl_(std::make_shared<Impl>(transport, reactor, metrics, std::move(options), seed)) {}

EventRecorder::~EventRecorder() { impl_->reactor.cancel(impl_->timer); }

void EventRecorder::record(const EventNote& note) { impl_->record(note); }

void EventRecorder::flush(base::Task done) {
  impl_->flushed = std::move(done);
  impl_->series.erase_if([this](Series& series) {
    if (series.count != series.written) impl_->write_count(series);
    return false;
  });
  impl_->flushing = true;
  impl_->pump();
}

std::size_t EventRecorder::series() const { return impl_->series.size(); }

std::size_t EventRecorder::pending() const { return impl_->queue.size() + impl_->in_flight + impl_->sleeping; }

}  // namespace kube
