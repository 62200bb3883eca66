#include "sandbox/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <stdexcept>

#include "sandbox/api_server.h"
#include "sandbox/strategies.h"

namespace sandbox {
namespace {

constexpr std::int64_t first_node_port = 30000;
constexpr std::int64_t last_node_port = 32767;

Failure service_error(const json::object& object, Cause cause) {
  return invalid({"", "Service", std::string(text_at(object, {"metadata", "name"}))}, {std::move(cause)});
}

Failure full(std::string_view what) {
  Failure failure{.code = 500, .reason = "InternalError", .message = fmt::format("Internal error occurred: {}", what)};
  failure.causes.push_back({"", std::string(what), ""});
  return failure;
}

std::vector<std::int64_t> node_ports(const json::object& spec) {
  std::vector<std::int64_t> ports;
  if (const json::array* items = array_at(spec, {"ports"})) {
    for (const json::value& item : *items) {
      if (const std::int64_t port = int_at(item.get_object(), {"nodePort"}); port != 0) ports.push_back(port);
    }
  }
  if (const std::int64_t port = int_at(spec, {"healthCheckNodePort"}); port != 0) ports.push_back(port);
  return ports;
}

std::vector<base::IpAddress> cluster_ips(const json::object& spec) {
  std::vector<base::IpAddress> addresses;
  for (const std::string& ip : text_list(spec, "clusterIPs")) {
    if (const auto address = base::IpAddress::parse(ip)) addresses.push_back(*address);
  }
  return addresses;
}

const json::object& spec_of(const json::object& service) {
  static const json::object none;
  const json::object* spec = object_at(service, {"spec"});
  return spec == nullptr ? none : *spec;
}

template <class Container, class Item>
bool contains(const Container& container, const Item& item) {
  return std::ranges::find(container, item) != container.end();
}

class ServiceStrategy final : public Strategy {
 public:
  ServiceStrategy(const ServerOptions& options, base::Random& random) : random_(random) {
    for (const std::string& cidr : {options.service_cidr, options.second_service_cidr}) {
      if (cidr.empty()) continue;
      const auto prefix = base::IpPrefix::parse(cidr);
      if (!prefix) throw std::invalid_argument("service CIDR: " + prefix.error().message);
      ranges_.ranges.push_back({prefix->range()});
    }
    if (ranges_.ranges.empty()) throw std::invalid_argument("a service CIDR is required");
  }

  void prepare_create(json::object& object) const override {
    object["status"] = json::object{{"loadBalancer", json::object()}};
    json::object& spec = make_object(object, {"spec"});
    service_defaults(spec);
    service_families(spec, nullptr, ranges_);
  }

  void drop_chosen(json::object& object, const json::object& sent) const override {
    object.erase("status");
    for (const std::string_view field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      if (find(sent, {"spec", field}) == nullptr) make_object(object, {"spec"}).erase(field);
    }
  }

  void prepare_update(json::object& object, const json::object& old) const override {
    json::object& spec = make_object(object, {"spec"});
    service_defaults(spec);
    service_carry_over(spec, spec_of(old));
    service_families(spec, needs_cluster_ip(spec_of(old)) ? &spec_of(old) : nullptr, ranges_);
    if (text_at(spec, {"type"}) != "LoadBalancer") object["status"] = json::object{{"loadBalancer", json::object()}};
  }

  void prepare_status(json::object& object, const json::object& old) const override {
    // the mode is a default of what the client sent: its own type is what counts, as in the API machinery
    const std::string sent_type(text_at(object, {"spec", "type"}));
    Strategy::prepare_status(object, old);
    json::object& balancer = make_object(object, {"status", "loadBalancer"});
    json::value* ingress = balancer.if_contains("ingress");
    if (ingress == nullptr || !ingress->is_array() || sent_type != "LoadBalancer") return;
    for (json::value& item : ingress->get_array()) {
      json::object& entry = item.get_object();
      if (!text_at(entry, {"ip"}).empty() && text_at(entry, {"ipMode"}).empty()) entry["ipMode"] = "VIP";
    }
  }

  void validate(const json::object& object, const json::object* old, Causes& causes) const override {
    validate_service(spec_of(object), old == nullptr ? nullptr : &spec_of(*old), ranges_, causes);
  }

  void validate_status(const json::object& object, const json::object&, Causes& causes) const override {
    validate_ingress(object, causes);
  }

  Outcome<void> allocate(json::object& object, const json::object* old) const override {
    json::object& spec = make_object(object, {"spec"});
    static const json::object none;
    const json::object& before = old == nullptr ? none : spec_of(*old);
    if (auto done = choose_cluster_ips(object, spec, before); !done) return done;
    return choose_node_ports(object, spec, before);
  }

  void replaced(const json::object* old, const json::object* now) override {
    if (old != nullptr) {
      for (const base::IpAddress& ip : cluster_ips(spec_of(*old))) used_ips_.erase(ip);
      for (const std::int64_t port : node_ports(spec_of(*old))) used_ports_.erase(port);
    }
    if (now != nullptr) {
      for (const base::IpAddress& ip : cluster_ips(spec_of(*now))) used_ips_.insert(ip);
      for (const std::int64_t port : node_ports(spec_of(*now))) used_ports_.insert(port);
    }
  }

 private:
  Outcome<void> choose_cluster_ips(const json::object& object, json::object& spec, const json::object& before) const {
    if (!needs_cluster_ip(spec)) return {};
    std::vector<std::string> ips = text_list(spec, "clusterIPs");
    if (!ips.empty() && ips.front() == "None") return {};
    const std::vector<std::string> kept = text_list(before, "clusterIPs");
    for (const std::string& ip : ips) {
      if (contains(kept, ip)) continue;
      const auto address = base::IpAddress::parse(ip);
      const bool inside =
          std::ranges::any_of(ranges_.ranges, [&](const auto& range) { return range.range.contains(*address); });
      if (inside && !used_ips_.contains(*address)) continue;
      const std::string_view why =
          inside ? "provided IP is already allocated" : "the provided network does not match the current range";
      return refuse(service_error(object, field_invalid("spec.clusterIPs", to_text(spec.at("clusterIPs")),
                                                        fmt::format("failed to allocate IP {}: {}", ip, why))));
    }
    const std::vector<std::string> families = text_list(spec, "ipFamilies");
    for (std::size_t i = ips.size(); i < families.size(); ++i) {
      const ServiceRanges::Range* range = ranges_.of(families[i]);
      const auto address = range == nullptr ? std::nullopt : free_address(range->range);
      if (!address) return refuse(full("failed to allocate a serviceIP: range is full"));
      ips.push_back(address->to_string());
    }
    set_text_list(spec, "clusterIPs", ips);
    if (!ips.empty()) spec["clusterIP"] = ips.front();
    return {};
  }

  Outcome<void> choose_node_ports(const json::object& object, json::object& spec, const json::object& before) const {
    const std::vector<std::int64_t> kept = node_ports(before);
    std::set<std::int64_t> chosen;
    json::value* ports = spec.if_contains("ports");
    if (ports != nullptr && ports->is_array()) {
      for (std::size_t i = 0; i < ports->get_array().size(); ++i) {
        json::object& port = ports->get_array()[i].get_object();
        const std::int64_t wanted = int_at(port, {"nodePort"});
        if (wanted != 0 && !contains(kept, wanted) && used_ports_.contains(wanted)) {
          return refuse(
              service_error(object, field_invalid(fmt::format("spec.ports[{}].nodePort", i), std::to_string(wanted),
                                                  "provided port is already allocated")));
        }
        if (wanted == 0 && needs_node_ports(spec)) {
          const auto free = free_port(chosen);
          if (!free) return refuse(full("failed to allocate a nodePort: range is full"));
          chosen.insert(*free);
          port["nodePort"] = *free;
        }
      }
    }
    if (needs_health_check_port(spec) && int_at(spec, {"healthCheckNodePort"}) == 0) {
      const auto free = free_port(chosen);
      if (!free) return refuse(full("failed to allocate a healthCheckNodePort: range is full"));
      spec["healthCheckNodePort"] = *free;
    }
    return {};
  }

  // An address of the range that nobody uses, never the first (the network itself) nor, in IPv4, the last.
  std::optional<base::IpAddress> free_address(const base::IpRange& range) const {
    constexpr std::uint64_t most = 1U << 16U;
    const std::uint64_t size = std::min<std::uint64_t>(most, span(range));
    if (size < 3) return std::nullopt;
    const std::uint64_t usable = size - 2;
    const std::uint64_t start = random_.below(usable);
    base::IpAddress at = range.first;
    for (std::uint64_t i = 0; i <= start; ++i) at = *at.next();
    for (std::uint64_t tried = 0; tried < usable; ++tried) {
      if (!used_ips_.contains(at)) return at;
      const bool wrap = start + tried + 1 == usable;
      at = wrap ? *range.first.next() : *at.next();
    }
    return std::nullopt;
  }

  // How many addresses there are, saturated.
  static std::uint64_t span(const base::IpRange& range) {
    base::IpRangeSet set;
    set.add(range);
    return static_cast<std::uint64_t>(set.count(range.family()).value);
  }

  std::optional<std::int64_t> free_port(const std::set<std::int64_t>& chosen) const {
    constexpr std::int64_t size = last_node_port - first_node_port + 1;
    const auto start = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(size)));
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t port = first_node_port + (start + i) % size;
      if (!used_ports_.contains(port) && !chosen.contains(port)) return port;
    }
    return std::nullopt;
  }

  ServiceRanges ranges_;
  base::Random& random_;
  std::set<base::IpAddress> used_ips_;
  std::set<std::int64_t> used_ports_;
};

}  // namespace

std::shared_ptr<Strategy> service_strategy(const ServerOptions& options, base::Random& random) {
  return std::make_shared<ServiceStrategy>(options, random);
}

}  // namespace sandbox
