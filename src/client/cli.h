// The command line of kubectl-address.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/session.h"

namespace client {

// kubectl's global flags, as far as they are known here.
struct Connection {
  std::string kubeconfig;
  std::string context;
  std::string ns;  // "": the context's
  std::string as;  // user to impersonate
};

// A server, and the namespace to work in.
struct Connected {
  std::unique_ptr<Server> server;
  std::string ns;
};

// What `inventory` is asked about.
struct InventoryOptions {
  std::string class_name;
  std::string metallb_namespace = "metallb-system";
  std::string placeholder_namespace = "metallb-iad-system";
  std::string load_balancer_class;
  std::string output;  // "" or "json"
};

struct Program {
  std::string version;
  std::ostream& out;
  std::ostream& err;
  std::function<base::Result<Connected>(const Connection&)> connect;
  // The command of that name, which takes a driver; without it there is none.
  int (*inventory)(const Session& session, const InventoryOptions& options) = nullptr;
};

// `args` without the program's name. Returns the exit status: 0 done, 1 it did not happen, 2 the command line is wrong.
int run(const std::vector<std::string>& args, const Program& program);

}  // namespace client
