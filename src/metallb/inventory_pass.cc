// Driver design §9, inventory: the pass over one Service that has, or had, an address without a claim.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <utility>

#include "api/holds.h"
#include "api/names.h"
#include "api/restore.h"
#include "kube/finalizers.h"
#include "metallb/association.h"
#include "metallb/class.h"
#include "metallb/eligibility.h"
#include "metallb/indexes.h"
#include "metallb/inventory.h"
#include "metallb/inventory_groups.h"
#include "metallb/ledger.h"
#include "metallb/placeholder.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"
#include "metallb/sharing.h"

namespace metallb {
namespace {

namespace json = boost::json;
using Addresses = std::vector<const api::IPAddress*>;
using Entry = InventoryEntry::State;

// Of one Service: so often it is adopted anew, whoever takes what it was given.
constexpr std::string_view k_adopting = "adopting";
constexpr int k_adoptions = 5;
constexpr base::Duration k_adoption_pace = std::chrono::seconds(10);

class InventoryPass {
 public:
  InventoryPass(const Context& context, kube::View& view, const kube::Key& key)
      : context_(context), view_(view), key_(key), service_(view.get<api::Service>(key.ns, key.name)) {}

  kube::Plan run() {
    const std::vector<Group> groups = find_groups(view_, key_, service_);
    bool engaged = false;  // the Service as it is, is on its way
    for (const Group& group : groups) {
      engaged = engaged || (group.service != nullptr && group.record.state != Adoption::State::adopted);
      if (is_restored(group)) continue;
      look_at(group);
      parts_.push_back(std::exchange(plan_, {}));
    }
    if (service_ != nullptr && !engaged) {
      look_at_stranger();
      parts_.push_back(std::exchange(plan_, {}));
    }
    kube::Plan plan = one_at_a_time(std::move(parts_), view_.failures());
    plan.forget = service_ == nullptr && groups.empty();
    return plan;
  }

 private:
  static const kube::Resource& addresses() { return api::IPAddress::kind().resource; }
  static const kube::Resource& claims() { return api::IPAddressClaim::kind().resource; }
  static const kube::Resource& services() { return api::Service::kind().resource; }

  Inventory mode() const { return cls_.valid() ? cls_.parameters().inventory : Inventory::off; }
  bool may_adopt() const { return mode() == Inventory::adopt && context_.options.inventory; }

  // What a backup tool made again is its claim's (contract §9), and its Service is another one by now. What no claim
  // has signed was promised to nobody: it is looked at again when its claim could have been restored too.
  bool is_restored(const Group& group) {
    const bool copied = std::ranges::any_of(group.addresses, [](const auto* a) { return api::is_copy(a->meta); });
    const bool promised = group.record.state != Adoption::State::adopting || group.has_signed_claim();
    const base::Duration wait =
        api::restore_wait(view_, context_.options.restore_grace, "restored/" + group.uid, copied && !promised);
    if (!copied || promised || wait == base::Duration::zero()) return copied && promised;
    cls_ = served_class(view_, context_, group.addresses.front()->className);
    note(Entry::adopting, group, "it has been restored, and so its claim may still be");
    plan_.then_look_after(wait);
    parts_.push_back(std::exchange(plan_, {}));
    return true;
  }

  void look_at(const Group& group) {
    cls_ = served_class(view_, context_, group.addresses.front()->className);
    if (group.record.state == Adoption::State::reverting) {
      give_back(group);
    } else if (group.record.state == Adoption::State::adopting) {
      adopt(group);
    } else if (mode() == Inventory::revert) {
      revert(group);
    } else if (mode() != Inventory::off) {
      note(Entry::adopted, group);
    }
  }

  // --- a Service with nothing of ours ---

  void look_at_stranger() {
    const std::string name = class_of_stranger(view_, context_.options, *service_);
    if (name.empty()) return;
    cls_ = served_class(view_, context_, name);
    if (mode() != Inventory::dry_run && mode() != Inventory::adopt) return;
    const Survey found = survey(view_, context_, *service_, cls_);
    publish("", {found.can_be() ? Entry::planned : Entry::refused, pin_text(found.ips), found.why});
    if (!may_adopt()) return;
    if (found.can_be()) return begin_to_adopt(found);
    if (!claim_name_of(*service_).empty() || service_->meta.deleting) return;
    plan_.events.push_back({self(), service_->meta.uid, true, std::string(reason::not_adopted), "Adopt",
                            fmt::format("{} is not kept for this Service: {}", pin_text(found.ips), found.why), true});
  }

  // Its claim may be deleted, and itself be made again, as often as somebody likes.
  void begin_to_adopt(const Survey& found) {
    const base::Duration wait = view_.throttle(k_adopting, k_adoptions, k_adoption_pace);
    if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
    record_missing(found, adoption_for(*service_), {});
    if (!plan_.writes.empty()) plan_.spends.emplace_back(k_adopting);
  }

  void publish(std::string_view address, const InventoryEntry& entry) {
    const std::string& cls = cls_.object->meta.name;
    plan_.facts.push_back({inventory_bucket(cls), inventory_order(key_.ns, key_.name, address), entry.text(),
                           kube::Key{std::string(k_inventory_summary_reconciler), "", cls}});
  }

  void note(Entry state, const Group& group, std::string why = "") {
    if (!view_.refusal().empty() && why.empty()) why = view_.refusal();
    if (cls_) publish(group.addresses.front()->meta.name, {state, pin_text(group.addresses), std::move(why)});
  }

  kube::Ref self() const { return {&services(), service_->meta.ns, service_->meta.name}; }
  bool is_busy(const api::IPAddress& address) { return view_.busy(api::ref_of(address)); }

  // Contract §6.2, with an empty uid: the claim comes when the core has seen them. The policy is the class's.
  void record_missing(const Survey& found, const Adoption& record, const Addresses& there) {
    for (const base::IpAddress& ip : found.ips) {
      const bool is_there = std::ranges::any_of(there, [&](const auto* address) { return value_of(*address) == ip; });
      const std::string name = base::object_name(ip);
      if (is_there || view_.busy({&addresses(), "", name})) continue;
      json::object metadata{{"name", name},
                            {"annotations", json::object{{api::metallb::inventory, record.text()}}},
                            {"finalizers", json::array{json::string(api::metallb::teardown)}}};
      json::object spec{{"address", ip.to_string()},
                        {"className", cls_.object->meta.name},
                        {"reclaimPolicy", cls_.object->reclaimPolicy},
                        {"claimRef", json::object{{"namespace", service_->meta.ns}, {"name", found.claim}}},
                        {"source", json::object{{"fromClass", json::object{}}}}};
      plan_.writes.push_back(
          kube::create(addresses(), {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}}, "adopt-address"));
    }
  }

  // --- Adopting ---

  void adopt(const Group& group) {
    const auto& ref = group.addresses.front()->claimRef;
    if (!ref) return settle_on(group);  // an administrator has other plans
    const auto* claim = view_.get<api::IPAddressClaim>(ref->ns, ref->name);
    if (claim == nullptr || group.is_of_another(*claim)) return claim_missing(group, *ref);
    const Halves halves = counted(view_, *claim);
    const bool all_count = std::ranges::all_of(
        group.addresses, [&](const auto* address) { return halves.of(value_of(*address)->family()) == address; });
    // Somebody else's, of another kind.
    if (!all_count && !group.has_signed_claim()) return withdraw(group);
    if (!is_kept_by_service(group)) return settle_on(group);
    if (mode() == Inventory::revert && context_.options.inventory) return begin_to_revert(group);
    if (claim->meta.deleting || claim->phase != api::phase::bound || !all_count)
      return note(Entry::adopting, group, fmt::format("IPAddressClaim {} is not bound", claim->meta.name));
    if (claim_name_of(*group.service).empty()) return name_claim(group, claim->meta.name);
    const bool attached = std::ranges::all_of(
        group.addresses, [&](const auto* address) { return is_attached(view_, context_.options, *address); });
    // The finalizer comes with all the rest.
    if (attached && group.service->meta.has_finalizer(api::metallb::attached)) return settle_on(group);
    const auto refusal =
        refusal_by_service(view_, context_, *group.service, group.addresses.front()->className, shown(*group.service));
    note(Entry::adopting, group, refusal ? refusal->note : "");
  }

  // It shows them all, and asks for nothing else.
  bool is_kept_by_service(const Group& group) {
    const api::Service* service = group.service;
    if (service == nullptr || service->meta.deleting || !is_served_by_metallb(context_.options, *service)) return false;
    const std::string_view named = claim_name_of(*service);
    return (named.empty() || named == group.addresses.front()->claimRef->name) && shows_all(group);
  }

  static bool shows_all(const Group& group) {
    return group.service != nullptr && std::ranges::all_of(group.addresses, [&](const auto* address) {
             return shows(*group.service, *value_of(*address));
           });
  }

  // Not made yet; or gone, before the Service was told of it.
  void claim_missing(const Group& group, const api::ClaimRef& ref) {
    if (group.has_signed_claim()) return claim_gone(group);
    if (!may_adopt() || group.service == nullptr || !shows_all(group)) return withdraw(group);
    const Survey found = survey(view_, context_, *group.service, cls_, group.addresses);
    const bool going = std::ranges::any_of(group.addresses, [](const auto* a) { return a->meta.deleting; });
    if (!found.can_be() || found.claim != ref.name || going) return withdraw(group);
    note(Entry::adopting, group);
    record_missing(found, group.record, group.addresses);
    if (group.addresses.size() == found.ips.size()) make_claim(group, found);
  }

  // It has had them: the core's reclaim decides, by their policy.
  void claim_gone(const Group& group) {
    if (api::confirm(view_, plan_, group.claims())) return settle_on(group);
    note(Entry::adopting, group);
  }

  // The core must know the addresses before it knows the claim, or it might bind others to it.
  void make_claim(const Group& group, const Survey& found) {
    const bool known = std::ranges::all_of(group.addresses, [](const auto* address) {
      return address->meta.has_finalizer(api::address_protection) && !address->phase.empty();
    });
    if (!known || view_.busy({&claims(), key_.ns, found.claim})) return;
    json::object spec{{"className", cls_.object->meta.name}};
    if (found.ips.size() == 2) {
      spec["family"] = "Dual";
    } else {
      spec["family"] = base::to_string(found.ips.front().family());
      spec["addressName"] = group.addresses.front()->meta.name;
    }
    json::object metadata{
        {"name", found.claim}, {"namespace", key_.ns}, {"labels", json::object{{api::metallb::inventory, "true"}}}};
    plan_.writes.push_back(
        kube::create(claims(), {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}}, "adopt-claim"));
  }

  // From here on it attaches like any other Service, to what it shows already.
  void name_claim(const Group& group, const std::string& claim) {
    note(Entry::adopting, group);
    plan_.writes.push_back(kube::patch(
        services(), *group.service,
        {{"metadata", json::object{{"annotations", json::object{{api::claim_annotation, claim}}}}}}, "adopt-service"));
    plan_.events.push_back({self(), group.uid, false, std::string(reason::adopted), "Adopt",
                            fmt::format("{} is kept by IPAddressClaim {} from now on, also when the Service goes",
                                        pin_text(group.addresses), claim),
                            false});
  }

  // From here on the ordinary rules apply.
  void settle_on(const Group& group) {
    note(Entry::adopting, group);
    mark(group, Adoption::State::adopted, "adopt-settle");
  }

  void mark(const Group& group, Adoption::State state, const std::string& step) {
    for (const auto* address : group.addresses) {
      Adoption record = *adoption_of(*address);
      if (record.state == state || is_busy(*address) || address->meta.deleting) continue;
      record.state = state;
      plan_.writes.push_back(kube::patch(
          addresses(), *address,
          {{"metadata", json::object{{"annotations", json::object{{api::metallb::inventory, record.text()}}}}}}, step));
    }
  }

  // Nobody has been promised these. What the Service has is left alone.
  void withdraw(const Group& group) {
    note(Entry::adopting, group);
    remove_addresses(group, "adopt-withdraw");
  }

  void remove_addresses(const Group& group, const std::string& step) {
    for (const auto* address : group.addresses) {
      if (address->meta.deleting || is_busy(*address)) continue;
      plan_.writes.push_back(kube::remove(addresses(), *address, true, step));
    }
    if (!plan_.writes.empty() && !api::confirm(view_, plan_, group.claims())) plan_.writes.clear();
  }

  // --- Reverting ---

  void revert(const Group& group) {
    if (std::string why = why_kept(group); !why.empty()) return note(Entry::kept, group, std::move(why));
    if (context_.options.inventory) return begin_to_revert(group);
    note(Entry::adopted, group);
  }

  void begin_to_revert(const Group& group) {
    note(Entry::reverting, group);
    mark(group, Adoption::State::reverting, "revert-begin");
  }

  std::string why_kept(const Group& group) {
    const bool attached =
        shows_all(group) && !group.service->meta.deleting &&
        std::ranges::all_of(group.addresses, [&](const auto* a) { return is_attached(view_, context_.options, *a); });
    if (!attached)
      return "it is not attached to that Service any more: its claim is one like any other, and can be deleted";
    if (associated_with(view_, *group.service).size() != group.addresses.size())
      return "the Service is attached to an address that it did not have when it was adopted";
    for (const auto* address : group.addresses) {
      if (!cls_.parameters().ranges.contains(*value_of(*address)))
        return "the class does not have the address any more, and only the claim keeps it in MetalLB's pool";
    }
    if (!handoff_key(*group.service).empty()) return "it is about to be handed over";
    return "";
  }

  void give_back(const Group& group) {
    begin_to_revert(group);
    const bool busy = std::ranges::any_of(group.addresses, [&](const auto* a) { return is_busy(*a); });
    if (!plan_.writes.empty() || busy) return;
    const api::Service* service = group.service;
    // One that is being deleted lets go like any other.
    if (service != nullptr && service->meta.deleting && carries_our_keys(*service)) return;
    if (service != nullptr && !service->meta.deleting) {
      if (json::object metadata = as_it_was(group); !metadata.empty()) {
        plan_.writes.push_back(
            kube::patch(services(), *service, {{"metadata", std::move(metadata)}}, "revert-service"));
        return;
      }
    }
    for (const auto* address : group.addresses) {
      if (!address->associatedTo) continue;
      plan_.writes.push_back(kube::patch_status(
          addresses(), *address, {{"status", json::object{{"associatedTo", nullptr}}}}, "revert-association"));
    }
    if (plan_.writes.empty()) remove_ledger(group);
  }

  // What adopting and attaching have written goes, in one write, and what was there before comes back.
  json::object as_it_was(const Group& group) {
    const kube::StringMap& current = group.service->meta.annotations;
    json::object annotations;
    const auto restore = [&](std::string_view key) {
      const auto was = group.record.before.find(key);
      const std::string* is = current.find(key);
      if (was == group.record.before.end()) {
        if (is != nullptr) annotations[key] = nullptr;
      } else if (is == nullptr || *is != was->second) {
        annotations[key] = was->second;
      }
    };
    const auto& ref = group.addresses.front()->claimRef;
    if (ref && claim_name_of(*group.service) == ref->name) restore(api::claim_annotation);
    if (carries_our_keys(*group.service)) {
      if (current.get(api::metallb::pinned) == "true") restore(api::metallb::pin);
      if (current.get(api::metallb::pool) == pool_name(group.addresses.front()->className)) restore(api::metallb::pool);
    }
    for (const std::string_view key : {api::metallb::pinned, api::metallb::service_uid, api::metallb::touched}) {
      if (current.contains(key)) annotations[key] = nullptr;
    }
    json::object metadata;
    if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
    if (group.service->meta.has_finalizer(api::metallb::attached))
      metadata["finalizers"] = kube::without_finalizer(group.service->meta, api::metallb::attached);
    return metadata;
  }

  void remove_ledger(const Group& group) {
    const auto& ref = group.addresses.front()->claimRef;
    const auto* claim = ref ? view_.get<api::IPAddressClaim>(ref->ns, ref->name) : nullptr;
    if (claim == nullptr || !is_generated(*claim, *ref)) return remove_addresses(group, "revert-address");
    if (claim->meta.deleting || !context_.options.inventory || view_.busy(api::ref_of(*claim))) return;
    plan_.writes.push_back(kube::remove(claims(), *claim, true, "revert-claim"));
  }

  // While the core has not completed the binding, it is known by what the driver made of it.
  static bool is_generated(const api::IPAddressClaim& claim, const api::ClaimRef& ref) {
    return ref.uid.empty() ? claim.meta.labels.get(api::metallb::inventory) == "true" : claim.meta.uid == ref.uid;
  }

  const Context& context_;
  kube::View& view_;
  const kube::Key& key_;
  const api::Service* service_;
  ServedClass cls_;
  kube::Plan plan_;                // of whom is looked at
  std::vector<kube::Plan> parts_;  // of those before
};

}  // namespace

kube::Plan reconcile_inventory(const Context& context, const kube::Key& key, kube::View& view) {
  return InventoryPass(context, view, key).run();
}

}  // namespace metallb
