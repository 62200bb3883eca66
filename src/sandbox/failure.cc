#include "sandbox/failure.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <set>

#include "sandbox/characters.h"
#include "sandbox/json.h"

namespace sandbox {
namespace {

Failure about(int code, std::string reason, std::string message, const Subject& subject) {
  Failure failure{.code = code, .reason = std::move(reason), .message = std::move(message)};
  failure.name = subject.name;
  failure.group = subject.group;
  failure.kind = subject.resource;
  return failure;
}

std::string named(const Subject& subject) {
  const std::string what = qualified(subject.resource, subject.group);
  return subject.name.empty() ? what : fmt::format("{} {}", what, quote(subject.name));
}

std::string with_detail(std::string_view prefix, std::string_view value, std::string_view detail) {
  std::string text(prefix);
  if (!value.empty()) text += fmt::format(": {}", value);
  if (!detail.empty()) text += fmt::format(": {}", detail);
  return text;
}

}  // namespace

std::string Failure::body() const {
  json::object status{{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::object()}, {"status", "Failure"}};
  if (!message.empty()) status["message"] = message;
  if (!reason.empty()) status["reason"] = reason;
  if (!bare) {
    json::object details;
    if (!name.empty()) details["name"] = name;
    if (!group.empty()) details["group"] = group;
    if (!kind.empty()) details["kind"] = kind;
    if (!causes.empty()) {
      json::array list;
      for (const Cause& cause : causes) {
        json::object item;
        if (!cause.reason.empty()) item["reason"] = cause.reason;
        item["message"] = cause.message;
        if (!cause.field.empty()) item["field"] = cause.field;
        list.push_back(std::move(item));
      }
      details["causes"] = std::move(list);
    }
    if (retry_after) details["retryAfterSeconds"] = *retry_after;
    status["details"] = std::move(details);
  }
  status["code"] = code;
  return to_text(status);
}

kube::Response Failure::response() const {
  kube::Response response;
  response.status = code;
  response.content_type = plain ? "text/plain; charset=utf-8" : "application/json";
  response.body = plain ? message + "\n" : body();
  if (retry_after) response.retry_after = std::chrono::seconds(*retry_after);
  return response;
}

std::string qualified(std::string_view what, std::string_view group) {
  return group.empty() ? std::string(what) : fmt::format("{}.{}", what, group);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Rune rune = first_rune(text);
    const std::string_view bytes = text.substr(0, rune.size);
    text.remove_prefix(rune.size);
    const std::size_t named = rune.valid ? std::string_view("\a\b\f\n\r\t\v\"\\").find(bytes) : std::string_view::npos;
    if (named != std::string_view::npos) {
      out += {'\\', std::string_view("abfnrtv\"\\")[named]};
    } else if (!rune.valid || rune.value < ' ' || rune.value == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
    } else if (is_printable(rune.value)) {
      out += bytes;
    } else {
      out += rune.value < 0x10000 ? fmt::format("\\u{:04x}", static_cast<std::uint32_t>(rune.value))
                                  : fmt::format("\\U{:08x}", static_cast<std::uint32_t>(rune.value));
    }
  }
  return out + '"';
}

std::string shown_value(const json::value& value) {
  return value.is_string() ? quote(view(value.get_string())) : to_text(value);
}

Failure bad_request(std::string message) {
  return {.code = 400, .reason = "BadRequest", .message = std::move(message), .bare = true};
}

Failure not_found(const Subject& subject) { return about(404, "NotFound", named(subject) + " not found", subject); }

Failure no_such_resource() {
  return {.code = 404, .reason = "NotFound", .message = "the server could not find the requested resource"};
}

Failure page_not_found() { return {.code = 404, .message = "404 page not found", .bare = true, .plain = true}; }

Failure already_exists(const Subject& subject) {
  return about(409, "AlreadyExists", named(subject) + " already exists", subject);
}

Failure conflict(const Subject& subject, std::string_view why) {
  return about(409, "Conflict", fmt::format("Operation cannot be fulfilled on {}: {}", named(subject), why), subject);
}

Failure modified(const Subject& subject) {
  return conflict(subject,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

Failure forbidden(const Subject& subject, std::string_view why) {
  return about(403, "Forbidden", fmt::format("{} is forbidden: {}", named(subject), why), subject);
}

Failure method_not_allowed() {
  return {.code = 405,
          .reason = "MethodNotAllowed",
          .message = "the server does not allow this method on the requested resource"};
}

Failure unsupported_media_type(std::string message) {
  return {.code = 415, .reason = "UnsupportedMediaType", .message = std::move(message), .bare = true};
}

bool enough(const Causes& causes) {
  constexpr std::size_t most = 100;
  constexpr std::size_t most_bytes = 1UL << 20U;
  std::size_t bytes = 0;
  for (const Cause& cause : causes) bytes += cause.message.size() + cause.field.size();
  return causes.size() >= most || bytes > most_bytes;
}

Failure invalid(const Subject& subject, Causes causes) {
  std::vector<std::string> lines;
  std::set<std::string> known;
  for (const Cause& cause : causes) {
    std::string line = cause.field + ": " + cause.message;
    if (known.insert(line).second) lines.push_back(std::move(line));
  }
  std::string text = fmt::format("{}", fmt::join(lines, ", "));
  if (lines.size() > 1) text = "[" + text + "]";
  Failure failure =
      about(422, "Invalid",
            fmt::format("{} {} is invalid: {}", qualified(subject.resource, subject.group), quote(subject.name), text),
            subject);
  failure.causes = std::move(causes);
  return failure;
}

Failure too_large_version(std::uint64_t wanted, std::uint64_t current) {
  Failure failure{.code = 504,
                  .reason = "Timeout",
                  .message = fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current)};
  failure.causes.push_back({.reason = "ResourceVersionTooLarge", .message = "Too large resource version", .field = ""});
  failure.retry_after = 1;
  return failure;
}

Failure expired(std::string message) {
  return {.code = 410, .reason = "Expired", .message = std::move(message), .bare = true};
}

Failure internal_error(std::string message) { return {.code = 500, .message = std::move(message), .bare = true}; }

std::string go_type_error(std::string_view json_type, std::string_view field, std::string_view type) {
  return fmt::format("json: cannot unmarshal {} into Go struct field {} of type {}", json_type, field, type);
}

Cause field_required(std::string field, std::string_view detail) {
  return {"FieldValueRequired", with_detail("Required value", {}, detail), std::move(field)};
}

Cause field_invalid(std::string field, std::string_view value_json, std::string_view detail) {
  return {"FieldValueInvalid", with_detail("Invalid value", value_json, detail), std::move(field)};
}

Cause field_type_invalid(std::string field, std::string_view value_json, std::string_view detail) {
  return {"FieldValueTypeInvalid", with_detail("Invalid value", value_json, detail), std::move(field)};
}

Cause field_not_supported(std::string field, std::string_view value_json,
                          const std::vector<std::string>& supported_json) {
  return {"FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", value_json, fmt::join(supported_json, ", ")),
          std::move(field)};
}

Cause field_forbidden(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", with_detail("Forbidden", {}, detail), std::move(field)};
}

Cause field_duplicate(std::string field, std::string_view value_json) {
  return {"FieldValueDuplicate", with_detail("Duplicate value", value_json, {}), std::move(field)};
}

Cause field_too_long(std::string field, std::int64_t bytes) {
  return {"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", bytes), std::move(field)};
}

Cause field_too_many(std::string field, std::int64_t actual, std::int64_t most) {
  return {"FieldValueTooMany", fmt::format("Too many: {}: must have at most {} items", actual, most), std::move(field)};
}

}  // namespace sandbox
