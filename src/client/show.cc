// list, who, classes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "api/names.h"
#include "client/cluster.h"
#include "client/product.h"
#include "client/table.h"

namespace client {
namespace {

using ServicesByClaim = std::multimap<std::pair<std::string, std::string>, Service>;

// Services that name claims, by namespace and claim. `known` turns false where they may not be listed.
ServicesByClaim services_by_claim(const Session& session, const std::string& place, bool& known) {
  ServicesByClaim out;
  const auto items = session.list(service_kind, place);
  known = items.has_value();
  if (!known) return out;
  for (const json::object& item : *items) {
    Service service = service_of(item);
    if (!service.claim.empty()) out.emplace(std::pair(service.ns, service.claim), std::move(service));
  }
  return out;
}

using Warnings = std::map<std::string, std::string>;

// "web", "web (waits: FamilyMismatch)", "web, web2 (waits: AssociationRejected)".
std::string attachment(const Claim& claim, const ServicesByClaim& services, const Warnings& warnings) {
  std::string out;
  const auto [begin, end] = services.equal_range({claim.ns, claim.name});
  for (auto it = begin; it != end; ++it) {
    const Service& service = it->second;
    const bool shows =
        std::ranges::any_of(claim.addresses, [&](const Reported& r) { return service.shows(r.address); });
    out += (out.empty() ? "" : ", ") + service.name;
    if (shows) continue;
    const auto warning = warnings.find(service.uid);
    const std::string why = warning == warnings.end() ? "" : warning->second.substr(0, warning->second.find(':'));
    out += why.empty() ? " (waits)" : fmt::format(" (waits: {})", harmless(why));
  }
  return out;
}

// Services wait for what they name, be it never there: a slip of the pen, or a claim of another namespace.
void tell_of_nobodys(const Session& session, const std::vector<Claim>& claims, const ServicesByClaim& services) {
  for (const auto& [named, service] : services) {
    const auto is_it = [&](const Claim& claim) { return claim.ns == named.first && claim.name == named.second; };
    if (std::ranges::any_of(claims, is_it)) continue;
    session.err << fmt::format("Service {}/{} waits for claim {}, and there is none in its namespace.\n", service.ns,
                               service.name, harmless(named.second));
  }
}

void describe_claim(const Session& session, const Claim& claim, const ServicesByClaim& services) {
  const std::string attached = attachment(claim, services, service_warnings(session, claim.ns));
  session.out << fmt::format("Claim:      {}/{}, {}\n", claim.ns, claim.name, claim.phase);
  session.out << fmt::format("Class:      {}\n", claim.class_name);
  session.out << fmt::format("Service:    {}\n", attached.empty() ? "none: reserved, and shown by nobody" : attached);
}

// Without the right to read addresses: what the claims that may be read say.
int who_by_claims(const Session& session, const base::IpAddress& wanted, const kube::ApiError& refusal) {
  const std::string place = session.all_namespaces ? std::string() : session.ns;
  const auto claims = session.list(claim_kind, place);
  if (!claims) return session.fail(session.all_namespaces ? claims.error() : refusal);
  bool known = false;
  const auto services = services_by_claim(session, place, known);
  for (const json::object& item : *claims) {
    const Claim claim = claim_of(item);
    for (const Reported& reported : claim.addresses) {
      const auto address = base::IpAddress::parse(reported.address);
      if (!address || *address != wanted) continue;
      session.out << fmt::format("Address:    {}\n", reported.address);
      describe_claim(session, claim, services);
      return k_done;
    }
  }
  return session.fail(fmt::format("no claim {} has {}. You may not read IPAddresses, so more cannot be told",
                                  place.empty() ? "that you may read" : "of namespace " + place, wanted.to_string()));
}

// The class that would hand the address out, "" if none is known.
std::string class_around(const Session& session, const base::IpAddress& wanted) {
  const auto items = session.list(class_kind, {});
  if (!items) return {};
  for (const json::object& item : *items) {
    const auto* ranges = array_at(item, {"status", "ranges"});
    if (ranges == nullptr) continue;
    for (const json::value& range : *ranges) {
      const auto prefix = base::IpPrefix::parse(to_plain(range), true);
      if (prefix && prefix->range().contains(wanted)) return std::string(text_at(item, {"metadata", "name"}));
    }
  }
  return {};
}

// "tenant-a/web", the Service that shows the address; "" where there is none, nullopt where they may not be listed.
std::optional<std::string> user_of(const Session& session, const base::IpAddress& wanted) {
  const auto items = session.list(service_kind, {});
  if (!items) return std::nullopt;
  for (const json::object& item : *items) {
    const Service service = service_of(item);
    const bool shows = std::ranges::any_of(
        service.ingress, [&](const std::string& text) { return base::IpAddress::parse(text) == wanted; });
    if (shows) return fmt::format("{}/{}", service.ns, service.name);
  }
  return "";
}

void describe_address(const Session& session, const Address& address) {
  const auto line = [&](std::string_view label, std::string_view value) {
    session.out << fmt::format("{:<11} {}\n", label, harmless(value));
  };
  line("Address:", address.text);
  line("Object:", fmt::format("{}, {} old", address.name, age_of(address.created, session.server.wall())));
  line("Class:", address.class_name);
  line("Phase:", address.phase + (address.deleting ? ", being deleted" : ""));
  line("Policy:",
       address.policy == "Delete" ? "Delete: it goes when its claim goes" : "Retain: it is kept when its claim goes");
  line("Claim:", address.claim.empty() ? "none" : fmt::format("{}/{}", address.claim_ns, address.claim));
  line(address.attached_kind.empty() ? "Service:" : address.attached_kind + ":",
       address.attached.empty() ? "none: reserved, and shown by nobody"
                                : fmt::format("{}/{}", address.attached_ns, address.attached));
  if (!address.reason.empty()) line("Trouble:", fmt::format("{}: {}", address.reason, address.message));
}

std::string count_at(const json::object& object, std::string_view family, std::string_view what) {
  const json::value* value = find(object, {"status", "capacity", family, what});
  if (value == nullptr) return {};
  const json::value* saturated = find(object, {"status", "capacity", family, "saturated"});
  return (saturated != nullptr && *saturated == json::value(true) ? "over " : "") + to_plain(*value);
}

// "203.0.113.1-203.0.113.6, 2001:db8::-2001:db8::3 and 2 more".
std::string ranges_of(const json::object& object) {
  base::IpRangeSet set;
  if (const auto* networks = array_at(object, {"status", "ranges"})) {
    for (const json::value& network : *networks) {
      if (const auto prefix = base::IpPrefix::parse(to_plain(network), true)) set.add(prefix->range());
    }
  }
  constexpr std::size_t most = 3;
  std::string out;
  for (std::size_t i = 0; i < set.ranges().size() && i < most; ++i) {
    const base::IpRange& range = set.ranges()[i];
    out += (i == 0 ? "" : ", ") + range.first.to_string();
    if (range.first != range.last) out += "-" + range.last.to_string();
  }
  if (set.ranges().size() > most) out += fmt::format(" and {} more", set.ranges().size() - most);
  return out;
}

std::string state_of(const json::object& object) {
  const auto* conditions = array_at(object, {"status", "conditions"});
  if (conditions == nullptr || conditions->empty()) return "not served yet";
  for (const json::value& value : *conditions) {
    const auto* condition = value.if_object();
    if (condition != nullptr && text_at(*condition, {"status"}) == "False")
      return std::string(text_at(*condition, {"reason"}));
  }
  return "Ready";
}

}  // namespace

int list(const Session& session) {
  const std::string place = session.all_namespaces ? std::string() : session.ns;
  const auto items = session.list(claim_kind, place);
  if (!items) return session.fail(items.error());
  bool known = false;
  const auto services = services_by_claim(session, place, known);
  std::vector<Claim> claims;
  for (const json::object& item : *items) claims.push_back(claim_of(item));
  if (claims.empty()) {
    session.err << (place.empty() ? "No claims found\n" : fmt::format("No claims found in {} namespace.\n", place));
    tell_of_nobodys(session, claims, services);
    return k_done;
  }
  const Warnings warnings = service_warnings(session, place);
  const bool reasons = std::ranges::any_of(claims, [](const Claim& claim) { return !claim.reason.empty(); });
  Table::Row header{"CLAIM", "PHASE", "CLASS", "ADDRESS", "SERVICE", "AGE"};
  if (reasons) header.emplace_back("REASON");
  if (place.empty()) header.insert(header.begin(), "NAMESPACE");
  Table table(header);
  for (const Claim& claim : claims) {
    Table::Row row{claim.name,
                   claim.deleting ? "Deleting" : claim.phase,
                   claim.class_name.empty() ? claim.wanted_class : claim.class_name,
                   claim.texts(),
                   known ? attachment(claim, services, warnings) : "?",
                   age_of(claim.created, session.server.wall())};
    if (reasons) row.push_back(claim.reason);
    if (place.empty()) row.insert(row.begin(), claim.ns);
    table.add(std::move(row));
  }
  table.print(session.out);
  tell_of_nobodys(session, claims, services);
  if (!known) session.err << "You may not list Services, so it cannot be told which claims are attached.\n";
  return k_done;
}

int who(const Session& session, const std::string& text) {
  const auto wanted = base::IpAddress::parse(text);
  if (!wanted) {
    return session.fail(fmt::format("\"{}\" is no IP address such as 203.0.113.7 or 2001:db8::7", text), k_usage);
  }
  const auto address = address_for(session, *wanted);
  if (!address) {
    return address.error().is_forbidden() ? who_by_claims(session, *wanted, address.error())
                                          : session.fail(address.error());
  }
  if (*address) {
    describe_address(session, **address);
    return k_done;
  }
  const auto user = user_of(session, *wanted);
  if (user && !user->empty()) {
    return session.fail(
        fmt::format("{} belongs to nobody: there is no IPAddress for it. Service {} shows it, so no claim gets it "
                    "until that is over",
                    wanted->to_string(), *user));
  }
  const std::string source = class_around(session, *wanted);
  return session.fail(
      fmt::format("{} belongs to nobody: there is no IPAddress for it{}{}", wanted->to_string(),
                  source.empty() ? ", and no class that covers it" : "; a claim of class " + source + " may get it",
                  user ? "" : ". You may not list all Services, so it cannot be told whether one shows it"));
}

int classes(const Session& session) {
  const auto items = session.list(class_kind, {});
  if (!items) return session.fail(items.error());
  if (items->empty()) {
    session.err << "No classes found: an administrator makes one, see docs/metallb.md\n";
    return k_done;
  }
  Table table({"CLASS", "DEFAULT", "POLICY", "FREE IPV4", "FREE IPV6", "STATE", "RANGES"});
  for (const json::object& item : *items) {
    const bool is_default = text_at(item, {"metadata", "annotations", api::default_class_annotation}) == "true";
    table.add({std::string(text_at(item, {"metadata", "name"})), is_default ? "yes" : "",
               std::string(text_at(item, {"spec", "reclaimPolicy"})), count_at(item, "ipv4", "free"),
               count_at(item, "ipv6", "free"), state_of(item), ranges_of(item)});
  }
  table.print(session.out);
  return k_done;
}

}  // namespace client
