// The page of src/page for a browser on this machine (docs/page.md), on a port of its own: browsers know neither the
// sandbox's certificates nor its tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "serve/http_server.h"

namespace sandbox_process {

struct PictureOptions {
  std::uint16_t port = 0;  // 0: a free one
  serve::Handler api;      // answers the requests of the page; called for what the page reads, and for nothing else
  std::string token;       // the bearer token that such a request is given
};

// Lets in who knows the key: it becomes a cookie of this browser that no other site's page can use. On the reactor's
// thread.
class Picture {
 public:
  static base::Result<std::unique_ptr<Picture>> start(serve::IoReactor& reactor, PictureOptions options);

  // Where the page is, without the key.
  std::string address() const;
  // With the key, for a person to open.
  std::string url() const;
  // Shows the page in the user's browser. What stands on its command line, which others may read, opens the page once.
  base::Result<void> open_browser();
  void drain() { http_->drain(); }

 private:
  class Gate;
  Picture(std::shared_ptr<Gate> gate, std::unique_ptr<serve::HttpServer> http);

  std::shared_ptr<Gate> gate_;
  std::unique_ptr<serve::HttpServer> http_;
};

}  // namespace sandbox_process
