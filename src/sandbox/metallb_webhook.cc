#include <fmt/format.h>

#include "sandbox/metallb.h"
#include "sandbox/metallb_pools.h"
#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

Refusal unreachable(std::string_view webhook) {
  return {500, "InternalError",
          fmt::format("Internal error occurred: failed calling webhook \"{0}\": failed to call webhook: Post "
                      "\"https://metallb-webhook-service.metallb-system.svc:443/{0}\": connect: connection refused",
                      webhook)};
}

}  // namespace

MetalLbWebhook::MetalLbWebhook(ApiServer& server, std::string ns) {
  server.add_admission([down = down_, &server,
                        ns = std::move(ns)](const AdmissionRequest& request) -> std::optional<Refusal> {
    const Access& access = request.access;
    // deletions are never sent to it
    if (access.group != "metallb.io" || access.resource.find('/') != std::string::npos || request.object == nullptr)
      return std::nullopt;
    const std::string singular = access.resource.substr(0, access.resource.size() - 1);
    const std::string webhook = singular + "validationwebhook.metallb.io";
    if (*down) return unreachable(webhook);
    const auto denied = [&](std::string_view why) {
      return Refusal{403, "Forbidden", fmt::format("admission webhook \"{}\" denied the request: {}", webhook, why)};
    };
    if (request.old == nullptr && access.ns != ns)
      return denied(fmt::format("resource must be created in {} namespace", ns));
    if (access.resource != "ipaddresspools") return std::nullopt;
    ApiServer::Impl& impl = server.impl();
    const Kind* kind = impl.find_kind("metallb.io", "v1beta1", "ipaddresspools");
    std::vector<const json::object*> pools{request.object};
    const std::string key = Storage::key(access.ns, access.name);
    std::vector<Document> held;
    for (const auto& [other, version] : impl.storage.objects(*kind)) {
      if (other != key && other.starts_with(ns + "/")) held.push_back(version->document());
    }
    for (const Document& pool : held) pools.push_back(pool.get());
    const auto parsed = metallb_model::parse_pools(pools, {});
    if (!parsed) return denied(parsed.error().message);
    return std::nullopt;
  });
}

}  // namespace sandbox
