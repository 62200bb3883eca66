// The client's command line on the in-memory server, with both controllers and MetalLB's model, in virtual time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli.h"
#include "scenarios/memory_backend.h"

namespace client::testing {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

class ClientWorld {
 public:
  ClientWorld();

  // "claim web --wait=false" in namespace default; words are cut at blanks, save inside of '…'.
  Outcome run(std::string_view line);
  // The same, and the test fails if it does not end with 0.
  std::string ok(std::string_view line);
  // Applies YAML as an administrator would.
  void have(const std::string& yaml);
  // A class `public` of 203.0.113.0/29 and 2001:db8::/126, the default one.
  void have_class(std::string_view policy = "Retain");
  // A Service of type LoadBalancer.
  void have_service(std::string_view name, std::string_view type = "LoadBalancer", std::string_view family = "IPv4");
  std::string get(const std::string& path);
  void let_pass(base::Duration time) { backend_->let_pass(time); }
  scenarios::MemoryBackend& backend() { return *backend_; }

  // Asked before each request of the client: an answer is given instead of the server's.
  std::function<std::optional<kube::Response>(const kube::Request&)> intercept;
  // The methods and paths that the client sent.
  std::vector<std::string> requests;

 private:
  std::unique_ptr<scenarios::MemoryBackend> backend_;
};

// As a server without the right would say.
kube::Response forbidden(std::string_view what);

}  // namespace client::testing
