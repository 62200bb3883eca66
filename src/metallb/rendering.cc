#include "metallb/rendering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "api/names.h"
#include "metallb/shortened.h"

namespace metallb {
namespace {

constexpr std::string_view k_prefix = "iad-";
constexpr std::size_t k_name_limit = 253;
constexpr std::size_t k_label_limit = 63;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool refers_to(const kube::OwnerReference& owner, std::string_view class_name) {
  return owner.kind == "IPAddressClass" && owner.name == class_name &&
         owner.apiVersion.starts_with(std::string(api::group) + "/");
}

boost::json::array texts(const std::vector<std::string>& values) {
  boost::json::array list;
  for (const std::string& value : values) list.emplace_back(value);
  return list;
}

boost::json::object selector_json(const LabelSelector& selector) {
  boost::json::object json;
  if (!selector.match_labels.empty()) {
    boost::json::object labels;
    for (const auto& [key, value] : selector.match_labels) labels[key] = value;
    json["matchLabels"] = std::move(labels);
  }
  if (!selector.match_expressions.empty()) {
    boost::json::array expressions;
    for (const auto& requirement : selector.match_expressions) {
      boost::json::object expression{{"key", requirement.key}, {"operator", requirement.op}};
      if (!requirement.values.empty()) expression["values"] = texts(requirement.values);
      expressions.emplace_back(std::move(expression));
    }
    json["matchExpressions"] = std::move(expressions);
  }
  return json;
}

void add_selectors(boost::json::object& spec, std::string_view key, const std::vector<LabelSelector>& selectors) {
  if (selectors.empty()) return;
  boost::json::array list;
  for (const LabelSelector& selector : selectors) list.emplace_back(selector_json(selector));
  spec[key] = std::move(list);
}

bool is_empty(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return true;
    case boost::json::kind::bool_:
      return !value.get_bool();
    case boost::json::kind::int64:
      return value.get_int64() == 0;
    case boost::json::kind::uint64:
      return value.get_uint64() == 0;
    case boost::json::kind::double_:
      return value.get_double() == 0;
    case boost::json::kind::string:
      return value.get_string().empty();
    case boost::json::kind::array:
      return value.get_array().empty();
    case boost::json::kind::object:
      return value.get_object().empty();
  }
  return false;
}

boost::json::object difference(const boost::json::object& current, const boost::json::object& wanted) {
  boost::json::object patch;
  for (const auto& [key, value] : wanted) {
    const boost::json::value* now = current.if_contains(key);
    if (now != nullptr && *now == value) continue;
    if (now != nullptr && now->is_object() && value.is_object()) {
      boost::json::object inner = difference(now->get_object(), value.get_object());
      if (!inner.empty()) patch[key] = std::move(inner);
    } else {
      patch[key] = value;
    }
  }
  for (const auto& [key, value] : current) {
    if (!wanted.contains(key) && !is_empty(value)) patch[key] = nullptr;
  }
  return patch;
}

boost::json::object parse_object(std::string_view text) {
  boost::system::error_code error;
  boost::json::value value = text.empty() ? boost::json::value() : boost::json::parse(text, error);
  return !error && value.is_object() ? std::move(value.get_object()) : boost::json::object();
}

}  // namespace

std::string pool_name(std::string_view class_name) {
  return shortened(std::string(k_prefix) + std::string(class_name), k_name_limit);
}

std::string class_label_value(std::string_view class_name) { return shortened(class_name, k_label_limit); }

boost::json::object rendered_metadata(std::string_view ns, std::string_view class_name) {
  const std::string label = class_label_value(class_name);
  boost::json::object metadata{{"name", pool_name(class_name)},
                               {"namespace", ns},
                               {"labels", boost::json::object{{api::metallb::class_label, label}}}};
  if (label != class_name) metadata["annotations"] = boost::json::object{{api::metallb::class_label, class_name}};
  return metadata;
}

std::optional<std::string> rendered_for(const kube::Meta& meta) {
  std::vector<std::string_view> candidates{meta.annotations.get(api::metallb::class_label),
                                           meta.labels.get(api::metallb::class_label)};
  if (meta.name.starts_with(k_prefix)) candidates.push_back(std::string_view(meta.name).substr(k_prefix.size()));
  for (const kube::OwnerReference& owner : meta.owners) candidates.push_back(owner.name);
  for (const std::string_view candidate : candidates) {
    if (!candidate.empty() && is_rendering_of(meta, candidate)) return std::string(candidate);
  }
  return std::nullopt;
}

bool is_rendering_of(const kube::Meta& meta, std::string_view class_name) {
  if (meta.name != pool_name(class_name)) return false;
  const bool stripped = !meta.labels.contains(api::metallb::class_label);
  if (stripped && meta.annotations.contains(api::metallb::advertise)) return true;
  return meta.labels.get(api::metallb::class_label) == class_label_value(class_name) ||
         std::ranges::any_of(meta.owners, [&](const auto& owner) { return refers_to(owner, class_name); });
}

std::optional<base::IpRange> pool_entry(std::string_view entry) {
  const std::size_t dash = entry.find('-');
  if (dash == std::string_view::npos) {
    const auto network = base::IpPrefix::parse(entry, true);
    return network ? std::optional(network->range()) : std::nullopt;
  }
  const auto first = base::IpAddress::parse(trimmed(entry.substr(0, dash)));
  const auto last = base::IpAddress::parse(trimmed(entry.substr(dash + 1)));
  if (!first || !last || first->family() != last->family() || *last < *first) return std::nullopt;
  return base::IpRange{*first, *last};
}

base::IpRangeSet pool_ranges(const std::vector<std::string>& addresses) {
  base::IpRangeSet set;
  for (const std::string& text : addresses) {
    if (const auto range = pool_entry(text)) set.add(*range);
  }
  return set;
}

std::string entry_text(const base::IpRange& range) {
  base::IpRangeSet set;
  set.add(range);
  const auto blocks = set.prefixes();
  if (blocks.size() == 1) return blocks.front().to_string();
  return fmt::format("{}-{}", range.first.to_string(), range.last.to_string());
}

std::vector<std::string> render_addresses(const std::vector<base::IpRange>& pieces,
                                          std::vector<base::IpAddress> outsiders) {
  std::vector<std::string> addresses;
  addresses.reserve(pieces.size() + outsiders.size());
  for (const base::IpRange& piece : pieces) addresses.push_back(entry_text(piece));
  std::ranges::sort(outsiders);
  const auto repeated = std::ranges::unique(outsiders);
  outsiders.erase(repeated.begin(), repeated.end());
  for (const base::IpAddress& outsider : outsiders) addresses.push_back(entry_text({outsider, outsider}));
  return addresses;
}

boost::json::object pool_spec(const std::vector<std::string>& addresses) {
  return {{"addresses", texts(addresses)}, {"autoAssign", false}, {"avoidBuggyIPs", false}};
}

Aggregation aggregation_limits(const std::vector<base::IpRange>& entries) {
  Aggregation limits;
  for (const base::IpRange& range : entries) {
    base::IpRangeSet set;
    set.add(range);
    const auto blocks = set.prefixes();
    const auto widest = std::ranges::min_element(blocks, {}, &base::IpPrefix::length);
    if (widest == blocks.end()) continue;
    int& limit = range.family() == base::Family::v4 ? limits.v4 : limits.v6;
    limit = std::max(limit, widest->length);
  }
  return limits;
}

Aggregation effective_aggregation(const BgpOptions& options, const Aggregation& limits) {
  const int v4 = options.aggregation_length.value_or(k_no_aggregation.v4);
  const int v6 = options.aggregation_length_v6.value_or(k_no_aggregation.v6);
  return {v4 < limits.v4 ? k_no_aggregation.v4 : v4, v6 < limits.v6 ? k_no_aggregation.v6 : v6};
}

boost::json::object l2_spec(std::string_view class_name, const L2Options& options) {
  boost::json::object spec{{"ipAddressPools", boost::json::array{boost::json::value(pool_name(class_name))}}};
  if (!options.interfaces.empty()) spec["interfaces"] = texts(options.interfaces);
  add_selectors(spec, "nodeSelectors", options.node_selectors);
  add_selectors(spec, "serviceSelectors", options.service_selectors);
  return spec;
}

boost::json::object bgp_spec(std::string_view class_name, const BgpOptions& options, const Aggregation& aggregation) {
  boost::json::object spec{{"ipAddressPools", boost::json::array{boost::json::value(pool_name(class_name))}},
                           {"aggregationLength", aggregation.v4},
                           {"aggregationLengthV6", aggregation.v6}};
  if (options.local_pref) spec["localPref"] = static_cast<std::int64_t>(*options.local_pref);
  if (!options.communities.empty()) spec["communities"] = texts(options.communities);
  if (!options.peers.empty()) spec["peers"] = texts(options.peers);
  add_selectors(spec, "nodeSelectors", options.node_selectors);
  return spec;
}

Aggregation aggregation_of(std::string_view spec) {
  const boost::json::object json = parse_object(spec);
  const auto length = [&](std::string_view key, int absent) {
    const auto* value = json.if_contains(key);
    return value != nullptr && value->is_int64() ? static_cast<int>(value->get_int64()) : absent;
  };
  return {length("aggregationLength", k_no_aggregation.v4), length("aggregationLengthV6", k_no_aggregation.v6)};
}

boost::json::object difference(std::string_view current, const boost::json::object& wanted) {
  return difference(parse_object(current), wanted);
}

}  // namespace metallb
