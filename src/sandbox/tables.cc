#include "sandbox/tables.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <cstdio>
#include <ctime>
#include <optional>

namespace sandbox {
namespace {

json::object definition(std::string_view name, std::string_view type, std::string_view format,
                        std::string_view description, std::int64_t priority) {
  return {{"name", name}, {"type", type}, {"format", format}, {"description", description}, {"priority", priority}};
}

// A value as a column of type string prints it.
std::string printed(const json::value& value) {
  if (value.is_string()) return std::string(view(value.get_string()));
  return to_text(value);
}

json::value custom_cell(std::string_view type, const json::value& value, WallSeconds now) {
  if (type == "string") return json::string(printed(value));
  if (type == "integer" && value.is_number()) return value.to_number<std::int64_t>();
  if (type == "number" && value.is_number()) return value;
  if (type == "boolean" && value.is_bool()) return value;
  if (type == "date" && value.is_string()) return json::string(age_of(view(value.get_string()), now));
  return nullptr;
}

std::string_view or_else(std::string_view text, std::string_view otherwise) { return text.empty() ? otherwise : text; }

}  // namespace

std::string human_duration(std::int64_t seconds) {
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  const auto two = [](std::int64_t large, char unit, std::int64_t small, char part) {
    return small == 0 ? fmt::format("{}{}", large, unit) : fmt::format("{}{}{}{}", large, unit, small, part);
  };
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return fmt::format("{}d", days);
  if (days < 365 * 8) return two(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

std::optional<WallSeconds> parse_timestamp(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                  &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6 ||
      !copy.ends_with('Z')) {
    return std::nullopt;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return timegm(&parts);
}

std::string age_of(std::string_view timestamp, WallSeconds now) {
  if (timestamp.empty()) return "<unknown>";
  const auto then = parse_timestamp(timestamp);
  return then ? human_duration(now - *then) : "<invalid>";
}

json::object partial_metadata(const json::object& document, std::string_view version) {
  json::object partial{{"kind", "PartialObjectMetadata"}, {"apiVersion", fmt::format("meta.k8s.io/{}", version)}};
  if (const json::object* metadata = object_at(document, {"metadata"})) partial["metadata"] = *metadata;
  return partial;
}

TableMaker::TableMaker(const Kind& kind) : kind_(kind) {
  for (const json::value& column : kind_.columns) {
    auto path = JsonPath::parse(text_at(column.get_object(), {"jsonPath"}));
    paths_.push_back(path ? std::move(*path) : JsonPath());
  }
}

json::array TableMaker::definitions() const {
  json::array list;
  if (!kind_.custom) {
    for (const Column& column : builtin_columns(kind_)) {
      list.push_back(definition(column.name, column.type, column.format, column.description, column.priority));
    }
    return list;
  }
  list.push_back(definition("Name", "string", "name", "The object's name, unique among its kind in a namespace.", 0));
  if (kind_.columns.empty()) {
    list.push_back(definition("Age", "date", "", "The time since the server stored the object.", 0));
  }
  for (const json::value& item : kind_.columns) {
    const json::object& column = item.get_object();
    const std::string_view path = text_at(column, {"jsonPath"});
    list.push_back(definition(text_at(column, {"name"}), text_at(column, {"type"}), text_at(column, {"format"}),
                              or_else(text_at(column, {"description"}),
                                      fmt::format("Custom resource definition column (in JSONPath format): {}", path)),
                              int_at(column, {"priority"})));
  }
  return list;
}

json::object TableMaker::row(const json::object& document, std::string_view include, std::string_view version,
                             WallSeconds now) const {
  json::array cells;
  if (!kind_.custom) {
    for (const Column& column : builtin_columns(kind_)) cells.push_back(column.cell(document, now));
  } else {
    cells.emplace_back(text_at(document, {"metadata", "name"}));
    if (kind_.columns.empty()) cells.emplace_back(age_of(text_at(document, {"metadata", "creationTimestamp"}), now));
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const auto found = paths_[i].find(document);
      const std::string_view type = text_at(kind_.columns[i].get_object(), {"type"});
      cells.push_back(found.empty() ? json::value(nullptr) : custom_cell(type, *found[0], now));
    }
  }
  json::object row{{"cells", std::move(cells)}};
  if (const std::string_view phase = text_at(document, {"status", "phase"});
      kind_.name == "Pod" && !kind_.custom && (phase == "Succeeded" || phase == "Failed")) {
    row["conditions"] = json::array{
        json::object{{"type", "Completed"},
                     {"status", "True"},
                     {"reason", phase},
                     {"message", phase == "Failed" ? "The pod failed." : "The pod has completed successfully."}}};
  }
  if (include == "Object") {
    row["object"] = document;
  } else if (include == "None") {
    row["object"] = nullptr;
  } else {
    row["object"] = partial_metadata(document, version);
  }
  return row;
}

}  // namespace sandbox
