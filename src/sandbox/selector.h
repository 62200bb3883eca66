// Label and field selectors in the query syntax of the API. Internal to the sandbox.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/json.h"

namespace sandbox {

// "a=b,c!=d,e in (f,g),!h": a conjunction; empty selects everything.
class LabelSelector {
 public:
  static base::Result<LabelSelector> parse(std::string_view text);
  // The value of a label; nullopt if there is no such label.
  using Labels = std::function<std::optional<std::string_view>(std::string_view name)>;
  bool matches(const Labels& labels) const;
  bool matches(const json::object& object) const;  // by metadata.labels
  bool empty() const { return requirements_.empty(); }

 private:
  enum class Operator : char { in, not_in, exists, absent, greater, less };
  struct Requirement {
    std::string key;
    Operator op = Operator::in;
    std::vector<std::string> values;
  };
  std::vector<Requirement> requirements_;
};

// "metadata.name=x,status.phase!=y".
class FieldSelector {
 public:
  struct Term {
    std::string field;  // "status.phase"
    std::string value;
    bool equal = true;
  };
  static base::Result<FieldSelector> parse(std::string_view text);
  // The value of a field, "" if it is absent.
  using Fields = std::function<std::string(const std::string& dotted)>;
  bool matches(const Fields& fields) const;
  bool matches(const json::object& object) const;
  const std::vector<Term>& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }

 private:
  std::vector<Term> terms_;
};

// The value of a dotted field as field selectors see it: "" if it is absent.
std::string field_text(const json::object& object, std::string_view dotted);

}  // namespace sandbox
