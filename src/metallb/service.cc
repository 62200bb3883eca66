// Driver design §6: Service → association, by the gap handoff. The workload's side: what is written on it, and when the
// ledger is told that it gets an address. Holds are the address's side (address.cc).
#include <fmt/format.h>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.h"
#include "api/names.h"
#include "api/restore.h"
#include "metallb/association.h"
#include "metallb/finalizers.h"
#include "metallb/gap.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/reconcilers.h"
#include "metallb/rendering.h"
#include "metallb/restore.h"

namespace metallb {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using Addresses = std::vector<const api::IPAddress*>;

// Flapping (driver design §6): burst, then one handoff in this time.
constexpr int k_handoff_burst = 5;
constexpr base::Duration k_handoff_refill = seconds(30);
// Repair of keys that somebody strips.
constexpr int k_repair_burst = 5;
constexpr base::Duration k_repair_refill = seconds(10);
// A claim is often applied together with its Service: how long that is not worth an event.
constexpr base::Duration k_claim_patience = seconds(10);
// Writes in a row that failed until gaps of others no longer wait for this Service.
constexpr int k_patient_failures = 5;

class ServicePass {
 public:
  ServicePass(const Context& context, kube::View& view, const api::Service& service)
      : context_(context),
        view_(view),
        service_(service),
        mine_(associated_with(view, service)),
        kept_(kept(view, context.options, service)) {}

  kube::Plan run() {
    if (is_restoring()) return std::move(plan_);
    const bool keeps = !kept_.empty();
    bool letting_go = false;
    if (is_copy(service_) || (!mine_.empty() && !keeps)) {
      letting_go = carries_our_keys(service_);
    } else if (keeps) {
      maintain();
    } else if (!attach()) {
      letting_go = carries_our_keys(service_);
    }
    touch_pin(keeps);
    const base::Duration since = view_.since("letting-go", letting_go);
    if (letting_go) let_go(since);
    tidy();
    return std::move(plan_);
  }

 private:
  static const kube::Resource& services() { return api::Service::kind().resource; }
  static const kube::Resource& addresses() { return api::IPAddress::kind().resource; }

  kube::Ref self() const { return {&services(), service_.meta.ns, service_.meta.name}; }
  bool is_busy(const api::IPAddress& address) { return view_.busy({&addresses(), "", address.meta.name}); }

  void tell(std::string_view reason, std::string_view action, std::string note, bool warning, bool once) {
    plan_.events.push_back(
        {self(), service_.meta.uid, warning, std::string(reason), std::string(action), std::move(note), once});
  }
  void refuse(std::string_view reason, std::string note) { tell(reason, "Attach", std::move(note), true, true); }

  bool lasts(const std::string& fact, bool holds, base::Duration patience) {
    const base::Duration held = view_.since(fact, holds);
    if (!holds) return false;
    if (held >= patience) return true;
    plan_.then_look_after(patience - held);
    return false;
  }

  // --- restore (contract §9.5) ---

  // It keeps its pin and its address, and is left alone until it is known whether its claim has them again.
  bool is_restoring() {
    const Return back = return_of(view_, context_.options, service_);
    const base::Duration wait =
        api::restore_wait(view_, context_.options.restore_grace, "restored", back == Return::awaited);
    if (wait > base::Duration::zero()) plan_.then_look_after(wait);
    if (back == Return::due) take_up();
    return back == Return::due || wait > base::Duration::zero();
  }

  // The ledger knows first; then the Service is ours under its new uid, in one write, and MetalLB need not look.
  void take_up() {
    bool known = true;
    for (const auto* address : pinned_addresses(view_, service_)) {
      if (is_associated(*address, service_)) continue;
      known = false;
      if (!is_busy(*address)) associate(*address);
    }
    if (!known) return;
    json::object metadata{{"annotations", json::object{{api::metallb::service_uid, service_.meta.uid}}}};
    if (!service_.meta.has_finalizer(api::metallb::attached)) {
      metadata["finalizers"] = finalizers_with(service_, api::metallb::attached);
    }
    plan_.writes.push_back(kube::patch(services(), service_, {{"metadata", std::move(metadata)}}, "restore-service"));
  }

  // --- attach ---

  // The claim that the Service names, if it is one to attach to. `pending` tells whether it is worth waiting for.
  const api::IPAddressClaim* bound_claim() {
    const std::string_view name = claim_name_of(service_);
    const auto* claim = view_.get<api::IPAddressClaim>(service_.meta.ns, name);
    const bool missing = claim == nullptr;
    const bool unbound = !missing && (claim->meta.deleting || claim->phase != api::phase::bound);
    if (lasts("claim-missing", missing, k_claim_patience)) {
      refuse(reason::claim_not_found, fmt::format("there is no IPAddressClaim {} in this namespace", name));
    }
    if (lasts("claim-unbound", unbound, k_claim_patience)) {
      refuse(reason::claim_not_bound,
             fmt::format("IPAddressClaim {} has no address to attach: see its conditions", name));
    }
    return missing || unbound ? nullptr : claim;
  }

  // True while the Service is, or may at once be, on its way to an address: what it carries of ours stays.
  bool attach() {
    if (claim_name_of(service_).empty() || service_.meta.deleting) return false;
    const auto* claim = bound_claim();
    if (claim == nullptr || !is_claim_ours(*claim)) return false;
    if (service_.type != "LoadBalancer") {
      refuse(reason::not_load_balancer, "the Service names a claim, but is not of type LoadBalancer");
      return false;
    }
    if (!is_served_by_metallb(context_.options, service_)) {
      refuse(reason::other_load_balancer_class,
             "the Service names a claim of MetalLB, but its loadBalancerClass is not MetalLB's");
      return false;
    }
    const auto chosen = choose(view_, context_, service_, *claim);
    if (!chosen) {
      refuse(chosen.error().reason, chosen.error().note);
      return false;
    }
    if (way_to(*claim) != Way::free || is_unusable(*chosen)) return false;
    if (!is_first_in_line(*claim)) return false;
    associate(*chosen);
    return true;
  }

  // Another driver's addresses are another driver's business.
  bool is_claim_ours(const api::IPAddressClaim& claim) {
    const Addresses all = counted(view_, claim).list();
    return !all.empty() &&
           std::ranges::all_of(all, [](const auto* a) { return a->meta.has_finalizer(api::metallb::teardown); });
  }

  enum class Way { free, being_cleared, taken };

  // One claim serves one workload at a time, whichever half it uses.
  Way way_to(const api::IPAddressClaim& claim) {
    for (const auto* address : counted(view_, claim).list()) {
      if (!address->associatedTo || is_associated(*address, service_)) continue;
      const auto* rival = workload_of(view_, *address);
      if (rival == nullptr || !is_attached(view_, context_.options, *address)) return Way::being_cleared;
      refuse(reason::association_rejected,
             fmt::format("IPAddressClaim {} is in use by Service {}: it is handed over when that one lets go",
                         claim.meta.name, rival->meta.name));
      return Way::taken;
    }
    return Way::free;
  }

  // An address that somebody else has, or that the backend has not, is not given to anybody; unless it is this very
  // Service that has it.
  bool is_unusable(const Addresses& chosen) {
    for (const auto* address : chosen) {
      const bool conflict = address->phase == api::phase::conflict;
      if ((!conflict && address->phase != api::phase::lost) || shows(service_, *value_of(*address))) continue;
      refuse(
          conflict ? reason::address_conflict : reason::address_lost,
          fmt::format("{} of IPAddressClaim {} {}: it is attached when that is over", value_of(*address)->to_string(),
                      address->claimRef->name,
                      conflict ? "is in use by another Service without a claim to it" : "is not available at MetalLB"));
      return true;
    }
    return false;
  }

  // Of several that could attach now, the oldest does; of a Dual claim it thus gets both halves. A restored one that
  // had it comes before all.
  bool is_first_in_line(const api::IPAddressClaim& claim) {
    const api::Service* first = nullptr;
    view_.each<api::Service>(
        k_service_claim_index, slash(claim.meta.ns, claim.meta.name), [&](const api::Service& other) {
          if (return_of(view_, context_.options, other) != Return::none) {
            first = &other;
            return false;
          }
          const bool candidate = first == nullptr && !other.meta.deleting &&
                                 is_served_by_metallb(context_.options, other) && !is_copy(other) &&
                                 choose(view_, context_, other, claim).has_value();
          if (candidate) first = &other;
          return true;
        });
    const bool behind = first != &service_;
    if (lasts("behind", behind, k_claim_patience)) {
      refuse(reason::association_rejected,
             fmt::format("Service {} names IPAddressClaim {} too and is older: it comes first", first->meta.name,
                         claim.meta.name));
    }
    return !behind;
  }

  // Step 1: the ledger knows before MetalLB does.
  void associate(const Addresses& chosen) {
    for (const auto* address : chosen) {
      if (is_busy(*address)) return;
    }
    const std::string bucket = "handoff/" + service_.meta.uid + "/" + chosen.front()->claimRef->name;
    const base::Duration wait = view_.throttle(bucket, k_handoff_burst, k_handoff_refill);
    if (wait > base::Duration::zero()) {
      tell(reason::handoff_throttled, "Attach", "the claim changes hands too often: the next handoff is delayed", true,
           true);
      return plan_.then_look_after(wait);
    }
    plan_.spends.push_back(bucket);
    for (const auto* address : chosen) {
      if (!is_associated(*address, service_)) associate(*address);
    }
  }

  void associate(const api::IPAddress& address) {
    json::object to{
        {"kind", "Service"}, {"namespace", service_.meta.ns}, {"name", service_.meta.name}, {"uid", service_.meta.uid}};
    plan_.writes.push_back(kube::patch_status(
        addresses(), address, {{"status", json::object{{"associatedTo", std::move(to)}}}}, "attach-associate"));
  }

  // The Service may keep what it is associated with: bring it to the end of attaching, and keep it there.
  void maintain() {
    std::ranges::sort(kept_, {}, [](const auto* a) { return value_of(*a); });
    const bool given = std::ranges::any_of(
        kept_, [&](const auto* a) { return is_announcing(service_, *value_of(*a)) || shows(service_, *value_of(*a)); });
    const auto* claim = view_.get<api::IPAddressClaim>(service_.meta.ns, claim_name_of(service_));
    if (claim != nullptr && claim->phase == api::phase::bound) {
      const auto chosen = choose(view_, context_, service_, *claim);
      if (!chosen && !given) refuse(chosen.error().reason, chosen.error().note);
      if (chosen && (given || !is_unusable(*chosen)) && complete(*claim, *chosen)) return;
    }
    if (given) return keep_pin(kept_, true);
    withdraw();
  }

  // False if what is missing belongs to another Service, which keeps it.
  bool complete(const api::IPAddressClaim& claim, const Addresses& chosen) {
    bool waits = false;
    for (const auto* address : chosen) waits = waits || !is_associated(*address, service_);
    if (!waits) {
      keep_pin(chosen, false);
      return true;
    }
    const Way way = way_to(claim);
    if (way != Way::free) return way != Way::taken;
    for (const auto* address : chosen) {
      if (!is_associated(*address, service_) && !is_busy(*address)) associate(*address);
    }
    return true;
  }

  // It no longer qualifies and has not been given anything yet: let others have the claim.
  void withdraw() {
    for (const auto* address : kept_) {
      if (is_busy(*address)) continue;
      plan_.writes.push_back(kube::patch_status(
          addresses(), *address, {{"status", json::object{{"associatedTo", nullptr}}}}, "attach-withdraw"));
    }
  }

  // A dual-stack Service that lost one half keeps the other only as long as its pin names two: taking the dead one out
  // would make MetalLB take both. It stays unless the ledger has it for somebody else.
  bool is_pin_good(const Addresses& wanted, bool partial) {
    if (is_pinned_to_all(service_, wanted)) return true;
    if (!partial) return false;
    const std::vector<base::IpAddress> ips = pinned(service_);
    for (const auto* address : wanted) {
      if (std::ranges::find(ips, *value_of(*address)) == ips.end()) return false;
    }
    return std::ranges::all_of(ips, [&](const base::IpAddress& ip) {
      bool free = true;
      view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& a) {
        free = is_associated(a, service_);
        return free;
      });
      return free;
    });
  }

  // Step 3: pin, pool, marker, finalizer and service-uid in one write.
  void keep_pin(const Addresses& wanted, bool partial) {
    const std::string pool = pool_name(wanted.front()->className);
    const bool protected_already = service_.meta.has_finalizer(api::metallb::attached);
    json::object annotations;
    if (!is_pin_good(wanted, partial)) {
      annotations[api::metallb::pin] = pin_text(wanted);
      annotations[api::metallb::pinned] = "true";
    }
    if (pool_of(service_) != pool) annotations[api::metallb::pool] = pool;
    if (service_.meta.annotations.get(api::metallb::service_uid) != service_.meta.uid) {
      annotations[api::metallb::service_uid] = service_.meta.uid;
    }
    json::object metadata;
    if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
    if (!protected_already) metadata["finalizers"] = finalizers_with(service_, api::metallb::attached);
    if (metadata.empty()) return;
    const bool repair = protected_already || shows(service_, *value_of(*wanted.front()));
    if (repair && !draw("repair", k_repair_burst, k_repair_refill)) return;
    plan_.writes.push_back(kube::patch(services(), service_, {{"metadata", std::move(metadata)}},
                                       repair ? "attach-repair" : "attach-pin"));
    if (!repair) {
      tell(reason::associated, "Attach",
           fmt::format("{} of IPAddressClaim {}", pin_text(wanted), claim_name_of(service_)), false, false);
    }
  }

  bool draw(const std::string& bucket, int burst, base::Duration refill) {
    const base::Duration wait = view_.throttle(bucket, burst, refill);
    if (wait > base::Duration::zero()) {
      plan_.then_look_after(wait);
      return false;
    }
    plan_.spends.push_back(bucket);
    return true;
  }

  // The pin is there, the hold is gone, and nothing happens.
  void touch_pin(bool keeps) {
    const auto is_waiting = [&](const api::IPAddress* address) {
      const base::IpAddress ip = *value_of(*address);
      return is_announcing(service_, ip) && view_.count<api::Service>(k_service_shown_index, ip.to_string()) == 0 &&
             find_holds(view_, context_.options, *address, ip).empty();
    };
    const bool waits = keeps && plan_.writes.empty() && std::ranges::any_of(kept_, is_waiting);
    const base::Duration waited = view_.since("unlanded", waits);
    if (waits) touch(plan_, view_, service_, waited);
  }

  // --- detach ---

  // Addresses of the ledger that MetalLB may have given to the Service.
  Addresses at_risk() {
    Addresses found = mine_;
    for (const base::IpAddress& ip : shown(service_)) {
      view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
        const bool ours = address.meta.has_finalizer(api::metallb::teardown);
        if (ours && std::ranges::find(found, &address) == found.end()) found.push_back(&address);
        return true;
      });
    }
    std::erase_if(found, [&](const auto* address) {
      const auto value = value_of(*address);
      return !value || !shows(service_, *value);
    });
    return found;
  }

  // Gap handoff: the hold stands ready, pinned, and no unassigned placeholder is about when the Service is made to drop
  // the address.
  bool is_hold_ready(const api::IPAddress& address, bool ask) {
    if (address.meta.deleting && holder_of(view_, address) == nullptr) return true;
    const base::IpAddress ip = *value_of(address);
    const Holds holds = find_holds(view_, context_.options, address, ip);
    if (holds.landed(ip)) return true;
    if (ask) publish_gap(plan_, address.className, ip.family());
    return holds.best != nullptr && is_pinned_to(*holds.best, ip) &&
           is_gap_opened(view_, address.className, ip.family());
  }

  bool is_no_hold_possible() {
    if (!service_.meta.deleting) return false;
    const auto* home = view_.get<api::Namespace>(context_.options.placeholder_namespace);
    return home == nullptr || home->meta.deleting || home->phase == "Terminating";
  }

  void let_go(base::Duration since) {
    const base::Duration limit = context_.options.detach_timeout;
    const bool patient = since < limit && view_.failures() < k_patient_failures && !is_no_hold_possible();
    const Addresses risky = at_risk();
    bool ready = true;
    for (const auto* address : risky) ready = is_hold_ready(*address, patient) && ready;
    if (!ready && patient) return plan_.then_look_after(limit - since);
    release(!risky.empty());
    if (!ready) {
      tell(reason::detach_timed_out, "Detach",
           "let go before MetalLB could hold the address again; its hold stays pending", true, false);
    }
  }

  // One write takes pin, marker and finalizer off and leaves a pool that does not exist: MetalLB empties the Service by
  // itself.
  void release(bool shows_ours) {
    const kube::StringMap& current = service_.meta.annotations;
    const bool wrote_pin = current.get(api::metallb::pinned) == "true";
    json::object annotations;
    if (wrote_pin && current.contains(api::metallb::pin)) annotations[api::metallb::pin] = nullptr;
    for (const std::string_view key : {api::metallb::pinned, api::metallb::service_uid, api::metallb::touched}) {
      if (current.contains(key)) annotations[key] = nullptr;
    }
    if ((wrote_pin || shows_ours) && service_.type == "LoadBalancer") {
      if (current.get(api::metallb::pool) != api::metallb::awaiting_pool)
        annotations[api::metallb::pool] = api::metallb::awaiting_pool;
    } else if (wrote_pin && current.contains(api::metallb::pool)) {
      annotations[api::metallb::pool] = nullptr;
    }
    json::object metadata;
    if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
    if (service_.meta.has_finalizer(api::metallb::attached)) {
      metadata["finalizers"] = finalizers_without(service_, api::metallb::attached);
    }
    plan_.writes.push_back(kube::patch(services(), service_, {{"metadata", std::move(metadata)}}, "detach-release"));
  }

  // By a pin of its own: it would get the address in the first gap, as it may have done before it was evicted.
  bool asks_for_reserved() {
    return std::ranges::any_of(pinned(service_), [&](const base::IpAddress& ip) {
      return view_.count<api::IPAddress>(k_address_value_index, ip.to_string()) != 0;
    });
  }

  // The last step of detaching: the pool annotation goes, if the claim annotation is gone and the address too.
  void tidy() {
    if (!plan_.writes.empty() || service_.meta.deleting || !mine_.empty() || carries_our_keys(service_)) return;
    if (!claim_name_of(service_).empty() || !at_risk().empty()) return;
    if (service_.meta.annotations.get(api::metallb::pool) != api::metallb::awaiting_pool) return;
    if (asks_for_reserved()) return;
    plan_.writes.push_back(kube::patch(
        services(), service_,
        {{"metadata", json::object{{"annotations", json::object{{api::metallb::pool, nullptr}}}}}}, "detach-tidy"));
  }

  const Context& context_;
  kube::View& view_;
  const api::Service& service_;
  const Addresses mine_;  // associatedTo names this Service
  Addresses kept_;        // those of them that it may keep
  kube::Plan plan_;
};

}  // namespace

bool concerns_service_reconciler(const Options& options, const api::Service& service) {
  if (service.meta.ns == options.placeholder_namespace) return false;
  return !claim_name_of(service).empty() || carries_our_keys(service) ||
         service.meta.annotations.get(api::metallb::pool) == api::metallb::awaiting_pool;
}

kube::Plan reconcile_service(const Context& context, const kube::Key& key, kube::View& view) {
  const auto* service = view.get<api::Service>(key.ns, key.name);
  if (service == nullptr || service->meta.ns == context.options.placeholder_namespace) {
    kube::Plan plan;
    plan.forget = true;
    return plan;
  }
  // Never forgotten while it exists: a claim that is taken off and put back must not start with a full throttle.
  return ServicePass(context, view, *service).run();
}

}  // namespace metallb
