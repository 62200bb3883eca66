// The client for people: claims, attaches and moves addresses (docs/kubectl-address.md).
#include <iostream>

#include "base/log.h"
#include "client/cli.h"
#include "client/remote.h"
#include "cmd/inventory_command.h"
#include "kube/curl_transport.h"

namespace {

base::Result<client::Connected> connect(const client::Connection& wanted) {
  auto config = kube::load_client_config(wanted.kubeconfig, kube::Environment::of_process(), wanted.context);
  if (!config) return std::unexpected(config.error());
  if (!wanted.as.empty()) config->impersonate.user = wanted.as;
  const std::string ns = config->ns;
  auto server = client::connect(std::move(*config), kube::default_user_agent("kubectl-address", PROJECT_VERSION, ""));
  if (!server) return std::unexpected(server.error());
  return client::Connected{std::move(*server), ns};
}

}  // namespace

int main(int argc, char** argv) {
  // Warnings of the server are printed by the commands themselves.
  base::log::configure(base::log::Level::error, base::log::Format::text);
  return client::run({argv + 1, argv + argc}, {.version = PROJECT_VERSION,
                                               .out = std::cout,
                                               .err = std::cerr,
                                               .connect = connect,
                                               .inventory = inventory_command});
}
