#include "sandbox/metallb_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <map>

namespace sandbox::metallb_model {
namespace {

const json::value* annotation(const json::object& service, std::string_view key) {
  return find(service, {"metadata", "annotations", key});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The selector as sorted "k=v,k=v", as its text is what backends are compared by.
std::string selector_text(const json::object& service) {
  std::map<std::string, std::string> sorted;
  if (const json::object* selector = object_at(service, {"spec", "selector"})) {
    for (const json::key_value_pair& pair : *selector) sorted.emplace(pair.key(), view(pair.value().as_string()));
  }
  std::vector<std::string> parts;
  for (const auto& [key, value] : sorted) parts.push_back(key + "=" + value);
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace

std::string input(const json::object& service, std::string_view name) {
  for (const std::string_view prefix : {stable_prefix, old_prefix}) {
    const json::value* value = annotation(service, std::string(prefix) + std::string(name));
    if (value != nullptr && value->is_string()) return std::string(view(value->get_string()));
  }
  return {};
}

std::vector<std::string> deprecated_keys(const json::object& service) {
  std::vector<std::string> keys;
  if (const json::object* annotations = object_at(service, {"metadata", "annotations"})) {
    for (const json::key_value_pair& pair : *annotations) {
      if (pair.key().starts_with("metallb.universe.tf")) keys.emplace_back(pair.key());
    }
  }
  return keys;
}

bool is_load_balancer(const json::object& service) { return text_at(service, {"spec", "type"}) == "LoadBalancer"; }

std::string key_of(const json::object& service) {
  return fmt::format("{}/{}", text_at(service, {"metadata", "namespace"}), text_at(service, {"metadata", "name"}));
}

base::Result<Families> families_of(const std::vector<base::IpAddress>& ips) {
  if (ips.empty()) return Families::none;
  if (ips.size() > 2)
    return base::fail(fmt::format("IPFamilyForAddresses: invalid ips length {} {}", ips.size(), quoted_list(ips)));
  const bool v6 = ips[0].family() == base::Family::v6;
  if (ips.size() == 1) return v6 ? Families::v6 : Families::v4;
  if (ips[0].family() == ips[1].family())
    return base::fail(fmt::format("IPFamilyForAddresses: same address family {}", quoted_list(ips)));
  return Families::dual;
}

std::vector<base::IpAddress> cluster_ips_of(const json::object& service) {
  std::vector<base::IpAddress> ips;
  if (const json::array* texts = array_at(service, {"spec", "clusterIPs"})) {
    for (const json::value& text : *texts) {
      if (const auto ip = base::IpAddress::parse(view(text.as_string()))) ips.push_back(*ip);
    }
  }
  return ips;
}

bool prefers_dual(const json::object& service) {
  return text_at(service, {"spec", "ipFamilyPolicy"}) == "PreferDualStack";
}
bool requires_dual(const json::object& service) {
  return text_at(service, {"spec", "ipFamilyPolicy"}) == "RequireDualStack";
}

std::vector<base::IpAddress> ingress_of(const json::object& service) {
  std::vector<base::IpAddress> ips;
  if (const json::array* entries = array_at(service, {"status", "loadBalancer", "ingress"})) {
    for (const json::value& entry : *entries) {
      if (const auto ip = base::IpAddress::parse(text_at(entry.as_object(), {"ip"}))) ips.push_back(*ip);
    }
  }
  return ips;
}

base::Result<std::vector<base::IpAddress>> desired_of(const json::object& service) {
  const std::string pin = input(service, "loadBalancerIPs");
  const std::string_view field = text_at(service, {"spec", "loadBalancerIP"});
  std::vector<base::IpAddress> ips;
  if (pin.empty() && field.empty()) return ips;
  if (!pin.empty() && !field.empty())
    return base::fail("service can not have both metallb.io/loadBalancerIPs and svc.Spec.LoadBalancerIP");
  if (!field.empty()) {
    const auto ip = base::IpAddress::parse(field);
    if (!ip) return base::fail(fmt::format("invalid spec.loadBalancerIP \"{}\"", field));
    return std::vector{*ip};
  }
  std::string_view rest = pin;
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto ip = base::IpAddress::parse(trimmed(rest.substr(0, comma)));
    if (!ip) return base::fail(fmt::format("invalid metallb.io/loadBalancerIPs: \"{}\"", pin));
    ips.push_back(*ip);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (const auto families = families_of(ips); !families) return std::unexpected(families.error());
  return ips;
}

Asker asker_of(const json::object& service) {
  Asker asker;
  asker.name = key_of(service);
  asker.ns = text_at(service, {"metadata", "namespace"});
  asker.labels = object_at(service, {"metadata", "labels"});
  if (const json::array* ports = array_at(service, {"spec", "ports"})) {
    for (const json::value& port : *ports) {
      asker.ports.emplace_back(text_at(port.as_object(), {"protocol"}), int_at(port.as_object(), {"port"}));
    }
  }
  asker.sharing.key = input(service, "allow-shared-ip");
  if (text_at(service, {"spec", "externalTrafficPolicy"}) == "Local") asker.sharing.backend = selector_text(service);
  asker.families = families_of(cluster_ips_of(service)).value_or(Families::none);
  asker.prefer_dual = prefers_dual(service);
  const json::array* families = array_at(service, {"spec", "ipFamilies"});
  asker.v6_first = families != nullptr && !families->empty() && families->front() == json::value("IPv6");
  return asker;
}

void sort_by_text(std::vector<base::IpAddress>& ips) {
  std::ranges::sort(ips, {}, [](const base::IpAddress& ip) { return ip.to_string(); });
}

}  // namespace sandbox::metallb_model
