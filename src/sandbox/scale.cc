// The size of a workload as an object of its own: `kubectl scale`.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

std::string selector_text(const json::object& object) {
  std::vector<std::string> pairs;
  if (const json::object* labels = object_at(object, {"spec", "selector", "matchLabels"})) {
    for (const json::key_value_pair& label : *labels)
      pairs.push_back(fmt::format("{}={}", std::string_view(label.key()), view(label.value().get_string())));
  }
  std::ranges::sort(pairs);
  return fmt::format("{}", fmt::join(pairs, ","));
}

json::object scale_of(const json::object& object) {
  json::object metadata;
  for (const std::string_view field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const json::value* value = find(object, {"metadata", field})) metadata[field] = *value;
  }
  json::object status{{"replicas", int_at(object, {"status", "replicas"})}};
  if (const std::string selector = selector_text(object); !selector.empty()) status["selector"] = selector;
  json::object spec;
  if (const std::int64_t replicas = int_at(object, {"spec", "replicas"}); replicas != 0) spec["replicas"] = replicas;
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

kube::Response ok(const json::object& scale) {
  kube::Response response;
  response.status = 200;
  response.content_type = "application/json";
  response.body = to_text(scale);
  return response;
}

}  // namespace

Outcome<kube::Response> ApiServer::Impl::get_scale(const Target& target) const {
  const VersionPtr found = storage.get(*target.kind, target.key());
  if (found == nullptr) return refuse(not_found(target.kind->subject(target.info.name)));
  return ok(scale_of(*found->document()));
}

Outcome<kube::Response> ApiServer::Impl::set_scale(Target& target, const kube::Request& request) {
  const VersionPtr current = storage.get(*target.kind, target.key());
  if (current == nullptr) return refuse(not_found(target.kind->subject(target.info.name)));
  json::value scale(scale_of(*current->document()));
  const auto body = parse_json(request.body);
  if (!body) return refuse(bad_request("error decoding patch: " + body.error().message));
  if (target.info.verb == "update") {
    scale = *body;
  } else if (body->is_array()) {
    auto patched = json_patch(scale, body->get_array());
    if (!patched) return refuse({.code = 422, .reason = "Invalid", .message = patched.error().message});
    scale = std::move(*patched);
  } else {
    merge_patch(scale, *body);
  }
  const json::object* wanted = scale.if_object();
  if (wanted == nullptr) return refuse(bad_request("a Scale is an object"));
  const std::string_view version = text_at(*wanted, {"metadata", "resourceVersion"});
  if (!version.empty() && version != std::to_string(current->revision()))
    return refuse(modified(target.kind->subject(target.info.name)));
  const std::int64_t replicas = int_at(*wanted, {"spec", "replicas"});
  if (replicas < 0) {
    return refuse(
        invalid({"autoscaling", "Scale", target.info.name},
                {field_invalid("spec.replicas", std::to_string(replicas), "must be greater than or equal to 0")}));
  }
  json::object next = *current->document();
  make_object(next, {"spec"})["replicas"] = replicas;
  auto stored = store_next(target, std::move(next), current, Part::main, true);
  if (!stored) return std::unexpected(stored.error());
  return ok(scale_of(**stored));
}

}  // namespace sandbox
