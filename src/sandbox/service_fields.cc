#include <algorithm>
#include <boost/json/array.hpp>

#include "sandbox/service.h"

namespace sandbox {
namespace {

std::string_view type_of(const json::object& spec) { return text_at(spec, {"type"}); }

bool same_member(const json::object& a, const json::object& b, std::string_view field) {
  const json::value* x = a.if_contains(field);
  const json::value* y = b.if_contains(field);
  return x == nullptr || y == nullptr ? x == y : same(*x, *y);
}

void drop_if_kept(json::object& spec, const json::object& old, std::string_view field) {
  if (same_member(spec, old, field)) spec.erase(field);
}

json::array* ports_of(json::object& spec) {
  json::value* ports = spec.if_contains("ports");
  return ports == nullptr ? nullptr : ports->if_array();
}

// An update without clusterIP keeps the old ones; one that gives only one of the two fields means both.
void carry_over_cluster_ips(json::object& spec, const json::object& old) {
  if (!needs_cluster_ip(spec) || !needs_cluster_ip(old)) return;
  const std::vector<std::string> before = text_list(old, "clusterIPs");
  const std::vector<std::string> now = text_list(spec, "clusterIPs");
  const std::string_view ip = text_at(spec, {"clusterIP"});
  if (ip.empty() && (now.empty() || now == before)) {
    set_text_list(spec, "clusterIPs", before);
    spec["clusterIP"] = text_at(old, {"clusterIP"});
  } else if (now.empty() && ip == text_at(old, {"clusterIP"})) {
    set_text_list(spec, "clusterIPs", before);
  } else if (now == before && ip != text_at(old, {"clusterIP"})) {
    set_text_list(spec, "clusterIPs", {std::string(ip)});
  }
}

void carry_over_node_ports(json::object& spec, const json::object& old) {
  json::array* ports = ports_of(spec);
  const json::array* before = array_at(old, {"ports"});
  if (ports == nullptr || before == nullptr) return;
  for (json::value& item : *ports) {
    json::object& port = item.get_object();
    if (int_at(port, {"nodePort"}) != 0) continue;
    for (const json::value& other : *before) {
      const json::object& was = other.get_object();
      if (int_at(was, {"port"}) == int_at(port, {"port"}) &&
          text_at(was, {"protocol"}) == text_at(port, {"protocol"}) && int_at(was, {"nodePort"}) != 0) {
        port["nodePort"] = int_at(was, {"nodePort"});
      }
    }
  }
}

void drop_node_ports(json::object& spec, const json::object& old) {
  json::array* ports = ports_of(spec);
  const json::array* before = array_at(old, {"ports"});
  if (ports == nullptr || before == nullptr) return;
  for (json::value& item : *ports) {
    json::object& port = item.get_object();
    const auto wanted = int_at(port, {"nodePort"});
    const bool was = std::ranges::any_of(
        *before, [wanted](const json::value& other) { return int_at(other.get_object(), {"nodePort"}) == wanted; });
    if (was) port.erase("nodePort");
  }
}

}  // namespace

const ServiceRanges::Range* ServiceRanges::of(std::string_view family) const {
  const auto found =
      std::ranges::find_if(ranges, [family](const Range& r) { return base::to_string(r.family()) == family; });
  return found == ranges.end() ? nullptr : &*found;
}

std::string ServiceRanges::default_family() const { return std::string(base::to_string(ranges.front().family())); }

bool needs_cluster_ip(const json::object& spec) { return type_of(spec) != "ExternalName"; }
bool is_headless(const json::object& spec) { return needs_cluster_ip(spec) && text_at(spec, {"clusterIP"}) == "None"; }

bool needs_node_ports(const json::object& spec) {
  return type_of(spec) == "NodePort" ||
         (type_of(spec) == "LoadBalancer" && bool_at(spec, {"allocateLoadBalancerNodePorts"}, true));
}

bool has_external_policy(const json::object& spec) {
  const std::string_view type = type_of(spec);
  if (type == "LoadBalancer" || type == "NodePort") return true;
  const json::array* external = array_at(spec, {"externalIPs"});
  return type == "ClusterIP" && external != nullptr && !external->empty();
}

bool needs_health_check_port(const json::object& spec) {
  return type_of(spec) == "LoadBalancer" && text_at(spec, {"externalTrafficPolicy"}) == "Local";
}

std::vector<std::string> text_list(const json::object& spec, std::string_view field) {
  std::vector<std::string> list;
  if (const json::array* items = array_at(spec, {field})) {
    for (const json::value& item : *items) list.emplace_back(view(item.get_string()));
  }
  return list;
}

void set_text_list(json::object& spec, std::string_view field, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    spec.erase(field);
  } else {
    json::array& array = spec[field].emplace_array();
    for (const std::string& text : texts) array.emplace_back(text);
  }
}

void service_defaults(json::object& spec) {
  const auto fallback = [&spec](std::string_view field, json::value value) {
    const json::value* member = spec.if_contains(field);
    if (member == nullptr || (member->is_string() && member->get_string().empty())) spec[field] = std::move(value);
  };
  for (const std::string_view field :
       {"clusterIP", "externalTrafficPolicy", "loadBalancerIP", "externalName", "ipFamilyPolicy"}) {
    if (spec.contains(field) && text_at(spec, {field}).empty()) spec.erase(field);
  }
  fallback("type", "ClusterIP");
  fallback("sessionAffinity", "None");
  if (has_external_policy(spec)) fallback("externalTrafficPolicy", "Cluster");
  if (needs_cluster_ip(spec)) fallback("internalTrafficPolicy", "Cluster");
  if (type_of(spec) == "LoadBalancer") fallback("allocateLoadBalancerNodePorts", true);
  if (json::array* ports = ports_of(spec)) {
    for (json::value& item : *ports) {
      json::object& port = item.get_object();
      if (text_at(port, {"protocol"}).empty()) port["protocol"] = "TCP";
      const json::value* target = port.if_contains("targetPort");
      const bool unset = target == nullptr || target->is_null() || (target->is_int64() && target->get_int64() == 0) ||
                         (target->is_string() && target->get_string().empty());
      if (unset) port["targetPort"] = int_at(port, {"port"});
      if (port.contains("nodePort") && int_at(port, {"nodePort"}) == 0) port.erase("nodePort");
      if (port.contains("name") && text_at(port, {"name"}).empty()) port.erase("name");
    }
  }
}

void service_carry_over(json::object& spec, const json::object& old) {
  carry_over_cluster_ips(spec, old);
  if (needs_node_ports(spec) && needs_node_ports(old)) carry_over_node_ports(spec, old);
  if (needs_health_check_port(spec) && needs_health_check_port(old) && int_at(spec, {"healthCheckNodePort"}) == 0) {
    spec["healthCheckNodePort"] = int_at(old, {"healthCheckNodePort"});
  }
  if (!needs_cluster_ip(spec) && needs_cluster_ip(old)) {
    for (const std::string_view field :
         {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"}) {
      drop_if_kept(spec, old, field);
    }
  }
  if (!needs_node_ports(spec) && needs_node_ports(old)) drop_node_ports(spec, old);
  if (!needs_health_check_port(spec) && needs_health_check_port(old)) drop_if_kept(spec, old, "healthCheckNodePort");
  if (type_of(old) == "LoadBalancer" && type_of(spec) != "LoadBalancer") {
    drop_if_kept(spec, old, "allocateLoadBalancerNodePorts");
    drop_if_kept(spec, old, "loadBalancerClass");
  }
  if (!has_external_policy(spec) && has_external_policy(old)) drop_if_kept(spec, old, "externalTrafficPolicy");
}

void service_families(json::object& spec, const json::object* old, const ServiceRanges& ranges) {
  if (!needs_cluster_ip(spec)) return;
  std::vector<std::string> ips = text_list(spec, "clusterIPs");
  if (ips.empty() && !text_at(spec, {"clusterIP"}).empty()) ips.emplace_back(text_at(spec, {"clusterIP"}));
  std::vector<std::string> families = text_list(spec, "ipFamilies");
  const bool headless = !ips.empty() && ips.front() == "None";
  if (text_at(spec, {"ipFamilyPolicy"}).empty()) {
    const bool selectorless = object_at(spec, {"selector"}) == nullptr;
    spec["ipFamilyPolicy"] = headless && selectorless && families.size() != 1 ? "RequireDualStack" : "SingleStack";
  }
  const std::string policy(text_at(spec, {"ipFamilyPolicy"}));
  // from two families to one: what the client left as it was shrinks to the first
  if (old != nullptr && policy == "SingleStack" && text_list(*old, "ipFamilies").size() == 2) {
    if (families == text_list(*old, "ipFamilies")) families.resize(1);
    if (ips == text_list(*old, "clusterIPs")) ips.resize(1);
  }
  if (families.empty()) {
    for (const std::string& ip : ips) {
      if (const auto address = base::IpAddress::parse(ip)) families.emplace_back(base::to_string(address->family()));
    }
  }
  if (families.empty()) families.push_back(ranges.default_family());
  const bool wants_both = policy == "PreferDualStack" || policy == "RequireDualStack";
  if (wants_both && families.size() == 1 && (ranges.dual() || headless)) {
    families.emplace_back(families.front() == "IPv4" ? "IPv6" : "IPv4");
  }
  set_text_list(spec, "ipFamilies", families);
  set_text_list(spec, "clusterIPs", ips);
  if (!ips.empty()) spec["clusterIP"] = ips.front();
}

}  // namespace sandbox
