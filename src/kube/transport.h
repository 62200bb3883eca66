// The seam between the runtime and the wire: requests out, continuations back. The production implementation speaks
// HTTP over libcurl on a thread of its own; simulations answer from an in-memory server on the same thread.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/pulse.h"
#include "base/reactor.h"

namespace kube {

// Requests of one lane share connections; lanes never wait for one another.
enum class Lane : std::uint8_t { normal, lease };

// Takes the body of a 2xx answer as it comes, where it may be too long to be kept as a whole. On the transport's
// thread.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // The request is sent (again): what came before does not count.
  virtual void restart() = 0;
  // A piece of the body, split anywhere.
  virtual void data(std::string_view bytes) = 0;
};

struct Request {
  std::string method = "GET";
  std::string path = {};                                        // percent-encoded, starts with '/'
  std::vector<std::pair<std::string, std::string>> query = {};  // not encoded; encoded by the transport
  std::string content_type = {};                                // empty if there is no body
  std::string body = {};
  base::Duration timeout = std::chrono::seconds(30);  // whole request; for streams: until the response headers
  Lane lane = Lane::normal;
  std::string accept = {};  // representations wanted; empty: application/json
  // Where the body of a 2xx goes; Response::body is empty then. A transport that has the whole body at once may ignore
  // it.
  std::shared_ptr<BodySink> sink = {};

  bool idempotent() const { return method == "GET"; }
};

struct Response {
  int status = 0;
  std::string body;
  std::string content_type;
  std::optional<base::Duration> retry_after;
  std::vector<std::string> warnings;  // texts of `Warning: 299` headers
};

// No answer: whether a write took effect is unknown unless `sent` is false.
struct TransportError {
  enum class Kind : std::uint8_t { connect, tls, timeout, reset, cancelled, credentials };
  Kind kind = Kind::connect;
  std::string message;
  bool sent = true;  // false: proof that no byte of the request reached the server
};
using Answer = std::expected<Response, TransportError>;

// First stage, on the transport's thread: decode what arrived. Its result is the second stage, run on the reactor's
// thread.
using Receiver = std::move_only_function<base::Task(Answer)>;

// The receiving end of one streaming response. Members are called on the transport's thread, in order; each returns the
// task to run on the reactor's thread (an empty one if there is nothing to do).
class StreamReceiver {
 public:
  virtual ~StreamReceiver() = default;
  // Called at most once, before any data, when the response headers are 2xx.
  virtual base::Task opened() = 0;
  // A piece of the body, split anywhere.
  virtual base::Task data(std::string_view bytes) = 0;
  // Called exactly once, last. A non-2xx response arrives here whole, as a Response (its body limited to 1 MiB);
  // the regular end of a 2xx stream as a Response with its status and an empty body.
  virtual base::Task closed(Answer how) = 0;
};

enum class StreamId : std::uint64_t { none = 0 };

// All members are called on the reactor's thread. Continuations run there too, never from within these calls.
class Transport {
 public:
  virtual ~Transport() = default;
  // The receiver's task runs exactly once, also on failure, time-out and shutdown.
  virtual void send(Request request, Receiver receiver) = 0;
  // Every stream has a connection of its own. `idle` is the longest silence before the connection counts as dead.
  virtual StreamId open(Request request, std::unique_ptr<StreamReceiver> receiver, base::Duration idle) = 0;
  // After this no task of that stream runs any more. Closing an ended stream does nothing.
  virtual void close(StreamId stream) = 0;
  // Of the thread that does the I/O: beats about once a second. Null if there is no such thread.
  virtual std::shared_ptr<const base::Pulse> pulse() const { return nullptr; }
};

}  // namespace kube
