// The API server behind HTTP: who asks, what is asked, the answer; watches as streams. Everything on one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/reactor.h"
#include "sandbox/api_server.h"
#include "sandbox/durability.h"
#include "sandbox/front/users.h"
#include "serve/http.h"

namespace sandbox {

struct FrontOptions {
  // Nothing that this does not call durable is shown to anybody; nullptr: all is.
  Durability* durability = nullptr;
  // As kube-apiserver's --audit-log-path: one line of JSON for each request that would change something, and each
  // request of a service account; with bodies. Empty: none.
  std::string audit_log = {};
};

// The authorizer it gives the server refuses whoever has shown no credentials, and nobody else.
class ApiFront {
 public:
  // All references outlive it, and so do the users' tokens.
  ApiFront(ApiServer& server, base::Reactor& reactor, Users users, FrontOptions options = {});
  ~ApiFront();
  ApiFront(const ApiFront&) = delete;
  ApiFront& operator=(const ApiFront&) = delete;

  // For serve::HttpOptions: refuses unknown clients before their bodies are read.
  std::optional<serve::Response> admit(const serve::Head& head) const;
  // For serve::HttpOptions: a Status as the real server gives it.
  static serve::Response refusal(int status, std::string_view why);
  // Answers every path that the API has. Lives as long as the front.
  serve::Handler handler();

  std::size_t open_watches() const;
  // Ends them as a server does that shuts down.
  void end_watches();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sandbox
