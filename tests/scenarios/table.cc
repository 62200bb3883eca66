#include "scenarios/table.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>

#include "scenarios/match.h"
#include "scenarios/resources.h"
#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace json = boost::json;
constexpr std::string_view k_namespace = "default";

class RowRun {
 public:
  RowRun(Backend& backend, const TableRow& row, std::size_t number)
      : backend_(backend), client_(backend), object_(row.base) {
    object_["metadata"] = json::object{{"name", fmt::format("row-{}", number)}};
    auto target = target_of(object_, k_namespace);
    if (target) {
      target_ = *target;
    } else {
      problem_ = target.error().message;
    }
  }

  std::string run(const TableRow& row) {
    if (problem_.empty() && !row.unchecked.is_null()) begin_with(row.unchecked);
    for (std::size_t i = 0; problem_.empty() && i < row.steps.size(); ++i) {
      step(row.steps[i].as_object());
      if (!problem_.empty()) problem_ = fmt::format("step {}: {}", i + 1, problem_);
    }
    clean_up();
    return problem_;
  }

 private:
  void begin_with(const json::value& patch) {
    json::value stored = object_;
    merge(stored, patch);
    auto result = backend_.store_unchecked(stored.as_object());
    if (!result) problem_ = result.error().message;
  }
  void step(const json::object& step) {
    static const json::value accepted("accepted");
    const auto* expect = step.if_contains("expect");
    for (const auto& [verb, argument] : step) {
      if (verb == "expect") continue;
      if (verb == "select") return select(argument, expect ? *expect : accepted);
      if (verb == "holds") return holds(argument);
      const auto outcome = write(verb, argument);
      if (outcome) compare(*outcome, expect ? *expect : accepted);
      return;
    }
  }
  std::optional<Outcome> write(std::string_view verb, const json::value& argument) {
    if (verb == "create") {
      json::value object = object_;
      merge(object, argument);
      return client_.create(target_, object);
    }
    if (verb == "patch") return client_.merge_patch(target_, argument);
    if (verb == "patch-status") return client_.merge_patch(target_, argument, "status");
    if (verb == "put" || verb == "put-status") {
      json::value object = client_.get(target_).body;
      merge(object, argument);
      return client_.put(target_, object, verb == "put-status" ? "status" : "");
    }
    problem_ = fmt::format("no verb {}", verb);
    return std::nullopt;
  }
  void compare(const Outcome& outcome, const json::value& expect) {
    if (expect.is_string()) {
      if (!outcome.accepted()) problem_ = fmt::format("refused with {}: {}", outcome.status, outcome.message());
      return;
    }
    const auto& refusal = expect.as_object();
    if (outcome.accepted()) {
      problem_ = fmt::format("accepted, but expected to be refused: {}", json::serialize(expect));
    } else if (outcome.status != 422) {
      problem_ = fmt::format("refused with {} instead of 422: {}", outcome.status, outcome.message());
    } else {
      compare_refusal(outcome, refusal);
    }
  }
  void compare_refusal(const Outcome& outcome, const json::object& refusal) {
    if (const auto* message = refusal.if_contains("message")) {
      if (outcome.message().find(message->as_string()) == std::string::npos) {
        problem_ = fmt::format("refused for another reason than \"{}\": {}", std::string_view(message->as_string()),
                               outcome.message());
      }
    }
    if (const auto* field = refusal.if_contains("field")) {
      for (const auto& named : outcome.fields()) {
        if (named == field->as_string()) return;
      }
      problem_ = fmt::format("refused without naming {}: {}", std::string_view(field->as_string()),
                             json::serialize(outcome.body));
    }
  }
  void select(const json::value& selector, const json::value& expect) {
    const auto term = fmt::format("{}={},metadata.name={}", std::string_view(selector.at("field").as_string()),
                                  std::string_view(selector.at("value").as_string()), target_.name);
    const auto outcome = client_.list(target_, {{"fieldSelector", term}});
    if (!outcome.accepted()) {
      problem_ = fmt::format("selecting {} was refused with {}: {}", term, outcome.status, outcome.message());
      return;
    }
    const auto found = outcome.body.at("items").as_array().size();
    const auto wanted = expect.at("finds").to_number<std::size_t>();
    if (found != wanted) problem_ = fmt::format("{} finds {} objects, not {}", term, found, wanted);
  }
  void holds(const json::value& tree) {
    const auto found = differences(tree, client_.get(target_).body, {});
    if (!found.empty()) problem_ = found.front();
  }
  void clean_up() {
    if (!target_.resource) return;
    client_.merge_patch(target_, json::object{{"metadata", json::object{{"finalizers", nullptr}}}});
    const auto outcome = client_.remove(target_);
    if (!outcome.accepted() && !outcome.not_found() && problem_.empty()) {
      problem_ = fmt::format("could not be deleted: {}", outcome.message());
    }
  }

  Backend& backend_;
  Client client_;
  json::object object_;
  Target target_;
  std::string problem_;
};

base::Result<TableRow> parse_row(const json::object& row, const json::object& bases, const std::string& path) {
  TableRow out;
  const auto* name = row.if_contains("name");
  if (!name) return base::fail(fmt::format("{}: a row has no name: {}", path, json::serialize(row)));
  out.name = std::string(name->as_string());
  const auto* base_name = row.if_contains("base");
  const auto* base = base_name ? bases.if_contains(base_name->as_string()) : nullptr;
  if (!base) return base::fail(fmt::format("{}: row \"{}\" names no base", path, out.name));
  out.base = base->as_object();
  if (const auto* unchecked = row.if_contains("unchecked")) out.unchecked = *unchecked;
  if (const auto* steps = row.if_contains("steps")) {
    out.steps = steps->as_array();
    return out;
  }
  json::object only;
  for (const auto& [key, value] : row) {
    if (key == "create" || key == "expect") only.emplace(key, value);
  }
  if (!only.contains("create") || !only.contains("expect")) {
    return base::fail(fmt::format("{}: row \"{}\" has neither steps nor create and expect", path, out.name));
  }
  out.steps.push_back(std::move(only));
  return out;
}

}  // namespace

base::Result<std::vector<TableRow>> load_table(const std::string& path) {
  auto documents = load_yaml(path);
  if (!documents) return base::fail(documents.error().message);
  std::vector<TableRow> rows;
  for (const auto& document : *documents) {
    auto table = substitute(document.value, {});
    if (!table) return base::fail(table.error().message);
    const auto& bases = table->at("bases").as_object();
    for (const auto& row : table->at("rows").as_array()) {
      auto parsed = parse_row(row.as_object(), bases, path);
      if (!parsed) return base::fail(parsed.error().message);
      rows.push_back(std::move(*parsed));
    }
  }
  return rows;
}

std::string run_row(Backend& backend, const TableRow& row, std::size_t number) {
  return RowRun(backend, row, number).run(row);
}

}  // namespace scenarios
