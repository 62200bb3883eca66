#include "kube/api_error.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>

namespace kube {
namespace {

namespace od = simdjson::ondemand;

// Reads a string value into `out`; anything else leaves it as it is.
void read(simdjson::simdjson_result<od::value> value, std::string& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) out.assign(text);
}

void read(simdjson::simdjson_result<od::value> value, std::int64_t& out) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) out = number;
}

template <class Visit>
bool for_each_field(od::object object, Visit visit) {
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    visit(key, field.value());
  }
  return true;
}

void read_causes(simdjson::simdjson_result<od::value> value, std::vector<Cause>& causes) {
  od::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return;
  for (auto element : array) {
    od::object object;
    if (element.get_object().get(object) != simdjson::SUCCESS) return;
    Cause cause;
    for_each_field(object, [&](std::string_view key, auto field) {
      if (key == "reason") read(field, cause.reason);
      if (key == "field") read(field, cause.field);
      if (key == "message") read(field, cause.message);
    });
    causes.push_back(std::move(cause));
  }
}

void read_details(simdjson::simdjson_result<od::value> value, ApiError& error) {
  od::object details;
  if (value.get_object().get(details) != simdjson::SUCCESS) return;
  for_each_field(details, [&](std::string_view key, auto field) {
    if (key == "name") read(field, error.name);
    if (key == "causes") read_causes(field, error.causes);
    if (key == "retryAfterSeconds") {
      std::int64_t seconds = 0;
      read(field, seconds);
      if (seconds > 0) error.retry_after = std::chrono::seconds(std::min<std::int64_t>(seconds, 86400));
    }
  });
}

}  // namespace

std::string excerpt(std::string_view body, std::size_t bytes) {
  std::string text;
  bool space = false;
  for (const char c : body) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte) != 0 || byte < 0x20 || byte == 0x7f) {
      space = !text.empty();
      continue;
    }
    if (space) text += ' ';
    space = false;
    text += c;
    if (text.size() >= bytes) return text + "…";
  }
  return text;
}

bool decode_status(std::string_view json, ApiError& error) {
  const simdjson::padded_string padded(json);
  od::parser parser;
  od::document document;
  od::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
  if (document.get_object().get(object) != simdjson::SUCCESS) return false;
  ApiError read_error;
  std::string kind;
  std::int64_t code = 0;
  const bool whole = for_each_field(object, [&](std::string_view key, auto field) {
    if (key == "kind") read(field, kind);
    if (key == "code") read(field, code);
    if (key == "reason") read(field, read_error.reason);
    if (key == "message") read(field, read_error.message);
    if (key == "details") read_details(field, read_error);
  });
  if (!whole || kind != "Status") return false;
  if (code > 0 && code < 1000) read_error.code = static_cast<int>(code);
  error = std::move(read_error);
  return true;
}

ApiError error_of(const Response& response) {
  ApiError error;
  if (!decode_status(response.body, error)) error.message = excerpt(response.body);
  error.code = response.status;  // the header decides: proxies rewrite one but not the other
  if (response.retry_after) error.retry_after = response.retry_after;
  return error;
}

ApiError error_of(const TransportError& lost) {
  ApiError error;
  error.message = lost.message;
  error.transport = lost.kind;
  error.sent = lost.sent;
  return error;
}

std::optional<ApiError> error_of(const Answer& answer) {
  if (!answer) return error_of(answer.error());
  if (answer->status >= 200 && answer->status < 300) return std::nullopt;
  return error_of(*answer);
}

bool ApiError::is_too_large_version() const {
  const auto named = [](const Cause& cause) { return cause.reason == "ResourceVersionTooLarge"; };
  return std::ranges::any_of(causes, named) || message.find("Too large resource version") != std::string::npos;
}

std::string ApiError::to_string() const {
  if (transport) return std::string(kube::to_string(*transport)) + ": " + message;
  std::string text = std::to_string(code);
  if (!reason.empty()) text += " " + reason;
  return message.empty() ? text : text + ": " + message;
}

std::string_view to_string(TransportError::Kind kind) {
  switch (kind) {
    case TransportError::Kind::connect:
      return "connect";
    case TransportError::Kind::tls:
      return "tls";
    case TransportError::Kind::timeout:
      return "timeout";
    case TransportError::Kind::reset:
      return "reset";
    case TransportError::Kind::cancelled:
      return "cancelled";
    case TransportError::Kind::credentials:
      return "credentials";
  }
  return "unknown";
}

}  // namespace kube
