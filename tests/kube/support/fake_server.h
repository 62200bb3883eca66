// An HTTP/1.1 server on loopback whose behaviour a test scripts, over plain TCP or TLS. A thread for each connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/support/certificates.h"

namespace kube::test {

struct SeenRequest {
  std::string method;
  std::string target;                                        // as sent: path and query
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  int connection = 0;       // numbered from 1 in the order of accepting
  std::string client_name;  // common name of the client's certificate

  // "" if absent.
  std::string header(std::string_view name) const;
};

class Wire;  // a connected socket, with or without TLS

// One request, to be answered from within the script.
class FakeExchange {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  FakeExchange(SeenRequest seen, Wire& wire, const std::atomic<bool>& stopping)
      : request(std::move(seen)), wire_(wire), stopping_(stopping) {}

  const SeenRequest request;

  void respond(int status, const std::string& body = "", const Headers& headers = {});
  // A chunked response, piece by piece.
  void start_stream(int status = 200);
  void chunk(std::string_view data);
  void end_stream();
  // Breaks the connection with a TCP reset.
  void reset();
  // Says nothing until the client or the server goes away.
  void stall();
  // Waits for `condition` (polled), the end of the server, or the end of the client.
  void wait_until(const std::function<bool()>& condition);

 private:
  Wire& wire_;
  const std::atomic<bool>& stopping_;
};

struct FakeServerOptions {
  std::optional<KeyPair> tls = {};
  std::string client_ca = {};        // PEM: ask clients for a certificate of this authority
  base::Duration handshake_delay{};  // between accept and the TLS handshake
  std::optional<int> port = {};      // of a server that comes back
};

class FakeServer {
 public:
  using Script = std::function<void(FakeExchange&)>;

  // Listens on 127.0.0.1 when the constructor returns. `script` runs on connection threads, several at a time.
  explicit FakeServer(Script script, FakeServerOptions options = {});
  // Breaks all connections.
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  // "http(s)://127.0.0.1:port"
  std::string url() const;
  int connections() const { return connections_; }
  std::vector<SeenRequest> requests() const;
  // Stops the delay before handshakes.
  void set_handshake_delay(base::Duration delay) { handshake_delay_ = delay; }

 private:
  void accept_all();
  void serve(int fd, int number);
  void note(const SeenRequest& request);

  Script script_;
  FakeServerOptions options_;
  std::atomic<base::Duration> handshake_delay_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  int listener_ = -1;
  int port_ = 0;
  std::shared_ptr<void> tls_context_;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;     // guarded by mutex_
  std::vector<int> open_;             // guarded by mutex_
  std::vector<std::thread> threads_;  // guarded by mutex_
  std::thread acceptor_;
};

// Listens on a free loopback port (or on `port`); returns the descriptor and the port.
std::pair<int, int> listen_on_loopback(int port = 0);

}  // namespace kube::test
