#include "metallb/sharing.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>
#include <vector>

#include "api/metallb.h"
#include "api/names.h"
#include "metallb/association.h"
#include "metallb/endpoints.h"
#include "metallb/placeholder.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

namespace json = boost::json;

constexpr std::string_view k_key_prefix = "iad-";
constexpr std::size_t k_key_digits = 32;
// Within these bounds, several times as long as MetalLB has taken for the handoff so far: that is about how much it has
// to do before it gets to something.
constexpr base::Duration k_settle_least = std::chrono::milliseconds(500);
constexpr base::Duration k_settle_most = std::chrono::seconds(30);
constexpr int k_settle_factor = 4;

bool is_handoff_key(std::string_view text) {
  return text.size() == k_key_prefix.size() + k_key_digits && text.starts_with(k_key_prefix) &&
         text.find_first_not_of("0123456789abcdef", k_key_prefix.size()) == std::string_view::npos;
}

bool has_own_key(const api::Service& service) {
  const kube::StringMap& annotations = service.meta.annotations;
  if (annotations.contains(api::metallb::old_sharing_key)) return true;
  return annotations.contains(api::metallb::sharing_key) && handoff_key(service).empty();
}

bool uses(const api::Service& service, const api::ServicePort& port) {
  return std::ranges::find(service.ports, port) != service.ports.end();
}

// The highest TCP port that the workload does not use.
int free_port(const api::Service& workload) {
  int port = k_placeholder_port;
  while (port > 1 && uses(workload, {"TCP", port})) --port;
  return port;
}

bool collides(const api::Service& hold, const api::Service& workload) {
  return std::ranges::any_of(hold.ports, [&](const api::ServicePort& port) { return uses(workload, port); });
}

// What MetalLB compares besides the key. Without it the backend is "", whatever the policy.
const kube::StringMap* backend_of(const api::Service& service) {
  return service.externalTrafficPolicy == "Local" && !service.selector.empty() ? &service.selector : nullptr;
}

bool have_one_backend(const api::Service& a, const api::Service& b) {
  const kube::StringMap* first = backend_of(a);
  const kube::StringMap* second = backend_of(b);
  return first == nullptr || second == nullptr ? first == second : *first == *second;
}

// Fields of spec that give the hold this backend; nullptr: none.
json::object backend_patch(const api::Service& hold, const kube::StringMap* wanted) {
  json::object spec;
  if (wanted == nullptr) {
    if (hold.has_selector) spec["selector"] = nullptr;
    if (hold.externalTrafficPolicy == "Local") spec["externalTrafficPolicy"] = "Cluster";
    return spec;
  }
  json::object selector;
  for (const auto& [key, value] : *wanted) {
    const std::string* has = hold.selector.find(key);
    if (has == nullptr || *has != value) selector[key] = value;
  }
  for (const auto& [key, value] : hold.selector) {
    if (!wanted->contains(key)) selector[key] = nullptr;
  }
  if (!selector.empty()) spec["selector"] = std::move(selector);
  if (hold.externalTrafficPolicy != "Local") spec["externalTrafficPolicy"] = "Local";
  return spec;
}

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> found;
  const json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) return found;
  for (const json::value& item : list->get_array()) {
    if (item.is_string()) found.emplace_back(item.get_string());
  }
  return found;
}

bool has_items(const json::object& object, std::string_view key) {
  const json::value* list = object.if_contains(key);
  return list != nullptr && list->is_array() && !list->get_array().empty();
}

void selecting_entries(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  boost::system::error_code error;
  const json::value spec = json::parse(static_cast<const api::L2Advertisement&>(object).spec, error);
  if (error || !spec.is_object() || !has_items(spec.get_object(), "serviceSelectors")) return;
  const std::vector<std::string> pools = texts(spec.get_object(), "ipAddressPools");
  for (const std::string& pool : pools) entries.push_back({pool, object.meta.name});
  const bool any = pools.empty() || has_items(spec.get_object(), "ipAddressPoolSelectors");
  if (any) entries.push_back({"", object.meta.name});
}

}  // namespace

std::string_view sharing_forbidden(kube::View& view, const Context& context, const api::Service& service,
                                   std::string_view class_name) {
  if (!is_served_by_metallb(context.options, service)) return rule::gone;
  if (has_own_key(service)) return rule::own_key;
  if (backend_of(service) != nullptr && !is_home_without_pods(view)) return rule::pods;
  const bool selecting = view.count<api::L2Advertisement>(k_selecting_index, pool_name(class_name)) != 0 ||
                         view.count<api::L2Advertisement>(k_selecting_index, "") != 0;
  return selecting ? rule::selectors : std::string_view();
}

std::string_view handoff_key(const api::Service& service) {
  const std::string_view key = service.meta.annotations.get(api::metallb::sharing_key);
  return is_handoff_key(key) ? key : std::string_view();
}

std::string new_handoff_key(kube::View& view, std::string_view secret) {
  // What the view draws from makes it a new one and can be computed from what was drawn before; the secret cannot.
  const std::uint64_t drawn = view.entropy();
  const std::string seed = fmt::format("{}/{:016x}{:016x}", secret, drawn, view.entropy());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(seed.data()), seed.size(), digest.data());
  std::string key(k_key_prefix);
  for (std::size_t i = 0; i < k_key_digits / 2; ++i) key += fmt::format("{:02x}", digest.at(i));
  return key;
}

json::object sharing_patch(const api::Service& hold, const api::Service& workload, std::string_view key) {
  json::object patch;
  if (handoff_key(hold) != key) {
    patch["metadata"] = json::object{{"annotations", json::object{{api::metallb::sharing_key, key}}}};
  }
  json::object spec = backend_patch(hold, backend_of(workload));
  if (collides(hold, workload)) spec["ports"] = placeholder_ports(free_port(workload));
  if (!spec.empty()) patch["spec"] = std::move(spec);
  return patch;
}

void make_sharing(json::object& hold, const api::Service& workload, std::string_view key) {
  json::object spec = backend_patch({}, backend_of(workload));
  spec["ports"] = placeholder_ports(free_port(workload));
  merge_into(hold, {{"metadata", json::object{{"annotations", json::object{{api::metallb::sharing_key, key}}}}},
                    {"spec", std::move(spec)}});
}

json::object unsharing_patch(const api::Service& hold) {
  json::object patch = keyless_patch(hold);
  if (json::object spec = backend_patch(hold, nullptr); !spec.empty()) patch["spec"] = std::move(spec);
  return patch;
}

bool is_joinable(const api::Service& hold, const api::Service& workload) {
  return have_one_backend(hold, workload) && !collides(hold, workload);
}

json::object keyless_patch(const api::Service& service) {
  json::object annotations;
  for (const std::string_view key : {api::metallb::sharing_key, api::metallb::old_sharing_key}) {
    if (service.meta.annotations.contains(key)) annotations[key] = nullptr;
  }
  if (annotations.empty()) return {};
  return {{"metadata", json::object{{"annotations", std::move(annotations)}}}};
}

void merge_into(json::object& into, json::object patch) {
  for (auto& [key, value] : patch) {
    json::value& place = into[key];
    if (place.is_object() && value.is_object()) {
      merge_into(place.get_object(), std::move(value.get_object()));
    } else {
      place = std::move(value);
    }
  }
}

base::Duration until_alone_for_sure(base::Duration keyed, base::Duration alone) {
  const base::Duration needed =
      std::clamp<base::Duration>(k_settle_factor * (keyed - alone), k_settle_least, k_settle_most);
  return std::max(needed - alone, base::Duration::zero());
}

kube::IndexSpec selecting_index() { return {std::string(k_selecting_index), selecting_entries}; }

}  // namespace metallb
