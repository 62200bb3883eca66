// parameters.advertise (driver design §2): how MetalLB makes the addresses of a class known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <limits>
#include <unordered_set>

#include "metallb/parameters_read.h"

namespace metallb::reading {
namespace {

constexpr std::string_view k_selector_example = "[{matchLabels: {rack: a}}]";

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// The part of a label key after '/', and a label's value: what the API server takes.
bool is_label_name(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (part.empty() || part.front() == '-' || part.back() == '-' || !std::ranges::all_of(part, allowed)) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_label_name(key);
  return is_dns_subdomain(key.substr(0, slash)) && is_label_name(key.substr(slash + 1));
}

void check_label_key(std::string_view key, std::string_view where, Report& report) {
  if (!is_label_key(key))
    report.problem(where, fmt::format("{} is not a label key, such as topology.kubernetes.io/zone", in_quotes(key)));
}

void check_label_value(std::string_view value, std::string_view where, Report& report) {
  if (!value.empty() && !is_label_name(value))
    report.problem(
        where, fmt::format("{} is not a label value: at most 63 letters, digits, '-', '_' and '.'", in_quotes(value)));
}

void read_match_labels(const boost::json::value& value, const std::string& where, LabelSelector& selector,
                       Report& report) {
  const auto* labels = as_object(value, where, report);
  if (labels == nullptr) return;
  for (const auto& [key, content] : *labels) {
    check_label_key(key, where, report);
    const auto* text = content.if_string();
    if (text == nullptr) {
      report.problem(fmt::format("{}[{}]", where, in_quotes(key)),
                     fmt::format("is {}: write the label's value as text, in quotes", type_name(content)));
      continue;
    }
    check_label_value(*text, where, report);
    selector.match_labels.emplace_back(key, *text);
  }
  std::ranges::sort(selector.match_labels);
}

void check_values(const LabelSelector::Requirement& requirement, const std::string& where, Report& report) {
  const bool takes_values = requirement.op == "In" || requirement.op == "NotIn";
  if (takes_values && requirement.values.empty())
    report.problem(where, fmt::format("has no values: operator {} needs at least one", requirement.op));
  if (!takes_values && !requirement.values.empty())
    report.problem(where, fmt::format("has values: operator {} takes none", requirement.op));
  for (const std::string& value : requirement.values) check_label_value(value, where, report);
}

void read_requirement(const boost::json::value& value, const std::string& where, LabelSelector& selector,
                      Report& report) {
  const auto* object = as_object(value, where, report);
  if (object == nullptr) return;
  reject_unknown_keys(*object, where, {"key", "operator", "values"}, report);
  LabelSelector::Requirement requirement;
  const auto text = [&](std::string_view name) -> std::string {
    const auto* found = object->if_contains(name);
    if (found != nullptr && found->is_string()) return std::string(found->get_string());
    report.problem(where, fmt::format("needs the key {} with a text", name));
    return {};
  };
  const std::size_t before = report.problems.size();
  requirement.key = text("key");
  requirement.op = text("operator");
  if (report.problems.size() != before) return;
  check_label_key(requirement.key, where, report);
  constexpr std::array<std::string_view, 4> operators{"In", "NotIn", "Exists", "DoesNotExist"};
  if (std::ranges::find(operators, requirement.op) == operators.end()) {
    report.problem(where, fmt::format("has the unknown operator {}: possible are In, NotIn, Exists, DoesNotExist",
                                      in_quotes(requirement.op)));
    return;
  }
  if (const auto* values = object->if_contains("values"))
    requirement.values = as_texts(*values, where + ".values", "[\"a\", \"b\"]", report);
  check_values(requirement, where, report);
  if (std::ranges::find(selector.match_expressions, requirement) != selector.match_expressions.end())
    report.problem(where, "is listed twice");
  selector.match_expressions.push_back(std::move(requirement));
}

LabelSelector read_selector(const boost::json::value& value, const std::string& where, Report& report) {
  LabelSelector selector;
  const auto* object = as_object(value, where, report);
  if (object == nullptr) return selector;
  reject_unknown_keys(*object, where, {"matchLabels", "matchExpressions"}, report);
  if (const auto* labels = object->if_contains("matchLabels"))
    read_match_labels(*labels, where + ".matchLabels", selector, report);
  if (const auto* found = object->if_contains("matchExpressions")) {
    const std::string list_where = where + ".matchExpressions";
    if (const auto* list = as_list(*found, list_where, "[{key: rack, operator: In, values: [a, b]}]", report)) {
      for (std::size_t i = 0; i < list->size(); ++i)
        read_requirement((*list)[i], fmt::format("{}[{}]", list_where, i), selector, report);
    }
  }
  return selector;
}

bool is_number_up_to(std::string_view text, std::uint64_t most) {
  if (text.empty() || text.size() > 10) return false;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number <= most;
}

// "65000:100", "large:65000:1:2" or the name that a Community object gives to one.
bool is_community(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return text.find_first_of(" \t/,") == std::string_view::npos;
  const bool large = text.starts_with("large:");
  if (large) text.remove_prefix(6);
  const std::uint64_t most =
      large ? std::numeric_limits<std::uint32_t>::max() : std::numeric_limits<std::uint16_t>::max();
  std::size_t parts = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    if (!is_number_up_to(text.substr(0, colon), most)) return false;
    ++parts;
    if (colon == std::string_view::npos) return parts == (large ? 3U : 2U);
    text.remove_prefix(colon + 1);
  }
}

L2Options read_l2(const boost::json::value& value, Report& report) {
  constexpr std::string_view where = "advertise.l2";
  L2Options options;
  const auto* object = as_object(value, where, report);
  if (object == nullptr) return options;
  reject_unknown_keys(*object, where, {"interfaces", "nodeSelectors", "serviceSelectors"}, report);
  if (const auto* list = object->if_contains("interfaces"))
    options.interfaces = as_texts(*list, "advertise.l2.interfaces", "[\"eth0\"]", report);
  if (const auto* list = object->if_contains("nodeSelectors"))
    options.node_selectors = read_selectors(*list, "advertise.l2.nodeSelectors", report);
  if (const auto* list = object->if_contains("serviceSelectors"))
    options.service_selectors = read_selectors(*list, "advertise.l2.serviceSelectors", report);
  return options;
}

std::optional<int> read_length(const boost::json::object& bgp, std::string_view key, int most, Report& report) {
  const auto* value = bgp.if_contains(key);
  if (value == nullptr) return std::nullopt;
  const auto length = as_integer(*value, fmt::format("advertise.bgp.{}", key), 1, most, report);
  return length ? std::optional<int>(static_cast<int>(*length)) : std::nullopt;
}

BgpOptions read_bgp(const boost::json::value& value, Report& report) {
  constexpr std::string_view where = "advertise.bgp";
  BgpOptions options;
  const auto* object = as_object(value, where, report);
  if (object == nullptr) return options;
  reject_unknown_keys(
      *object, where,
      {"aggregationLength", "aggregationLengthV6", "localPref", "communities", "peers", "nodeSelectors"}, report);
  options.aggregation_length = read_length(*object, "aggregationLength", 32, report);
  options.aggregation_length_v6 = read_length(*object, "aggregationLengthV6", 128, report);
  if (const auto* number = object->if_contains("localPref")) {
    if (const auto pref =
            as_integer(*number, "advertise.bgp.localPref", 0, std::numeric_limits<std::uint32_t>::max(), report))
      options.local_pref = static_cast<std::uint32_t>(*pref);
  }
  if (const auto* list = object->if_contains("communities")) {
    options.communities = as_texts(*list, "advertise.bgp.communities", "[\"65000:100\"]", report);
    for (const std::string& community : options.communities) {
      if (!is_community(community))
        report.problem(fmt::format("advertise.bgp.communities {}", in_quotes(community)),
                       "is no community: write 65000:100, large:65000:1:2 or the name of an alias");
    }
  }
  if (const auto* list = object->if_contains("peers"))
    options.peers = as_texts(*list, "advertise.bgp.peers", "[\"router-a\"]", report);
  if (const auto* list = object->if_contains("nodeSelectors"))
    options.node_selectors = read_selectors(*list, "advertise.bgp.nodeSelectors", report);
  return options;
}

}  // namespace

std::vector<LabelSelector> read_selectors(const boost::json::value& value, std::string_view where, Report& report) {
  std::vector<LabelSelector> selectors;
  const auto* list = as_list(value, where, k_selector_example, report);
  if (list == nullptr) return selectors;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string position = fmt::format("{}[{}]", where, i);
    LabelSelector selector = read_selector((*list)[i], position, report);
    if (std::ranges::find(selectors, selector) != selectors.end()) report.problem(position, "is listed twice");
    selectors.push_back(std::move(selector));
  }
  return selectors;
}

void read_advertise(const boost::json::object& parameters, ClassParameters& result, Report& report) {
  const auto* value = parameters.if_contains("advertise");
  if (value == nullptr) {
    result.l2.emplace();
    return;
  }
  const auto* advertise = as_object(*value, "advertise", report);
  if (advertise == nullptr) return;
  reject_unknown_keys(*advertise, "advertise", {"l2", "bgp"}, report);
  if (const auto* l2 = advertise->if_contains("l2")) result.l2 = read_l2(*l2, report);
  if (const auto* bgp = advertise->if_contains("bgp")) result.bgp = read_bgp(*bgp, report);
  if (advertise->empty())
    report.note("advertise", "names neither l2 nor bgp: addresses are reserved and not announced");
}

}  // namespace metallb::reading
