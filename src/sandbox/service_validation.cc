#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "base/text.h"
#include "sandbox/metadata.h"
#include "sandbox/rules.h"
#include "sandbox/service.h"

namespace sandbox {
namespace {

void check_choice(const json::object& spec, std::string_view field, std::initializer_list<std::string_view> choices,
                  Causes& causes) {
  const json::value* value = spec.if_contains(field);
  if (value == nullptr || std::ranges::find(choices, text_at(spec, {field})) != choices.end()) return;
  std::vector<std::string> supported;
  for (const std::string_view choice : choices) supported.push_back(quote(choice));
  causes.push_back(field_not_supported("spec." + std::string(field), shown_value(*value), supported));
}

void check_port_number(const json::object& port, std::string_view field, const std::string& path, Causes& causes) {
  const json::value* value = port.if_contains(field);
  const std::int64_t number = value != nullptr && value->is_int64() ? value->get_int64() : 0;
  if (value != nullptr && value->is_string()) return;  // a named target port
  if (number < 1 || number > 65535) {
    causes.push_back(field_invalid(fmt::format("{}.{}", path, field), std::to_string(number),
                                   "must be between 1 and 65535, inclusive"));
  }
}

void check_ports(const json::object& spec, Causes& causes) {
  const json::array* ports = array_at(spec, {"ports"});
  if (ports == nullptr || ports->empty()) {
    if (!is_headless(spec) && needs_cluster_ip(spec)) causes.push_back(field_required("spec.ports"));
    return;
  }
  std::vector<std::string> names;
  std::vector<std::pair<std::string_view, std::int64_t>> seen;
  for (std::size_t i = 0; i < ports->size(); ++i) {
    const json::object& port = (*ports)[i].get_object();
    const std::string path = fmt::format("spec.ports[{}]", i);
    const std::string name(text_at(port, {"name"}));
    if (name.empty() && ports->size() > 1) causes.push_back(field_required(path + ".name"));
    if (!name.empty() && !base::is_dns_label(name)) {
      causes.push_back(field_invalid(
          path + ".name", quote(name),
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
          "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"));
    }
    if (!name.empty() && std::ranges::find(names, name) != names.end())
      causes.push_back(field_duplicate(path + ".name", quote(name)));
    names.push_back(name);
    check_port_number(port, "port", path, causes);
    const std::string_view protocol = text_at(port, {"protocol"});
    if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
      causes.push_back(field_not_supported(path + ".protocol", quote(protocol), {"\"SCTP\"", "\"TCP\"", "\"UDP\""}));
    }
    check_port_number(port, "targetPort", path, causes);
    const std::pair identity(protocol, int_at(port, {"port"}));
    if (std::ranges::find(seen, identity) != seen.end()) {
      causes.push_back(field_duplicate(
          path,
          fmt::format(
              "{{\"Name\":\"\",\"Protocol\":\"{}\",\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
              protocol, identity.second)));
    }
    seen.push_back(identity);
  }
}

void check_families(const json::object& spec, const ServiceRanges& ranges, Causes& causes) {
  if (!needs_cluster_ip(spec)) return;
  const std::vector<std::string> families = text_list(spec, "ipFamilies");
  const std::vector<std::string> ips = text_list(spec, "clusterIPs");
  const std::string policy(text_at(spec, {"ipFamilyPolicy"}));
  const bool headless = is_headless(spec);
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::string field = fmt::format("spec.ipFamilies[{}]", i);
    if (families[i] != "IPv4" && families[i] != "IPv6") {
      causes.push_back(field_not_supported(field, quote(families[i]), {"\"IPv4\"", "\"IPv6\""}));
    } else if (ranges.of(families[i]) == nullptr && !headless) {
      causes.push_back(field_invalid(field, quote(families[i]), "not configured on this cluster"));
    }
  }
  if (families.size() > 1 && policy == "SingleStack") {
    causes.push_back(
        field_invalid("spec.ipFamilyPolicy", quote(policy),
                      "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"));
  } else if (ips.size() > 1 && policy == "SingleStack") {
    causes.push_back(
        field_invalid("spec.ipFamilyPolicy", quote(policy),
                      "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified"));
  }
  if (policy == "RequireDualStack" && !ranges.dual() && !headless) {
    causes.push_back(
        field_invalid("spec.ipFamilyPolicy", quote(policy), "this cluster is not configured for dual-stack services"));
  }
  if (headless) return;
  for (std::size_t i = 0; i < ips.size(); ++i) {
    const std::string field = fmt::format("spec.clusterIPs[{}]", i);
    const auto address = base::IpAddress::parse(ips[i]);
    if (!address) {
      causes.push_back(
          field_invalid(field, quote(ips[i]), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    } else if (i < families.size() && base::to_string(address->family()) != families[i]) {
      causes.push_back(field_invalid(
          field, quote(ips[i]), fmt::format("expected an {} value as indicated by `ipFamilies[{}]`", families[i], i)));
    }
  }
}

void check_type_fields(const json::object& spec, Causes& causes) {
  const std::string_view type = text_at(spec, {"type"});
  if (type == "LoadBalancer" && is_headless(spec)) {
    causes.push_back(
        field_invalid("spec.clusterIPs[0]", "\"None\"", "may not be set to 'None' for LoadBalancer services"));
  }
  if (type == "NodePort" && is_headless(spec)) {
    causes.push_back(field_invalid("spec.clusterIPs[0]", "\"None\"", "may not be set to 'None' for NodePort services"));
  }
  if (type == "ExternalName") {
    if (!text_list(spec, "clusterIPs").empty())
      causes.push_back(field_forbidden("spec.clusterIPs", "may not be set for ExternalName services"));
    if (text_at(spec, {"externalName"}).empty()) causes.push_back(field_required("spec.externalName"));
  }
  if (type != "LoadBalancer") {
    for (const std::string_view field : {"loadBalancerClass", "allocateLoadBalancerNodePorts"}) {
      if (spec.contains(field))
        causes.push_back(
            field_forbidden("spec." + std::string(field), "may only be used when `type` is 'LoadBalancer'"));
    }
    if (!text_list(spec, "loadBalancerSourceRanges").empty()) {
      // the capital is the real server's
      causes.push_back(
          field_forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'"));
    }
  }
  if (has_external_policy(spec)) {
    check_choice(spec, "externalTrafficPolicy", {"Cluster", "Local"}, causes);
  } else if (const std::string_view policy = text_at(spec, {"externalTrafficPolicy"}); !policy.empty()) {
    causes.push_back(field_invalid("spec.externalTrafficPolicy", quote(policy),
                                   "may only be set for externally-accessible services"));
  }
  if (const std::int64_t port = int_at(spec, {"healthCheckNodePort"}); port != 0 && !needs_health_check_port(spec)) {
    causes.push_back(
        field_invalid("spec.healthCheckNodePort", std::to_string(port),
                      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
  }
}

void check_immutable(const json::object& spec, const json::object& old, Causes& causes) {
  if (needs_cluster_ip(spec) && needs_cluster_ip(old)) {
    const std::vector<std::string> now = text_list(spec, "clusterIPs");
    const std::vector<std::string> was = text_list(old, "clusterIPs");
    if (!now.empty() && !was.empty() && now.front() != was.front()) {
      causes.push_back(field_invalid("spec.clusterIPs[0]", to_text(spec.at("clusterIPs")), "may not change once set"));
    }
  }
  if (text_at(spec, {"type"}) == "LoadBalancer" && text_at(old, {"type"}) == "LoadBalancer" &&
      text_at(spec, {"loadBalancerClass"}) != text_at(old, {"loadBalancerClass"})) {
    const json::value* now = spec.if_contains("loadBalancerClass");
    causes.push_back(field_invalid("spec.loadBalancerClass", now == nullptr ? "null" : shown_value(*now),
                                   "may not change once set"));
  }
}

}  // namespace

void validate_service(const json::object& spec, const json::object* old, const ServiceRanges& ranges, Causes& causes) {
  if (old != nullptr) check_immutable(spec, *old, causes);
  check_type_fields(spec, causes);
  check_ports(spec, causes);
  check_choice(spec, "type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, causes);
  check_choice(spec, "sessionAffinity", {"ClientIP", "None"}, causes);
  check_choice(spec, "internalTrafficPolicy", {"Cluster", "Local"}, causes);
  check_choice(spec, "ipFamilyPolicy", {"PreferDualStack", "RequireDualStack", "SingleStack"}, causes);
  check_families(spec, ranges, causes);
}

void validate_ingress(const json::object& service, Causes& causes) {
  const json::array* ingress = array_at(service, {"status", "loadBalancer", "ingress"});
  if (ingress == nullptr) return;
  if (text_at(service, {"spec", "type"}) != "LoadBalancer" && !ingress->empty()) {
    causes.push_back(
        field_forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'"));
    return;
  }
  for (std::size_t i = 0; i < ingress->size(); ++i) {
    const json::object& entry = (*ingress)[i].get_object();
    const std::string path = fmt::format("status.loadBalancer.ingress[{}]", i);
    const std::string_view ip = text_at(entry, {"ip"});
    if (!ip.empty() && !base::IpAddress::parse(ip)) {
      causes.push_back(
          field_invalid(path + ".ip", quote(ip), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
    const std::string_view mode = text_at(entry, {"ipMode"});
    if (!ip.empty() && mode.empty())
      causes.push_back(field_required(path + ".ipMode", "must be specified when `ip` is set"));
    if (ip.empty() && !mode.empty())
      causes.push_back(field_forbidden(path + ".ipMode", "may not be specified when `ip` is not set"));
    if (!mode.empty() && mode != "VIP" && mode != "Proxy") {
      causes.push_back(field_not_supported(path + ".ipMode", quote(mode), {"\"Proxy\"", "\"VIP\""}));
    }
  }
}

}  // namespace sandbox
