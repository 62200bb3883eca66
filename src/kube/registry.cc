#include "kube/registry.h"

#include <prometheus/text_serializer.h>

#include <set>
#include <unordered_map>
#include <utility>

#include "kube/check.h"
#include "kube/registry_families.h"

namespace kube {
namespace {

using namespace metrics;

const Buckets& reconcile_buckets() {
  static const Buckets buckets{0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
                               0.7,   0.8,  0.9,   1.0,  1.25, 1.5,  1.75, 2.0,  2.5, 3.0,  3.5, 4.0,  4.5, 5,
                               6,     7,    8,     9,    10,   15,   20,   25,   30,  40,   50,  60};
  return buckets;
}
const Buckets& queue_buckets() {
  static const Buckets buckets{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000};
  return buckets;
}
const Buckets& request_buckets() {
  static const Buckets buckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  return buckets;
}
const Buckets& turn_buckets() {
  static const Buckets buckets{1e-5, 1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.5, 1};
  return buckets;
}

// Transparent, so that a lookup by string_view makes no string.
struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class T>
using ByName = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

}  // namespace

struct Registry::Impl {
  // The series of one reconciler.
  struct Series {
    prometheus::Counter* results[4];
    prometheus::Counter* errors;
    prometheus::Histogram* time;
    prometheus::Gauge* active;
    prometheus::Gauge* depth[2];
    prometheus::Counter* adds;
    prometheus::Histogram* waited;
    prometheus::Histogram* worked;
    prometheus::Gauge* unfinished;
    prometheus::Gauge* longest;
    prometheus::Counter* retries;
    prometheus::Counter* conflicts;
    prometheus::Histogram* requests;
    std::multiset<base::MonoTime> running;  // when the activations in flight began
  };

  Impl(const Controller& controller, std::size_t max_concurrent, std::function<base::MonoTime()> now)
      : clock(std::move(now)) {
    for (const ReconcilerSpec& spec : controller.reconcilers) add_series(spec.name, max_concurrent);
    for (const MetricSpec& spec : controller.metrics) add_own(spec);
    for (const WatchSpec& watch : controller.watches) {
      for (const CountSpec& spec : watch.counts)
        counts.emplace(spec.metric, &gauges(*registry, spec.metric, spec.help));
    }
  }

  void add_series(const std::string& name, std::size_t max_concurrent);
  void add_own(const MetricSpec& spec);
  Series& of(std::string_view reconciler) {
    const auto found = series.find(reconciler);
    check(found != series.end(), "a reconciler that the controller does not have");
    return found->second;
  }

  std::function<base::MonoTime()> clock;
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  ByName<Series> series;
  ByName<Counters*> own_counters;
  ByName<Gauges*> counts;
  ByName<std::pair<Histograms*, Buckets>> own_histograms;
  mutable ProcessMetrics process{*registry};
  std::shared_ptr<RequestObserver> observer = make_request_observer(registry);

  Counters& reconcile_total =
      counters(*registry, "controller_runtime_reconcile_total", "Total number of reconciliations per controller");
  Counters& reconcile_errors = counters(*registry, "controller_runtime_reconcile_errors_total",
                                        "Total number of reconciliation errors per controller");
  Counters& terminal_errors = counters(*registry, "controller_runtime_terminal_reconcile_errors_total",
                                       "Total number of terminal reconciliation errors per controller");
  Counters& panics = counters(*registry, "controller_runtime_reconcile_panics_total",
                              "Total number of reconciliation panics per controller");
  Histograms& reconcile_time = histograms(*registry, "controller_runtime_reconcile_time_seconds",
                                          "Length of time per reconciliation per controller");
  Gauges& max_workers = gauges(*registry, "controller_runtime_max_concurrent_reconciles",
                               "Maximum number of concurrent reconciles per controller");
  Gauges& active =
      gauges(*registry, "controller_runtime_active_workers", "Number of currently used workers per controller");

  Gauges& depth = gauges(*registry, "workqueue_depth", "Current depth of workqueue by workqueue and priority");
  Counters& adds = counters(*registry, "workqueue_adds_total", "Total number of adds handled by workqueue");
  Histograms& queue_duration = histograms(*registry, "workqueue_queue_duration_seconds",
                                          "How long in seconds an item stays in workqueue before being requested");
  Histograms& work_duration = histograms(*registry, "workqueue_work_duration_seconds",
                                         "How long in seconds processing an item from workqueue takes.");
  Gauges& unfinished = gauges(*registry, "workqueue_unfinished_work_seconds",
                              "How many seconds of work has been done that is in progress and hasn't been observed by "
                              "work_duration.");
  Gauges& longest = gauges(*registry, "workqueue_longest_running_processor_seconds",
                           "How many seconds has the longest running processor for workqueue been running.");
  Counters& retries = counters(*registry, "workqueue_retries_total", "Total number of retries handled by workqueue");

  Counters& requests = counters(*registry, "controller_requests_total",
                                "Writes and live reads of reconcilers by step and HTTP status (0: no answer)");
  Histograms& request_time = histograms(*registry, "controller_request_duration_seconds",
                                        "From sending a write or live read of a reconciler to its answer");
  Counters& noops = counters(*registry, "controller_noop_writes_total",
                             "Writes that changed nothing: each one is a defect of the reconciler");
  Counters& conflicts = counters(*registry, "controller_repeated_conflicts_total",
                                 "Keys that met their third (sixth, ...) conflict in a row");
  Counters& events = counters(*registry, "controller_events_total", "Events of the controller by what became of them");
  prometheus::Counter& events_sent = events.Add({{"result", "sent"}});
  prometheus::Counter& events_dropped = events.Add({{"result", "dropped"}});
  prometheus::Histogram& turns =
      histograms(*registry, "controller_loop_turn_seconds", "Length of one turn of the loop").Add({}, turn_buckets());

  Gauges& master = gauges(*registry, "leader_election_master_status",
                          "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 "
                          "indicates master. 'name' is the string used to identify the lease.");
  Counters& slow_path = counters(*registry, "leader_election_slowpath_total",
                                 "Total number of slow path exercised in renewing leader leases. 'name' is the string "
                                 "used to identify the lease.");

  Counters& relists = counters(*registry, "informer_relists_total", "Complete lists after the first one, by reason");
  Counters& restarts = counters(*registry, "informer_watch_restarts_total", "Watches opened anew, by reason");
  Counters& fallbacks = counters(*registry, "informer_watchlist_fallback_total",
                                 "Streaming lists given up in favour of pages, by reason");
  Gauges& objects = gauges(*registry, "informer_objects", "Objects in the store");
  Gauges& event_age = gauges(*registry, "informer_last_event_age_seconds",
                             "Time since the server's last sign of life: an event, a bookmark, a page");
  Gauges& synced = gauges(*registry, "informer_synced", "Whether the store has had its first complete list");
  Gauges& served = gauges(*registry, "informer_served", "Whether the server serves the kind");
  Gauges& version = gauges(*registry, "informer_store_resource_version",
                           "The resourceVersion that the store has come to, as a number");
};

void Registry::Impl::add_series(const std::string& name, std::size_t max_concurrent) {
  const Labels controller{{"controller", name}};
  const Labels queue{{"name", name}, {"controller", name}};
  const auto lane = [&](const char* priority) {
    return &depth.Add({{"name", name}, {"controller", name}, {"priority", priority}});
  };
  const auto result = [&](Result r) {
    return &reconcile_total.Add({{"controller", name}, {"result", std::string(MetricsSink::name(r))}});
  };
  terminal_errors.Add(controller);
  panics.Add(controller);
  max_workers.Add(controller).Set(static_cast<double>(max_concurrent));
  series.emplace(name, Series{.results = {result(Result::success), result(Result::error), result(Result::requeue),
                                          result(Result::requeue_after)},
                              .errors = &reconcile_errors.Add(controller),
                              .time = &reconcile_time.Add(controller, reconcile_buckets()),
                              .active = &active.Add(controller),
                              .depth = {lane("0"), lane("-100")},  // controller-runtime's numbers for the two
                              .adds = &adds.Add(queue),
                              .waited = &queue_duration.Add(queue, queue_buckets()),
                              .worked = &work_duration.Add(queue, queue_buckets()),
                              .unfinished = &unfinished.Add(queue),
                              .longest = &longest.Add(queue),
                              .retries = &retries.Add(queue),
                              .conflicts = &conflicts.Add(controller),
                              .requests = &request_time.Add(controller, request_buckets()),
                              .running = {}});
}

void Registry::Impl::add_own(const MetricSpec& spec) {
  if (spec.type == MetricSpec::Type::counter) {
    own_counters.emplace(spec.name, &counters(*registry, spec.name, spec.help));
  } else {
    own_histograms.emplace(spec.name, std::pair(&histograms(*registry, spec.name, spec.help),
                                                spec.buckets.empty() ? reconcile_buckets() : spec.buckets));
  }
}

Registry::Registry(const Controller& controller, std::size_t max_concurrent, std::function<base::MonoTime()> clock)
    : impl_(std::make_unique<Impl>(controller, max_concurrent, std::move(clock))) {}

Registry::~Registry() = default;

void Registry::reconciled(std::string_view reconciler, Result result, base::Duration took) {
  Impl::Series& series = impl_->of(reconciler);
  series.results[static_cast<std::size_t>(result)]->Increment();
  if (result == Result::error) series.errors->Increment();
  series.time->Observe(in_seconds(took));
  series.worked->Observe(in_seconds(took));
}

void Registry::panicked(std::string_view reconciler) {
  impl_->panics.Add({{"controller", std::string(reconciler)}}).Increment();
}

void Registry::active_workers(std::string_view reconciler, std::size_t keys) {
  Impl::Series& series = impl_->of(reconciler);
  series.active->Set(static_cast<double>(keys));
  // Which of the activations has ended is not said: the oldest one is assumed.
  while (series.running.size() > keys) series.running.erase(series.running.begin());
  while (series.running.size() < keys) series.running.insert(impl_->clock());
}

void Registry::queue_added(std::string_view reconciler) { impl_->of(reconciler).adds->Increment(); }

void Registry::queue_depth(std::string_view reconciler, QueueLane lane, std::size_t keys) {
  impl_->of(reconciler).depth[static_cast<std::size_t>(lane)]->Set(static_cast<double>(keys));
}

void Registry::queue_waited(std::string_view reconciler, base::Duration waited) {
  impl_->of(reconciler).waited->Observe(in_seconds(waited));
}

void Registry::queue_retried(std::string_view reconciler) { impl_->of(reconciler).retries->Increment(); }

void Registry::answered(std::string_view reconciler, std::string_view step, int status, base::Duration took) {
  impl_->of(reconciler).requests->Observe(in_seconds(took));
  impl_->requests
      .Add({{"controller", std::string(reconciler)}, {"step", std::string(step)}, {"code", std::to_string(status)}})
      .Increment();
}

void Registry::noop_write(std::string_view reconciler, std::string_view step) {
  impl_->noops.Add({{"controller", std::string(reconciler)}, {"step", std::string(step)}}).Increment();
}

void Registry::repeated_conflict(std::string_view reconciler) { impl_->of(reconciler).conflicts->Increment(); }
void Registry::event_sent() { impl_->events_sent.Increment(); }
void Registry::event_dropped() { impl_->events_dropped.Increment(); }
void Registry::turn(base::Duration took) { impl_->turns.Observe(in_seconds(took)); }

void Registry::observe(const Observation& observation) {
  Labels labels;
  for (const auto& [key, value] : observation.labels) labels.emplace(key, value);
  if (const auto counter = impl_->own_counters.find(observation.metric); counter != impl_->own_counters.end()) {
    counter->second->Add(labels).Increment(observation.value);
    return;
  }
  const auto histogram = impl_->own_histograms.find(observation.metric);
  check(histogram != impl_->own_histograms.end(), "an observation of a metric that the controller does not have");
  histogram->second.first->Add(labels, histogram->second.second).Observe(observation.value);
}

std::shared_ptr<RequestObserver> Registry::request_observer() const { return impl_->observer; }

void Registry::leading(std::string_view lease, bool yes) {
  impl_->master.Add({{"name", std::string(lease)}}).Set(yes ? 1 : 0);
}

void Registry::lease_slow_path(std::string_view lease) {
  impl_->slow_path.Add({{"name", std::string(lease)}}).Increment();
}

namespace {
Labels labels_of(const Resource& resource) {
  return {{"group", std::string(resource.group)},
          {"version", std::string(resource.version)},
          {"resource", std::string(resource.plural)}};
}
}  // namespace

void Registry::watch_counted(const Resource& resource, WatchMachine::Counter what, std::string_view reason) {
  using Counter = WatchMachine::Counter;
  Counters& family = what == Counter::relist          ? impl_->relists
                     : what == Counter::watch_restart ? impl_->restarts
                                                      : impl_->fallbacks;
  Labels labels = labels_of(resource);
  labels.emplace("reason", std::string(reason));
  family.Add(labels).Increment();
}

void Registry::refresh(const Resource& resource, const ReflectorStatus& status, std::size_t objects) {
  const Labels labels = labels_of(resource);
  impl_->objects.Add(labels).Set(static_cast<double>(objects));
  impl_->synced.Add(labels).Set(status.synced ? 1 : 0);
  impl_->served.Add(labels).Set(status.available ? 1 : 0);
  if (status.last_event) impl_->event_age.Add(labels).Set(in_seconds(impl_->clock() - *status.last_event));
  if (!status.version.empty()) impl_->version.Add(labels).Set(std::strtod(status.version.c_str(), nullptr));
}

void Registry::refresh(const Count& count) {
  const auto family = impl_->counts.find(count.spec.metric);
  check(family != impl_->counts.end(), "a count of a metric that the controller does not have");
  for (const auto& [values, number] : count.numbers) {
    check(values.size() == count.spec.labels.size(), "a count without a value for each label");
    Labels labels;
    for (std::size_t i = 0; i < values.size(); ++i) labels.emplace(count.spec.labels[i], values[i]);
    family->second->Add(labels).Set(static_cast<double>(number));
  }
}

void Registry::refresh_queues() {
  const base::MonoTime now = impl_->clock();
  for (auto& [name, series] : impl_->series) {
    base::Duration sum{};
    for (const base::MonoTime began : series.running) sum += now - began;
    series.unfinished->Set(in_seconds(sum));
    series.longest->Set(series.running.empty() ? 0 : in_seconds(now - *series.running.begin()));
  }
}

std::string Registry::expose() const {
  impl_->process.refresh();
  return prometheus::TextSerializer().Serialize(impl_->registry->Collect());
}

}  // namespace kube
