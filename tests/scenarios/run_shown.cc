// `shown` and `meanwhile`: what must be so at every version of the cluster, and what goes on beside the steps.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {
namespace {

// How often the versions since the last look are gone through: the server remembers them for more than a minute.
constexpr auto k_review = std::chrono::seconds(20);
constexpr std::string_view k_services = "/api/v1/services";

std::string text_at(const json::value& object, std::string_view pointer) {
  boost::system::error_code error;
  const auto* value = object.find_pointer(pointer, error);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

bool shows(const json::value& service, const std::string& ip) {
  boost::system::error_code error;
  const auto* list = service.find_pointer("/status/loadBalancer/ingress", error);
  if (list == nullptr || !list->is_array()) return false;
  return std::ranges::any_of(list->get_array(), [&](const json::value& entry) { return text_at(entry, "/ip") == ip; });
}

std::string name_of(const json::value& service) {
  return text_at(service, "/metadata/namespace") + "/" + text_at(service, "/metadata/name");
}

}  // namespace

void Run::shown(const json::object& argument) {
  Shown shown;
  shown.ip = check(substitute(argument.at("address"), bindings_)).as_string();
  if (const auto* never = argument.if_contains("never")) {
    shown.never = std::string(check(substitute(*never, bindings_)).as_string()) + "/";
  }
  kube::Request request;
  request.path = k_services;
  const auto answer = backend_.send("admin", request);
  if (!answer || answer->status != 200) fail("the Services cannot be listed");
  const json::value list = json::parse(answer->body);
  shown.version = text_at(list, "/metadata/resourceVersion");
  for (const json::value& service : list.at("items").as_array()) {
    if (scenarios::shows(service, shown.ip)) shown.by.insert(name_of(service));
  }
  if (shown.by.empty()) fail("nobody shows " + shown.ip + " to begin with");
  shown.looked = backend_.now();
  shown_.push_back(std::move(shown));
}

void Run::review_shown(bool at_once) {
  for (Shown& shown : shown_) {
    if (!at_once && backend_.now() - shown.looked < k_review) continue;
    shown.looked = backend_.now();
    const std::string begin = shown.version;
    for (const json::value& event : check(backend_.changes(std::string(k_services), shown.version))) {
      const std::string type = text_at(event, "/type");
      const json::value& service = event.at("object");
      if (type == "ERROR") fail("the versions cannot be gone through: " + json::serialize(service));
      shown.version = text_at(service, "/metadata/resourceVersion");
      if (type == "BOOKMARK") continue;
      const std::string name = name_of(service);
      if (type != "DELETED" && scenarios::shows(service, shown.ip)) {
        shown.by.insert(name);
        if (!shown.never.empty() && name.starts_with(shown.never)) {
          fail(fmt::format("{} has {} at version {}", name, shown.ip, shown.version));
        }
      } else {
        shown.by.erase(name);
      }
      ++shown.versions;
      if (shown.by.empty()) fail(fmt::format("nobody shows {} at version {}, after {}", shown.ip, shown.version, name));
    }
  }
}

void Run::meanwhile(const json::object& argument) {
  const auto* operations = argument.if_contains("try");
  meanwhile_ = operations == nullptr ? json::array() : operations->as_array();
}

// Once each time that the scenario waits. What the server refuses is no failure: it is tried again.
void Run::go_on_meanwhile() {
  if (meanwhile_.empty() || std::exchange(in_meanwhile_, true)) return;
  for (const json::value& operation : json::array(meanwhile_)) {
    const auto& [verb, argument] = *operation.as_object().begin();
    try {
      run_one(std::string(verb), argument.as_object());
    } catch (const Failed&) {
    }
  }
  in_meanwhile_ = false;
}

}  // namespace scenarios
