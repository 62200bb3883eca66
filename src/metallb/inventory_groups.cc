#include "metallb/inventory_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/holds.h"
#include "metallb/indexes.h"

namespace metallb {
namespace {

bool has_claim(kube::View& view, const api::IPAddress& address) {
  const auto& ref = address.claimRef;
  const auto* claim = ref ? view.get<api::IPAddressClaim>(ref->ns, ref->name) : nullptr;
  return claim != nullptr && (ref->uid.empty() || ref->uid == claim->meta.uid);
}

}  // namespace

bool Group::has_signed_claim() const {
  return std::ranges::any_of(addresses,
                             [](const auto* address) { return address->claimRef && !address->claimRef->uid.empty(); });
}

bool Group::is_of_another(const api::IPAddressClaim& claim) const {
  return std::ranges::any_of(addresses, [&](const auto* address) {
    return address->claimRef && !address->claimRef->uid.empty() && address->claimRef->uid != claim.meta.uid;
  });
}

std::vector<kube::Ref> Group::claims() const {
  std::vector<kube::Ref> refs;
  for (const auto* address : addresses) {
    if (!address->claimRef) continue;
    kube::Ref ref = api::claim_ref(*address->claimRef);
    if (std::ranges::find(refs, ref) == refs.end()) refs.push_back(std::move(ref));
  }
  return refs;
}

std::vector<Group> find_groups(kube::View& view, const kube::Key& key, const api::Service* service) {
  std::vector<Group> groups;
  view.each<api::IPAddress>(k_inventory_index, slash(key.ns, key.name), [&](const api::IPAddress& address) {
    Adoption record = *adoption_of(address);
    const bool is_left = record.state == Adoption::State::adopted && !has_claim(view, address);
    auto group =
        std::ranges::find_if(groups, [&](const Group& g) { return g.uid == record.uid && g.is_left == is_left; });
    if (group == groups.end()) {
      groups.push_back({.uid = record.uid, .is_left = is_left, .addresses = {}, .record = record});
      group = groups.end() - 1;
      if (service != nullptr && service->meta.uid == record.uid) group->service = service;
    }
    group->addresses.push_back(&address);
    // Before Adopted comes Adopting, and what is Reverting on one address is so on all.
    if (record.state == Adoption::State::reverting || group->record.state == Adoption::State::adopted)
      group->record.state = record.state;
    return true;
  });
  return groups;
}

kube::Plan one_at_a_time(std::vector<kube::Plan> parts, int failures) {
  kube::Plan plan;
  std::vector<kube::Plan*> acting;
  const auto take_events = [&](kube::Plan& part) { std::ranges::move(part.events, std::back_inserter(plan.events)); };
  for (kube::Plan& part : parts) {
    std::ranges::move(part.facts, std::back_inserter(plan.facts));
    if (part.revisit) plan.then_look_after(*part.revisit);
    if (part.writes.empty() && part.confirms.empty()) {
      take_events(part);
    } else {
      acting.push_back(&part);
    }
  }
  if (acting.empty()) return plan;
  kube::Plan& turn = *acting.at(static_cast<std::size_t>(failures) % acting.size());
  plan.writes = std::move(turn.writes);
  plan.confirms = std::move(turn.confirms);
  plan.spends = std::move(turn.spends);
  take_events(turn);
  return plan;
}

}  // namespace metallb
