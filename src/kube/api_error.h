// Why a request failed, as one value: what the API server said in its Status, or that there was no answer at all.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/transport.h"

namespace kube {

// One entry of a Status' details.causes: which field, and what is wrong with it.
struct Cause {
  std::string reason;
  std::string field;
  std::string message;
  friend bool operator==(const Cause&, const Cause&) = default;
};

// A refusal by the server (code != 0), or the lack of an answer (code == 0, `transport` set). A value; copy it freely.
struct ApiError {
  int code = 0;         // HTTP status, or that of a Status inside a watch
  std::string reason;   // CamelCase: "NotFound", "Conflict", …; "" if the server gave none
  std::string message;  // the server's words, or the transport's
  std::string name;     // details.name: the object that it is about, if the server said so
  std::vector<Cause> causes;
  std::optional<base::Duration> retry_after;  // Retry-After, or details.retryAfterSeconds
  std::optional<TransportError::Kind> transport;
  bool sent = true;  // false: proof that no byte of the request reached the server

  // No answer: whether a write took effect is unknown, unless `sent` is false.
  bool is_transport() const { return transport.has_value(); }
  bool is_unauthorized() const { return code == 401; }
  bool is_forbidden() const { return code == 403; }
  // The object, or the whole kind, is not there.
  bool is_not_found() const { return code == 404; }
  // The resourceVersion or uid given is not the current one.
  bool is_conflict() const { return code == 409 && !is_already_exists(); }
  bool is_already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  // A resourceVersion or continue token that the server no longer has (reasons Expired and, of old, Gone).
  bool is_expired() const { return code == 410 || reason == "Expired" || reason == "Gone"; }
  // The server has not seen that resourceVersion yet, in either dialect: the cause of newer servers or the text of
  // older ones.
  bool is_too_large_version() const;
  bool is_invalid() const { return code == 422; }
  bool is_too_many_requests() const { return code == 429; }
  bool is_server_error() const { return code >= 500; }

  // One line for logs and conditions: "403 Forbidden: …".
  std::string to_string() const;
  friend bool operator==(const ApiError&, const ApiError&) = default;
};

template <class T>
using ApiResult = std::expected<T, ApiError>;

// Decodes a Status document; false if `json` is none. The only decoder of Status there is.
bool decode_status(std::string_view json, ApiError& error);
// Of an answer that is not a 2xx. A body that is no Status (a proxy's HTML page) gives its beginning as the message.
ApiError error_of(const Response& response);
ApiError error_of(const TransportError& error);
// The error of a failed answer; nothing for a 2xx.
std::optional<ApiError> error_of(const Answer& answer);

// The beginning of what a server sent instead of what was expected, on one line and printable.
std::string excerpt(std::string_view body, std::size_t bytes = 240);

// "connect", "tls", "timeout", … as in metric labels.
std::string_view to_string(TransportError::Kind kind);

}  // namespace kube
