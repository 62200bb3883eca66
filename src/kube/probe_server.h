// /metrics, /healthz and /readyz over plain HTTP, on a thread of their own: whatever a client does, the controller goes
// on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kube {

// What is asked on each request. Called on the server's thread: must be thread-safe and quick.
struct ProbeCheck {
  std::string name;                                   // as in /healthz/NAME
  std::function<std::optional<std::string>()> fails;  // why it fails; nothing if all is well
};

struct ProbeOptions {
  // ":8080", "127.0.0.1:8080", "[::1]:8080"; "0" or "" turns it off. An empty host means all addresses of both
  // families. Port 0 takes a free one (":0").
  std::string metrics_address = "0";
  std::string health_address = "0";
  std::function<std::string()> metrics;  // the text to serve
  std::vector<ProbeCheck> healthz;
  std::vector<ProbeCheck> readyz;
};

// As controller-runtime answers: "ok", or 500 with a line per check; ?verbose always shows the lines, ?exclude=NAME
// leaves checks out, /healthz/NAME asks one. At most 64 connections (more are turned away), 8 KiB of request head, ten
// seconds for each side.
class ProbeServer {
 public:
  // Listens when it returns. The error names the flag's value and what is wrong with it.
  static base::Result<std::unique_ptr<ProbeServer>> start(ProbeOptions options);
  // Cuts off what is under way.
  ~ProbeServer();
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;

  // 0 if turned off.
  std::uint16_t metrics_port() const;
  std::uint16_t health_port() const;

 private:
  struct Impl;
  explicit ProbeServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
