// JSON values with a type, and what to say where the type is another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <unordered_set>

#include "metallb/parameters_read.h"

namespace metallb::reading {
namespace {

// Longest piece of what a person typed that is quoted back.
constexpr std::size_t k_longest_quote = 64;

void wrong_type(const boost::json::value& value, std::string_view where, std::string_view right, Report& report) {
  if (value.is_null()) {
    report.problem(where, fmt::format("has no value: write {}, or leave the key out", right));
  } else {
    report.problem(where, fmt::format("is {}: write {}", type_name(value), right));
  }
}

}  // namespace

void Report::problem(std::string_view where, std::string_view what) {
  problems.push_back(fmt::format("{}: {}", where, what));
}

void Report::note(std::string_view where, std::string_view what) {
  notes.push_back(fmt::format("{}: {}", where, what));
}

std::string_view type_name(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "nothing";
    case boost::json::kind::bool_:
      return "true or false";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "text";
    case boost::json::kind::array:
      return "a list";
    case boost::json::kind::object:
      return "an object";
  }
  return "something else";
}

std::string in_quotes(std::string_view text) {
  if (text.size() <= k_longest_quote) return fmt::format("\"{}\"", text);
  // Never cut inside a UTF-8 sequence: the server refuses such text.
  std::size_t end = k_longest_quote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return fmt::format("\"{}…\"", text.substr(0, end));
}

void reject_unknown_keys(const boost::json::object& object, std::string_view where,
                         std::initializer_list<std::string_view> known, Report& report) {
  for (const auto& [key, value] : object) {
    if (std::ranges::find(known, std::string_view(key)) != known.end()) continue;
    report.problem(where,
                   fmt::format("has the unknown key {}: possible are {}", in_quotes(key), fmt::join(known, ", ")));
  }
}

const boost::json::object* as_object(const boost::json::value& value, std::string_view where, Report& report) {
  if (const auto* object = value.if_object()) return object;
  wrong_type(value, where, "an object (key: value)", report);
  return nullptr;
}

const boost::json::array* as_list(const boost::json::value& value, std::string_view where, std::string_view example,
                                  Report& report) {
  if (const auto* list = value.if_array()) return list;
  wrong_type(value, where, fmt::format("a list, such as {}", example), report);
  return nullptr;
}

std::optional<bool> as_bool(const boost::json::value& value, std::string_view where, Report& report) {
  if (const auto* flag = value.if_bool()) return *flag;
  wrong_type(value, where, "true or false without quotes", report);
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const boost::json::value& value, std::string_view where, std::int64_t least,
                                       std::int64_t most, Report& report) {
  const auto* number = value.if_int64();
  if (number != nullptr && *number >= least && *number <= most) return *number;
  if (value.is_number()) {
    report.problem(where, fmt::format("is out of range: write a whole number from {} to {}", least, most));
  } else {
    wrong_type(value, where, fmt::format("a whole number from {} to {} without quotes", least, most), report);
  }
  return std::nullopt;
}

std::vector<std::string> as_texts(const boost::json::value& value, std::string_view where, std::string_view example,
                                  Report& report) {
  std::vector<std::string> texts;
  std::unordered_set<std::string_view> seen;
  const auto* list = as_list(value, where, example, report);
  if (list == nullptr) return texts;
  texts.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto* text = (*list)[i].if_string();
    if (text == nullptr) {
      wrong_type((*list)[i], fmt::format("{}[{}]", where, i), fmt::format("text, as in {}", example), report);
    } else if (text->empty()) {
      report.problem(fmt::format("{}[{}]", where, i), "is empty");
    } else if (!seen.insert(*text).second) {
      report.problem(fmt::format("{}[{}] {}", where, i, in_quotes(*text)), "is listed twice");
    } else {
      texts.emplace_back(*text);
    }
  }
  return texts;
}

}  // namespace metallb::reading
