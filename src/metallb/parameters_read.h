// Reading parameters piece by piece: the parts of parse_parameters. Internal to the folder.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "metallb/parameters.h"

namespace metallb::reading {

// Collects what is wrong and what is worth saying.
struct Report {
  Problems problems;
  std::vector<std::string> notes;

  void problem(std::string_view where, std::string_view what);
  void note(std::string_view where, std::string_view what);
};

// "a list", "text", "nothing", … as a person calls the JSON type.
std::string_view type_name(const boost::json::value& value);
// `"text"`, cut to a length that a condition can carry.
std::string in_quotes(std::string_view text);

void reject_unknown_keys(const boost::json::object& object, std::string_view where,
                         std::initializer_list<std::string_view> known, Report& report);

// Each returns nothing and reports if the value is of another type.
const boost::json::object* as_object(const boost::json::value& value, std::string_view where, Report& report);
const boost::json::array* as_list(const boost::json::value& value, std::string_view where, std::string_view example,
                                  Report& report);
std::optional<bool> as_bool(const boost::json::value& value, std::string_view where, Report& report);
std::optional<std::int64_t> as_integer(const boost::json::value& value, std::string_view where, std::int64_t least,
                                       std::int64_t most, Report& report);
// A list of non-empty texts without duplicates.
std::vector<std::string> as_texts(const boost::json::value& value, std::string_view where, std::string_view example,
                                  Report& report);

// One entry of `addresses` or `exclude`.
struct Entry {
  std::string where;  // `addresses[2] "10.0.0.0/24"`
  base::IpRange range;
  std::optional<base::IpPrefix> network;  // if it was written as a CIDR
};
std::optional<Entry> read_entry(std::string_view text, std::string_view list, std::size_t position, Report& report);

// parameters.addresses and parameters.exclude, into ranges and pieces.
void read_addresses(const boost::json::object& parameters, ClassParameters& result, Report& report);
// parameters.advertise.
void read_advertise(const boost::json::object& parameters, ClassParameters& result, Report& report);
std::vector<LabelSelector> read_selectors(const boost::json::value& value, std::string_view where, Report& report);

}  // namespace metallb::reading
