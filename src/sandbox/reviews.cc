// Questions about rights and identity: `kubectl auth can-i`, `kubectl auth whoami`.
#include <boost/json/array.hpp>

#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

Access access_of(const json::object& spec, std::string_view user) {
  Access access{.user = std::string(user)};
  if (const json::object* attributes = object_at(spec, {"resourceAttributes"})) {
    access.verb = text_at(*attributes, {"verb"});
    access.group = text_at(*attributes, {"group"});
    access.resource = text_at(*attributes, {"resource"});
    if (const std::string_view sub = text_at(*attributes, {"subresource"}); !sub.empty())
      access.resource += "/" + std::string(sub);
    access.ns = text_at(*attributes, {"namespace"});
    access.name = text_at(*attributes, {"name"});
  } else {
    access.verb = text_at(spec, {"nonResourceAttributes", "verb"});
  }
  return access;
}

json::array texts(std::initializer_list<std::string_view> list) {
  json::array array;
  for (const std::string_view text : list) array.emplace_back(text);
  return array;
}

}  // namespace

Outcome<kube::Response> ApiServer::Impl::review(Target& target, const kube::Request& request) const {
  auto object = decode_body(request, target);
  if (!object) return std::unexpected(object.error());
  if (auto checked = check_document(target, *object, false); !checked) return std::unexpected(checked.error());
  const std::string_view kind = target.kind->name;
  json::object spec = object_at(*object, {"spec"}) == nullptr ? json::object() : *object_at(*object, {"spec"});
  json::object status;
  if (kind == "SelfSubjectReview") {
    json::array groups = texts({"system:masters", "system:authenticated"});
    if (!target.groups.empty()) groups.clear();
    for (const std::string& group : target.groups) groups.emplace_back(group);
    status["userInfo"] = json::object{{"username", target.user}, {"groups", std::move(groups)}};
  } else if (kind == "SelfSubjectRulesReview") {
    // rights are a function, not rules that could be listed: what is asked is whether everything is allowed
    const bool everything = authorizer == nullptr || authorizer({target.user, "*", "*", "*"});
    json::array all{json::object{{"verbs", texts({"*"})}, {"apiGroups", texts({"*"})}, {"resources", texts({"*"})}}};
    json::array paths{json::object{{"verbs", texts({"*"})}, {"nonResourceURLs", texts({"*"})}}};
    status = {{"resourceRules", std::move(all)}, {"nonResourceRules", std::move(paths)}, {"incomplete", !everything}};
    if (!everything) status["evaluationError"] = "rights are asked for one by one here, and cannot be listed";
  } else {
    const bool resource = spec.contains("resourceAttributes");
    if (resource == spec.contains("nonResourceAttributes")) {
      return refuse(
          invalid({target.kind->group, "", ""},
                  {field_invalid("spec.resourceAttributes", "null",
                                 "exactly one of nonResourceAttributes or resourceAttributes must be specified")}));
    }
    const bool self = kind == "SelfSubjectAccessReview";
    const Access access = access_of(spec, self ? std::string_view(target.user) : text_at(spec, {"user"}));
    status["allowed"] = authorizer == nullptr || authorizer(access);
  }
  json::object& metadata = make_object(*object, {"metadata"});
  if (kind == "SelfSubjectReview") {
    metadata["creationTimestamp"] = now();
  } else {
    (*object)["spec"] = std::move(spec);
  }
  (*object)["status"] = std::move(status);
  return answer(201, target, *object);
}

}  // namespace sandbox
