// What a request can be refused with: the API's Status objects as values, in the real server's words. Internal to the
// sandbox.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/transport.h"

namespace sandbox {

struct Cause {
  std::string reason;   // "FieldValueInvalid", …
  std::string message;  // without the field
  std::string field;
  friend bool operator==(const Cause&, const Cause&) = default;
};
using Causes = std::vector<Cause>;

// Whoever sends a hundred thousand mistakes is told of the first ones: to be asked in loops over what clients send.
bool enough(const Causes& causes);
// Of unknown and repeated fields as many are told as the API server's decoder tells.
inline constexpr std::size_t k_most_unknown = 100;

struct Failure {
  int code = 500;
  std::string reason = {};
  std::string message = {};
  // details; left out of the body when `bare`
  std::string name = {};
  std::string group = {};
  std::string kind = {};
  Causes causes = {};
  std::optional<int> retry_after = {};  // seconds
  bool bare = false;
  bool plain = false;  // the message is the whole body

  std::string body() const;
  kube::Response response() const;
};
template <class T>
using Outcome = std::expected<T, Failure>;
inline std::unexpected<Failure> refuse(Failure failure) { return std::unexpected(std::move(failure)); }

// "configmaps" or "ipaddresses.local.sdn.cozystack.io", as error messages name a resource or a kind.
std::string qualified(std::string_view what, std::string_view group);

// A resource's coordinates in errors.
struct Subject {
  std::string group;
  std::string resource;  // plural, or the kind where the real server names that
  std::string name;
};

Failure bad_request(std::string message);
Failure not_found(const Subject& subject);
Failure no_such_resource();
Failure page_not_found();
Failure already_exists(const Subject& subject);
Failure conflict(const Subject& subject, std::string_view why);
Failure modified(const Subject& subject);
Failure forbidden(const Subject& subject, std::string_view why);
Failure method_not_allowed();
Failure unsupported_media_type(std::string message);
// Go's complaint about a value of another type: "json: cannot unmarshal number into Go struct field ConfigMap.data of
// type string".
std::string go_type_error(std::string_view json_type, std::string_view field, std::string_view type);
Failure invalid(const Subject& subject, Causes causes);
Failure too_large_version(std::uint64_t wanted, std::uint64_t current);
Failure expired(std::string message);
Failure internal_error(std::string message);

// Field errors in the words of the API machinery. `value` is printed as JSON; an empty text leaves it out.
Cause field_required(std::string field, std::string_view detail = {});
Cause field_invalid(std::string field, std::string_view value_json, std::string_view detail);
Cause field_type_invalid(std::string field, std::string_view value_json, std::string_view detail);
Cause field_not_supported(std::string field, std::string_view value_json,
                          const std::vector<std::string>& supported_json);
Cause field_forbidden(std::string field, std::string_view detail);
Cause field_duplicate(std::string field, std::string_view value_json);
Cause field_too_long(std::string field, std::int64_t bytes);
Cause field_too_many(std::string field, std::int64_t actual, std::int64_t most);

// As Go's %q: a text in quotes, with escapes for what cannot be shown.
std::string quote(std::string_view text);
// A value as messages show it: texts quoted, anything else as JSON.
std::string shown_value(const boost::json::value& value);

}  // namespace sandbox
