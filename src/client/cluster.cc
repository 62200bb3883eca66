#include "client/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/names.h"
#include "client/kinds.h"

namespace client {
namespace {

constexpr kube::Resource k_events{"", "v1", "events", "Event", true};

// The event with which a driver says that the Service has its address.
constexpr std::string_view k_associated = "Associated";

// When an event happened last, so that moments compare as texts: a fraction of a second is later than none.
std::string moment_of(const json::object& event) {
  std::string when(text_at(event, {"series", "lastObservedTime"}));
  for (const std::string_view field : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    if (when.empty()) when = text_at(event, {field});
  }
  if (when.ends_with('Z')) when.pop_back();
  return when;
}

Identity identity_of(const json::object& object) {
  Identity id;
  id.ns = text_at(object, {"metadata", "namespace"});
  id.name = text_at(object, {"metadata", "name"});
  id.uid = text_at(object, {"metadata", "uid"});
  id.version = text_at(object, {"metadata", "resourceVersion"});
  id.created = text_at(object, {"metadata", "creationTimestamp"});
  id.deleting = !text_at(object, {"metadata", "deletionTimestamp"}).empty();
  return id;
}

// The first of `types` whose status is not the good one.
void read_trouble(const json::object& object,
                  std::initializer_list<std::pair<std::string_view, std::string_view>> types, std::string& reason,
                  std::string& message) {
  const auto* conditions = array_at(object, {"status", "conditions"});
  if (conditions == nullptr) return;
  for (const auto& [type, good] : types) {
    for (const json::value& value : *conditions) {
      const auto* condition = value.if_object();
      if (condition == nullptr || text_at(*condition, {"type"}) != type || text_at(*condition, {"status"}) == good)
        continue;
      reason = text_at(*condition, {"reason"});
      message = text_at(*condition, {"message"});
      return;
    }
  }
}

std::vector<std::string> names_of(const Session& session, const kube::Resource& kind) {
  std::vector<std::string> names;
  if (const auto items = session.list(kind, session.ns)) {
    for (const json::object& item : *items) names.emplace_back(text_at(item, {"metadata", "name"}));
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

// One object of the session's namespace, or a message.
std::optional<json::object> need(const Session& session, const kube::Resource& kind, std::string_view name,
                                 std::string_view what, const std::string& how_to_make) {
  auto object = session.get(kind, session.ns, name);
  if (object) return std::move(*object);
  if (!object.error().is_not_found()) {
    session.fail(object.error());
    return std::nullopt;
  }
  const auto others = names_of(session, kind);
  session.fail(fmt::format("there is no {} {} in namespace {}; {}", what, name, session.ns,
                           others.empty() ? how_to_make : fmt::format("there is {}", joined(others))));
  return std::nullopt;
}

}  // namespace

const kube::Resource& claim_kind = api::IPAddressClaim::kind().resource;
const kube::Resource& address_kind = api::IPAddress::kind().resource;
const kube::Resource& class_kind = api::IPAddressClass::kind().resource;
const kube::Resource& service_kind = api::Service::kind().resource;

std::string Claim::texts() const {
  std::string out;
  for (const Reported& one : addresses) out += (out.empty() ? "" : ", ") + one.address;
  return out;
}

bool Service::shows(std::string_view address) const {
  const auto wanted = base::IpAddress::parse(address);
  return wanted && std::ranges::any_of(ingress, [&](const std::string& text) {
           const auto shown = base::IpAddress::parse(text);
           return shown && *shown == *wanted;
         });
}

Claim claim_of(const json::object& object) {
  Claim claim;
  static_cast<Identity&>(claim) = identity_of(object);
  claim.family = text_at(object, {"spec", "family"});
  if (claim.family.empty()) claim.family = "IPv4";
  claim.wanted_class = text_at(object, {"spec", "className"});
  claim.wanted_address = text_at(object, {"spec", "addressName"});
  claim.class_name = text_at(object, {"status", "className"});
  claim.phase = text_at(object, {"status", "phase"});
  if (claim.phase.empty()) claim.phase = api::phase::pending;
  if (const auto* addresses = array_at(object, {"status", "addresses"})) {
    for (const json::value& value : *addresses) {
      if (const auto* one = value.if_object()) {
        claim.addresses.push_back({std::string(text_at(*one, {"name"})), std::string(text_at(*one, {"address"}))});
      }
    }
  }
  if (claim.phase != api::phase::bound) {
    read_trouble(object,
                 {{api::condition::provisioning, "True"},
                  {api::condition::bound, "True"},
                  {api::condition::class_resolved, "True"}},
                 claim.reason, claim.message);
  }
  return claim;
}

Service service_of(const json::object& object) {
  Service service;
  static_cast<Identity&>(service) = identity_of(object);
  service.type = text_at(object, {"spec", "type"});
  service.claim = text_at(object, {"metadata", "annotations", api::claim_annotation});
  if (const auto* families = array_at(object, {"spec", "ipFamilies"})) {
    for (const json::value& family : *families) service.families.push_back(to_plain(family));
  }
  if (const auto* ingress = array_at(object, {"status", "loadBalancer", "ingress"})) {
    for (const json::value& value : *ingress) {
      if (const auto* one = value.if_object()) service.ingress.emplace_back(text_at(*one, {"ip"}));
    }
  }
  return service;
}

Address address_of(const json::object& object) {
  Address address;
  static_cast<Identity&>(address) = identity_of(object);
  address.text = text_at(object, {"spec", "address"});
  address.class_name = text_at(object, {"spec", "className"});
  address.policy = text_at(object, {"spec", "reclaimPolicy"});
  address.phase = text_at(object, {"status", "phase"});
  if (address.phase.empty()) address.phase = api::phase::pending;
  address.claim_ns = text_at(object, {"spec", "claimRef", "namespace"});
  address.claim = text_at(object, {"spec", "claimRef", "name"});
  address.claim_uid = text_at(object, {"spec", "claimRef", "uid"});
  address.attached_kind = text_at(object, {"status", "associatedTo", "kind"});
  address.attached_ns = text_at(object, {"status", "associatedTo", "namespace"});
  address.attached = text_at(object, {"status", "associatedTo", "name"});
  read_trouble(object,
               {{api::condition::reserved, "True"},
                {"Usable", "True"},
                {"DeletionBlocked", "False"},
                {"Restored", "False"},
                {api::condition::bound, "True"}},
               address.reason, address.message);
  return address;
}

std::vector<std::string> servable(const Claim& claim, const Service& service) {
  std::vector<std::string> out;
  for (const Reported& one : claim.addresses) {
    const auto address = base::IpAddress::parse(one.address);
    if (address && std::ranges::find(service.families, base::to_string(address->family())) != service.families.end()) {
      out.push_back(one.address);
    }
  }
  return out;
}

std::optional<Claim> need_claim(const Session& session, std::string_view name) {
  const auto object = need(session, claim_kind, name, "claim",
                           fmt::format("make one: {} claim {} -n {}", session.program, name, session.ns));
  if (!object) return std::nullopt;
  return claim_of(*object);
}

std::optional<Service> need_service(const Session& session, std::string_view name) {
  const auto object = need(session, service_kind, name, "Service", "there are no Services");
  if (!object) return std::nullopt;
  return service_of(*object);
}

std::vector<Service> services_of(const Session& session, std::string_view claim) {
  std::vector<Service> services;
  const auto items = session.list(service_kind, session.ns);
  if (!items) return services;
  for (const json::object& item : *items) {
    Service service = service_of(item);
    if (service.claim == claim) services.push_back(std::move(service));
  }
  return services;
}

std::expected<std::optional<Address>, kube::ApiError> address_for(const Session& session, const base::IpAddress& ip) {
  std::vector<Address> found;
  const auto take = [&](const json::object& object) {
    Address address = address_of(object);
    if (base::IpAddress::parse(address.text) == ip) found.push_back(std::move(address));
  };
  const auto usual = session.get(address_kind, {}, base::object_name(ip));
  if (!usual && !usual.error().is_not_found()) return std::unexpected(usual.error());
  if (usual) take(*usual);
  // Administrators may have given it another name.
  const auto others = session.list(address_kind, {}, {{"fieldSelector", "spec.address=" + ip.to_string()}});
  if (!others && found.empty()) return std::unexpected(others.error());
  if (others) std::ranges::for_each(*others, take);
  if (found.empty()) return std::nullopt;
  const auto counts = [](const Address& address) { return address.reason != "DuplicateAddress"; };
  const auto chosen = std::ranges::find_if(found, counts);
  return chosen == found.end() ? found.front() : *chosen;
}

std::map<std::string, std::string> service_warnings(const Session& session, const std::string& ns,
                                                    std::string_view name) {
  std::string selector = "involvedObject.kind=Service";
  if (!name.empty()) selector += fmt::format(",involvedObject.name={}", name);
  std::map<std::string, std::string> texts;
  std::map<std::string, std::pair<bool, std::string>> latest;
  const auto events = session.list(k_events, ns, {{"fieldSelector", selector}});
  if (!events) return texts;
  std::map<std::string, std::string, std::less<>> associated;
  for (const json::object& event : *events) {
    if (text_at(event, {"reason"}) != k_associated) continue;
    std::string& last = associated[std::string(text_at(event, {"involvedObject", "uid"}))];
    last = std::max(last, moment_of(event));
  }
  for (const json::object& event : *events) {
    if (text_at(event, {"type"}) != "Warning") continue;
    const std::string uid(text_at(event, {"involvedObject", "uid"}));
    const std::string when = moment_of(event);
    if (const auto over = associated.find(uid); over != associated.end() && when < over->second) continue;
    // MetalLB warns about every Service that it cannot serve yet; a driver knows better what it waits for.
    const bool is_own = text_at(event, {"source", "component"}) != "metallb-controller";
    const std::pair rank(is_own, when);
    if (rank < latest[uid]) continue;
    latest[uid] = rank;
    texts[uid] = fmt::format("{}: {}", text_at(event, {"reason"}), text_at(event, {"message"}));
  }
  return texts;
}

std::string why_unbound(const Claim& claim, base::Duration waited) {
  if (!claim.reason.empty()) return fmt::format("{}: {}", claim.reason, claim.message);
  return waited < std::chrono::seconds(2) ? "nobody has looked at it yet"
                                          : "nothing says why; is address-controller running?";
}

std::string seconds_text(base::Duration time) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

}  // namespace client
