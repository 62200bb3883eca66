// A plain, blocking client for the tests: one connection, one user. It shares no code with the transport that is being
// tested.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kube/transport.h"

namespace scenarios {

class HttpClient {
 public:
  // From a kubeconfig with a server, a certificate authority and a token or a client certificate, as tests/real/plane
  // (files) and the sandbox (data) write it.
  static base::Result<std::unique_ptr<HttpClient>> from_kubeconfig(const std::string& path);
  // Plain HTTP, without a user: for probes.
  static std::unique_ptr<HttpClient> plain(const std::string& server);
  ~HttpClient();

  kube::Answer send(const kube::Request& request);

 private:
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scenarios
