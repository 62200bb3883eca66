#include "core/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/restore.h"
#include "core/classes.h"
#include "core/controller.h"
#include "core/indexes.h"

namespace core {
namespace {

// An address whose patch was refused is tried again this often; others are served meanwhile.
constexpr base::Duration k_retry_refused = std::chrono::seconds(30);

// The claim behind a fact, if the family is still open. Its own pass comes before this one, but not while its writes
// are in flight, so its facts may be behind.
const api::IPAddressClaim* waiting_claim(kube::View& view, const kube::FactBucket::Value& fact, base::Family family,
                                         const std::string& class_name) {
  const auto* claim = view.get<api::IPAddressClaim>(fact.publisher.ns, fact.publisher.name);
  if (claim == nullptr || claim->meta.uid != Waiting::parse(fact.value).uid || claim->meta.deleting) return nullptr;
  if (api::is_copy(claim->meta)) return nullptr;  // it may wait for what it had (§9.4)
  if (!asks_for(*claim, family) || reported(*claim, family) != nullptr) return nullptr;
  if (!claim->className.empty() && claim->className != class_name) return nullptr;
  const Counting counting = count(view, *claim);
  // Its other half is of another class, which is the claim's then.
  if (counting.any() && settled_class(*claim, counting) != class_name) return nullptr;
  const bool has_one = std::ranges::any_of(counting.collected, [&](const Collected& c) {
    return c.family == family && (c.verdict == Verdict::counts || c.verdict == Verdict::undecided);
  });
  return has_one ? nullptr : claim;
}

// Tells the claim that a patch for it is in flight.
kube::Fact binding_fact(const api::IPAddressClaim& claim, base::Family family, const api::IPAddress& address) {
  return {binding_bucket(claim, family), "", address.meta.name,
          kube::Key{std::string(k_claim), claim.meta.ns, claim.meta.name}};
}

class MatchPass {
 public:
  MatchPass(kube::View& view, std::string pair, std::string class_name, base::Family family)
      : view_(view), pair_(std::move(pair)), class_name_(std::move(class_name)), family_(family) {}

  kube::Plan run() {
    collect_claims();
    pair_up();
    // Left over, and more of them than addresses that a write in flight hides.
    if (supply_ended_ && claims_.size() - paired_ > hidden_) {
      plan_.facts.push_back({exhausted_bucket(pair_), "", "", {}});
    }
    return std::move(plan_);
  }

 private:
  struct Waiter {
    const api::IPAddressClaim* claim;
    bool ready;
  };

  // The claims at the head of the queue: not more than can be served in this pass, and one to know whether some are
  // left over.
  void collect_claims() {
    const std::size_t most = std::min(k_portion, view_.count<api::IPAddress>(k_matchable, pair_)) + 1;
    std::size_t ready = 0;
    view_.each_fact(waiting_bucket(pair_), [&](std::string_view, const kube::FactBucket::Value& fact) {
      const api::IPAddressClaim* claim = waiting_claim(view_, fact, family_, class_name_);
      if (claim == nullptr || !claim->addressName.empty()) return true;
      claims_.push_back({claim, Waiting::parse(fact.value).ready});
      if (claims_.back().ready) ++ready;
      return ready < most;
    });
  }

  // Addresses in name order for claims in age order.
  void pair_up() {
    supply_ended_ = true;
    view_.each<api::IPAddress>(k_matchable, pair_, [&](const api::IPAddress& address) {
      if (paired_ == claims_.size() || plan_.writes.size() == k_portion) {
        supply_ended_ = false;
        return false;
      }
      if (view_.busy(ref_of(address))) {
        ++hidden_;
        return true;
      }
      // It goes to the oldest claim that names it.
      if (view_.has_fact(named_bucket(address.meta.name))) return true;
      const Usability use = usability(view_, address);
      if (use == Usability::undecided) ++hidden_;
      if (use != Usability::usable || !may_try(address)) return true;
      const Waiter& waiter = claims_[paired_++];
      if (waiter.ready) give(address, *waiter.claim);
      return true;
    });
  }

  void give(const api::IPAddress& address, const api::IPAddressClaim& claim) {
    plan_.writes.push_back(bind(address, claim, "match"));
    plan_.facts.push_back(binding_fact(claim, family_, address));
  }

  // After a pass with a refused write, which one it was is not known: those that are tried again draw a token.
  bool may_try(const api::IPAddress& address) {
    const std::string throttle = "bind/" + address.meta.name;
    const bool suspect = view_.failures() > 0;
    const base::Duration delay = suspect ? view_.throttle(throttle, 1, k_retry_refused) : view_.throttled(throttle);
    if (delay > base::Duration::zero()) {
      plan_.then_look_after(delay);
      return false;
    }
    if (suspect) plan_.spends.push_back(throttle);
    return true;
  }

  kube::View& view_;
  const std::string pair_;
  const std::string class_name_;
  const base::Family family_;
  kube::Plan plan_;
  std::vector<Waiter> claims_;
  std::size_t paired_ = 0;     // of claims_, with an address of their own
  std::size_t hidden_ = 0;     // addresses that may be matchable once a write is answered
  bool supply_ended_ = false;  // every matchable address was looked at
};

}  // namespace

std::string waiting_bucket(std::string_view pair) { return fmt::format("waiting/{}", pair); }
std::string named_bucket(std::string_view address_name) { return fmt::format("named/{}", address_name); }
std::string exhausted_bucket(std::string_view pair) { return fmt::format("exhausted/{}", pair); }

std::string binding_bucket(const api::IPAddressClaim& claim, base::Family family) {
  return fmt::format("binding/{}/{}/{}", claim.meta.ns, claim.meta.name, base::to_string(family));
}

std::string age_order(const api::IPAddressClaim& claim, const Counting& counting) {
  const bool has_other_half = claim.family == "Dual" && counting.any();
  return fmt::format("{}/{:020}/{}", has_other_half ? 0 : 1, std::max<std::int64_t>(claim.meta.created, 0),
                     claim.meta.uid);
}

Waiting Waiting::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  return {std::string(text.substr(slash + 1)), text.substr(0, slash) == "ready"};
}

kube::Write bind(const api::IPAddress& address, const api::IPAddressClaim& claim, std::string step) {
  boost::json::object ref{{"namespace", claim.meta.ns}, {"name", claim.meta.name}, {"uid", claim.meta.uid}};
  return kube::patch(api::IPAddress::kind().resource, address, {{"spec", {{"claimRef", std::move(ref)}}}},
                     std::move(step));
}

kube::Plan reconcile_match(const kube::Key& key, kube::View& view) {
  const std::size_t slash = key.name.rfind('/');
  const base::Family family = key.name.substr(slash + 1) == "IPv6" ? base::Family::v6 : base::Family::v4;
  if (!view.has_fact(waiting_bucket(key.name))) {
    kube::Plan plan;
    plan.forget = true;
    return plan;
  }
  return MatchPass(view, key.name, key.name.substr(0, slash), family).run();
}

kube::Plan reconcile_named(const kube::Key& key, kube::View& view) {
  kube::Plan plan;
  if (!view.has_fact(named_bucket(key.name))) {
    plan.forget = true;
    return plan;
  }
  const auto* address = view.get<api::IPAddress>(key.name);
  if (address == nullptr || !is_matchable(*address) || view.busy(ref_of(*address))) return plan;
  const auto value = value_of(*address);
  if (!value || usability(view, *address) != Usability::usable) return plan;
  view.each_fact(named_bucket(key.name), [&](std::string_view, const kube::FactBucket::Value& fact) {
    const api::IPAddressClaim* claim = waiting_claim(view, fact, value->family(), address->className);
    if (claim == nullptr || claim->addressName != key.name) return true;
    if (Waiting::parse(fact.value).ready) {
      plan.writes.push_back(bind(*address, *claim, "match-named"));
      plan.facts.push_back(binding_fact(*claim, value->family(), *address));
    }
    return false;
  });
  return plan;
}

}  // namespace core
