// Server-side apply, and the managedFields of every other write.
#include <fmt/format.h>

#include "sandbox/apply/typed.h"
#include "sandbox/duplicates.h"
#include "sandbox/server_impl.h"
#include "sandbox/size_limit.h"
#include "sandbox/yaml.h"

namespace sandbox {
namespace {

// What an endpoint does not write: the main one leaves status alone, that of the status everything else.
FieldSet ignored_fields(const Target& target, const json::object& config) {
  const bool status = target.info.subresource == "status";
  json::object skipped;
  for (const json::key_value_pair& member : config) {
    const bool skip = status ? member.key() != "status" : member.key() == "status" && target.kind->status;
    if (skip) skipped.emplace(member.key(), member.value());
  }
  return fields_of(skipped, *target.kind->openapi);
}

Failure typed_failure(const Target& target, const json::object& config, const std::string& why) {
  const Kind& kind = *target.kind;
  return {.code = 500,
          .message = fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}",
                                 text_at(config, {"metadata", "namespace"}), text_at(config, {"metadata", "name"}),
                                 kind.group.empty() ? "/" + kind.version : kind.api_version(), kind.name, why),
          .bare = true};
}

// A built-in kind before anything is known of it: in the server's own form some objects are always there.
json::object blank(const Kind& kind) {
  json::value document = json::object();
  if (!kind.custom) add_embedded(document, *kind.openapi);
  return document.get_object();
}

json::object completed(const Kind& kind, json::object document) {
  if (kind.custom) return document;
  json::value whole(std::move(document));
  add_embedded(whole, *kind.openapi);
  return std::move(whole.get_object());
}

// A configuration is YAML; most send JSON, which is read ten times as fast.
base::Result<std::vector<json::value>> read_configuration(std::string_view body) {
  if (body.starts_with('{')) {
    auto parsed = parse_json(body);
    const bool refused = parsed && parsed->is_object() && is_too_large(parsed->get_object());
    if (parsed && (refused || duplicate_fields(body).empty())) {
      std::vector<json::value> documents;
      documents.push_back(std::move(*parsed));
      return documents;
    }
  }
  return parse_yaml(body);
}

}  // namespace

// The managers after a write that is no apply. `submitted` is what the client said of them itself, `sent` its version
// of a new object.
void ApiServer::Impl::track(const Target& target, json::object& next, const json::object* old,
                            const json::value& submitted, const json::object* sent) const {
  const Kind& kind = target.kind->stored_as();
  json::object& metadata = make_object(next, {"metadata"});
  metadata.erase("managedFields");
  if (!config.managed_fields) return;
  const json::value* before = old == nullptr ? nullptr : find(*old, {"metadata", "managedFields"});
  if (target.managers != nullptr) {
    // an apply: known already
    if (!target.managers->empty()) metadata["managedFields"] = *target.managers;
    return;
  }
  const json::array* reset = submitted.if_array();
  const bool emptied =
      reset != nullptr && reset->size() == 1 && (*reset)[0].is_object() && (*reset)[0].get_object().empty();
  auto managers = target.info.subresource.empty() ? read_managers(&submitted) : base::Result<Managers>(Managers());
  if (!emptied && (!managers || managers->empty())) managers = read_managers(before);
  if (!managers || emptied) managers = Managers();
  if (old != nullptr && managers->empty()) return;  // of what nobody manages nothing is kept until it is applied
  const Manager self{.name = target.manager,
                     .operation = "Update",
                     .api_version = target.kind->api_version(),
                     .subresource = target.info.subresource,
                     .time = now(),
                     .fields = {}};
  json::object stripped = next;
  if (sent != nullptr) kind.strategy->drop_chosen(stripped, *sent);
  const Managers after = updated(std::move(*managers), self, old == nullptr ? blank(kind) : completed(kind, *old),
                                 completed(kind, std::move(stripped)), *kind.openapi);
  if (!after.empty()) metadata["managedFields"] = write_managers(after);
}

// The name that a client goes by: what it says, or what its program is called.
std::string ApiServer::Impl::manager_of(const RequestInfo& info, std::string_view user_agent) {
  if (const std::string_view stated = info.param("fieldManager"); !stated.empty()) return std::string(stated);
  return std::string(user_agent.substr(0, user_agent.find('/')).substr(0, 128));
}

Outcome<kube::Response> ApiServer::Impl::apply_patch(Target& target, const kube::Request& request) {
  const Kind& kind = *target.kind;
  const std::string& name = target.info.name;
  if (target.info.param("fieldManager").empty()) {
    return refuse(
        invalid({"meta.k8s.io", "PatchOptions", ""}, {field_required("fieldManager", "is required for apply patch")}));
  }
  auto documents = read_configuration(request.body);
  if (!documents)
    return refuse(bad_request("error decoding YAML: error converting YAML to JSON: " + documents.error().message));
  if (documents->empty() || !(*documents)[0].is_object())
    return refuse(bad_request("error decoding YAML: error unmarshaling JSON: the document is not an object"));
  json::object wanted = std::move((*documents)[0].get_object());
  if (is_too_large(wanted)) return refuse(too_large());
  const std::string_view version = text_at(wanted, {"apiVersion"});
  if (text_at(wanted, {"kind"}) != kind.name || version != kind.api_version()) {
    return refuse(bad_request(fmt::format("invalid object type: {}{}, Kind={}",
                                          version.find('/') == std::string_view::npos ? "/" : "", version,
                                          text_at(wanted, {"kind"}))));
  }
  if (find(wanted, {"metadata", "managedFields"}) != nullptr)
    return refuse(bad_request("metadata.managedFields must be nil"));
  if (const std::string unknown = undeclared_field(wanted, *kind.openapi); !unknown.empty())
    return refuse(typed_failure(target, wanted, unknown + ": field not declared in schema"));
  if (text_at(wanted, {"metadata", "name"}).empty()) {
    return refuse(bad_request(
        fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided", name)));
  }
  const VersionPtr current = storage.get(kind.stored_as(), target.key());
  if (current == nullptr && !target.info.subresource.empty()) return refuse(not_found(kind.subject(name)));
  json::object live = current == nullptr ? json::object() : shown(kind, *current->document());
  auto managers = read_managers(find(live, {"metadata", "managedFields"}));
  if (!managers) managers = Managers();
  make_object(live, {"metadata"}).erase("managedFields");
  if (current != nullptr && managers->empty()) {
    const Manager before{.name = "before-first-apply",
                         .operation = "Update",
                         .api_version = kind.api_version(),
                         .subresource = {},
                         .time = now(),
                         .fields = {}};
    managers = updated({}, before, blank(kind), completed(kind, live), *kind.openapi);
  }
  const Manager self{.name = target.manager,
                     .operation = "Apply",
                     .api_version = kind.api_version(),
                     .subresource = target.info.subresource,
                     .time = now(),
                     .fields = {}};
  const FieldSet ignored = ignored_fields(target, wanted);
  auto applied = apply(live, wanted, std::move(*managers), self, target.info.flag("force"), *kind.openapi, ignored);
  if (!applied) return std::unexpected(applied.error());
  const json::array list = write_managers(std::move(applied->managers));
  target.managers = &list;
  json::object next = std::move(applied->document);
  if (kind.to_storage != nullptr) kind.to_storage(next);
  if (current == nullptr) {
    if (text_at(next, {"metadata", "name"}) != name) {
      return refuse(bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                                            text_at(next, {"metadata", "name"}), name)));
    }
    target.info.name.clear();
    auto stored = store_new(target, std::move(next));
    if (!stored) return std::unexpected(stored.error());
    return answer(201, target, **stored);
  }
  const Part part = target.info.subresource == "status" ? Part::status : Part::main;
  auto stored = store_next(target, std::move(next), current, part, true);
  if (!stored) return std::unexpected(stored.error());
  return answer(200, target, **stored);
}

}  // namespace sandbox
