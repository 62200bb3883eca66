// An HTTP/1.1 server on loopback, with or without TLS, that expects the worst of its clients: whatever one of them
// does, it gets an answer or a closed connection, and the others are served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "serve/http.h"
#include "serve/io_reactor.h"

namespace serve {

struct TlsFiles {
  std::string certificate;  // PEM, the chain
  std::string key;          // PEM
  std::string client_ca;    // PEM; certificates of clients are asked for and checked against it. "": not asked for
};

struct HttpLimits {
  std::size_t head = 64UL * 1024;            // bytes of request line and headers; more: 431
  std::size_t body = 3UL * 1024 * 1024;      // bytes of a body; more: 413
  std::size_t bodies = 256UL * 1024 * 1024;  // bytes of all bodies being received; more: 429
  std::size_t connections = 8192;            // more are closed at once
  std::size_t backlog = 16UL * 1024 * 1024;  // bytes that a stream's reader may be behind (Stream::limit_backlog)
  std::size_t low_mark = 256UL * 1024;       // of Stream::on_drained
  base::Duration handshake = std::chrono::seconds(10);
  base::Duration idle = std::chrono::minutes(5);       // between two requests of a connection
  base::Duration receive = std::chrono::seconds(30);   // for a head; again for a body
  base::Duration progress = std::chrono::seconds(30);  // without one byte taken by a client that is being written to
};

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address of loopback; others are refused
  std::uint16_t port = 0;          // 0: a free one
  std::optional<TlsFiles> tls = {};
  HttpLimits limits = {};
  // The answer instead of the usual plain text when the server itself must refuse a request: 400, 408, 413, 429, 431.
  std::function<Response(int status, std::string_view why)> refusal = {};
  // Asked when the head has arrived, before the body is read: an answer ends it there.
  std::function<std::optional<Response>(const Head&)> admit = {};
};

// Not thread-safe; belongs to the reactor's thread. Handlers may be called until it is destroyed, never from within its
// own calls.
class HttpServer {
 public:
  // Listens when it returns. `reactor` outlives the server.
  static base::Result<std::unique_ptr<HttpServer>> start(IoReactor& reactor, HttpOptions options);
  // Cuts off what is under way.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Exactly this path. Paths are compared as they come, still encoded. Without a route a request gets 404.
  void route(std::string path, Handler handler);
  // All paths that begin with `prefix`, which ends with '/', unless a longer prefix or route() says otherwise.
  void route_below(std::string prefix, Handler handler);

  std::uint16_t port() const;
  std::size_t connections() const;
  std::size_t body_bytes() const;  // of all bodies being received
  // Takes no new connections; those that are idle are closed, others after their answer.
  void drain();

  struct Impl;

 private:
  explicit HttpServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace serve
