// Shorthands over prometheus-cpp for registry*.cc; not for others to include.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "kube/transport_options.h"

namespace kube::metrics {

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;
using Histograms = prometheus::Family<prometheus::Histogram>;
using Labels = prometheus::Labels;
using Buckets = prometheus::Histogram::BucketBoundaries;

inline Counters& counters(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
inline Gauges& gauges(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
inline Histograms& histograms(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}
inline double in_seconds(base::Duration d) { return std::chrono::duration<double>(d).count(); }

// rest_client_*: what the transport tells.
std::shared_ptr<RequestObserver> make_request_observer(std::shared_ptr<prometheus::Registry> registry);

// process_*: read from /proc at each call of refresh(). Thread-safe as its gauges are.
class ProcessMetrics {
 public:
  explicit ProcessMetrics(prometheus::Registry& registry);
  void refresh();

 private:
  prometheus::Gauge& cpu_;
  prometheus::Gauge& resident_;
  prometheus::Gauge& virtual_;
  prometheus::Gauge& open_files_;
  prometheus::Gauge& max_files_;
  prometheus::Gauge& start_;
  prometheus::Gauge& threads_;
};

}  // namespace kube::metrics
