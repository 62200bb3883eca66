#include "metallb/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "metallb/shortened.h"

namespace metallb {
namespace {

constexpr std::size_t k_label_limit = 63;  // of a Service's name, which is a DNS label, and of a label's value
constexpr std::string_view k_prefix = "iad-";
constexpr std::string_view k_gap_orders = "cba";  // of gaps in their bucket, by Gap

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_small(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }

bool is_service_name(std::string_view name) {
  return !name.empty() && name.size() <= k_label_limit && is_small(name.front()) &&
         (is_small(name.back()) || is_digit(name.back())) &&
         std::ranges::all_of(name, [](char c) { return is_small(c) || is_digit(c) || c == '-'; });
}

bool is_label_value(std::string_view value) {
  return value.size() <= k_label_limit &&
         (value.empty() || (is_alphanumeric(value.front()) && is_alphanumeric(value.back())));
}

// Keeps apart what cleaning makes equal: the hash is taken of the original too.
std::string cleaned(std::string_view name) {
  std::string clean(name);
  std::ranges::replace_if(
      clean, [](char c) { return !is_small(c) && !is_digit(c); }, '-');
  return shortened(clean + std::string(k_label_limit, '-') + std::string(name), k_label_limit);
}

std::string service_name(std::string name) { return is_service_name(name) ? std::move(name) : cleaned(name); }

std::string bucket(std::string_view what, std::string_view class_name, base::Family family) {
  return std::string(what) + "/" + pool_key_name(class_name, family);
}

std::string_view suffix(base::Family family) { return family == base::Family::v4 ? "-v4" : "-v6"; }

}  // namespace

std::string allocation_name(std::string_view claim_uid, base::Family family, unsigned place) {
  const std::string tail = place > 1 ? "-" + std::to_string(place) : "";
  return service_name(std::string(k_prefix) + std::string(claim_uid) + std::string(suffix(family)) + tail);
}

std::optional<AllocationName> parse_allocation_name(std::string_view name) {
  if (!name.starts_with(k_prefix)) return std::nullopt;
  const std::size_t dash = name.rfind('-');
  const std::string_view place = name.substr(dash + 1);
  if (!place.empty() && std::ranges::all_of(place, is_digit)) name = name.substr(0, dash);
  for (const base::Family family : {base::Family::v4, base::Family::v6}) {
    if (!name.ends_with(suffix(family))) continue;
    name.remove_prefix(k_prefix.size());
    if (name.size() <= suffix(family).size()) return std::nullopt;
    name.remove_suffix(suffix(family).size());
    return AllocationName{std::string(name), family};
  }
  return std::nullopt;
}

std::string hold_name(std::string_view address_name) {
  return service_name(std::string(k_prefix) + std::string(address_name));
}

// No object has a name with a slash in it.
std::string spare_hold_name(std::string_view address_name, unsigned place) {
  const std::string number = place == 1 ? "" : fmt::format("/{}", place);
  return cleaned(fmt::format("{}{}{}", k_prefix, address_name, number));
}

std::string address_label(std::string_view address_name) {
  return is_label_value(address_name) ? std::string(address_name) : shortened(address_name, k_label_limit);
}

std::string pool_key_name(std::string_view class_name, base::Family family) {
  return std::string(class_name) + "/" + std::string(base::to_string(family));
}

std::optional<PoolOfKey> parse_pool_key_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view family = name.substr(slash + 1);
  for (const base::Family known : {base::Family::v4, base::Family::v6}) {
    if (family == base::to_string(known)) return PoolOfKey{std::string(name.substr(0, slash)), known};
  }
  return std::nullopt;
}

kube::Key pool_key(std::string_view class_name, base::Family family) {
  return {std::string(k_pool_reconciler), "", pool_key_name(class_name, family)};
}
kube::Key claim_key(std::string_view ns, std::string_view name) {
  return {std::string(k_claim_reconciler), std::string(ns), std::string(name)};
}
kube::Key service_key(std::string_view ns, std::string_view name) {
  return {std::string(k_service_reconciler), std::string(ns), std::string(name)};
}
kube::Key address_key(std::string_view name) { return {std::string(k_address_reconciler), "", std::string(name)}; }

std::string wants_bucket(std::string_view class_name, base::Family family) {
  return bucket("wants", class_name, family);
}
std::string gaps_bucket(std::string_view class_name, base::Family family) { return bucket("gaps", class_name, family); }
std::string forgotten_bucket(std::string_view class_name) { return "forgotten/" + std::string(class_name); }
std::string held_out_bucket(std::string_view address) { return "held-out/" + std::string(address); }
std::string letting_go_bucket(std::string_view ns, std::string_view service) {
  return "letting-go/" + std::string(ns) + "/" + std::string(service);
}
std::string sharing_bucket(std::string_view ns, std::string_view service) {
  return "sharing/" + std::string(ns) + "/" + std::string(service);
}
std::string unholdable_bucket(std::string_view address_name) { return "unholdable/" + std::string(address_name); }
std::string opened_bucket(std::string_view class_name, base::Family family) {
  return bucket("opened", class_name, family);
}
std::string supply_bucket(std::string_view class_name, base::Family family) {
  return bucket("supply", class_name, family);
}

std::string queue_bucket(std::string_view class_name, base::Family family) {
  return bucket("queue", class_name, family);
}

kube::Fact gap_fact(std::string_view class_name, base::Family family, Gap gap) {
  return {gaps_bucket(class_name, family), std::string(k_gap_orders.substr(static_cast<std::size_t>(gap), 1)), "",
          pool_key(class_name, family)};
}

Gap gap_of(std::string_view fact_order) { return static_cast<Gap>(k_gap_orders.find(fact_order)); }

std::string age_order(const kube::Meta& meta) { return fmt::format("{:020}/{}", meta.created, meta.uid); }

}  // namespace metallb
