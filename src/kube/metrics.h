// What the loop tells about itself, as calls: a registry turns them into controller-runtime's metrics. Reactor's thread
// only.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "kube/plan.h"
#include "kube/watch_machine.h"

namespace kube {

// Every member is called on hot paths: look series up once. `reconciler` is ReconcilerSpec::name and becomes the labels
// `controller` (and `name`, for the queue's metrics). The default does nothing.
class MetricsSink {
 public:
  // How an activation ended, as controller-runtime counts: `error` = a write failed; `requeue` = something was sent and
  // the key is planned again; `requeue_after` = settled, with a revisit; `success` = settled.
  enum class Result : std::uint8_t { success, error, requeue, requeue_after };
  static constexpr std::string_view name(Result result) {
    switch (result) {
      case Result::success:
        return "success";
      case Result::error:
        return "error";
      case Result::requeue:
        return "requeue";
      case Result::requeue_after:
        return "requeue_after";
    }
    return "";
  }
  enum class QueueLane : std::uint8_t { fresh, background };

  virtual ~MetricsSink() = default;

  // controller_runtime_reconcile_total{controller,result}, _reconcile_errors_total{controller} for errors, and
  // _reconcile_time_seconds{controller}: from the pass's start to the last answer, in that order one call per
  // activation.
  virtual void reconciled(std::string_view /*reconciler*/, Result /*result*/, base::Duration /*took*/) {}
  // controller_runtime_reconcile_panics_total{controller}: a pass threw, or planned what no plan may.
  virtual void panicked(std::string_view /*reconciler*/) {}
  // controller_runtime_active_workers{controller}: keys in flight.
  virtual void active_workers(std::string_view /*reconciler*/, std::size_t /*keys*/) {}

  // workqueue_adds_total; workqueue_depth{priority}: number now waiting in that lane.
  virtual void queue_added(std::string_view /*reconciler*/) {}
  virtual void queue_depth(std::string_view /*reconciler*/, QueueLane /*lane*/, std::size_t /*keys*/) {}
  // workqueue_queue_duration_seconds: from being added to being planned.
  virtual void queue_waited(std::string_view /*reconciler*/, base::Duration /*waited*/) {}
  // workqueue_retries_total: planned again after a failure.
  virtual void queue_retried(std::string_view /*reconciler*/) {}

  // One write or live read answered: HTTP status, or 0 if there was no answer. `step` is Write::step, "confirm" for
  // live reads.
  virtual void answered(std::string_view /*reconciler*/, std::string_view /*step*/, int /*status*/,
                        base::Duration /*took*/) {}
  // A write whose answer had the version it was planned from: a defect of a reconciler.
  virtual void noop_write(std::string_view /*reconciler*/, std::string_view /*step*/) {}
  // A key met its third (sixth, …) conflict in a row.
  virtual void repeated_conflict(std::string_view /*reconciler*/) {}

  virtual void event_sent() {}
  // Left out because the queue was full or the object's budget spent, or because the server refused it.
  virtual void event_dropped() {}

  // Of metrics that the controller registered (Controller::metrics).
  virtual void observe(const Observation& /*observation*/) {}

  // informer_relists_total, informer_watch_restarts_total, watchlist_fallback_total.
  virtual void watch_counted(const Resource& /*resource*/, WatchMachine::Counter /*what*/,
                             std::string_view /*reason*/) {}

  // The length of one turn of the loop.
  virtual void turn(base::Duration /*took*/) {}
};

}  // namespace kube
