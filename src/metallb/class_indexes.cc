// What the class reconciler reads and who gives birth to its keys.
#include <fmt/format.h>

#include <utility>

#include "api/metallb.h"
#include "api/names.h"
#include "metallb/association.h"
#include "metallb/class.h"
#include "metallb/class_pass.h"
#include "metallb/overlap_index.h"
#include "metallb/placeholder.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

using Entries = std::vector<kube::IndexEntry>;

void ledger_entries(const kube::Object& object, Entries& entries) {
  const auto& address = static_cast<const api::IPAddress&>(object);
  const auto ip = base::IpAddress::parse(address.address);
  if (!ip) return;
  entries.push_back({ledger_bucket(address.className, ip->family()), address_order(*ip)});
  if (!address.meta.has_finalizer(api::metallb::teardown)) return;
  entries.push_back({held_bucket(address.className, ip->family()), address_order(*ip)});
  entries.push_back({held_bucket(ip->family()), address_order(*ip)});
}

template <class T>
kube::WatchSpec rendered_watch(const ClassSettings& settings) {
  kube::WatchSpec watch;
  watch.kind = &T::kind();
  watch.ns = settings.metallb_namespace;
  watch.optional = true;
  watch.right = kube::ReadRight::late;
  watch.keys = [](const kube::Object& object, std::vector<kube::Key>& keys) {
    if (const auto name = rendered_for(object.meta)) keys.push_back(class_key(*name));
  };
  return watch;
}

}  // namespace

kube::Key class_key(std::string_view class_name) {
  return {std::string(k_class_reconciler), "", std::string(class_name)};
}

void add_class_key(const api::IPAddressClass& object, std::vector<kube::Key>& keys) {
  keys.push_back(class_key(object.meta.name));
}

void add_class_key(const api::IPAddress& object, std::vector<kube::Key>& keys) {
  if (object.meta.has_finalizer(api::metallb::teardown)) keys.push_back(class_key(object.className));
}

std::string address_order(const base::IpAddress& address) {
  std::string order;
  order.reserve(2 * address.bytes().size());
  for (const std::uint8_t byte : address.bytes()) {
    constexpr std::string_view digits = "0123456789abcdef";
    order += digits[byte >> 4];
    order += digits[byte & 15];
  }
  return order;
}

std::string ledger_bucket(std::string_view class_name, base::Family family) {
  return fmt::format("{}/{}", class_name, base::to_string(family));
}
std::string held_bucket(std::string_view class_name, base::Family family) {
  return fmt::format("{}/{}/held", class_name, base::to_string(family));
}
std::string held_bucket(base::Family family) { return held_bucket("", family); }
std::string placeholder_bucket(std::string_view pool) { return std::string(pool); }
std::string placeholder_bucket(std::string_view pool, base::Family family) {
  return fmt::format("{}/{}", pool, base::to_string(family));
}

kube::IndexSpec ledger_index() { return {std::string(k_ledger_index), ledger_entries}; }

kube::IndexSpec placeholder_pool_index(const ClassSettings& settings) {
  const auto entries = [namespaces = settings.placeholder_namespaces](const kube::Object& object, Entries& out) {
    const auto& service = static_cast<const api::Service&>(object);
    // A restored Service too keeps what MetalLB gave it, before its address is in the ledger again (contract §9.5).
    const bool is_restored = is_copy(service) && service.meta.annotations.get(api::metallb::pinned) == "true";
    if (!is_placeholder(service, namespaces) && !is_restored) return;
    const std::string_view pool = pool_of(service);
    out.push_back({placeholder_bucket(pool), service.meta.name});
    for (const std::string& text : service.ingress) {
      if (const auto ip = base::IpAddress::parse(text))
        out.push_back({placeholder_bucket(pool, ip->family()), address_order(*ip)});
    }
  };
  return {std::string(k_placeholder_pool_index), entries};
}

kube::IndexSpec served_index(const ClassSettings& settings) {
  const auto entries = [settings](const kube::Object& object, Entries& out) {
    const auto& service = static_cast<const api::Service&>(object);
    if (service.type != "LoadBalancer" || service.ingress.empty()) return;
    if (service.loadBalancerClass.value_or("") != settings.load_balancer_class) return;
    if (!is_placeholder(service, settings.placeholder_namespaces)) out.push_back({"", ""});
  };
  return {std::string(k_served_index), entries};
}

kube::IndexSpec strangers_index(const ClassSettings& settings) {
  const auto entries = [settings](const kube::Object& object, Entries& out) {
    const auto& service = static_cast<const api::Service&>(object);
    if (service.type != "LoadBalancer" || service.ingress.empty()) return;
    if (service.loadBalancerClass.value_or("") != settings.load_balancer_class) return;
    if (is_placeholder(service, settings.placeholder_namespaces) || carries_our_keys(service)) return;
    out.push_back({std::string(service.meta.annotations.get(api::metallb::allocated_from)), service.meta.name});
  };
  return {std::string(k_strangers_index), entries};
}

kube::IndexSpec class_overlap_index(std::shared_ptr<ParameterCache> parameters) {
  const auto entries = [parameters = std::move(parameters)](const kube::Object& object, Entries& out) {
    const auto& cls = static_cast<const api::IPAddressClass&>(object);
    if (cls.provisioner != api::metallb::provisioner) return;
    if (const auto parsed = parameters->get(cls.parameters); *parsed) add_overlap_entries((*parsed)->ranges, out);
  };
  return {std::string(k_class_overlap_index), entries};
}

std::vector<kube::WatchSpec> metallb_watches(const ClassSettings& settings) {
  kube::WatchSpec pools = rendered_watch<api::IPAddressPool>(settings);
  pools.indexes.push_back({std::string(k_pools_index), [](const kube::Object& object, Entries& entries) {
                             entries.push_back({"", object.meta.name});
                           }});
  pools.indexes.push_back({std::string(k_pool_overlap_index), [](const kube::Object& object, Entries& entries) {
                             const auto& pool = static_cast<const api::IPAddressPool&>(object);
                             add_overlap_entries(pool_ranges(pool.addresses), entries);
                           }});
  kube::WatchSpec states;
  states.kind = &api::ConfigurationState::kind();
  states.ns = settings.metallb_namespace;
  states.optional = true;
  states.right = kube::ReadRight::late;
  states.indexes.push_back({std::string(k_rejected_index), [](const kube::Object& object, Entries& entries) {
                              const auto& state = static_cast<const api::ConfigurationState&>(object);
                              const bool allocates = state.meta.name == "controller";
                              if (state.result == "Invalid") entries.push_back({"", allocates ? "0" : "1"});
                            }});
  return {std::move(pools), rendered_watch<api::L2Advertisement>(settings),
          rendered_watch<api::BGPAdvertisement>(settings), std::move(states)};
}

std::vector<kube::Rule> class_rules(const ClassSettings& settings) {
  const std::vector<std::string> all{"get", "list", "watch", "create", "patch", "delete"};
  return {{std::string(api::group), "ipaddressclasses", "", {"get", "list", "watch"}},
          {std::string(api::group), "ipaddressclasses/status", "", {"patch"}},
          {"metallb.io", "ipaddresspools", settings.metallb_namespace, all},
          {"metallb.io", "l2advertisements", settings.metallb_namespace, all},
          {"metallb.io", "bgpadvertisements", settings.metallb_namespace, all},
          {"metallb.io", "configurationstates", settings.metallb_namespace, {"get", "list", "watch"}},
          {"", "namespaces", "", {"get", "list", "watch"}}};
}

}  // namespace metallb
