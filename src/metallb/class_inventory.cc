// Driver design §9: what a class says about the addresses that Services have, or had, without a claim.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "metallb/class.h"
#include "metallb/class_pass.h"
#include "metallb/context.h"
#include "metallb/inventory.h"
#include "metallb/reasons.h"

namespace metallb {
namespace {

constexpr std::size_t k_named = 5;
// Of what is quoted: the server's words can be long.
constexpr std::size_t k_longest_why = 300;

// Services in one state: how many, and the first of them.
struct Tally {
  std::size_t count = 0;
  std::string named;

  void add(std::string_view service, const InventoryEntry& entry) {
    if (++count > k_named) return;
    if (count > 1) named += "; ";
    named += fmt::format("{} ({})", service, entry.addresses);
    if (!entry.why.empty()) named += ": " + entry.why.substr(0, k_longest_why);
  }
  // "2 can be adopted: a/web (203.0.113.1); …"
  std::string text(std::string_view what) const {
    std::string all = fmt::format("{} {}: {}", count, what, named);
    if (count > k_named) all += fmt::format("; and {} more", count - k_named);
    return all;
  }
};

class Summary {
 public:
  using State = InventoryEntry::State;

  Summary(kube::View& view, std::string_view class_name) {
    view.each_fact(inventory_bucket(class_name), [&](std::string_view order, const kube::FactBucket::Value& fact) {
      const InventoryEntry entry = InventoryEntry::parse(fact.value);
      tally(entry.state).add(service_in_order(order), entry);
      return true;
    });
  }

  // Status, reason and message, a line each.
  std::string text(Inventory mode, bool may_write) {
    mode == Inventory::revert ? sum_up_reverting() : sum_up_adopting(mode == Inventory::dry_run);
    if (mode != Inventory::dry_run && !may_write) {
      status_ = "False";
      reason_ = reason::not_enabled;
      sentences_.emplace(sentences_.begin(),
                         "the driver runs without --inventory (chart value inventory) and changes nothing");
    }
    if (sentences_.empty())
      sentences_.emplace_back(mode == Inventory::revert ? "nothing that was adopted is left"
                                                        : "no Service has an address of the class without a claim");
    return fmt::format("{}\n{}\n{}", status_, reason_, join_sentences(sentences_));
  }

 private:
  Tally& tally(State state) { return tallies_.at(std::to_underlying(state)); }

  std::size_t tell(State state, std::string_view what) {
    if (tally(state).count > 0) sentences_.push_back(tally(state).text(what));
    return tally(state).count;
  }

  void sum_up_reverting() {
    std::size_t left = tell(State::reverting, "being given back");
    left += tell(State::adopted, "still to be given back");
    tell(State::kept, "stay claimed");
    if (left > 0) status_ = "False";
    reason_ = left > 0 ? reason::reverting : reason::reverted;
  }

  void sum_up_adopting(bool dry) {
    std::size_t left = tell(State::planned, dry ? "would be adopted" : "to be adopted");
    left += tell(State::adopting, "being adopted");
    tell(State::refused, "cannot be adopted");
    if (const std::size_t done = tally(State::adopted).count; done > 0)
      sentences_.push_back(fmt::format("{} adopted", done));
    if (!dry && left > 0) status_ = "False";
    reason_ = dry ? reason::planned : left > 0 ? reason::adopting : reason::adopted;
  }

  std::array<Tally, 6> tallies_;
  std::vector<std::string> sentences_;
  std::string_view status_ = "True";
  std::string_view reason_;
};

Inventory mode_of(const ParsedParameters& parsed) { return parsed ? parsed->inventory : Inventory::off; }

}  // namespace

kube::Plan reconcile_inventory_summary(const Context& context, const kube::Key& key, kube::View& view) {
  kube::Plan plan;
  const ServedClass cls = served_class(view, context, key.name);
  plan.forget = !cls;
  const Inventory mode = cls ? mode_of(*cls.parsed) : Inventory::off;
  if (mode == Inventory::off) return plan;
  plan.facts.push_back({inventory_summary_bucket(key.name), "",
                        Summary(view, key.name).text(mode, context.options.inventory), class_key(key.name)});
  return plan;
}

void judge_inventory(ClassPass& pass, InventoryVerdict& verdict) {
  verdict.withdrawn = mode_of(*pass.parsed) == Inventory::off;
  if (verdict.withdrawn) return;
  pass.view.each_fact(inventory_summary_bucket(pass.name), [&](std::string_view, const kube::FactBucket::Value& fact) {
    verdict.text = fact.value;
    return false;
  });
  if (verdict.text.empty()) return;
  const std::string_view text = verdict.text;
  const std::size_t status = text.find('\n');
  const std::size_t reason = text.find('\n', status + 1);
  verdict.saying = api::Saying{k_inventory_condition, text.substr(0, status),
                               text.substr(status + 1, reason - status - 1), std::string(text.substr(reason + 1))};
}

}  // namespace metallb
