// Driver design §4: allocation planned for one class and family, so that one pass sees all claims and all gaps.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.h"
#include "api/metallb.h"
#include "api/names.h"
#include "kube/check.h"
#include "metallb/class.h"
#include "metallb/class_pass.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

// Requests of one pass: a gap never waits longer than for these.
constexpr std::size_t k_batch = 32;
// Unassigned placeholders of one class and family. MetalLB serves one Service after the other: more of them would not
// be served sooner, but would keep gaps and other classes waiting.
constexpr std::size_t k_window = 64;
// From here on it is for the others that MetalLB lets one wait, and making it look again would only add to its work.
constexpr std::size_t k_crowd = 16;
// Passes in a row that failed before the claims are told: each of them writes its status then.
constexpr int k_failures_to_report = 3;
// While claims wait and gaps are wanted only by those whose last one got nowhere, the two take turns of this length.
constexpr base::Duration k_turn = std::chrono::seconds(60);
// With more free addresses than this nobody counts exactly.
constexpr std::int64_t k_plenty = 1000;
// While claims wait and there are other gaps all the time, the claims have the end of each such round. Somebody may be
// without an address meanwhile, so it is short.
constexpr base::Duration k_round = std::chrono::seconds(60);
constexpr base::Duration k_share = std::chrono::seconds(10);
// It begins with a pause, in which what has been opened gets its address.
constexpr base::Duration k_lull = std::chrono::seconds(1);
// Gaps with less between them are there all the time: MetalLB has to have time to give something.
constexpr base::Duration k_quiet = std::chrono::seconds(5);
// Placeholders beyond the free addresses are harmless; what does not settle by itself in this time is taken back.
constexpr base::Duration k_excess_patience = std::chrono::seconds(10);

class PoolPass {
 public:
  PoolPass(const Context& context, kube::View& view, PoolOfKey pool)
      : context_(context),
        view_(view),
        pool_(std::move(pool)),
        bucket_(pool_bucket(pool_name(pool_.class_name), pool_.family)) {}

  kube::Plan run() {
    unassigned_ = view_.all<api::Service>(k_unassigned_index, bucket_);
    const bool gap = view_.has_fact(gaps_bucket(pool_.class_name, pool_.family));
    const bool wanted = view_.has_fact(wants_bucket(pool_.class_name, pool_.family));
    switch (turn(gap, wanted)) {
      case Turn::claims:
        allocate();
        break;
      case Turn::gaps:
        yield_to_gap();
        break;
      case Turn::nobody:
        break;
    }
    plan_.forget = !gap && !wanted;
    return std::move(plan_);
  }

 private:
  enum class Turn : std::uint8_t { claims, gaps, nobody };

  // Whoever has a gap open, or wants one for the first time, comes before the claims, and whoever tries again after
  // them; neither for ever, since both can be brought about by anybody who has an address.
  Turn turn(bool gap, bool wanted) {
    Gap first = Gap::patient;
    view_.each_fact(gaps_bucket(pool_.class_name, pool_.family), [&](std::string_view order, const auto&) {
      first = gap_of(order);
      return false;
    });
    const bool eager = gap && first != Gap::patient;
    const base::Duration quiet = view_.since("quiet", wanted && !eager);
    const bool pressed = wanted && (eager || (view_.remembers("pressed") && quiet < k_quiet));
    const base::Duration pressed_for = view_.since("pressed", pressed);
    const base::Duration contended = view_.since("contended", gap && wanted && !pressed);
    if (pressed && !eager) plan_.then_look_after(k_quiet - quiet);
    if (!gap) return wanted ? Turn::claims : Turn::nobody;
    if (!wanted || first == Gap::restoring) return Turn::gaps;
    if (pressed) return turn_of_round(pressed_for % k_round);
    plan_.then_look_after(k_turn - contended % k_turn);
    return (contended / k_turn) % 2 == 0 ? Turn::claims : Turn::gaps;
  }

  Turn turn_of_round(base::Duration at) {
    constexpr base::Duration lull = k_round - k_share;
    constexpr base::Duration share = lull + k_lull;
    plan_.then_look_after((at < lull ? lull : at < share ? share : k_round) - at);
    return at < lull ? Turn::gaps : at < share ? Turn::nobody : Turn::claims;
  }

  // An unassigned placeholder and an open gap exclude each other: MetalLB would give the one what falls into the other.
  // Whoever wants to open a gap publishes that first and goes on when it sees our answer.
  void yield_to_gap() {
    for (const api::Service* placeholder : unassigned_) remove(*placeholder, "placeholder-before-gap");
    if (unassigned_.empty()) plan_.facts.push_back({opened_bucket(pool_.class_name, pool_.family), "", "", {}});
    const ServedClass served = served_class(view_, context_, pool_.class_name);
    const bool exhausted = served.valid() && served.parameters().serves(pool_.family) && has_pool() &&
                           free_addresses(served.parameters()) <= 0;
    if (exhausted) say(queue_bucket(pool_.class_name, pool_.family), k_supply_exhausted);
  }

  void allocate() {
    const ServedClass served = served_class(view_, context_, pool_.class_name);
    if (!served.valid() || !served.parameters().serves(pool_.family)) return;
    if (!has_pool()) return say(queue_bucket(pool_.class_name, pool_.family), reason::pool_missing);
    const std::int64_t free = free_addresses(served.parameters());
    const auto allowed = static_cast<std::size_t>(std::clamp<std::int64_t>(free, 1, k_window));
    const bool all_have_a_place = create_for_oldest(allowed);
    // What comes free goes to the oldest: for all behind those that it suffices for, nothing has changed.
    const bool suffices = all_have_a_place || free > static_cast<std::int64_t>(allowed);
    say(queue_bucket(pool_.class_name, pool_.family), !has_home(view_, context_.options) || is_refused()
                                                          ? k_supply_refused
                                                      : is_full()            ? reason::placeholder_limit
                                                      : free > 0 && suffices ? k_supply_free
                                                                             : k_supply_exhausted);
    say(supply_bucket(pool_.class_name, pool_.family), free <= 0                       ? k_supply_exhausted
                                                       : unassigned_.size() >= k_crowd ? k_supply_crowded
                                                                                       : k_supply_free);
    take_back_excess(allowed);
  }

  // Called when the creates are planned: there is one to try again, and it has been refused for a while.
  bool is_refused() {
    return metallb::is_refused(view_) && view_.failures() >= k_failures_to_report && !plan_.writes.empty();
  }

  void say(std::string bucket, std::string_view state) {
    plan_.facts.push_back({std::move(bucket), "", std::string(state), {}});
  }

  bool has_pool() { return pool_of_class(view_, context_.options.metallb_namespace, pool_.class_name) != nullptr; }

  // An estimate: MetalLB alone knows. Addresses that are on their way into the ledger count twice for a moment.
  std::int64_t free_addresses(const ClassParameters& parameters) {
    const auto drawn = static_cast<std::int64_t>(view_.count<api::Service>(k_unrecorded_index, bucket_));
    const std::int64_t left = parameters.ranges.count(pool_.family).value - drawn;
    const std::size_t known =
        view_.count<api::IPAddress>(k_ledger_index, ledger_bucket(pool_.class_name, pool_.family)) +
        view_.count<api::Service>(k_strangers_index, pool_name(pool_.class_name));
    const std::int64_t least = left - static_cast<std::int64_t>(known);
    return least > k_plenty ? least : left - count_taken(view_, pool_.class_name, parameters.ranges, pool_.family);
  }

  // True if all that want one are among those that may have one.
  bool create_for_oldest(std::size_t allowed) {
    const bool possible = has_home(view_, context_.options) && !is_full();
    std::size_t place = 0;
    view_.each_fact(wants_bucket(pool_.class_name, pool_.family),
                    [&](std::string_view, const kube::FactBucket::Value& want) {
                      if (place++ >= allowed) return false;
                      entitled_.push_back(slash(want.publisher.ns, want.publisher.name));
                      if (possible && want.value == k_want_new && plan_.writes.size() < k_batch)
                        create_for(want.publisher);
                      return true;
                    });
    return place <= allowed;
  }

  // Every placeholder costs a ClusterIP. The limit may be passed by one batch.
  bool is_full() {
    const std::size_t limit = context_.options.max_placeholders;
    return limit != 0 && view_.count<api::Service>(k_placeholders_index, "") >= limit;
  }

  void create_for(const kube::Key& claim_key) {
    const auto* claim = view_.get<api::IPAddressClaim>(claim_key.ns, claim_key.name);
    if (claim == nullptr) return;
    Allocation place = find_allocation(view_, context_.options, claim->meta, pool_.family);
    const kube::Ref ref{&api::Service::kind().resource, context_.options.placeholder_namespace, place.name};
    if (place.placeholder != nullptr || place.unclear || view_.busy(ref)) return;
    plan_.writes.push_back(
        kube::create(api::Service::kind().resource,
                     allocation_body(context_.options, *claim, std::move(place.name), pool_.class_name, pool_.family),
                     "placeholder-allocate"));
  }

  // The claims that may have one.
  bool is_entitled(const api::Service& placeholder) const {
    const kube::StringMap& annotations = placeholder.meta.annotations;
    const std::string claim =
        slash(annotations.get(api::metallb::claim_namespace), annotations.get(api::metallb::claim_name));
    return std::ranges::find(entitled_, claim) != entitled_.end();
  }

  // Those of the youngest claims go: what an older one loses it would be given again at once. A placeholder that was
  // assigned meanwhile is safe: the deletion is for this version only.
  void take_back_excess(std::size_t allowed) {
    const auto waiting = static_cast<std::size_t>(
        std::ranges::count_if(unassigned_, [](const api::Service* p) { return !p->meta.deleting; }));
    const bool excess = waiting > allowed;
    const base::Duration lasted = view_.since("excess", excess);
    if (!excess) return;
    if (lasted < k_excess_patience) return plan_.then_look_after(k_excess_patience - lasted);
    std::ranges::stable_partition(unassigned_, [this](const api::Service* p) { return is_entitled(*p); });
    for (std::size_t i = allowed; i < unassigned_.size(); ++i) remove(*unassigned_[i], "placeholder-excess");
  }

  void remove(const api::Service& placeholder, std::string step) {
    const kube::Ref ref{&api::Service::kind().resource, placeholder.meta.ns, placeholder.meta.name};
    if (view_.busy(ref) || plan_.writes.size() >= k_batch) return;
    dismiss(plan_, placeholder, std::move(step));
  }

  const Context& context_;
  kube::View& view_;
  const PoolOfKey pool_;
  const std::string bucket_;
  std::vector<const api::Service*> unassigned_;  // oldest first
  std::vector<std::string> entitled_;            // "ns/name" of the claims that may have one
  kube::Plan plan_;
};

}  // namespace

kube::Plan reconcile_pool(const Context& context, const kube::Key& key, kube::View& view) {
  auto pool = parse_pool_key_name(key.name);
  kube::check(pool.has_value(), "a pool's key without a family");
  return PoolPass(context, view, std::move(*pool)).run();
}

}  // namespace metallb
