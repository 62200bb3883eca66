// Objects as rows of columns, as `kubectl get` shows them. Internal to the sandbox.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/jsonpath.h"
#include "sandbox/kind.h"

namespace sandbox {

// Seconds since 1970 by the server's clock, and what "Age" is counted from.
using WallSeconds = std::int64_t;

struct Column {
  std::string_view name;
  std::string_view type = "string";  // string integer number boolean date
  int priority = 0;                  // 0: always shown, others with -o wide
  std::string_view description = {};
  json::value (*cell)(const json::object& object, WallSeconds now) = nullptr;
  std::string_view format = {};
};

// The columns of a built-in kind; Name and Age where it has none of its own.
std::span<const Column> builtin_columns(const Kind& kind);

// Turns objects of one kind into tables; parses the paths of custom columns once.
class TableMaker {
 public:
  explicit TableMaker(const Kind& kind);
  json::array definitions() const;
  // `include` is the request's includeObject: "None", "Metadata" or "Object".
  json::object row(const json::object& document, std::string_view include, std::string_view version,
                   WallSeconds now) const;

 private:
  const Kind& kind_;
  std::vector<JsonPath> paths_;  // of a custom kind's columns
};

// {"kind": "PartialObjectMetadata", …} of a document.
json::object partial_metadata(const json::object& document, std::string_view version);

// A length of time for people: "45s", "3m12s", "5h", "2d3h", "1y40d".
std::string human_duration(std::int64_t seconds);
// The seconds since 1970 of an RFC 3339 time in UTC, nullopt if it is none.
std::optional<WallSeconds> parse_timestamp(std::string_view text);
// The time since a timestamp, "<unknown>" if there is none, "<invalid>" if it cannot be read.
std::string age_of(std::string_view timestamp, WallSeconds now);

}  // namespace sandbox
