#include "connect.h"

#include <stdexcept>
#include <utility>

#include "kube/client_config.h"
#include "kube/curl_transport.h"

namespace bench {

std::unique_ptr<kube::Transport> connect(const std::string& kubeconfig, base::Reactor& reactor) {
  auto config = kube::load_client_config(kubeconfig, kube::Environment::of_process());
  if (!config) throw std::runtime_error(config.error().message);
  auto transport = kube::make_transport(std::move(*config), reactor);
  if (!transport) throw std::runtime_error(transport.error().message);
  return std::move(*transport);
}

}  // namespace bench
