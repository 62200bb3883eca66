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
  expect(
      argument, target,
      client_of(argument).merge_patch(target, object, subresource ? std::string_view(subresource->as_string()) : ""));
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
    if (now.not_found() || uid_of(now.body) != uid) return {};
    return fmt::format("{} is still there: {}", target.to_string(), json::serialize(now.body.at("metadata")));
  });
}

std::string Run::uid_of(const json::value& object) {
  boost::system::error_code ignored;
  const auto* uid = object.find_pointer("/metadata/uid", ignored);
  return uid ? std::string(uid->as_string()) : "";
}

void Run::store(const json::object& argument) {
  json::object object = document(argument);
  const Target target = check(target_of(object, bindings_["namespace"].as_string()));
  cluster_.remember(target);
  check(backend_.store_unchecked(object));
}

}  // namespace scenarios
