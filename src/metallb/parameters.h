// What an administrator writes under spec.parameters of a class of ours (driver design §2), read into values. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip.h"

namespace metallb {

// metav1.LabelSelector, passed on to MetalLB's advertisements as it is.
struct LabelSelector {
  struct Requirement {
    std::string key;
    std::string op;  // "In", "NotIn", "Exists", "DoesNotExist"
    std::vector<std::string> values;
    friend bool operator==(const Requirement&, const Requirement&) = default;
  };
  std::vector<std::pair<std::string, std::string>> match_labels;  // by key
  std::vector<Requirement> match_expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

// parameters.advertise.l2
struct L2Options {
  std::vector<std::string> interfaces;
  std::vector<LabelSelector> node_selectors;
  std::vector<LabelSelector> service_selectors;
  friend bool operator==(const L2Options&, const L2Options&) = default;
};

// parameters.advertise.bgp
struct BgpOptions {
  std::optional<int> aggregation_length;     // 1..32
  std::optional<int> aggregation_length_v6;  // 1..128
  std::optional<std::uint32_t> local_pref;
  std::vector<std::string> communities;
  std::vector<std::string> peers;
  std::vector<LabelSelector> node_selectors;
  friend bool operator==(const BgpOptions&, const BgpOptions&) = default;
};

// parameters.inventory: what becomes of addresses that Services have without a claim (driver design §9).
enum class Inventory : std::uint8_t {
  off,      // they are reported (§7)
  dry_run,  // the class says what adopt would do
  adopt,    // they become objects with generated claims
  revert,   // and what became so is undone
};

struct ClassParameters {
  // What may be handed out: the addresses without network, broadcast and what is excluded. Never empty.
  base::IpRangeSet ranges;
  // The same addresses as disjoint pieces in the order of parameters.addresses: MetalLB hands out the first free one.
  std::vector<base::IpRange> pieces;
  std::optional<L2Options> l2;
  std::optional<BgpOptions> bgp;
  bool allow_sharing = false;
  bool include_network_addresses = false;
  Inventory inventory = Inventory::off;
  // What was read otherwise than it was written, or has no effect: one sentence each, to be shown and never dropped.
  std::vector<std::string> notes;

  bool serves(base::Family family) const;
};

// Each problem is one sentence that names the entry ("addresses[1] \"10.0.0.9-10.0.0.1\": …") and what would be right.
using Problems = std::vector<std::string>;
using ParsedParameters = std::expected<ClassParameters, Problems>;

// `json` is the text of spec.parameters, "" where it is absent. All problems are reported, not only the first.
ParsedParameters parse_parameters(std::string_view json);

// parameters.advertise alone, as canonical JSON: "{}" for neither way.
std::string advertise_text(const ClassParameters& parameters);
// Reads that back, l2 and bgp only; nullopt if it is no such text.
std::optional<ClassParameters> parse_advertise(std::string_view json);

// "a; b; c", cut to what a condition's message takes.
std::string join_sentences(const std::vector<std::string>& sentences);

// A memo of parse_parameters by text, so that a pass does not parse what it parsed before. Bounded; not thread-safe.
class ParameterCache {
 public:
  // Valid as long as the pointer is kept.
  std::shared_ptr<const ParsedParameters> get(const std::string& json);

 private:
  using Item = std::pair<std::string, std::shared_ptr<const ParsedParameters>>;
  std::list<Item> items_;  // the latest used first
  std::unordered_map<std::string_view, std::list<Item>::iterator> by_text_;
};

}  // namespace metallb
