// Services: the rules that need more than a schema. Internal to the sandbox.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/random.h"
#include "sandbox/kind.h"

namespace sandbox {

// The families this cluster gives Services, the default one first.
struct ServiceRanges {
  struct Range {
    base::IpRange range;
    base::Family family() const { return range.family(); }
  };
  std::vector<Range> ranges;

  const Range* of(std::string_view family) const;
  std::string default_family() const;
  bool dual() const { return ranges.size() > 1; }
};

bool needs_cluster_ip(const json::object& spec);  // any type but ExternalName
bool is_headless(const json::object& spec);
bool needs_node_ports(const json::object& spec);
bool needs_health_check_port(const json::object& spec);
// Reached from outside, so that externalTrafficPolicy means something.
bool has_external_policy(const json::object& spec);
std::vector<std::string> text_list(const json::object& spec, std::string_view field);
void set_text_list(json::object& spec, std::string_view field, const std::vector<std::string>& texts);

void service_defaults(json::object& spec);
// Carries over what the server had allocated, drops what the new type does not have (nullptr: new Service).
void service_carry_over(json::object& spec, const json::object& old);
// ipFamilyPolicy, ipFamilies and the shape of clusterIPs.
void service_families(json::object& spec, const json::object* old, const ServiceRanges& ranges);

void validate_service(const json::object& spec, const json::object* old, const ServiceRanges& ranges, Causes& causes);
void validate_ingress(const json::object& service, Causes& causes);

}  // namespace sandbox
