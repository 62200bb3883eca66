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

struct Program {
  std::string version;
  std::ostream& out;
  std::ostream& err;
  std::function<base::Result<Connected>(const Connection&)> connect;
};

// `args` without the program's name. Returns the exit status: 0 done, 1 it did not happen, 2 the command line is wrong.
int run(const std::vector<std::string>& args, const Program& program);

}  // namespace client
