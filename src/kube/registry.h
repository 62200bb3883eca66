// The process's metrics, under the names that controller-runtime and client-go use, in Prometheus' text form.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/controller.h"
#include "kube/metrics.h"
#include "kube/reflector.h"
#include "kube/transport_options.h"

namespace kube {

// The members of MetricsSink and those without another word belong to the reactor's thread; what they set is published
// at once.
class Registry final : public MetricsSink {
 public:
  // All series of the controller's reconcilers exist from the start, at zero. `clock` is the reactor's.
  Registry(const Controller& controller, std::size_t max_concurrent, std::function<base::MonoTime()> clock);
  ~Registry() override;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  void reconciled(std::string_view reconciler, Result result, base::Duration took) override;
  void panicked(std::string_view reconciler) override;
  void active_workers(std::string_view reconciler, std::size_t keys) override;
  void queue_added(std::string_view reconciler) override;
  void queue_depth(std::string_view reconciler, QueueLane lane, std::size_t keys) override;
  void queue_waited(std::string_view reconciler, base::Duration waited) override;
  void queue_retried(std::string_view reconciler) override;
  void answered(std::string_view reconciler, std::string_view step, int status, base::Duration took) override;
  void noop_write(std::string_view reconciler, std::string_view step) override;
  void repeated_conflict(std::string_view reconciler) override;
  void event_sent() override;
  void event_dropped() override;
  void observe(const Observation& observation) override;
  void watch_counted(const Resource& resource, WatchMachine::Counter what, std::string_view reason) override;
  void turn(base::Duration took) override;

  // For the transport: thread-safe, and may outlive the registry.
  std::shared_ptr<RequestObserver> request_observer() const;

  void leading(std::string_view lease, bool yes);
  void lease_slow_path(std::string_view lease);
  // Values that age; to be called about twice a second.
  void refresh(const Resource& resource, const ReflectorStatus& status, std::size_t objects);
  void refresh(const Count& count);
  void refresh_queues();

  // The whole text. Any thread.
  std::string expose() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
