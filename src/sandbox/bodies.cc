// Bodies of requests: from JSON, YAML or protobuf to a document of its kind.
#include "sandbox/bodies.h"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/metadata.h"
#include "sandbox/protobuf.h"
#include "sandbox/server_impl.h"
#include "sandbox/size_limit.h"
#include "sandbox/yaml.h"

namespace sandbox {
namespace {

// A body as error messages quote it: what does not look like JSON in hexadecimal.
std::string excerpt(std::string_view body) {
  constexpr std::size_t most = 30;
  if (body.empty()) return "<empty>";
  const std::string_view part = body.substr(0, most);
  std::string text;
  if (body.front() == '{') {
    text = part;
  } else {
    for (const char c : part) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return body.size() <= most ? text : text + " ...";
}

}  // namespace

std::string_view media_type(std::string_view content_type) { return content_type.substr(0, content_type.find(';')); }

Failure wrong_type_in_patch(const json::object& document, std::string_view what) {
  return invalid({}, {field_invalid("patch", quote(to_text(document)), what)});
}

std::string unknown_conversion(const Kind& kind, std::string_view stated) {
  return fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", kind.version, stated,
                     kind.group.empty() ? "core" : kind.group, kind.name);
}

Outcome<json::object> ApiServer::Impl::decode_body(const kube::Request& request, const Target& target) const {
  const Kind& kind = *target.kind;
  const std::string_view type = media_type(request.content_type);
  if (type == protobuf_type && !kind.custom) return decode_protobuf(request, target);
  if (!type.empty() && type != json_type && type != yaml_type) {
    return refuse(
        unsupported_media_type(fmt::format("the body of the request was in an unknown format - accepted media types "
                                           "include: application/json, application/yaml{}",
                                           kind.custom ? "" : ", application/vnd.kubernetes.protobuf")));
  }
  const auto unrecognized = [&](std::string_view why) {
    return refuse(
        bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {}", kind.name, why)));
  };
  json::value body;
  if (type == yaml_type) {
    auto documents = parse_yaml(request.body);
    if (!documents) {
      return unrecognized(fmt::format("yaml: {} ({})", documents.error().message, excerpt(request.body)));
    }
    if (!documents->empty()) body = std::move(documents->front());
  } else {
    auto parsed = parse_json(request.body);
    if (!parsed)
      return unrecognized(fmt::format("couldn't get version/kind; json parse error: {} ({})", parsed.error().message,
                                      excerpt(request.body)));
    body = std::move(*parsed);
  }
  json::object* object = body.if_object();
  if (object == nullptr) return unrecognized("the document is not an object");
  if (is_too_large(*object)) return refuse(too_large());
  const std::string_view stated_kind = text_at(*object, {"kind"});
  const std::string_view stated_version = text_at(*object, {"apiVersion"});
  if (kind.custom && stated_kind.empty()) {
    return unrecognized(fmt::format("Object 'Kind' is missing in '{}' ({})", request.body, excerpt(request.body)));
  }
  if (!stated_version.empty() && stated_version != kind.api_version()) {
    return refuse(
        bad_request(fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                                stated_version, kind.api_version())));
  }
  if (!kind.custom && !stated_kind.empty() && stated_kind != kind.name) {
    return refuse(bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", stated_kind,
                                          kind.version, kind.name, unknown_conversion(kind, stated_kind))));
  }
  if (stated_kind.empty()) (*object)["kind"] = kind.name;
  if (stated_version.empty()) (*object)["apiVersion"] = kind.api_version();
  return std::move(*object);
}

Outcome<json::object> ApiServer::Impl::decode_protobuf(const kube::Request& request, const Target& target) const {
  const Kind& kind = *target.kind;
  const auto unrecognized = [&](std::string_view why) {
    return refuse(
        bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {}", kind.name, why)));
  };
  const auto body = open_envelope(request.body);
  if (!body) return unrecognized(body.error().message);
  if (body->kind != kind.name || body->api_version != kind.api_version()) {
    return refuse(bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", body->kind,
                                          kind.version, kind.name, unknown_conversion(kind, body->kind))));
  }
  auto message = read_message(body->raw, *kind.openapi);
  if (!message) return unrecognized(message.error().message);
  json::object object{{"kind", kind.name}, {"apiVersion", kind.api_version()}};
  for (json::key_value_pair& member : *message) object[member.key()] = std::move(member.value());
  return object;
}

// Pruning, types of built-in fields, defaults. What was dropped becomes a warning, or a refusal if the client is
// strict.
Outcome<void> ApiServer::Impl::check_document(Target& target, json::object& object, bool patched) const {
  const Kind& kind = target.kind->stored_as();
  std::vector<std::string> unknown;
  std::string wrong = normalise_metadata(object, &unknown);
  const auto first_field = static_cast<std::ptrdiff_t>(unknown.size());
  if (kind.schema != nullptr) {
    // type and metadata are every schema's own
    json::object document;
    for (const std::string_view own : {"apiVersion", "kind", "metadata"}) {
      document[own] = std::move(object[own]);
      object.erase(own);
    }
    json::value whole(std::move(object));
    kind.schema->prune(whole, &unknown);
    if (!kind.custom) kind.schema->drop_empty(whole);
    kind.schema->apply_defaults(whole);
    for (json::key_value_pair& member : whole.get_object()) document[member.key()] = std::move(member.value());
    object = std::move(document);
    if (!kind.custom && wrong.empty()) wrong = kind.schema->wrong_type(object, kind.name);
  }
  if (!wrong.empty()) {
    if (patched) return refuse(wrong_type_in_patch(object, wrong));
    return refuse(bad_request(
        fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", kind.name, kind.version, wrong)));
  }
  if (is_too_large(object)) return refuse(too_large());
  const std::string_view validation = target.info.param("fieldValidation");
  if ((unknown.empty() && target.duplicates.empty()) || validation == "Ignore") return {};
  if (kind.custom) std::sort(unknown.begin() + first_field, unknown.end());
  for (std::string& field : unknown) field = fmt::format("unknown field \"{}\"", field);
  std::vector<std::string> repeated;
  for (const std::string& field : target.duplicates) repeated.push_back(fmt::format("duplicate field \"{}\"", field));
  unknown.insert(unknown.begin(), repeated.begin(), repeated.end());
  if (validation == "Strict") {
    if (patched)
      return refuse(wrong_type_in_patch(object, fmt::format("strict decoding error: {}", fmt::join(unknown, ", "))));
    return refuse(
        bad_request(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: strict decoding error: {2}",
                                kind.name, kind.version, fmt::join(unknown, ", "))));
  }
  target.warnings = std::move(unknown);
  return {};
}

}  // namespace sandbox
