// What no scenario names, and every one with several tenants is held against: none of them is told about another.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {
namespace {

constexpr std::array<std::string_view, 2> k_ours = {"address-controller", "metallb-iad"};

std::string text_at(const json::value& object, std::string_view pointer) {
  boost::system::error_code error;
  const auto* found = object.find_pointer(pointer, error);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

// What one of our controllers says to whoever reads the object: the note of its event, the messages of a claim.
std::vector<std::string> said_by_us(const json::value& object) {
  std::vector<std::string> said;
  if (std::ranges::find(k_ours, text_at(object, "/reportingController")) != k_ours.end()) {
    said.push_back(text_at(object, "/note"));
  }
  boost::system::error_code error;
  if (const auto* conditions = object.find_pointer("/status/conditions", error); conditions && conditions->is_array()) {
    for (const auto& condition : conditions->get_array()) said.push_back(text_at(condition, "/message"));
  }
  return said;
}

}  // namespace

void Run::check_disclosure() {
  std::vector<std::string> tenants{std::string(bindings_["namespace"].as_string())};
  for (const auto& name : scenario_.namespaces) tenants.emplace_back(bindings_[name].as_string());
  for (const auto& tenant : tenants) {
    for (const std::string_view kind : {"Event", "IPAddressClaim"}) {
      json::object all{{"kind", kind}};
      std::string none;
      for (const auto& object : candidates(check(target_of(all, tenant)), none)) check_silence(object, tenant, tenants);
    }
  }
}

void Run::check_silence(const json::value& object, const std::string& tenant, const std::vector<std::string>& tenants) {
  for (const auto& text : said_by_us(object)) {
    for (const auto& other : tenants) {
      if (other == tenant || text.find(other) == std::string::npos) continue;
      fail(fmt::format("{} in {} tells of {}: {}", text_at(object, "/metadata/name"), tenant, other, text));
    }
  }
}

}  // namespace scenarios
