// Sends events.k8s.io/v1 events: never in the way of anything else, repeats as a series, a budget per object, a bounded
// queue. Reactor's thread only.
#pragma once

#include <memory>
#include <string>

#include "base/reactor.h"
#include "kube/metrics.h"
#include "kube/plan.h"
#include "kube/transport.h"

namespace kube {

struct EventOptions {
  std::string controller;  // reportingController, a qualified name
  std::string instance;    // reportingInstance, cut to 128 bytes
  // Requests waiting; what comes on top is dropped and counted. A burst of binds writes an event for each, about 1 KB
  // apiece.
  std::size_t queue = 10000;
  std::size_t in_flight = 8;
  int tries = 12;                                       // per request, on failures that may pass
  base::Duration retry = std::chrono::seconds(10);      // the first one after a random part of it
  base::Duration quiet = std::chrono::minutes(6);       // a series ends after so long without a repeat
  base::Duration heartbeat = std::chrono::minutes(30);  // a series under way is written again
  // Per regarding object: so many events that are not repeats, then one per `refill`.
  int burst = 25;
  base::Duration refill = std::chrono::minutes(5);
  base::Duration timeout = std::chrono::seconds(10);
};

class EventRecorder {
 public:
  // All references must outlive it.
  EventRecorder(Transport& transport, base::Reactor& reactor, MetricsSink& metrics, EventOptions options,
                std::uint64_t seed);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // Queues the event. A repeat (same object, type, reason, action and note) within `quiet` counts up a series instead;
  // a repeat of a `once` event does nothing.
  void record(const EventNote& note);
  // Writes what series have counted, sends what is queued without waiting between tries, then runs `done`. Events
  // recorded after this are dropped.
  void flush(base::Task done);
  // Requests queued or in flight.
  std::size_t pending() const;
  // Events remembered because they may be repeated.
  std::size_t series() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// --- exposed for tests ---

// The object of an event.
boost::json::object event_body(const EventNote& note, const EventOptions& options, std::string_view name,
                               base::WallTime at);
// The name of a `once` event: the object's name and a hash of (uid, reason, note), the same in every process.
std::string once_name(const EventNote& note);
// "OBJECT.0123456789abcdef", within what a name may be.
std::string event_name(std::string_view object, std::uint64_t number);
// At most `bytes` bytes of UTF-8 text, cut between characters.
std::string cut(std::string_view text, std::size_t bytes);

}  // namespace kube
