// Operations on objects.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {

Client Run::client_of(const json::object& argument) {
  const auto* user = argument.if_contains("as");
  return Client(backend_, user ? std::string(user->as_string()) : "admin");
}

void Run::expect(const json::object& argument, const Target& target, const Outcome& outcome) {
  const auto* refused = argument.if_contains("refused");
  if (!refused) {
    if (!outcome.accepted()) fail(fmt::format("{}: {} {}", target.to_string(), outcome.status, outcome.message()));
    return outputs(argument, outcome.body);
  }
  if (outcome.accepted()) fail(fmt::format("{}: was accepted", target.to_string()));
  if (outcome.message().find(refused->as_string()) == std::string::npos) {
    fail(fmt::format("{}: refused for another reason: {}", target.to_string(), outcome.message()));
  }
}

void Run::create(const json::object& argument) {
  json::object object = document(argument);
  const Target target = check(target_of(object, bindings_["namespace"].as_string()));
  cluster_.remember(target);
  expect(argument, target, client_of(argument).create(target, object));
}

void Run::apply(const json::object& argument) {
  json::object object = document(argument);
  const Target target = check(target_of(object, bindings_["namespace"].as_string()));
  cluster_.remember(target);
  expect(argument, target, client_of(argument).apply(target, object));
}

void Run::patch(const json::object& argument) {
  json::object object = document(argument);
  const Target target = check(target_of(object, bindings_["namespace"].as_string()));
  const auto* subresource = argument.if_contains("subresource");
  const std::string_view part = subresource ? std::string_view(subresource->as_string()) : "";
  if (argument.contains("refused") && argument.contains("timeout")) {  // by what may not count yet
    until(argument, [&]() -> std::string {
      const Outcome outcome = client_of(argument).merge_patch(target, object, part);
      return outcome.accepted() ? fmt::format("{}: was accepted", target.to_string()) : std::string();
    });
  }
  expect(argument, target, client_of(argument).merge_patch(target, object, part));
}

void Run::remove(const json::object& argument) {
  json::object object = document(argument, argument.contains("ref") ? "ref" : "resource");
  if (!object.contains("metadata")) object["metadata"] = json::object{};
  for (const auto key : {"name", "namespace"}) {  // a `ref` has them at its top
    if (object.contains(key)) object["metadata"].as_object()[key] = object[key];
  }
  const Target target = check(target_of(object, bindings_["namespace"].as_string()));
  const Outcome outcome = client_of(argument).remove(target);
  expect(argument, target, outcome);
  const auto* wait = argument.if_contains("wait");
  if (argument.contains("refused") || (wait && !wait->as_bool())) return;
  const std::string uid = uid_of(client_.get(target).body);
  until(argument, [&]() -> std::string {
    const Outcome now = client_.get(target);
    if (now.not_found() || (now.accepted() && uid_of(now.body) != uid)) return {};
    return fmt::format("{} is still there: {}", target.to_string(), json::serialize(now.body.at("metadata")));
  });
}

std::string Run::uid_of(const json::value& object) {
  boost::system::error_code ignored;
  const auto* uid = object.find_pointer("/metadata/uid", ignored);
  return uid ? std::string(uid->as_string()) : "";
}

// {of: ipaddressclaims.local.sdn.cozystack.io, is: false}: the definition says that no version is served, or that all
// are; waits until that is so.
void Run::served(const json::object& argument) {
  const std::string name(check(substitute(argument.at("of"), bindings_)).as_string());
  const bool is = argument.at("is").as_bool();
  const Target definition{check(resource_of("CustomResourceDefinition", {})), {}, name};
  Outcome outcome = client_.get(definition);
  if (!outcome.accepted()) fail(fmt::format("{}: {}", name, outcome.message()));
  json::object& spec = outcome.body.at("spec").as_object();
  for (json::value& version : spec.at("versions").as_array()) version.as_object()["served"] = is;
  kube::Request list;
  list.path = fmt::format("/apis/{}/{}/{}", std::string_view(spec.at("group").as_string()),
                          std::string_view(spec.at("versions").at(0).at("name").as_string()),
                          std::string_view(spec.at("names").at("plural").as_string()));
  outcome = client_.put(definition, outcome.body);
  if (!outcome.accepted()) fail(fmt::format("{}: {}", name, outcome.message()));
  until(argument, [&]() -> std::string {
    const auto answer = backend_.send("admin", list);
    if (answer && answer->status == (is ? 200 : 404)) return {};
    return fmt::format("{} is {} served", name, is ? "not" : "still");
  });
}

void Run::store(const json::object& argument) {
  json::object object = document(argument);
  const Target target = check(target_of(object, bindings_["namespace"].as_string()));
  cluster_.remember(target);
  check(backend_.store_unchecked(object));
}

}  // namespace scenarios
