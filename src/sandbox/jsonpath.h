// The JSONPath of printer columns: ".status.conditions[?(@.type=="Ready")].status". Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/json.h"

namespace sandbox {

// A compiled path: members (also escaped, ".a\.b", or quoted, "['a.b']"), indexes, "*", and filters that compare a
// member with a text, a number or a boolean, or ask for its existence.
class JsonPath {
 public:
  static base::Result<JsonPath> parse(std::string_view text);
  // What the path leads to, in the document's order.
  std::vector<const json::value*> find(const json::object& root) const;

 private:
  struct Step {
    enum class Kind : char { member, index, all, filter };
    Kind kind = Kind::member;
    std::string name;               // member
    std::int64_t index = 0;         // from the end if negative
    std::vector<std::string> path;  // filter: the member that is compared
    std::string op;                 // "==", "!=", "<", ">", "<=", ">=" or "" for existence
    json::value wanted;
    bool admits(const json::value& item) const;
  };
  base::Result<void> read_bracket(std::string_view inside);
  base::Result<void> read_filter(std::string_view condition);

  std::vector<Step> steps_;
};

}  // namespace sandbox
