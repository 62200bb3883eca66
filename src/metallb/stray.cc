#include "metallb/stray.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "api/names.h"
#include "metallb/class.h"
#include "metallb/class_pass.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"

namespace metallb {
namespace {

bool looks_like_hold(const api::Service& service) {
  if (service.meta.labels.get(api::metallb::placeholder) != "true" || !is_recorded(service)) return false;
  return !service.has_selector && service.type == "LoadBalancer" && held_object(service) != nullptr;
}

// It holds an address of the ledger that is served by a driver like this one.
bool is_hold(kube::View& view, const api::Service& service) {
  const kube::OwnerReference& owner = *held_object(service);
  const auto* address = view.get<api::IPAddress>(owner.name);
  if (address == nullptr || address->meta.uid != owner.uid) return false;
  if (!address->meta.has_finalizer(api::metallb::teardown)) return false;
  if (address->claimRef && address->claimRef->ns == service.meta.ns) return false;
  const auto ip = value_of(*address);
  return ip && is_pinned_to(service, *ip) && shows(service, *ip);
}

using Namespaces = std::set<std::string, std::less<>>;

// What the record says, on all pools together; nullopt if there is none.
std::optional<Namespaces> told_before(kube::View& view) {
  std::optional<Namespaces> told;
  view.each<api::IPAddressPool>(k_pools_index, "", [&](const api::IPAddressPool& pool) {
    const std::string* record = pool.meta.annotations.find(k_trusted_annotation);
    if (record == nullptr) return true;
    if (!told) told.emplace();
    for (std::string_view rest = *record; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      told->emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return true;
  });
  return told;
}

bool is_home_empty(kube::View& view, const Options& options) {
  bool empty = true;
  view.each<api::IPAddressPool>(k_pools_index, "", [&](const api::IPAddressPool& pool) {
    view.each<api::Service>(k_placeholder_pool_index, placeholder_bucket(pool.meta.name), [&](const auto& placeholder) {
      empty = placeholder.meta.ns != options.placeholder_namespace;
      return empty;
    });
    return empty;
  });
  return empty;
}

}  // namespace

kube::IndexSpec stray_index(const Options& options) {
  return {std::string(k_stray_index), [options](const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
            const auto& service = static_cast<const api::Service&>(object);
            const bool trusted = service.meta.ns == options.placeholder_namespace || is_left_behind(service, options);
            if (!trusted && looks_like_hold(service) && !service.ingress.empty()) entries.push_back({"", ""});
          }};
}

std::string trusted_text(const std::vector<std::string>& namespaces) {
  return fmt::format("{}", fmt::join(namespaces, ","));
}

std::optional<std::string> placeholders_elsewhere(const Options& options, kube::View& view) {
  const std::optional<Namespaces> told = told_before(view);
  if (!told && !is_home_empty(view, options)) return std::nullopt;
  Namespaces namespaces;
  std::size_t holds = 0;
  view.each<api::Service>(k_stray_index, "", [&](const api::Service& service) {
    if (told && !told->contains(service.meta.ns)) return true;
    if (!is_hold(view, service)) return true;
    namespaces.insert(service.meta.ns);
    ++holds;
    return true;
  });
  if (holds == 0) return std::nullopt;
  return fmt::format(
      "{} placeholder{} of this driver in namespaces that it has not been told of: {}. {} it with "
      "--former-placeholder-namespaces={} (value formerPlaceholderNamespaces of the chart), which has the addresses "
      "held in {} from then on, or with --placeholder-namespace as before",
      holds, holds == 1 ? " is" : "s are", fmt::join(namespaces, ", "),
      told ? "Run" : "If a driver had its placeholders there before, and no tenant may write there, run",
      fmt::join(namespaces, ","), options.placeholder_namespace);
}

}  // namespace metallb
