// Driver design §9, inventory: what is recorded, who is a candidate, and why not.
#include "metallb/inventory.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/metallb.h"
#include "api/names.h"
#include "api/restore.h"
#include "metallb/association.h"
#include "metallb/eligibility.h"
#include "metallb/indexes.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

namespace json = boost::json;

constexpr std::string_view k_pool_prefix = "iad-";
// The keys of a Service that adopting it writes and somebody else may have written before.
constexpr std::string_view k_written[] = {api::claim_annotation, api::metallb::pin, api::metallb::pool};
constexpr std::string_view k_states[] = {"Adopting", "Adopted", "Reverting"};

std::string text_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Nobody hits upon it by chance, so that no other claim takes what is reserved for it.
std::string claim_name_for(const api::Service& service) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  const std::string& uid = service.meta.uid;
  SHA256(reinterpret_cast<const unsigned char*>(uid.data()), uid.size(), digest.data());
  std::string name = service.meta.name + "-";
  for (std::size_t i = 0; i < 4; ++i) name += fmt::format("{:02x}", digest.at(i));
  return name;
}

std::string families_text(const std::vector<base::Family>& families) {
  if (families.size() == 2) return "IPv4 and IPv6";
  return families.empty() ? "no family" : std::string(base::to_string(families.front()));
}

std::string why_not_this_service(const api::Service& service, const std::vector<base::IpAddress>& ips) {
  if (!claim_name_of(service).empty()) {
    return fmt::format("it names IPAddressClaim {}, and what it has is a matter between the two",
                       claim_name_of(service));
  }
  if (service.meta.deleting) return "it is being deleted";
  std::vector<base::Family> has;
  for (const base::IpAddress& ip : ips) has.push_back(ip.family());
  if (ips.size() != service.ingress.size() || ips.size() > 2 || (has.size() == 2 && has.front() == has.back())) {
    return "its status shows something else than one address, or one of each family";
  }
  const std::vector<base::Family> wants = cluster_families(service);
  if (has == wants) return "";
  return fmt::format("it has cluster IPs of {}, and addresses of {}: set ipFamilies and ipFamilyPolicy to match",
                     families_text(wants), families_text(has));
}

std::string why_not_this_address(kube::View& view, const base::IpAddress& ip, const ServedClass& cls,
                                 const std::vector<const api::IPAddress*>& own) {
  const auto is_own = [&](const api::IPAddress& address) { return std::ranges::find(own, &address) != own.end(); };
  const std::string text = ip.to_string();
  if (!ip.is_claimable()) return text + " is no address that can be claimed";
  if (!cls.parameters().ranges.contains(ip)) return text + " is not among the addresses of the class";
  bool taken = false;
  view.each<api::IPAddress>(k_address_value_index, text, [&](const api::IPAddress& address) {
    taken = !is_own(address);
    return !taken;
  });
  if (taken) return fmt::format("there is an IPAddress object for {} already", text);
  const std::string name = base::object_name(ip);
  const auto* named = view.get<api::IPAddress>(name);
  if (named != nullptr && !is_own(*named))
    return fmt::format("an IPAddress object named {} exists for another address", name);
  if (view.count<api::Service>(k_service_shown_index, text) > 1)
    return fmt::format("another Service shows {} too, and a claim serves one", text);
  return "";
}

}  // namespace

kube::Key inventory_key(std::string_view ns, std::string_view service) {
  return {std::string(k_inventory_reconciler), std::string(ns), std::string(service)};
}

std::string Adoption::text() const {
  json::object keys;
  for (const auto& [key, value] : before) keys[key] = value;
  return json::serialize(json::object{{"state", k_states[std::to_underlying(state)]},
                                      {"namespace", ns},
                                      {"service", service},
                                      {"uid", uid},
                                      {"before", std::move(keys)}});
}

Adoption adoption_for(const api::Service& service) {
  Adoption adoption{.ns = service.meta.ns, .service = service.meta.name, .uid = service.meta.uid};
  for (const std::string_view key : k_written) {
    if (const std::string* value = service.meta.annotations.find(key)) adoption.before.emplace(key, *value);
  }
  return adoption;
}

std::optional<Adoption> adoption_of(const api::IPAddress& address) {
  const std::string* text = address.meta.annotations.find(api::metallb::inventory);
  if (text == nullptr) return std::nullopt;
  boost::system::error_code error;
  const json::value value = json::parse(*text, error);
  if (error || !value.is_object()) return std::nullopt;
  const json::object& object = value.get_object();
  const auto* state = std::ranges::find(k_states, text_of(object, "state"));
  Adoption adoption{
      .ns = text_of(object, "namespace"), .service = text_of(object, "service"), .uid = text_of(object, "uid")};
  if (state == std::end(k_states) || adoption.ns.empty() || adoption.service.empty() || adoption.uid.empty())
    return std::nullopt;
  adoption.state = static_cast<Adoption::State>(state - std::begin(k_states));
  if (const auto* before = object.if_contains("before"); before != nullptr && before->is_object()) {
    for (const auto& [key, was] : before->get_object()) {
      if (was.is_string()) adoption.before.emplace(key, was.get_string());
    }
  }
  return adoption;
}

kube::IndexSpec inventory_index() {
  return {std::string(k_inventory_index), [](const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
            const auto adoption = adoption_of(static_cast<const api::IPAddress&>(object));
            if (adoption) entries.push_back({slash(adoption->ns, adoption->service), object.meta.name});
          }};
}

const api::Service* keeper_of(kube::View& view, const Options& options, const api::IPAddress& address,
                              const base::IpAddress& ip) {
  const auto adoption = adoption_of(address);
  if (!adoption || adoption->state == Adoption::State::adopted) return nullptr;
  const auto* service = view.get<api::Service>(adoption->ns, adoption->service);
  if (service == nullptr || service->meta.uid != adoption->uid || service->meta.deleting) return nullptr;
  if (!is_served_by_metallb(options, *service) || !shows(*service, ip)) return nullptr;
  if (adoption->state == Adoption::State::reverting) return service;
  // With our keys on it, it is for the association to say whether it keeps the address.
  const bool lets_go = carries_our_keys(*service) || pool_of(*service) == api::metallb::awaiting_pool;
  return lets_go ? nullptr : service;
}

bool is_given_back(const std::vector<const api::IPAddress*>& associated, const api::Service& service) {
  if (service.meta.deleting) return false;
  return std::ranges::any_of(associated, [&](const api::IPAddress* address) {
    const auto adoption = adoption_of(*address);
    return adoption && adoption->state == Adoption::State::reverting && adoption->uid == service.meta.uid &&
           !api::is_copy(address->meta);
  });
}

bool may_be_stranger(const Options& options, const api::Service& service) {
  return service.meta.ns != options.placeholder_namespace && !is_placeholder(service, options) &&
         is_served_by_metallb(options, service) && !service.ingress.empty() && !carries_our_keys(service) &&
         pool_of(service) != api::metallb::awaiting_pool &&
         service.meta.annotations.get(api::metallb::allocated_from).starts_with(k_pool_prefix);
}

std::string class_of_stranger(kube::View& view, const Options& options, const api::Service& service) {
  if (!may_be_stranger(options, service)) return "";
  const auto* pool = view.get<api::IPAddressPool>(options.metallb_namespace,
                                                  service.meta.annotations.get(api::metallb::allocated_from));
  return pool == nullptr ? "" : rendered_for(pool->meta).value_or("");
}

Survey survey(kube::View& view, const Context& context, const api::Service& service, const ServedClass& cls,
              const std::vector<const api::IPAddress*>& own) {
  Survey result{.ips = shown(service), .claim = claim_name_for(service), .why = {}};
  std::ranges::sort(result.ips);
  result.why = why_not_this_service(service, result.ips);
  for (const base::IpAddress& ip : result.ips) {
    if (result.can_be()) result.why = why_not_this_address(view, ip, cls, own);
  }
  if (!result.can_be()) return result;
  if (const auto refusal = refusal_by_service(view, context, service, cls.object->meta.name, result.ips)) {
    result.why = refusal->note;
  } else if (own.empty() && view.get<api::IPAddressClaim>(service.meta.ns, result.claim) != nullptr) {
    result.why = fmt::format("there is an IPAddressClaim {} in its namespace", result.claim);
  }
  return result;
}

std::string InventoryEntry::text() const {
  return fmt::format("{}\n{}\n{}", std::to_underlying(state), addresses, why);
}

InventoryEntry InventoryEntry::parse(std::string_view text) {
  InventoryEntry entry;
  entry.state = static_cast<State>(text.front() - '0');
  text.remove_prefix(2);
  const std::size_t end = text.find('\n');
  entry.addresses = text.substr(0, end);
  entry.why = text.substr(end + 1);
  return entry;
}

std::string inventory_bucket(std::string_view class_name) { return "inventory/" + std::string(class_name); }
std::string inventory_order(std::string_view ns, std::string_view service, std::string_view address) {
  return address.empty() ? slash(ns, service) : slash(slash(ns, service), address);
}
std::string_view service_in_order(std::string_view order) {
  return order.substr(0, order.find('/', order.find('/') + 1));
}
std::string inventory_summary_bucket(std::string_view class_name) {
  return "inventory-summary/" + std::string(class_name);
}

}  // namespace metallb
