// attach, detach, move.
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.h"
#include "api/names.h"
#include "client/cluster.h"
#include "client/product.h"

namespace client {
namespace {

json::object naming(const Service& service, const json::value& claim) {
  return {{"metadata", {{"resourceVersion", service.version}, {"annotations", {{api::claim_annotation, claim}}}}}};
}

// Why the claim could never be attached to the Service as both are; "" if nothing speaks against it.
std::string obstacle(const Session& session, const Claim& claim, const Service& service) {
  if (claim.deleting) return fmt::format("claim {} is being deleted", claim.name);
  if (service.deleting) return fmt::format("service {} is being deleted", service.name);
  if (service.type != "LoadBalancer") {
    return fmt::format(
        "service {} is of type {}; only one of type LoadBalancer shows an address: kubectl patch service {} -n {} "
        "--type merge -p '{{\"spec\":{{\"type\":\"LoadBalancer\"}}}}'",
        service.name, service.type, service.name, session.ns);
  }
  const auto serves = [&](std::string_view family) {
    return std::ranges::find(service.families, family) != service.families.end();
  };
  if (claim.family == "Dual" ? !serves("IPv4") && !serves("IPv6") : !serves(claim.family)) {
    return fmt::format("claim {} is for {}, and service {} serves {} only: see spec.ipFamilies", claim.name,
                       claim.family, service.name, fmt::join(service.families, ", "));
  }
  return {};
}

int explain(const Session& session, const std::string& claim_name, const Service& service, base::Duration waited) {
  std::string why = service_warnings(session, session.ns, service.name)[service.uid];
  if (const auto object = session.get(claim_kind, session.ns, claim_name)) {
    const Claim claim = claim_of(*object);
    if (claim.phase != api::phase::bound)
      why = fmt::format("claim {} is {}; {}", claim.name, claim.phase, why_unbound(claim, waited));
  }
  if (why.empty()) why = "nothing says why; are address-controller, the driver and MetalLB running?";
  return session.fail(fmt::format("service {} does not show the address after {}; it goes on waiting. {}", service.name,
                                  seconds_text(waited), why));
}

// Waits until the Service shows what the claim has for it.
int wait_attached(const Session& session, const std::string& claim_name, const Service& service,
                  const Waiting& waiting) {
  if (!waiting.wait) return k_done;
  const base::MonoTime begin = session.server.now();
  std::optional<kube::ApiError> error;
  std::vector<std::string> shown;
  const bool done = session.wait_until(waiting.timeout, [&] {
    const auto claim = session.get(claim_kind, session.ns, claim_name);
    const auto now = session.get(service_kind, session.ns, service.name);
    if (!claim || !now) {
      error = claim ? now.error() : claim.error();
      return true;
    }
    const Service current = service_of(*now);
    shown = servable(claim_of(*claim), current);
    return !shown.empty() && std::ranges::all_of(shown, [&](const std::string& a) { return current.shows(a); });
  });
  if (error) return session.fail(*error);
  if (!done) return explain(session, claim_name, service, session.server.now() - begin);
  session.out << fmt::format("service {} shows {} (after {})\n", service.name, fmt::join(shown, ", "),
                             seconds_text(session.server.now() - begin));
  return k_done;
}

// Refused because somebody else wrote in between: nothing has changed.
int refused(const Session& session, const kube::ApiError& error, const Service& service) {
  if (error.is_conflict()) {
    return session.fail(fmt::format(
        "service {} was changed by somebody else at the same moment; nothing was done, try again", service.name));
  }
  return session.fail(error);
}

// Names the claim on a Service that names it or none.
int put_on(const Session& session, const Service& service, const Claim& claim) {
  if (service.claim == claim.name) {
    session.out << fmt::format("service {} names claim {} already\n", service.name, claim.name);
    return k_done;
  }
  const auto patched = session.patch(service_kind, session.ns, service.name, naming(service, json::string(claim.name)));
  if (!patched) return refused(session, patched.error(), service);
  session.out << fmt::format("service {} names claim {}\n", service.name, claim.name);
  return k_done;
}

// Takes the claim's name off a Service, whatever else changes about it meanwhile.
std::optional<kube::ApiError> take_off(const Session& session, Service service, const std::string& claim) {
  for (int attempt = 1;; ++attempt) {
    const auto patched = session.patch(service_kind, session.ns, service.name, naming(service, nullptr));
    if (patched) return std::nullopt;
    if (patched.error().is_not_found()) return std::nullopt;
    if (!patched.error().is_conflict() || attempt == 5) return patched.error();
    const auto now = session.get(service_kind, session.ns, service.name);
    if (!now) return now.error().is_not_found() ? std::nullopt : std::optional(now.error());
    service = service_of(*now);
    if (service.claim != claim) return std::nullopt;  // somebody did it
  }
}

}  // namespace

int attach(const Session& session, const std::string& claim_name, const std::string& service_name,
           const Waiting& waiting) {
  const auto claim = need_claim(session, claim_name);
  if (!claim) return k_failed;
  const auto service = need_service(session, service_name);
  if (!service) return k_failed;
  if (const std::string why = obstacle(session, *claim, *service); !why.empty()) return session.fail(why);
  if (!service->claim.empty() && service->claim != claim->name) {
    return session.fail(fmt::format("service {} names claim {} already; let it go first: {} detach {} -n {}",
                                    service->name, service->claim, session.program, service->name, session.ns));
  }
  for (const Service& other : services_of(session, claim->name)) {
    if (other.name == service->name) continue;
    const bool shows = std::ranges::any_of(claim->addresses, [&](const auto& one) { return other.shows(one.address); });
    return session.fail(fmt::format("service {} {} claim {}; move it: {} move {} {} -n {}", other.name,
                                    shows ? "has the address of" : "waits for", claim->name, session.program,
                                    claim->name, service->name, session.ns));
  }
  if (const int status = put_on(session, *service, *claim); status != k_done) return status;
  return wait_attached(session, claim->name, *service, waiting);
}

int detach(const Session& session, const std::string& service_name, const Waiting& waiting) {
  const auto service = need_service(session, service_name);
  if (!service) return k_failed;
  if (service->claim.empty()) {
    session.out << fmt::format("service {} names no claim; nothing to do\n", service->name);
    return k_done;
  }
  std::vector<std::string> shown;
  const auto claim = session.get(claim_kind, session.ns, service->claim);
  if (claim) shown = servable(claim_of(*claim), *service);
  std::erase_if(shown, [&](const std::string& address) { return !service->shows(address); });
  const base::MonoTime begin = session.server.now();
  const auto patched = session.patch(service_kind, session.ns, service->name, naming(*service, nullptr));
  if (!patched) return refused(session, patched.error(), *service);
  session.out << fmt::format("service {} no longer names claim {}\n", service->name, service->claim);
  if (!waiting.wait || shown.empty()) return k_done;
  const bool done = session.wait_until(waiting.timeout, [&] {
    const auto now = session.get(service_kind, session.ns, service->name);
    if (!now) return true;
    const Service current = service_of(*now);
    return std::ranges::none_of(shown, [&](const std::string& a) { return current.shows(a); });
  });
  const std::string took = seconds_text(session.server.now() - begin);
  if (!done)
    return session.fail(fmt::format("service {} still shows {} after {}", service->name, fmt::join(shown, ", "), took));
  session.out << fmt::format("{} stays with claim {}, attached to nothing (after {})\n", fmt::join(shown, ", "),
                             service->claim, took);
  return k_done;
}

int move(const Session& session, const std::string& claim_name, const std::string& service_name,
         const Waiting& waiting) {
  const auto claim = need_claim(session, claim_name);
  if (!claim) return k_failed;
  const auto service = need_service(session, service_name);
  if (!service) return k_failed;
  if (const std::string why = obstacle(session, *claim, *service); !why.empty()) return session.fail(why);
  if (!service->claim.empty() && service->claim != claim->name) {
    return session.fail(fmt::format("service {} names claim {}; let it go first: {} detach {} -n {}", service->name,
                                    service->claim, session.program, service->name, session.ns));
  }
  // The new one first: it waits for the old one, and should this fail nothing has moved.
  if (const int status = put_on(session, *service, *claim); status != k_done) return status;
  for (const Service& other : services_of(session, claim->name)) {
    if (other.name == service->name) continue;
    if (const auto error = take_off(session, other, claim->name)) {
      session.fail(*error);
      return session.fail(
          fmt::format("service {} keeps the address; service {} waits for it", other.name, service->name));
    }
    session.out << fmt::format("service {} no longer names it\n", other.name);
  }
  return wait_attached(session, claim->name, *service, waiting);
}

}  // namespace client
