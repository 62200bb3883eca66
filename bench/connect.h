// A transport from a kubeconfig, for the benchmarks' load.
#pragma once

#include <memory>
#include <string>

#include "base/reactor.h"
#include "kube/transport.h"

namespace bench {

// Throws std::runtime_error with what is wrong with the kubeconfig.
std::unique_ptr<kube::Transport> connect(const std::string& kubeconfig, base::Reactor& reactor);

}  // namespace bench
