// Contract §3.7: how a claim takes part in matching.
#include <fmt/format.h>

#include "api/names.h"
#include "core/claim.h"
#include "core/controller.h"
#include "core/indexes.h"
#include "core/matching.h"
#include "core/reasons.h"

namespace core {

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

// Waits for any address of class and family. The claim says so in its status only once the pair's key has found that
// there is none for it: an address that is there takes four writes in all, not five.
void ClaimPass::queue_up() {
  bool quiet = true;
  for (const base::Family family : open_) {
    const std::string pair = pair_bucket(class_->found->meta.name, family);
    // A patch in flight may be of another pair, if the claim was re-targeted meanwhile.
    const bool binding = view_.has_fact(binding_bucket(claim_, family));
    const bool ready = is_protected() && !binding;
    if (!binding && view_.has_fact(exhausted_bucket(pair))) quiet = false;
    // A claim that cannot even be protected must not keep an address from others.
    if (!is_protected() && view_.failures() > 0) continue;
    plan_.facts.push_back({waiting_bucket(pair), age_order(claim_, counting_), Waiting{claim_.meta.uid, ready}.text(),
                           kube::Key{std::string(k_match), "", pair}});
  }
  wait({reason::waiting_for_provisioning,
        fmt::format("waiting for an address of IPAddressClass \"{}\" from provisioner \"{}\"", class_->found->meta.name,
                    class_->found->provisioner),
        quiet});
}

void ClaimPass::match_named() {
  if (claim_.family == "Dual") {
    wait({reason::address_name_with_dual, "spec.addressName names one address and cannot serve family Dual"});
    return;
  }
  const auto* address = view_.get<api::IPAddress>(claim_.addressName);
  if (address == nullptr) {
    wait({reason::address_not_found, fmt::format("IPAddress \"{}\" does not exist", claim_.addressName)});
    return;
  }
  if (auto problem = obstacle(*address)) {
    wait(std::move(*problem));
    return;
  }
  // From here on nothing but a write in flight, its own or another's, is in the way.
  const bool ready =
      is_protected() && !view_.busy(ref_of(*address)) && !view_.has_fact(binding_bucket(claim_, open_.front()));
  if (ready) binding_ = bind(*address, claim_, "claim-bind-named");
  wait({reason::waiting_for_provisioning, "", true});
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
    plan_.facts.push_back({named_bucket(name), age_order(claim_, counting_), claim_.meta.uid,
                           kube::Key{std::string(k_claim), claim_.meta.ns, claim_.meta.name}});
  }
  const bool names_us = address.claimRef && address.claimRef->ns == claim_.meta.ns &&
                        address.claimRef->name == claim_.meta.name && address.claimRef->uid == claim_.meta.uid;
  if ((address.claimRef && !names_us) || !is_first_in_line(address))
    return Wait{reason::address_bound_elsewhere,
                fmt::format("IPAddress \"{}\" is bound to or reserved for another claim", name)};
  if (!is_matchable(address))
    return Wait{reason::address_not_available,
                address.meta.deleting ? fmt::format("IPAddress \"{}\" is being deleted", name)
                                      : fmt::format("IPAddress \"{}\" is not available: its phase is {}, {}", name,
                                                    address.phase.empty() ? "not set" : address.phase,
                                                    address.associatedTo ? "and it is attached to a workload"
                                                                         : "or it is not reserved yet")};
  if (usability(view_, address) != Usability::usable)
    return Wait{
        reason::address_not_available,
        fmt::format("IPAddress \"{}\" is not available: another object for the same IP takes precedence", name)};
  return std::nullopt;
}

// An address that waiting claims name goes to the oldest of them.
bool ClaimPass::is_first_in_line(const api::IPAddress& address) {
  bool first = true;
  const std::pair own(age_order(claim_, counting_),
                      kube::Key{std::string(k_claim), claim_.meta.ns, claim_.meta.name}.to_string());
  view_.each_fact(named_bucket(address.meta.name), [&](std::string_view order, const kube::FactBucket::Value& value) {
    first = std::pair(std::string(order), value.publisher.to_string()) >= own;
    return false;
  });
  return first;
}

}  // namespace core
