#include "metallb/placeholder.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <tuple>
#include <utility>

#include "api/names.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

namespace json = boost::json;

// Of one claim and family that are spent. Where somebody keeps each of them the claim waits in the end.
constexpr std::size_t k_most_spent = 4;

// The current key wins if it is there at all, even when empty.
std::string_view either(const kube::StringMap& annotations, std::string_view key, std::string_view old_key) {
  const std::string* value = annotations.find(key);
  return value != nullptr ? std::string_view(*value) : annotations.get(old_key);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

json::object body(const Options& options, std::string name, json::object labels, json::object annotations,
                  std::string_view class_name, base::Family family) {
  labels[api::metallb::placeholder] = "true";
  annotations[api::metallb::pool] = pool_name(class_name);
  json::object spec{
      {"type", "LoadBalancer"},
      {"allocateLoadBalancerNodePorts", false},
      {"ipFamilyPolicy", "SingleStack"},
      {"ipFamilies", json::array{json::string(base::to_string(family))}},
      {"ports", placeholder_ports(k_placeholder_port)},
  };
  if (!options.load_balancer_class.empty()) spec["loadBalancerClass"] = options.load_balancer_class;
  return {{"metadata", json::object{{"name", std::move(name)},
                                    {"namespace", options.placeholder_namespace},
                                    {"labels", std::move(labels)},
                                    {"annotations", std::move(annotations)}}},
          {"spec", std::move(spec)}};
}

json::object owner_json(const kube::OwnerReference& owner) {
  json::object value{{"apiVersion", owner.apiVersion}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
  if (owner.controller) value["controller"] = true;
  return value;
}

json::object owner_of(const api::IPAddress& address) {
  const kube::Resource& resource = api::IPAddress::kind().resource;
  return owner_json({resource.api_version(), std::string(resource.kind), address.meta.name, address.meta.uid, false});
}

// A hold carries exactly one owner of our kind: its address. Foreign owners are carried over.
bool is_owned_right(const api::Service& hold, const api::IPAddress& address) {
  int right = 0;
  for (const kube::OwnerReference& owner : hold.meta.owners) {
    if (!is_address(owner)) continue;
    if (owner.uid != address.meta.uid || owner.name != address.meta.name) return false;
    ++right;
  }
  return right == 1;
}

json::array owners_for(const api::Service& hold, const api::IPAddress& address) {
  json::array owners;
  for (const kube::OwnerReference& owner : hold.meta.owners) {
    if (!is_address(owner)) owners.push_back(owner_json(owner));
  }
  owners.push_back(owner_of(address));
  return owners;
}

// The Go form is derived from the IP. On a hold of another owner it may be the name of another object.
bool is_labelled_right(const api::Service& hold, const api::IPAddress& address, const base::IpAddress& ip) {
  const std::string_view label = hold.meta.labels.get(api::metallb::ip_address);
  return label == address_label(address.meta.name) || (label == base::object_name(ip) && is_owned_right(hold, address));
}

json::object metadata_repair(const api::Service& hold, const api::IPAddress& address, const base::IpAddress& ip) {
  json::object labels;
  json::object annotations;
  if (hold.meta.labels.get(api::metallb::placeholder) != "true") labels[api::metallb::placeholder] = "true";
  if (!is_labelled_right(hold, address, ip)) {
    labels[api::metallb::ip_address] = address_label(address.meta.name);
  }
  if (!is_pinned_to(hold, ip)) annotations[api::metallb::pin] = ip.to_string();
  const std::string pool = pool_name(address.className);
  if (pool_of(hold) != pool) annotations[api::metallb::pool] = pool;
  json::object metadata;
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!is_owned_right(hold, address)) metadata["ownerReferences"] = owners_for(hold, address);
  return metadata;
}

json::object spec_repair(const api::Service& hold) {
  json::object spec;
  if (hold.type != "LoadBalancer") spec["type"] = "LoadBalancer";
  if (!hold.loadBalancerIP.empty()) spec["loadBalancerIP"] = nullptr;
  if (hold.ipFamilyPolicy != "SingleStack") spec["ipFamilyPolicy"] = "SingleStack";
  if (hold.allocateLoadBalancerNodePorts != false) spec["allocateLoadBalancerNodePorts"] = false;
  return spec;
}

bool is_labelled(const api::Service& service) { return service.meta.labels.get(api::metallb::placeholder) == "true"; }

// Collects what may be a placeholder of one address, each Service once.
class Candidates {
 public:
  Candidates(kube::View& view, const Options& options, const api::IPAddress& address, const base::IpAddress& ip)
      : view_(view), options_(options), address_(address), ip_(ip) {}

  std::vector<const api::Service*> find() {
    by_label(address_label(address_.meta.name));
    const std::string derived = base::object_name(ip_);
    // The Go form is derived from the IP; where an object of that name exists, the label is that one's.
    if (derived != address_.meta.name && view_.get<api::IPAddress>(derived) == nullptr && is_senior(view_, address_)) {
      by_label(derived);
    }
    adopt();
    by_owner();
    by_name(hold_name(address_.meta.name));
    by_name(spare_hold_name(address_.meta.name));
    if (address_.claimRef && !address_.claimRef->uid.empty()) drawn_for(*address_.claimRef);
    return std::move(found_);
  }

 private:
  const api::Service* get(const std::string& name) {
    return view_.get<api::Service>(options_.placeholder_namespace, name);
  }
  void by_label(const std::string& label) {
    view_.each<api::Service>(k_placeholder_address_index, label, [this](const api::Service& hold) {
      add(&hold);
      return true;
    });
  }
  // Of several objects for one IP the one that stands takes over what holds it for the others, in one write: MetalLB
  // would give its own hold nothing beside it. Not what is of another class, which other rules keep in its pool, and
  // not for an address that goes: that would free what another one keeps.
  void adopt() {
    if (view_.count<api::IPAddress>(api::k_by_value, ip_.to_string()) < 2) return;
    if (!is_senior(view_, address_) || (address_.meta.deleting && holder_of(view_, address_) == nullptr)) return;
    view_.each<api::IPAddress>(api::k_by_value, ip_.to_string(), [this](const api::IPAddress& junior) {
      if (junior.meta.name == address_.meta.name || junior.className != address_.className) return true;
      view_.each<api::Service>(k_placeholder_address_index, address_label(junior.meta.name), [this](const auto& hold) {
        if (shows(hold, ip_)) add(&hold);
        return true;
      });
      return true;
    });
  }
  // A hold that lost one of its labels, or both, is in none of their indexes. It is still ours by its owner or its
  // name, unless what is left of them says that it is another one's.
  bool is_astray(const api::Service& hold) {
    if (!is_recorded(hold)) return true;
    return !is_placeholder(hold, options_) && is_labelled_right(hold, address_, ip_);
  }
  void by_owner() {
    view_.each<api::Service>(k_owned_index, address_.meta.uid, [this](const api::Service& hold) {
      if (is_astray(hold)) add(&hold);
      return true;
    });
  }
  void by_name(const std::string& name) {
    const auto* hold = get(name);
    if (hold != nullptr && is_astray(*hold)) add(hold);
  }
  void drawn_for(const api::ClaimRef& claim) {
    view_.each<api::Service>(k_placeholder_claim_index, slash(claim.ns, claim.name), [&](const api::Service& drawn) {
      const auto name = parse_allocation_name(drawn.meta.name);
      if (name && name->claim_uid == claim.uid && shows(drawn, ip_)) add(&drawn);
      return true;
    });
    // Without its label it is in no index.
    for (unsigned place = 1;; ++place) {
      const auto* drawn = get(allocation_name(claim.uid, ip_.family(), place));
      if (drawn == nullptr) return;
      if (is_astray(*drawn) && shows(*drawn, ip_)) add(drawn);
    }
  }
  void add(const api::Service* hold) {
    if (std::ranges::find(found_, hold) == found_.end()) found_.push_back(hold);
  }

  kube::View& view_;
  const Options& options_;
  const api::IPAddress& address_;
  const base::IpAddress& ip_;
  std::vector<const api::Service*> found_;
};

}  // namespace

json::array placeholder_ports(int port) {
  return {json::object{{"name", "held"}, {"protocol", "TCP"}, {"port", port}}};
}

bool is_address(const kube::OwnerReference& owner) {
  return owner.kind == "IPAddress" && owner.apiVersion.starts_with(std::string(api::group) + "/");
}

bool is_placeholder(const api::Service& service, const std::vector<std::string>& trusted) {
  return is_labelled(service) && std::ranges::find(trusted, service.meta.ns) != trusted.end();
}

bool is_placeholder(const api::Service& service, const Options& options) {
  return (service.meta.ns == options.placeholder_namespace && is_labelled(service)) ||
         is_placeholder(service, options.former_placeholder_namespaces);
}

std::vector<std::string> placeholder_namespaces(const Options& options) {
  std::vector<std::string> all{options.placeholder_namespace};
  all.insert(all.end(), options.former_placeholder_namespaces.begin(), options.former_placeholder_namespaces.end());
  return all;
}

bool is_left_behind(const api::Service& placeholder, const Options& options) {
  const std::vector<std::string>& former = options.former_placeholder_namespaces;
  return std::ranges::find(former, placeholder.meta.ns) != former.end();
}

const kube::OwnerReference* held_object(const api::Service& placeholder) {
  const auto found = std::ranges::find_if(placeholder.meta.owners, is_address);
  return found == placeholder.meta.owners.end() ? nullptr : &*found;
}

bool is_recorded(const api::Service& placeholder) { return placeholder.meta.labels.contains(api::metallb::ip_address); }

bool is_unassigned(const api::Service& placeholder) {
  return !is_recorded(placeholder) && placeholder.ingress.empty() && pin_of(placeholder).empty();
}

bool is_disarmed(const api::Service& placeholder) { return pool_of(placeholder) == api::metallb::awaiting_pool; }

bool is_spent(const api::Service& placeholder) {
  return placeholder.meta.deleting && placeholder.ingress.empty() && is_disarmed(placeholder);
}

kube::Write emptying(const api::Service& placeholder, std::string step) {
  json::object annotations{{api::metallb::pool, api::metallb::awaiting_pool}, {api::metallb::pin, nullptr}};
  return kube::patch(api::Service::kind().resource, placeholder,
                     {{"metadata", json::object{{"annotations", std::move(annotations)}}}}, std::move(step));
}

void dismiss(kube::Plan& plan, const api::Service& placeholder, std::string step) {
  if (!placeholder.meta.deleting) {
    plan.writes.push_back(kube::remove(api::Service::kind().resource, placeholder, true, std::move(step)));
  } else if (!is_disarmed(placeholder)) {
    plan.writes.push_back(emptying(placeholder, "placeholder-empty"));
  }
}

bool has_home(kube::View& view, const Options& options) {
  const auto* home = view.get<api::Namespace>(options.placeholder_namespace);
  return home != nullptr && !home->meta.deleting && home->phase != "Terminating";
}

std::optional<base::Family> family_of(const api::Service& service) {
  if (service.ipFamilies.size() != 1) return std::nullopt;
  return service.ipFamilies.front() == base::to_string(base::Family::v6) ? base::Family::v6 : base::Family::v4;
}

std::string_view pool_of(const api::Service& service) {
  return either(service.meta.annotations, api::metallb::pool, api::metallb::old_pool);
}

std::string_view pin_of(const api::Service& service) {
  return either(service.meta.annotations, api::metallb::pin, api::metallb::old_pin);
}

std::vector<base::IpAddress> pinned(const api::Service& service) {
  std::vector<base::IpAddress> found;
  std::string_view rest = pin_of(service);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (const auto ip = base::IpAddress::parse(trimmed(rest.substr(0, comma)))) found.push_back(*ip);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return found;
}

std::vector<base::IpAddress> shown(const api::Service& service) {
  std::vector<base::IpAddress> found;
  for (const std::string& text : service.ingress) {
    const auto ip = base::IpAddress::parse(text);
    if (ip && std::ranges::find(found, *ip) == found.end()) found.push_back(*ip);
  }
  return found;
}

bool shows(const api::Service& service, const base::IpAddress& ip) {
  const auto ips = shown(service);
  return std::ranges::find(ips, ip) != ips.end();
}

bool is_pinned_to(const api::Service& service, const base::IpAddress& ip) {
  const auto ips = pinned(service);
  return ips.size() == 1 && ips.front() == ip;
}

json::object allocation_body(const Options& options, const api::IPAddressClaim& claim, std::string name,
                             std::string_view class_name, base::Family family) {
  return body(options, std::move(name), {},
              {{api::metallb::claim_namespace, claim.meta.ns}, {api::metallb::claim_name, claim.meta.name}}, class_name,
              family);
}

Allocation find_allocation(kube::View& view, const Options& options, const kube::Meta& claim, base::Family family) {
  Allocation found;
  const api::Service* spent = nullptr;
  std::size_t left = 0;
  // Under whatever name: a hold that has an earlier one may have gone meanwhile.
  view.each<api::Service>(k_placeholder_claim_index, slash(claim.ns, claim.name), [&](const api::Service& drawn) {
    const auto name = parse_allocation_name(drawn.meta.name);
    if (!name || name->claim_uid != claim.uid || name->family != family) return true;
    (is_spent(drawn) ? spent : found.placeholder) = &drawn;
    if (is_spent(drawn)) ++left;
    return found.placeholder == nullptr;
  });
  if (found.placeholder == nullptr && left >= k_most_spent) found.placeholder = spent;
  if (found.placeholder != nullptr) {
    found.name = found.placeholder->meta.name;
    return found;
  }
  for (unsigned place = 1;; ++place) {
    found.name = allocation_name(claim.uid, family, place);
    bool free = true;
    for (const std::string& ns : placeholder_namespaces(options)) {
      const auto* taken = view.get<api::Service>(ns, found.name);
      if (taken == nullptr) continue;
      free = false;
      if (!is_recorded(*taken)) {
        if (is_spent(*taken)) continue;
        if (ns != options.placeholder_namespace) continue;  // without our label it is nothing there
        found.placeholder = taken;
        return found;
      }
      const std::string label(taken->meta.labels.get(api::metallb::ip_address));
      if (!taken->meta.deleting && view.count<api::IPAddress>(k_address_label_index, label) == 0) found.unclear = true;
    }
    if (free) return found;
  }
}

json::object hold_body(const Options& options, const api::IPAddress& address, const base::IpAddress& ip,
                       std::string name) {
  json::object hold = body(options, std::move(name), {{api::metallb::ip_address, address_label(address.meta.name)}},
                           {{api::metallb::pin, ip.to_string()}}, address.className, ip.family());
  hold["metadata"].as_object()["ownerReferences"] = json::array{owner_of(address)};
  return hold;
}

json::object hold_repair(const api::Service& hold, const api::IPAddress& address, const base::IpAddress& ip) {
  json::object patch;
  if (json::object metadata = metadata_repair(hold, address, ip); !metadata.empty()) {
    patch["metadata"] = std::move(metadata);
  }
  if (json::object spec = spec_repair(hold); !spec.empty()) patch["spec"] = std::move(spec);
  return patch;
}

bool is_beyond_repair(const Options& options, const api::Service& hold, const base::IpAddress& ip) {
  if (hold.ipFamilies.empty() || hold.ipFamilies.front() != base::to_string(ip.family())) return true;
  return hold.type == "LoadBalancer" && hold.loadBalancerClass.value_or("") != options.load_balancer_class;
}

void touch(kube::Plan& plan, kube::View& view, const api::Service& service, base::Duration waited) {
  constexpr base::Duration first = std::chrono::seconds(2);
  constexpr base::Duration longest = std::chrono::minutes(10);
  if (waited < first) return plan.then_look_after(first - waited);
  const std::string bucket = "touch/" + service.meta.name;
  const base::Duration pace = std::min(2 * waited, longest);
  base::Duration wait = view.throttled(bucket);
  // More than this wait allows for is left over from an earlier one.
  if (wait == base::Duration::zero() || wait > pace) wait = view.throttle(bucket, 1, pace);
  if (wait > base::Duration::zero()) return plan.then_look_after(wait);
  plan.spends.push_back(bucket);
  // Any other value than before does it: it is the change that MetalLB sees.
  const std::string_view text = service.meta.annotations.get(api::metallb::touched);
  unsigned before = 0;
  std::from_chars(text.data(), text.data() + text.size(), before);
  json::object annotations{{api::metallb::touched, std::to_string(before + 1)}};
  plan.writes.push_back(kube::patch(api::Service::kind().resource, service,
                                    {{"metadata", json::object{{"annotations", std::move(annotations)}}}}, "touch"));
}

bool Holds::includes(const api::Service& service) const {
  return &service == best || std::ranges::find(others, &service) != others.end();
}

Holds find_holds(kube::View& view, const Options& options, const api::IPAddress& address, const base::IpAddress& ip) {
  Holds holds;
  holds.others = Candidates(view, options, address, ip).find();
  const auto rank = [&](const api::Service* hold) {
    return std::tuple(hold->meta.deleting, !shows(*hold, ip), is_left_behind(*hold, options), !is_pinned_to(*hold, ip),
                      !is_recorded(*hold), hold->meta.created, std::string_view(hold->meta.name));
  };
  const auto first = std::ranges::min_element(holds.others, {}, rank);
  if (first != holds.others.end() && !(*first)->meta.deleting) {
    holds.best = *first;
    holds.others.erase(first);
  }
  return holds;
}

}  // namespace metallb
