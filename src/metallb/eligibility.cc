#include "metallb/eligibility.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "metallb/association.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/restore.h"
#include "metallb/sharing.h"

namespace metallb {
namespace {

using Addresses = std::vector<const api::IPAddress*>;

std::string families_text(const std::vector<base::Family>& families) {
  std::string text;
  for (const base::Family family : families) {
    if (!text.empty()) text += " and ";
    text += base::to_string(family);
  }
  return text.empty() ? "no family" : text;
}

std::expected<Addresses, Refusal> matching_half(kube::View& view, const api::Service& service,
                                                const api::IPAddressClaim& claim) {
  const Halves halves = counted(view, claim);
  const std::vector<base::Family> families = cluster_families(service);
  Addresses chosen;
  for (const base::Family family : families) {
    if (halves.of(family) != nullptr) chosen.push_back(halves.of(family));
  }
  if (!families.empty() && chosen.size() == families.size()) return chosen;
  std::vector<base::Family> has;
  for (const base::Family family : {base::Family::v4, base::Family::v6}) {
    if (halves.of(family) != nullptr) has.push_back(family);
  }
  return std::unexpected(Refusal{
      reason::family_mismatch,
      fmt::format(
          "the Service has cluster IPs of {}, claim {} has addresses of {}: set ipFamilies and ipFamilyPolicy to "
          "match, or use a claim of family {}",
          families_text(families), claim.meta.name, families_text(has),
          families.size() == 2 ? "Dual" : families_text(families))});
}

std::vector<base::IpAddress> parsed_pin(const std::string& text) {
  api::Service probe;
  probe.meta.annotations.set(std::string(api::metallb::pin), text);
  return pinned(probe);
}

// Of what a tenant wrote into an annotation: enough to find it again.
std::string_view quoted(std::string_view text) {
  constexpr std::size_t limit = 100;
  return text.substr(0, limit);
}

std::optional<Refusal> pool_refusal(const api::Service& service, std::string_view pool) {
  for (const std::string_view key : {api::metallb::pool, api::metallb::old_pool}) {
    if (key == api::metallb::pool && is_pin_ours(service)) continue;
    const std::string_view named = service.meta.annotations.get(key);
    if (named.empty() || named == pool || named == api::metallb::awaiting_pool) continue;
    return Refusal{reason::pool_conflict,
                   fmt::format("annotation {} names pool {}, the claim's address is in {}: remove the annotation", key,
                               quoted(named), pool)};
  }
  return std::nullopt;
}

std::optional<Refusal> pin_refusal(const api::Service& service, const std::vector<base::IpAddress>& chosen) {
  for (const std::string_view key : {api::metallb::pin, api::metallb::old_pin}) {
    if (key == api::metallb::pin && is_pin_ours(service)) continue;
    const std::string* text = service.meta.annotations.find(key);
    if (text == nullptr || text->empty() || is_same_set(parsed_pin(*text), chosen)) continue;
    return Refusal{reason::pin_conflict,
                   fmt::format("annotation {} asks for {}, the claim has {}: remove the annotation", key, quoted(*text),
                               pin_text(chosen))};
  }
  return std::nullopt;
}

std::optional<Refusal> sharing_refusal(kube::View& view, const Context& context, const api::Service& service,
                                       std::string_view class_name) {
  for (const std::string_view key : {api::metallb::sharing_key, api::metallb::old_sharing_key}) {
    if (service.meta.annotations.get(key).empty()) continue;
    if (key == api::metallb::sharing_key && !handoff_key(service).empty()) continue;
    const ServedClass served = served_class(view, context, class_name);
    if (served.valid() && served.parameters().allow_sharing) return std::nullopt;
    return Refusal{reason::sharing_key_set,
                   fmt::format("annotation {} is set and class {} does not allow sharing: remove the annotation", key,
                               class_name)};
  }
  return std::nullopt;
}

// It names the claim and gets nothing of it, or is told something about what it has.
std::optional<Refusal> refusal(kube::View& view, const Context& context, const api::Service& service,
                               const api::IPAddressClaim& claim) {
  const auto chosen = choose(view, context, service, claim);
  const Addresses has = kept(view, context.options, service);
  if (!has.empty()) {
    if (!chosen && is_worth_telling(has_any(service, has), chosen.error())) return chosen.error();
    return std::nullopt;
  }
  if (!chosen) return chosen.error();
  if (const auto* rival = rival_of(view, context.options, service, claim)) return refusal_by_rival(claim, *rival);
  if (auto by_phase = refusal_by_phase(service, *chosen)) return by_phase;
  const auto* first = first_in_line(view, context, claim);
  if (first != nullptr && first != &service) return refusal_by_line(claim, *first);
  return std::nullopt;
}

}  // namespace

std::expected<Addresses, Refusal> choose(kube::View& view, const Context& context, const api::Service& service,
                                         const api::IPAddressClaim& claim) {
  if (service.type != "LoadBalancer") {
    return std::unexpected(Refusal{reason::not_load_balancer,
                                   fmt::format("the Service names IPAddressClaim {}, but is of type {}: only a Service "
                                               "of type LoadBalancer can have its address",
                                               claim.meta.name, service.type)});
  }
  if (!is_served_by_metallb(context.options, service)) {
    return std::unexpected(
        Refusal{reason::other_load_balancer_class,
                fmt::format("the Service names IPAddressClaim {} of MetalLB, but its loadBalancerClass is not "
                            "MetalLB's: {}",
                            claim.meta.name,
                            context.options.load_balancer_class.empty()
                                ? "create it without one"
                                : "create it with " + context.options.load_balancer_class)});
  }
  auto chosen = matching_half(view, service, claim);
  if (!chosen) return chosen;
  const std::string& class_name = chosen->front()->className;
  if (chosen->back()->className != class_name) {
    return std::unexpected(Refusal{reason::different_classes,
                                   fmt::format("the addresses of claim {} are of classes {} and {}: MetalLB gives a "
                                               "Service addresses of one pool only",
                                               claim.meta.name, class_name, chosen->back()->className)});
  }
  if (auto refusal = refusal_by_service(view, context, service, class_name, values_of(*chosen)))
    return std::unexpected(*refusal);
  return chosen;
}

std::optional<Refusal> refusal_by_service(kube::View& view, const Context& context, const api::Service& service,
                                          std::string_view class_name, const std::vector<base::IpAddress>& ips) {
  if (!service.loadBalancerIP.empty()) {
    return Refusal{reason::load_balancer_ip_set,
                   "spec.loadBalancerIP is set, which cannot be combined with a claim: remove it"};
  }
  if (auto refusal = pool_refusal(service, pool_name(class_name))) return refusal;
  if (auto refusal = pin_refusal(service, ips)) return refusal;
  return sharing_refusal(view, context, service, class_name);
}

const api::Service* rival_of(kube::View& view, const Options& options, const api::Service& service,
                             const api::IPAddressClaim& claim) {
  for (const auto* address : counted(view, claim).list()) {
    if (!address->associatedTo || is_associated(*address, service)) continue;
    if (is_attached(view, options, *address)) return workload_of(view, *address);
  }
  return nullptr;
}

Refusal refusal_by_rival(const api::IPAddressClaim& claim, const api::Service& rival) {
  return {reason::association_rejected,
          fmt::format("IPAddressClaim {} is in use by Service {}: it is handed over when that one lets go",
                      claim.meta.name, rival.meta.name)};
}

std::optional<Refusal> refusal_by_phase(const api::Service& service, const Addresses& chosen) {
  for (const auto* address : chosen) {
    const bool conflict = address->phase == api::phase::conflict;
    if ((!conflict && address->phase != api::phase::lost) || shows(service, *value_of(*address))) continue;
    return Refusal{
        conflict ? reason::address_conflict : reason::address_lost,
        fmt::format("{} of IPAddressClaim {} {}: it is attached when that is over", value_of(*address)->to_string(),
                    address->claimRef->name,
                    conflict ? "is in use by another Service without a claim to it" : "is not available at MetalLB")};
  }
  return std::nullopt;
}

const api::Service* first_in_line(kube::View& view, const Context& context, const api::IPAddressClaim& claim) {
  const api::Service* first = nullptr;
  view.each<api::Service>(k_service_line_index, slash(claim.meta.ns, claim.meta.name), [&](const api::Service& other) {
    const bool candidate = is_copy(other) ? return_of(view, context.options, other) != Return::none
                                          : choose(view, context, other, claim).has_value();
    if (candidate) first = &other;
    return !candidate;
  });
  return first;
}

Refusal refusal_by_line(const api::IPAddressClaim& claim, const api::Service& first) {
  return {reason::association_rejected,
          fmt::format("Service {} names IPAddressClaim {} too and comes first", first.meta.name, claim.meta.name)};
}

bool has_any(const api::Service& service, const Addresses& addresses) {
  return std::ranges::any_of(addresses, [&](const auto* address) { return shows(service, *value_of(*address)); });
}

bool is_worth_telling(bool has, const Refusal& refusal) { return !has || refusal.reason == reason::sharing_key_set; }

bool is_given(const api::Service& service, const Addresses& addresses) {
  return std::ranges::any_of(addresses, [&](const auto* address) {
    const base::IpAddress ip = *value_of(*address);
    return is_announcing(service, ip) || shows(service, ip);
  });
}

std::optional<Refused> oldest_refused(kube::View& view, const Context& context, const api::IPAddressClaim& claim) {
  if (claim.meta.deleting || claim.phase != api::phase::bound) return std::nullopt;
  std::optional<Refused> found;
  view.each<api::Service>(k_service_claim_index, slash(claim.meta.ns, claim.meta.name),
                          [&](const api::Service& service) {
                            if (service.meta.deleting || is_copy(service)) return true;
                            if (auto why = refusal(view, context, service, claim))
                              found = Refused{&service, std::move(*why)};
                            return !found;
                          });
  return found;
}

}  // namespace metallb
