// The processes around the API server: started, watched over, started again when they end, ended with the sandbox.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "cmd/sandbox/options.h"

namespace sandbox_process {

struct PartOptions {
  std::string dir = {};  // of kubeconfigs (read) and logs (written)
  std::string metallb_version = {};
  std::string log_level = {};
  std::string log_format = {};
  base::Duration grace = std::chrono::seconds(10);  // from SIGTERM to SIGKILL
};

// Belongs to the reactor's thread, which must be the one that ends last: the kernel kills the processes when it does,
// however that comes.
class Parts {
 public:
  Parts(base::Reactor& reactor, PartOptions options);
  // Kills what still runs.
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void start(Part part);
  // Asks all to end, and starts none again; `ended` is called when all have.
  void end(std::function<void()> ended);

  std::string log_of(Part part) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// "address-sandbox part NAME FLAGS": runs one part in this process. Returns the exit status.
int run_part(int argc, const char* const* argv);

}  // namespace sandbox_process
