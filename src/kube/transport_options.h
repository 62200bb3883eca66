// How a transport behaves apart from where it connects to, and what it reports about itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/transport.h"

namespace kube {

// One finished request, as client-go's rest_client_* metrics count it. Texts are valid during the call only.
struct RequestReport {
  std::string_view method;
  std::string_view host;
  std::string_view path;
  int code = 0;         // 0: no answer ("<error>" in metrics)
  bool stream = false;  // then `duration` is the time until the response headers
  base::Duration duration{};
  base::Duration rate_limited{};  // time spent waiting for the client-side limiter
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
};

// Receives what the transport does. Called on the transport's thread (exec_call also on a plugin's): be quick and
// thread-safe.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void done(const RequestReport& report) = 0;
  // The transport itself tries again after an answer `code` (0: a lost connection).
  virtual void retried(std::string_view method, std::string_view host, int code) {
    static_cast<void>(method), static_cast<void>(host), static_cast<void>(code);
  }
  // A certificate authority, client certificate or token file was looked at again. `what` is "ca", "client-certificate"
  // or "token"; `result` is client-go's: read_error, empty, unchanged, ca_parse_error (parse_error for the others),
  // updated.
  virtual void reloaded(std::string_view what, std::string_view result) {
    static_cast<void>(what), static_cast<void>(result);
  }
  // A credential plugin ended. `status` is client-go's: no_error, plugin_execution_error, plugin_not_found_error,
  // client_internal_error.
  virtual void exec_call(int exit_code, std::string_view status) {
    static_cast<void>(exit_code), static_cast<void>(status);
  }
};

struct TransportOptions {
  std::string user_agent;     // see default_user_agent
  bool http2 = true;          // by ALPN; false: HTTP/1.1 for everything
  bool compression = false;   // ask for gzip on ordinary requests; the kubeconfig's disable-compression wins
  long max_connections = 16;  // for each lane; HTTP/2 normally needs one
  double qps = 0;             // client-side rate limit of the normal lane; 0: none, the server's fairness decides
  int burst = 10;             // only with qps
  std::uint64_t seed = 0;     // of the jitter
  std::shared_ptr<RequestObserver> observer;

  base::Duration connect_timeout = std::chrono::seconds(10);  // name, TCP, proxy and TLS together
  base::Duration user_timeout = std::chrono::seconds(30);     // TCP_USER_TIMEOUT: unacknowledged data
  base::Duration keepalive_idle = std::chrono::seconds(30);
  base::Duration keepalive_interval = std::chrono::seconds(15);
  // A connection that brought nothing for so long (or for a request's whole time-out, if that is shorter) while a
  // request on it timed out is dead: it is shut down, so that nothing is sent over it again.
  base::Duration dead_after = std::chrono::seconds(15);

  int max_retries = 10;                                      // after 429 or 5xx with Retry-After
  base::Duration max_retry_wait = std::chrono::seconds(30);  // a longer Retry-After is shortened to this
  int throttled_before_reconnect = 5;  // consecutive 429 before another connection (server) is tried

  base::Duration token_reload = std::chrono::seconds(60);       // token files are read at most so often
  base::Duration certificate_reload = std::chrono::minutes(5);  // CA and client certificate files are checked so often
  base::Duration exec_timeout = std::chrono::minutes(1);        // a plugin that takes longer is killed
  base::Duration exec_min_interval = std::chrono::seconds(10);  // between runs of a plugin that gives credentials
  base::Duration exec_backoff = std::chrono::seconds(1);        // after a failed run; doubles up to a minute
};

// "<binary>/<version> (linux/<arch>) kubernetes/<commit>": priority and fairness and audit rules match on it.
std::string default_user_agent(std::string_view binary, std::string_view version, std::string_view commit);

}  // namespace kube
