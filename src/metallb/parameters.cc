#include "metallb/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "metallb/parameters_read.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

using reading::Report;

// Room for every class of a cluster that anybody would call normal; beyond it the memo only gets slower.
constexpr std::size_t k_cached_texts = 1024;
// A condition's message takes 32768 characters; the rest of a sentence must fit too.
constexpr std::size_t k_longest_sentences = 8192;

constexpr std::string_view k_no_addresses =
    "has no addresses: list at least one CIDR, range or address, such as addresses: [\"203.0.113.0/24\"]";

void read_flags(const boost::json::object& parameters, ClassParameters& result, Report& report) {
  if (const auto* value = parameters.if_contains("allowSharing"))
    result.allow_sharing = reading::as_bool(*value, "allowSharing", report).value_or(false);
  if (const auto* value = parameters.if_contains("includeNetworkAddresses"))
    result.include_network_addresses = reading::as_bool(*value, "includeNetworkAddresses", report).value_or(false);
}

void read_inventory(const boost::json::object& parameters, ClassParameters& result, Report& report) {
  static constexpr std::pair<std::string_view, Inventory> words[] = {{"Off", Inventory::off},
                                                                     {"DryRun", Inventory::dry_run},
                                                                     {"Adopt", Inventory::adopt},
                                                                     {"Revert", Inventory::revert}};
  const auto* value = parameters.if_contains("inventory");
  if (value == nullptr) return;
  constexpr std::string_view choices = "use Off, DryRun, Adopt or Revert";
  if (!value->is_string())
    return report.problem("inventory", fmt::format("is {}: {}", reading::type_name(*value), choices));
  const std::string_view text = value->get_string();
  const auto* word = std::ranges::find(words, text, [](const auto& w) { return w.first; });
  if (word == std::end(words))
    return report.problem("inventory", fmt::format("{} is no such mode: {}", reading::in_quotes(text), choices));
  result.inventory = word->second;
}

// MetalLB refuses routes wider than the addresses they stand for, and does so in its speakers where nobody sees it.
void check_aggregation(const ClassParameters& parameters, Report& report) {
  if (!parameters.bgp) return;
  const auto check = [&](std::string_view key, const std::optional<int>& length, base::Family family) {
    if (!length) return;
    for (const base::IpRange& piece : parameters.pieces) {
      const Aggregation limits = aggregation_limits({piece});
      const int least = family == base::Family::v4 ? limits.v4 : limits.v6;
      if (piece.family() != family || *length >= least) continue;
      report.problem(
          fmt::format("advertise.bgp.{}", key),
          fmt::format("/{} is wider than {} has room for (without network, broadcast and excluded addresses): "
                      "use {} or more, or give that entry more room",
                      *length, entry_text(piece), least));
      return;
    }
  };
  check("aggregationLength", parameters.bgp->aggregation_length, base::Family::v4);
  check("aggregationLengthV6", parameters.bgp->aggregation_length_v6, base::Family::v6);
}

}  // namespace

bool ClassParameters::serves(base::Family family) const {
  return std::ranges::any_of(ranges.ranges(), [&](const base::IpRange& r) { return r.family() == family; });
}

ParsedParameters parse_parameters(std::string_view json) {
  Report report;
  ClassParameters result;
  boost::system::error_code error;
  const boost::json::value document = json.empty() ? boost::json::value() : boost::json::parse(json, error);
  if (error) return std::unexpected(Problems{fmt::format("parameters: is not JSON: {}", error.message())});
  if (document.is_null()) return std::unexpected(Problems{fmt::format("parameters: {}", k_no_addresses)});
  const auto* parameters = reading::as_object(document, "parameters", report);
  if (parameters == nullptr) return std::unexpected(report.problems);
  reading::reject_unknown_keys(
      *parameters, "parameters",
      {"addresses", "exclude", "advertise", "allowSharing", "includeNetworkAddresses", "inventory"}, report);
  read_flags(*parameters, result, report);
  read_inventory(*parameters, result, report);
  if (parameters->contains("addresses")) {
    reading::read_addresses(*parameters, result, report);
  } else {
    report.problem("parameters", k_no_addresses);
  }
  reading::read_advertise(*parameters, result, report);
  if (report.problems.empty()) check_aggregation(result, report);
  if (!report.problems.empty()) return std::unexpected(std::move(report.problems));
  result.notes = std::move(report.notes);
  return result;
}

std::string advertise_text(const ClassParameters& parameters) {
  boost::json::object advertise;
  if (parameters.l2) {
    boost::json::object l2 = l2_spec("", *parameters.l2);
    l2.erase("ipAddressPools");
    advertise["l2"] = std::move(l2);
  }
  if (parameters.bgp) {
    boost::json::object bgp = bgp_spec("", *parameters.bgp, effective_aggregation(*parameters.bgp, {}));
    bgp.erase("ipAddressPools");
    if (!parameters.bgp->aggregation_length) bgp.erase("aggregationLength");
    if (!parameters.bgp->aggregation_length_v6) bgp.erase("aggregationLengthV6");
    advertise["bgp"] = std::move(bgp);
  }
  return boost::json::serialize(advertise);
}

std::optional<ClassParameters> parse_advertise(std::string_view json) {
  boost::system::error_code error;
  boost::json::value document = json.empty() ? boost::json::value() : boost::json::parse(json, error);
  if (error || !document.is_object()) return std::nullopt;
  Report report;
  ClassParameters result;
  reading::read_advertise({{"advertise", std::move(document)}}, result, report);
  return report.problems.empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::string join_sentences(const std::vector<std::string>& sentences) {
  std::string text;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (text.size() + sentences[i].size() > k_longest_sentences && i > 0)
      return text + fmt::format("; and {} more", sentences.size() - i);
    if (i > 0) text += "; ";
    text += sentences[i].substr(0, k_longest_sentences);
  }
  return text;
}

std::shared_ptr<const ParsedParameters> ParameterCache::get(const std::string& json) {
  if (const auto known = by_text_.find(json); known != by_text_.end()) {
    items_.splice(items_.begin(), items_, known->second);
    return items_.front().second;
  }
  items_.emplace_front(json, std::make_shared<const ParsedParameters>(parse_parameters(json)));
  by_text_.emplace(items_.front().first, items_.begin());
  if (items_.size() > k_cached_texts) {
    by_text_.erase(items_.back().first);
    items_.pop_back();
  }
  return items_.front().second;
}

}  // namespace metallb
