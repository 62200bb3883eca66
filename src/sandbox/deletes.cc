#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/builtin/fields.h"
#include "sandbox/metadata.h"
#include "sandbox/protobuf.h"
#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

constexpr auto immortal = std::to_array<std::string_view>({"default", "kube-node-lease", "kube-public", "kube-system"});

void set_member(std::vector<std::string>& list, const std::string& item, bool wanted) {
  std::erase(list, item);
  if (wanted) list.push_back(item);
}

base::Result<json::value> delete_body(const kube::Request& request) {
  if (!request.content_type.starts_with(protobuf_type)) return parse_json(request.body);
  const auto body = open_envelope(request.body);
  if (!body) return std::unexpected(body.error());
  auto options = read_message(body->raw, builtin_fields("DeleteOptions")->openapi);
  if (!options) return std::unexpected(options.error());
  return json::value(std::move(*options));
}

// A member of the wrong type must not be passed over: a precondition that is not understood would not be kept.
std::optional<std::string> type_error(const json::object& options) {
  struct Member {
    std::vector<std::string_view> path;
    json::kind kind;
    std::string_view field;  // as the server names it
    std::string_view type;
  };
  static const std::vector<Member> members = {
      {{"gracePeriodSeconds"}, json::kind::int64, "DeleteOptions.gracePeriodSeconds", "int64"},
      {{"preconditions"}, json::kind::object, "DeleteOptions.preconditions", "v1.Preconditions"},
      {{"preconditions", "uid"}, json::kind::string, "Preconditions.preconditions.uid", "types.UID"},
      {{"preconditions", "resourceVersion"},
       json::kind::string,
       "Preconditions.preconditions.resourceVersion",
       "string"},
      {{"orphanDependents"}, json::kind::bool_, "DeleteOptions.orphanDependents", "bool"},
      {{"propagationPolicy"}, json::kind::string, "DeleteOptions.propagationPolicy", "v1.DeletionPropagation"},
      {{"dryRun"}, json::kind::array, "DeleteOptions.dryRun", "[]string"}};
  for (const Member& member : members) {
    const json::object* parent = &options;
    if (member.path.size() > 1) parent = object_at(options, {member.path.front()});
    const json::value* value = parent == nullptr ? nullptr : parent->if_contains(member.path.back());
    if (value == nullptr || value->is_null() || value->kind() == member.kind) continue;
    return go_type_error(go_kind(*value), member.field, member.type);
  }
  return std::nullopt;
}

}  // namespace

Outcome<ApiServer::Impl::DeleteOptions> ApiServer::Impl::delete_options(const Target& target,
                                                                        const kube::Request& request) const {
  DeleteOptions options;
  options.propagation = target.info.param("propagationPolicy");
  if (!request.body.empty()) {
    const auto body = delete_body(request);
    if (!body || !body->is_object()) {
      return refuse(bad_request("the object provided is unrecognized (must be of type DeleteOptions)"));
    }
    const json::object& object = body->get_object();
    if (const auto error = type_error(object)) return refuse(bad_request(*error));
    if (const json::array* stages = array_at(object, {"dryRun"}); stages != nullptr && !stages->empty()) {
      if (stages->size() != 1 || (*stages)[0] != "All") {
        return refuse(invalid({"meta.k8s.io", "DeleteOptions", ""},
                              {field_not_supported("dryRun", to_text(*stages), {"\"All\""})}));
      }
      options.dry_run = true;
    }
    options.uid = text_at(object, {"preconditions", "uid"});
    options.resource_version = text_at(object, {"preconditions", "resourceVersion"});
    if (const std::string_view policy = text_at(object, {"propagationPolicy"}); !policy.empty())
      options.propagation = policy;
  }
  static constexpr auto policies = std::to_array<std::string_view>({"", "Foreground", "Background", "Orphan"});
  if (std::ranges::find(policies, options.propagation) == policies.end()) {
    return refuse(invalid({"meta.k8s.io", "DeleteOptions", ""},
                          {field_not_supported("propagationPolicy", quote(options.propagation),
                                               {"\"Foreground\"", "\"Background\"", "\"Orphan\"", "\"nil\""})}));
  }
  return options;
}

Outcome<std::pair<json::object, bool>> ApiServer::Impl::remove_one(const Target& target, const DeleteOptions& options) {
  const Kind& kind = target.kind->stored_as();
  const std::string& name = target.info.name;
  const std::string key = target.key();
  if (&kind == namespaces && std::ranges::find(immortal, name) != immortal.end()) {
    return refuse(forbidden(kind.subject(name), "this namespace may not be deleted"));
  }
  const VersionPtr current = storage.get(kind, key);
  if (current == nullptr) return refuse(not_found(target.kind->subject(name)));
  const Document document = current->document();
  const std::string_view uid = text_at(*document, {"metadata", "uid"});
  if (!options.uid.empty() && options.uid != uid) {
    return refuse(
        conflict(kind.kind_subject(name),
                 fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The object might "
                             "have been deleted and then recreated",
                             options.uid, uid)));
  }
  const std::string revision = std::to_string(current->revision());
  if (!options.resource_version.empty() && options.resource_version != revision) {
    return refuse(conflict(
        kind.kind_subject(name),
        fmt::format("the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record "
                    "({}). The object might have been modified",
                    options.resource_version, revision)));
  }
  if (auto admitted = admit(target, nullptr, document.get()); !admitted) return std::unexpected(admitted.error());
  std::vector<std::string> finalizers = finalizers_of(*document);
  if (!options.propagation.empty()) {
    set_member(finalizers, "orphan", options.propagation == "Orphan");
    set_member(finalizers, "foregroundDeletion", options.propagation == "Foreground");
  }
  json::object next = *document;
  set_finalizers(next, finalizers);
  if (!kind.strategy->held(next)) {
    if (target.dry_run) return std::pair{std::move(next), true};
    json::object last = storage.remove(kind, key);
    committed(kind, document.get(), nullptr);
    return std::pair{std::move(last), true};
  }
  json::object& metadata = make_object(next, {"metadata"});
  if (!metadata.contains("deletionTimestamp")) {
    metadata["deletionTimestamp"] = now();
    if (metadata.contains("generation")) metadata["generation"] = int_at(metadata, {"generation"}) + 1;
    kind.strategy->deletion_started(next);
  }
  if (target.dry_run || same(next, *document)) return std::pair{std::move(next), false};
  const VersionPtr stored = storage.put(kind, key, std::move(next));
  const Document now_stored = stored->document();
  committed(kind, document.get(), now_stored.get());
  return std::pair{*now_stored, false};
}

Outcome<kube::Response> ApiServer::Impl::remove(Target& target, const kube::Request& request) {
  const auto options = delete_options(target, request);
  if (!options) return std::unexpected(options.error());
  target.dry_run = target.dry_run || options->dry_run;
  auto removed = remove_one(target, *options);
  if (!removed) return std::unexpected(removed.error());
  const auto& [object, gone] = *removed;
  const Kind& kind = *target.kind;
  if (!gone || kind.returns_deleted) return answer(200, target, object);
  json::object details{{"name", target.info.name}};
  if (!kind.group.empty()) details["group"] = kind.group;
  details["kind"] = kind.plural;
  details["uid"] = text_at(object, {"metadata", "uid"});
  kube::Response response;
  response.status = 200;
  response.content_type = "application/json";
  response.body = to_text(json::object{{"kind", "Status"},
                                       {"apiVersion", "v1"},
                                       {"metadata", json::object()},
                                       {"status", "Success"},
                                       {"details", std::move(details)}});
  return response;
}

Outcome<kube::Response> ApiServer::Impl::remove_collection(Target& target, const kube::Request& request) {
  const auto options = delete_options(target, request);
  if (!options) return std::unexpected(options.error());
  target.dry_run = target.dry_run || options->dry_run;
  const auto selection = selection_of(target.info, *target.kind);
  if (!selection) return std::unexpected(selection.error());
  auto listed = list(target);
  if (!listed) return std::unexpected(listed.error());
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [key, version] : storage.objects(target.kind->stored_as())) {
    if (!selection->matches(*target.kind, key, *version)) continue;
    const std::size_t slash = key.find('/');
    names.emplace_back(slash == std::string::npos ? std::string() : key.substr(0, slash),
                       slash == std::string::npos ? key : key.substr(slash + 1));
  }
  for (auto& [ns, name] : names) {
    Target one = target;
    one.info.ns = std::move(ns);
    one.info.name = std::move(name);
    auto removed = remove_one(one, *options);
    if (!removed && removed.error().code != 404) return std::unexpected(removed.error());
  }
  return listed;
}

}  // namespace sandbox
