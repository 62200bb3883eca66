// nghttpx (package nghttp2-proxy) as a child process: TLS and HTTP/2 in front of a fake server.
#pragma once

#include <sys/types.h>

#include <string>

#include "kube/support/certificates.h"
#include "kube/support/temporary.h"

namespace kube::test {

class Http2Front {
 public:
  // Listens on 127.0.0.1 with this certificate and forwards to 127.0.0.1:`backend_port` as HTTP/1.1. Returns once it
  // accepts. Throws if it cannot be started.
  Http2Front(const KeyPair& pair, int backend_port);
  // Ends the child.
  ~Http2Front();
  Http2Front(const Http2Front&) = delete;
  Http2Front& operator=(const Http2Front&) = delete;
  int port() const { return port_; }

 private:
  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  int port_ = 0;
};

}  // namespace kube::test
