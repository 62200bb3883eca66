#include "sandbox/metallb_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

namespace sandbox::metallb_model {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool overlap(const base::IpRange& a, const base::IpRange& b) {
  return a.family() == b.family() && a.first <= b.last && b.first <= a.last;
}

bool expression_holds(const json::object& expression, const json::object* labels) {
  const json::value* value = labels == nullptr ? nullptr : labels->if_contains(text_at(expression, {"key"}));
  const std::string_view op = text_at(expression, {"operator"});
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  const json::array* values = array_at(expression, {"values"});
  const bool listed = value != nullptr && values != nullptr &&
                      std::ranges::any_of(*values, [&](const json::value& v) { return v == *value; });
  return op == "NotIn" ? !listed : listed;
}

bool has_twice(const json::array& list) {
  for (auto one = list.begin(); one != list.end(); ++one) {
    if (std::find(one + 1, list.end(), *one) != list.end()) return true;
  }
  return false;
}

// Whether MetalLB takes these label selectors; the syntax of labels is not looked at.
bool readable(const json::array& selectors) {
  const auto fine = [](const json::value& value) {
    const json::object& expression = value.as_object();
    const std::string_view op = text_at(expression, {"operator"});
    const json::array* values = array_at(expression, {"values"});
    const bool any = values != nullptr && !values->empty();
    if (any && has_twice(*values)) return false;
    return any ? op == "In" || op == "NotIn" : op == "Exists" || op == "DoesNotExist";
  };
  return !has_twice(selectors) && std::ranges::all_of(selectors, [&](const json::value& selector) {
    const json::array* expressions = array_at(selector.as_object(), {"matchExpressions"});
    return expressions == nullptr || (!has_twice(*expressions) && std::ranges::all_of(*expressions, fine));
  });
}

base::Result<Pool> parse_pool(const json::object& document, const std::vector<const json::object*>& namespaces) {
  Pool pool;
  pool.name = text_at(document, {"metadata", "name"});
  const json::array* addresses = array_at(document, {"spec", "addresses"});
  if (addresses == nullptr || addresses->empty()) {
    return base::fail(fmt::format("parsing address pool {}: pool has no prefixes defined", pool.name));
  }
  for (const json::value& entry : *addresses) {
    const auto ranges = parse_entry(view(entry.as_string()));
    if (!ranges) return base::fail(fmt::format("parsing address pool {}: {}", pool.name, ranges.error().message));
    const bool is_network = view(entry.as_string()).find('-') == std::string_view::npos;
    pool.has_v4_network = pool.has_v4_network || (is_network && ranges->front().family() == base::Family::v4);
    for (const base::IpRange& range : *ranges) {
      if (std::ranges::any_of(pool.ranges, [&](const base::IpRange& other) { return overlap(range, other); })) {
        return base::fail(
            fmt::format("CIDR {} in pool {} overlaps with already defined CIDR", view(entry.as_string()), pool.name));
      }
      pool.ranges.push_back(range);
    }
  }
  pool.auto_assign = bool_at(document, {"spec", "autoAssign"}, true);
  pool.avoid_buggy = bool_at(document, {"spec", "avoidBuggyIPs"});
  const json::object* allocation = object_at(document, {"spec", "serviceAllocation"});
  if (allocation == nullptr) return pool;
  pool.has_allocation = true;
  pool.priority = int_at(*allocation, {"priority"});
  const auto part = [&](std::string_view name) {
    const json::array* list = array_at(*allocation, {name});
    return list == nullptr ? json::array() : *list;
  };
  const json::array listed = part("namespaces");
  const json::array namespace_selectors = part("namespaceSelectors");
  const json::array service_selectors = part("serviceSelectors");
  if (has_twice(listed) || !readable(namespace_selectors) || !readable(service_selectors)) {
    return base::fail(
        fmt::format("parsing address pool {}: a duplicate definition or an invalid label selector", pool.name));
  }
  for (const json::value& ns : listed) pool.namespaces.emplace(view(ns.as_string()));
  for (const json::object* ns : namespaces) {
    const auto matches = [ns](const json::value& selector) {
      return selects(selector.as_object(), object_at(*ns, {"metadata", "labels"}));
    };
    if (std::ranges::any_of(namespace_selectors, matches)) pool.namespaces.emplace(text_at(*ns, {"metadata", "name"}));
  }
  for (const json::value& selector : service_selectors) pool.service_selectors.push_back(selector.as_object());
  // without any condition it is for all Services
  if (listed.empty() && namespace_selectors.empty() && service_selectors.empty()) pool.service_selectors.emplace_back();
  return pool;
}

}  // namespace

bool selects(const json::object& selector, const json::object* labels) {
  if (const json::object* wanted = object_at(selector, {"matchLabels"})) {
    for (const json::key_value_pair& label : *wanted) {
      const json::value* value = labels == nullptr ? nullptr : labels->if_contains(label.key());
      if (value == nullptr || *value != label.value()) return false;
    }
  }
  const json::array* expressions = array_at(selector, {"matchExpressions"});
  return expressions == nullptr || std::ranges::all_of(*expressions, [labels](const json::value& e) {
           return expression_holds(e.as_object(), labels);
         });
}

bool is_buggy(const base::IpAddress& ip) {
  return ip.family() == base::Family::v4 && (ip.bytes()[15] == 0 || ip.bytes()[15] == 255);
}

bool Pool::contains(const base::IpAddress& ip) const {
  if (avoid_buggy && is_buggy(ip)) return false;
  return std::ranges::any_of(ranges, [&](const base::IpRange& range) { return range.contains(ip); });
}

bool Pool::compatible(std::string_view ns, const json::object* labels) const {
  // with selectors that match no namespace the set is empty, and the check is skipped: MetalLB fails open here
  if (!namespaces.empty() && !namespaces.contains(std::string(ns))) return false;
  return service_selectors.empty() ||
         std::ranges::any_of(service_selectors, [labels](const json::object& s) { return selects(s, labels); });
}

bool operator==(const Pool& a, const Pool& b) {
  return a.name == b.name && a.ranges == b.ranges && a.auto_assign == b.auto_assign && a.avoid_buggy == b.avoid_buggy &&
         a.has_allocation == b.has_allocation && a.priority == b.priority && a.namespaces == b.namespaces &&
         std::ranges::equal(a.service_selectors, b.service_selectors,
                            [](const json::object& x, const json::object& y) { return same(x, y); });
}

base::Result<std::vector<base::IpRange>> parse_entry(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto prefix = base::IpPrefix::parse(text, true);
    if (!prefix || text.find('/') == std::string_view::npos)
      return base::fail(fmt::format("invalid CIDR \"{}\"", text));
    return std::vector{prefix->range()};
  }
  const auto first = base::IpAddress::parse(trimmed(text.substr(0, dash)));
  const auto last = base::IpAddress::parse(trimmed(text.substr(dash + 1)));
  if (!first)
    return base::fail(fmt::format("invalid IP range \"{}\": invalid start IP \"{}\"", text, text.substr(0, dash)));
  if (!last)
    return base::fail(fmt::format("invalid IP range \"{}\": invalid end IP \"{}\"", text, text.substr(dash + 1)));
  if (first->family() != last->family()) return std::vector<base::IpRange>();
  if (*last < *first)
    return base::fail(fmt::format("invalid IP range \"{}\": start IP \"{}\" is after the end IP \"{}\"", text,
                                  first->to_string(), last->to_string()));
  return std::vector{base::IpRange{*first, *last}};
}

base::Result<Pools> parse_pools(const std::vector<const json::object*>& documents,
                                const std::vector<const json::object*>& namespaces) {
  Pools pools;
  for (const json::object* document : documents) {
    auto pool = parse_pool(*document, namespaces);
    if (!pool) return std::unexpected(pool.error());
    for (const auto& [name, other] : pools) {
      for (const base::IpRange& range : pool->ranges) {
        if (std::ranges::any_of(other.ranges, [&](const base::IpRange& r) { return overlap(range, r); })) {
          return base::fail(
              fmt::format("CIDR in pool {} overlaps with already defined CIDR in pool {}", pool->name, name));
        }
      }
    }
    std::string name = pool->name;
    pools.emplace(std::move(name), std::move(*pool));
  }
  return pools;
}

}  // namespace sandbox::metallb_model
