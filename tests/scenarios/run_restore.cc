// What backup tools do: objects are saved, and made again with other uids.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {
namespace {

// What people call the parts of a backup, by kind and, for Services, by where they are.
std::string part_of(const Target& target, std::string_view placeholders) {
  const std::string_view kind = target.resource->kind;
  if (kind == "IPAddressClass") return "classes";
  if (kind == "IPAddress") return "addresses";
  if (kind == "IPAddressClaim") return "claims";
  if (kind == "Service") return target.ns == placeholders ? "placeholders" : "services";
  return "pools";
}

// As such tools write it: nothing that only the server can know.
json::object as_saved(const json::object& object, bool keeps_owners) {
  json::object saved = object;
  json::object& metadata = saved.at("metadata").as_object();
  for (const char* key : {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"})
    metadata.erase(key);
  if (!keeps_owners) metadata.erase("ownerReferences");
  if (saved.at("kind") != "Service") return saved;
  json::object& spec = saved.at("spec").as_object();
  for (const char* key : {"clusterIP", "clusterIPs", "healthCheckNodePort"}) spec.erase(key);
  for (auto& port : spec.at("ports").as_array()) port.as_object().erase("nodePort");
  return saved;
}

}  // namespace

std::vector<std::pair<Target, json::object>> Run::saved_kinds() {
  std::vector<std::pair<Target, json::object>> found;
  const std::string own(bindings_["namespace"].as_string());
  const std::vector<std::pair<std::string_view, std::string>> places{
      {"IPAddressClass", ""},
      {"IPAddress", ""},
      {"IPAddressClaim", own},
      {"Service", own},
      {"Service", options_.placeholder_namespace},
      {"IPAddressPool", options_.metallb_namespace},
      {"L2Advertisement", options_.metallb_namespace},
  };
  for (const auto& [kind, ns] : places) {
    const Target all{check(resource_of(kind, {})), ns, ""};
    const Outcome listed = client_.list(all);
    if (!listed.accepted()) fail(fmt::format("{}: {}", all.to_string(), listed.message()));
    for (const auto& item : listed.body.at("items").as_array()) {
      json::object object = item.as_object();
      object["apiVersion"] = all.resource->api_version();
      object["kind"] = kind;
      Target one = all;
      one.name = std::string(object.at("metadata").at("name").as_string());
      found.emplace_back(std::move(one), std::move(object));
    }
  }
  return found;
}

void Run::backup(const json::object&) { backup_ = saved_kinds(); }

// What was saved is gone, as in another cluster: finalizers and all. The controllers do not run.
void Run::wipe(const json::object& argument) {
  for (const auto& [target, object] : saved_kinds()) {
    client_.remove(target);
    client_.merge_patch(target, json::value{{"metadata", {{"finalizers", nullptr}}}});
  }
  until(argument, [&] {
    const auto left = saved_kinds();
    return left.empty() ? std::string() : left.front().first.to_string() + " is still there";
  });
}

// {of: [claims, addresses, …]} one after the other; {status: true} with their status; {owners: true} with their owners;
// {without: [names]}; {pause: 200ms} between the parts.
void Run::restore(const json::object& argument) {
  const auto is_set = [&](std::string_view key) {
    const auto* value = argument.if_contains(key);
    return value != nullptr && value->as_bool();
  };
  std::vector<std::string> without;
  if (const auto* names = argument.if_contains("without")) {
    const json::value list = check(substitute(*names, bindings_));
    for (const auto& name : list.as_array()) without.emplace_back(name.as_string());
  }
  const auto* pause = argument.if_contains("pause");
  const json::value parts = check(substitute(argument.at("of"), bindings_));
  for (const auto& part : parts.as_array()) {
    std::size_t made = 0;
    for (const auto& [target, object] : backup_) {
      if (part_of(target, options_.placeholder_namespace) != part.as_string()) continue;
      ++made;
      if (std::ranges::find(without, target.name) != without.end()) continue;
      const Outcome outcome = client_.create(target, as_saved(object, is_set("owners")));
      // The controllers may have been quicker with what is derived.
      const bool derived = target.ns == options_.placeholder_namespace || target.ns == options_.metallb_namespace;
      if (outcome.status == 409 && derived) continue;
      if (!outcome.accepted()) fail(fmt::format("{}: {}", target.to_string(), outcome.message()));
      if (is_set("status") && object.contains("status")) {
        const Outcome said = client_.merge_patch(target, json::value{{"status", object.at("status")}}, "status");
        if (derived && said.not_found()) continue;  // not needed beside what is there
        if (!said.accepted()) fail(fmt::format("{}: {}", target.to_string(), said.message()));
      }
    }
    if (made == 0) fail(fmt::format("the backup has no {}", std::string_view(part.as_string())));
    if (pause != nullptr) sleep({{"duration", *pause}});
  }
}

}  // namespace scenarios
