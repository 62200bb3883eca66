// A structural schema (OpenAPI v3 as CustomResourceDefinitions use it), interpreted: pruning, defaulting, validation
// and ratcheting as kube-apiserver does them. Internal to the sandbox.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/failure.h"
#include "sandbox/json.h"
#include "sandbox/rules.h"

namespace sandbox {

class Schema {
 public:
  // Refuses a keyword or a rule that it does not implement, naming it: nothing is silently not enforced.
  static base::Result<std::unique_ptr<Schema>> parse(const json::object& description);
  // A built-in kind's fields in short: "spec{ports[]{name:s,port:i},selector{*:s}},data{*:s}". Types after the colon: s
  // string, i integer, b boolean, v anything. "[]" marks a list, "*" the members of a map. Throws std::logic_error on a
  // typing error.
  static std::unique_ptr<Schema> of_fields(std::string_view fields);

  // Removes what the schema does not describe; the removed paths are appended to `unknown` if that is given.
  void prune(json::value& value, std::vector<std::string>* unknown = nullptr) const;
  // Removes nulls and empty lists and maps, as the typed built-in kinds lose them.
  void drop_empty(json::value& value) const;
  // Removes nulls that are not allowed and fills in defaults.
  void apply_defaults(json::value& value) const;

  // For built-in kinds: the complaint about the first value whose type does not fit its field, as Go's decoder words
  // it; "" if all fit.
  std::string wrong_type(const json::value& value, const std::string& path) const;
  // Appends what is wrong with `value`. What is equal to its counterpart in `old` is let pass (ratcheting).
  void validate(const json::value& value, const json::value* old, Causes& causes) const;

 private:
  class Place;
  class Counterparts;
  enum class Type : std::uint8_t { any, object, array, string, integer, number, boolean };
  struct Rule {
    NativeRule function = nullptr;
    std::string message;
    std::string reason;      // "" = FieldValueInvalid
    std::string field_path;  // ".spec"
    bool needs_old = false;
  };

  void read_fields(std::string_view& fields);
  base::Result<void> read(const json::object& description);
  base::Result<void> read_rules(const json::array& rules);
  base::Result<void> read_children(const json::object& description);
  void prune_at(const Place& place, json::value& value, std::vector<std::string>* unknown) const;
  void check(const json::value& value, const json::value* old, const Place& place, Causes& causes) const;
  void check_string(std::string_view text, const Place& place, Causes& causes) const;
  void check_number(const json::value& value, const Place& place, Causes& causes) const;
  void check_array(const json::array& items, const json::value* old, const Place& place, Causes& causes) const;
  void check_repeated(const json::array& items, const Place& place, Causes& causes) const;
  void check_object(const json::object& members, const json::value* old, const Place& place, Causes& causes) const;
  void check_rules(const json::value& value, const json::value* old, const Place& place, Causes& causes) const;
  bool type_fits(const json::value& value) const;
  // What tells the items of a list apart, as a text.
  std::string key_text(const json::value& item) const;

  Type type_ = Type::any;
  std::map<std::string, std::unique_ptr<Schema>, std::less<>> properties_;
  std::unique_ptr<Schema> items_;
  std::unique_ptr<Schema> additional_;
  std::vector<std::string> required_;
  std::vector<json::value> enum_;
  std::optional<json::value> default_;
  std::optional<std::int64_t> min_length_, max_length_, min_items_, max_items_;
  std::optional<double> minimum_, maximum_;
  std::optional<std::regex> pattern_;
  std::string pattern_text_;
  std::string format_;
  std::string list_type_;
  std::vector<std::string> list_keys_;
  std::vector<Rule> rules_;
  bool preserve_unknown_ = false;
  bool nullable_ = false;
  bool int_or_string_ = false;
};

}  // namespace sandbox
