#include "cmd/sandbox/populate.h"

#include <fmt/format.h>

#include <stdexcept>

#include "cmd/sandbox/own_crds.h"
#include "sandbox/request.h"

namespace sandbox_process {
namespace {

constexpr std::string_view k_namespaces[] = {"metallb-system", "address-controller", "metallb-iad-system"};

base::Result<void> make_namespace(sandbox::ApiServer& server, std::string_view name) {
  const std::string document =
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name);
  const auto answer = server.handle(sandbox::make_request("POST", "/api/v1/namespaces", document), "kubernetes-admin");
  if (answer.status != 201 && answer.status != 409) return base::fail(answer.body);
  return {};
}

}  // namespace

base::Result<void> populate(sandbox::ApiServer& server) {
  try {
    for (const EmbeddedFile& file : own_crds()) {
      try {
        server.load_crds(file.text);
      } catch (const std::runtime_error& error) {
        return base::fail(fmt::format("crds/{}: {}", file.name, error.what()));
      }
    }
    server.load_metallb_crds();
  } catch (const std::runtime_error& error) {
    return base::fail(fmt::format("the definitions of MetalLB: {}", error.what()));
  }
  for (const std::string_view ns : k_namespaces) {
    if (auto made = make_namespace(server, ns); !made) return made;
  }
  return {};
}

}  // namespace sandbox_process
