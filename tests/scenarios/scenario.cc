#include "scenarios/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>

#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

base::Result<void> only_members(const json::object& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object) {
    if (std::ranges::find(known, std::string_view(key)) == known.end()) {
      return base::fail(
          fmt::format("{} is not known here; there are {}", std::string_view(key), fmt::join(known, ", ")));
    }
  }
  return {};
}

std::vector<std::string> texts(const json::object& object, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = object.if_contains(key)) {
    for (const auto& item : list->as_array()) out.emplace_back(item.as_string());
  }
  return out;
}

void read_bindings(const json::object& object, BindingList& into) {
  if (const auto* list = object.if_contains("bindings")) {
    for (const auto& item : list->as_array()) into.emplace_back(item.at("name").as_string(), item.at("value"));
  }
}

class Reader {
 public:
  explicit Reader(std::string templates) : templates_(std::move(templates)) {}

  base::Result<Scenario> scenario(const json::object& document) {
    if (auto known = only_members(document, {"apiVersion", "kind", "metadata", "spec"}); !known) return fail(known);
    const auto& spec = document.at("spec").as_object();
    auto known = only_members(spec, {"description", "needs", "only", "driverFlags", "webhook", "takesRights",
                                     "remembers", "namespaces", "bindings", "steps"});
    if (!known) return fail(known);
    Scenario out;
    const auto& metadata = document.at("metadata").as_object();
    if (known = only_members(metadata, {"name"}); !known) return fail(known);
    out.name = std::string(metadata.at("name").as_string());
    for (const auto& name : texts(spec, "needs")) {
      auto process = process_named(name);
      if (!process) return base::fail(process.error().message);
      if (is_server(*process)) return base::fail(fmt::format("{} always runs", to_string(*process)));
      out.needs.push_back(*process);
    }
    if (!spec.contains("needs")) out.needs = {Process::core, Process::driver, Process::metallb};
    out.only = texts(spec, "only");
    out.driver_flags = texts(spec, "driverFlags");
    const auto is_set = [&](std::string_view key) {
      const auto* value = spec.if_contains(key);
      return value != nullptr && value->is_bool() && value->get_bool();
    };
    out.webhook = is_set("webhook");
    out.takes_rights = is_set("takesRights");
    out.remembers = is_set("remembers");
    out.namespaces = texts(spec, "namespaces");
    read_bindings(spec, out.bindings);
    for (const auto& item : spec.at("steps").as_array()) {
      auto read = step(item.as_object());
      if (!read) return base::fail(read.error().message);
      out.steps.push_back(std::move(*read));
    }
    return out;
  }

 private:
  static std::unexpected<base::Error> fail(const base::Result<void>& result) {
    return base::fail(result.error().message);
  }

  base::Result<Step> step(const json::object& item) {
    if (auto known = only_members(item, {"name", "bindings", "use", "try"}); !known) return fail(known);
    Step out;
    if (const auto* name = item.if_contains("name")) out.name = std::string(name->as_string());
    if (const auto* use = item.if_contains("use")) {
      if (auto used = use_template(use->as_object(), out); !used) return fail(used);
    }
    read_bindings(item, out.bindings);
    if (const auto* operations = item.if_contains("try")) {
      for (const auto& operation : operations->as_array()) out.operations.push_back(operation);
    }
    return out;
  }
  base::Result<void> use_template(const json::object& use, Step& into) {
    const std::string name(use.at("template").as_string());
    auto documents = load_yaml(fmt::format("{}/{}", templates_, name));
    if (!documents) return base::fail(documents.error().message);
    const auto& spec = documents->front().value.at("spec").as_object();
    read_bindings(spec, into.bindings);
    if (const auto* with = use.if_contains("with")) read_bindings(with->as_object(), into.bindings);
    into.operations = spec.at("try").as_array();
    if (into.name.empty()) into.name = name;
    return {};
  }

  std::string templates_;
};

base::Result<void> load_file(const std::string& path, const std::string& templates, std::vector<Scenario>& into) {
  auto documents = load_yaml(path);
  if (!documents) return base::fail(documents.error().message);
  for (const auto& document : *documents) {
    const std::string where = fmt::format("{}:{}", path, document.line);
    try {
      auto scenario = Reader(templates).scenario(document.value.as_object());
      if (!scenario) return base::fail(fmt::format("{}: {}", where, scenario.error().message));
      scenario->where = where;
      into.push_back(std::move(*scenario));
    } catch (const std::exception& e) {  // a member is missing or of another type
      return base::fail(fmt::format("{}: not a scenario: {}", where, e.what()));
    }
  }
  return {};
}

}  // namespace

bool Scenario::runs_on(std::string_view backend) const {
  return only.empty() ||
         std::ranges::any_of(only, [&](const std::string& prefix) { return backend.starts_with(prefix); });
}

base::Result<std::vector<Scenario>> load_scenarios(const std::string& path, const std::string& templates) {
  std::vector<std::string> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    std::ranges::sort(files);
  } else {
    files.push_back(path);
  }
  std::vector<Scenario> out;
  for (const auto& file : files) {
    if (auto loaded = load_file(file, templates, out); !loaded) return base::fail(loaded.error().message);
  }
  return out;
}

base::Result<base::Duration> parse_duration(std::string_view text) {
  base::Duration total{};
  const std::string_view whole = text;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return base::fail(fmt::format("{} is no duration", whole));
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto unit = [&](std::string_view suffix) {
      const bool is = text.starts_with(suffix);
      if (is) text.remove_prefix(suffix.size());
      return is;
    };
    if (unit("ms")) {
      total += std::chrono::milliseconds(number);
    } else if (unit("s")) {
      total += std::chrono::seconds(number);
    } else if (unit("m")) {
      total += std::chrono::minutes(number);
    } else if (unit("h")) {
      total += std::chrono::hours(number);
    } else {
      return base::fail(fmt::format("{} is no duration", whole));
    }
  }
  return total;
}

}  // namespace scenarios
