// Contract §3.7: how a claim takes part in matching.
#include <fmt/format.h>

#include <chrono>

#include "api/names.h"
#include "core/claim.h"
#include "core/classes.h"
#include "core/controller.h"
#include "core/indexes.h"
#include "core/matching.h"
#include "core/reasons.h"

namespace core {
namespace {

// How long a claim waits for a named address that can be had before it says why it waits.
constexpr base::Duration k_patience = std::chrono::seconds(5);

// How long a claim waits for a word of its provisioner (contract §6.8: a driver says why a claim of its own waits)
// before it says that there was none: the name in the class may be nobody's.
constexpr base::Duration k_driver_patience = std::chrono::seconds(30);

}  // namespace

void ClaimPass::match() {
  if (open_.empty()) return;
  if (class_->found == nullptr) {
    wait({class_->reason, class_->message});
  } else if (claim_.addressName.empty()) {
    queue_up();
  } else {
    match_named();
  }
}

bool ClaimPass::is_binding_elsewhere() {
  bool elsewhere = false;
  for (const base::Family family : k_families) {
    view_.each_fact(binding_bucket(claim_, family), [&](std::string_view, const kube::FactBucket::Value& fact) {
      const auto* address = view_.get<api::IPAddress>(fact.value);
      elsewhere = elsewhere || (address != nullptr && address->className != class_->found->meta.name);
      return true;
    });
  }
  return elsewhere;
}

// Waits for any address of class and family. The claim says so in its status only once the pair's key has found that
// there is none for it: an address that is there takes four writes in all, not five.
void ClaimPass::queue_up() {
  bool quiet = true;
  const bool elsewhere = is_binding_elsewhere();
  for (const base::Family family : open_) {
    const std::string pair = pair_bucket(class_->found->meta.name, family);
    // A patch in flight may be of another pair, if the claim was re-targeted meanwhile.
    const bool binding = view_.has_fact(binding_bucket(claim_, family));
    const bool ready = is_protected() && !binding && !elsewhere;
    if (!binding && view_.has_fact(exhausted_bucket(pair))) quiet = false;
    // A claim that cannot even be protected must not keep an address from others.
    if (!is_protected() && view_.failures() > 0) continue;
    plan_.facts.push_back({waiting_bucket(pair), age_order(claim_, counting_), Waiting{claim_.meta.uid, ready}.text(),
                           kube::Key{std::string(k_match), "", pair}});
  }
  wait({reason::waiting_for_provisioning, waiting_for_provisioner(!quiet && is_protected()), quiet});
}

// Once said that nothing was heard it stays so, after a restart too, until something is.
std::string ClaimPass::waiting_for_provisioner(bool its_turn) {
  std::string waiting = fmt::format("waiting for an address of IPAddressClass \"{}\" from provisioner \"{}\"",
                                    class_->found->meta.name, class_->found->provisioner);
  const bool unheard = its_turn && kube::find_condition(claim_.conditions, api::condition::provisioning) == nullptr;
  const base::Duration unheard_for = view_.since("unheard/" + class_->found->provisioner, unheard);
  if (!unheard) return waiting;
  std::string nobody = waiting +
                       ", of which nothing has been heard: see whether its driver runs, and whether the class names it "
                       "as it names itself";
  const kube::Condition* said = kube::find_condition(claim_.conditions, api::condition::bound);
  if (unheard_for >= k_driver_patience || (said != nullptr && said->message == nobody)) return nobody;
  plan_.then_look_after(k_driver_patience - unheard_for);
  return waiting;
}

void ClaimPass::match_named() {
  if (claim_.family == "Dual") {
    wait({reason::address_name_with_dual, "spec.addressName names one address and cannot serve family Dual"});
    return;
  }
  const auto* address = view_.get<api::IPAddress>(claim_.addressName);
  if (address == nullptr) {
    wait({reason::address_not_found, absent_address(claim_.addressName)});
    return;
  }
  auto problem = obstacle(*address);
  // It can be had, and the address's key gives it to the oldest claim in line. Should that not happen soon, the claim
  // says so.
  const base::Duration had = view_.since("can-be-had/" + claim_.addressName, !problem);
  if (!problem) {
    problem = Wait{reason::address_not_available,
                   fmt::format("IPAddress \"{}\" is awaited by an older claim, or cannot be bound at the moment",
                               claim_.addressName),
                   had < k_patience};
    if (problem->quiet) plan_.then_look_after(k_patience - had);
  }
  wait(std::move(*problem));
}

std::optional<ClaimPass::Wait> ClaimPass::obstacle(const api::IPAddress& address) {
  const std::string& name = address.meta.name;
  if (address.className != class_->found->meta.name)
    return Wait{reason::address_of_other_class,
                fmt::format("IPAddress \"{}\" belongs to IPAddressClass \"{}\", not \"{}\"", name, address.className,
                            class_->found->meta.name)};
  const auto value = value_of(address);
  if (!value)
    return Wait{reason::address_not_available,
                fmt::format("IPAddress \"{}\" is not available: its address cannot be claimed", name)};
  if (value->family() != open_.front())
    return Wait{reason::address_of_other_family,
                fmt::format("IPAddress \"{}\" is of family {}, not {}", name, base::to_string(value->family()),
                            base::to_string(open_.front()))};
  // It fits: from now on this claim is in line for it, whatever keeps it from being had at the moment.
  if (is_protected() || view_.failures() == 0) {
    const bool ready = is_protected() && !view_.has_fact(binding_bucket(claim_, value->family()));
    plan_.facts.push_back({named_bucket(name), age_order(claim_, counting_), Waiting{claim_.meta.uid, ready}.text(),
                           kube::Key{std::string(k_named), "", name}});
  }
  const bool names_us = address.claimRef && address.claimRef->ns == claim_.meta.ns &&
                        address.claimRef->name == claim_.meta.name && address.claimRef->uid == claim_.meta.uid;
  if (address.claimRef && !names_us)
    return Wait{reason::address_bound_elsewhere,
                fmt::format("IPAddress \"{}\" is bound to or reserved for another claim", name)};
  if (!is_matchable(address))
    return Wait{reason::address_not_available,
                address.meta.deleting ? fmt::format("IPAddress \"{}\" is being deleted", name)
                                      : fmt::format("IPAddress \"{}\" is not available: its phase is {}, {}", name,
                                                    address.phase.empty() ? "not set" : address.phase,
                                                    address.associatedTo ? "and it is attached to a workload"
                                                                         : "or it is not reserved yet")};
  const Usability use = usability(view_, address);
  if (use == Usability::undecided) return Wait{reason::address_not_available, "", true};
  if (use != Usability::usable)
    return Wait{
        reason::address_not_available,
        fmt::format("IPAddress \"{}\" is not available: another object for the same IP takes precedence", name)};
  return std::nullopt;
}

}  // namespace core
