// The server's URL taken apart once, as libcurl wants to hear it. Internal to the transport.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client_config.h"
#include "kube/transport.h"

namespace kube {

struct Endpoint {
  std::string base;         // scheme://host:port/prefix; the host is the name to verify
  std::string connect_to;   // CURLOPT_CONNECT_TO when the host to connect to is another one; may be empty
  std::string host_header;  // value of Host when it is not the host of `base`; may be empty
  std::string host;         // host:port of the server, for metrics
  bool tls = false;

  static base::Result<Endpoint> of(const ClientConfig& config);
  // The URL of a request, its query percent-encoded.
  std::string url(const Request& request) const;
};

}  // namespace kube
