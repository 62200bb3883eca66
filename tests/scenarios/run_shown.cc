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

// An API server tells the changes since its start only.
bool is_expired(const std::vector<json::value>& events) {
  return events.size() == 1 && text_at(events.front(), "/type") == "ERROR" &&
         text_at(events.front(), "/object/reason") == "Expired";
}

}  // namespace

// All Services as they were at that version, or as they are.
json::value Run::services_at(const std::string& version) {
  kube::Request request;
  request.path = k_services;
  if (!version.empty()) request.query = {{"resourceVersion", version}, {"resourceVersionMatch", "Exact"}};
  const auto answer = backend_.send("admin", request);
  if (!answer || answer->status != 200)
    fail(fmt::format("the Services cannot be listed: {}", answer ? answer->body : answer.error().message));
  return json::parse(answer->body);
}

void Run::look_at(Shown& shown, const json::value& list) {
  shown.version = text_at(list, "/metadata/resourceVersion");
  shown.by.clear();
  for (const json::value& service : list.at("items").as_array()) {
    if (scenarios::shows(service, shown.ip)) shown.by.insert(name_of(service));
  }
}

void Run::shown(const json::object& argument) {
  Shown shown;
  shown.ip = check(substitute(argument.at("address"), bindings_)).as_string();
  if (const auto* never = argument.if_contains("never")) {
    shown.never = std::string(check(substitute(*never, bindings_)).as_string()) + "/";
  }
  look_at(shown, services_at({}));
  if (shown.by.empty()) fail("nobody shows " + shown.ip + " to begin with");
  shown.looked = backend_.now();
  shown_.push_back(std::move(shown));
}

void Run::judge(const Shown& shown, const std::string& after) {
  for (const std::string& name : shown.by) {
    if (!shown.never.empty() && name.starts_with(shown.never))
      fail(fmt::format("{} has {} at version {}", name, shown.ip, shown.version));
  }
  if (shown.by.empty()) fail(fmt::format("nobody shows {} at version {}, after {}", shown.ip, shown.version, after));
}

// The API server was killed: its successor still has every version, but does not tell what changed from one to the
// next.
void Run::go_through_versions(Shown& shown) {
  const json::value now = services_at({});
  const auto last = std::stoull(text_at(now, "/metadata/resourceVersion"));
  for (auto version = std::stoull(shown.version) + 1; version <= last; ++version) {
    look_at(shown, services_at(std::to_string(version)));
    judge(shown, "a restart of the API server");
    ++shown.versions;
  }
}

void Run::review_shown(bool at_once) {
  if (!is_served()) return;
  for (Shown& shown : shown_) {
    if (!at_once && backend_.now() - shown.looked < k_review) continue;
    shown.looked = backend_.now();
    const auto events = check(backend_.changes(std::string(k_services), shown.version));
    if (is_expired(events)) {
      go_through_versions(shown);
      continue;
    }
    for (const json::value& event : events) {
      const std::string type = text_at(event, "/type");
      const json::value& service = event.at("object");
      if (type == "ERROR") fail("the versions cannot be gone through: " + json::serialize(service));
      shown.version = text_at(service, "/metadata/resourceVersion");
      if (type == "BOOKMARK") continue;
      const std::string name = name_of(service);
      if (type != "DELETED" && scenarios::shows(service, shown.ip)) {
        shown.by.insert(name);
      } else {
        shown.by.erase(name);
      }
      ++shown.versions;
      judge(shown, name);
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
