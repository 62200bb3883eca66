// Operations that say what must be so.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "scenarios/match.h"
#include "scenarios/run_state.h"

namespace scenarios {

std::vector<json::value> Run::candidates(const Target& target, std::string& problem) {
  std::vector<json::value> out;
  if (!target.name.empty()) {
    Outcome outcome = client_.get(target);
    if (outcome.accepted()) {
      out.push_back(std::move(outcome.body));
    } else {
      problem = fmt::format("{}: {} {}", target.to_string(), outcome.status, outcome.message());
    }
    return out;
  }
  Outcome outcome = client_.list(target);
  if (!outcome.accepted()) {
    problem = fmt::format("{}: {} {}", target.to_string(), outcome.status, outcome.message());
    return out;
  }
  for (auto& item : outcome.body.at("items").as_array()) out.push_back(std::move(item));
  return out;
}

std::string Run::matching(const Target& target, const json::object& tree, json::value* found) {
  std::string problem = fmt::format("{}: there is none", target.to_string());
  std::size_t least = static_cast<std::size_t>(-1);
  for (auto& object : candidates(target, problem)) {
    const auto differing = differences(tree, object, bindings_);
    if (differing.empty()) {
      if (found) *found = std::move(object);
      return {};
    }
    if (differing.size() < least) {
      least = differing.size();
      problem = fmt::format("{}: {}", target.to_string(), fmt::join(differing, "; "));
    }
  }
  return problem;
}

void Run::assert_(const json::object& argument) {
  Target target;
  const json::object tree = pattern(argument, target);
  // An event is sent once, after the write that it tells of; whoever is killed in between never sends it.
  if (options_.restart_between && target.resource->kind == "Event") return;
  json::value found;
  until(argument, [&] { return matching(target, tree, &found); });
  outputs(argument, found);
}

void Run::error(const json::object& argument) {
  Target target;
  const json::object tree = pattern(argument, target);
  const auto absent = [&]() -> std::string {
    json::value found;
    if (!matching(target, tree, &found).empty()) return {};
    return fmt::format("{}: is as it must not be: {}", target.to_string(), json::serialize(found));
  };
  const auto* span = argument.if_contains("for");
  if (!span) return until(argument, absent);
  const auto end = backend_.now() + check(parse_duration(span->as_string()));
  do {
    if (auto problem = absent(); !problem.empty()) fail(problem);
    pass(k_poll);
  } while (backend_.now() < end);
}

void Run::count(const json::object& argument) {
  Target target;
  const json::object tree = pattern(argument, target);
  const auto wanted = argument.at("is").to_number<std::size_t>();
  until(argument, [&]() -> std::string {
    std::string problem;
    std::vector<std::string> names;
    for (const auto& object : candidates(target, problem)) {
      if (differences(tree, object, bindings_).empty())
        names.emplace_back(object.at("metadata").at("name").as_string());
    }
    if (names.size() == wanted) return {};
    return fmt::format("{}: {} instead of {}: {}", target.to_string(), names.size(), wanted, fmt::join(names, " "));
  });
}

void Run::equal(const json::object& argument) {
  const json::value left = check(substitute(argument.at("left"), bindings_));
  const json::value right = check(substitute(argument.at("right"), bindings_));
  if (left != right) fail(fmt::format("{} is not {}", json::serialize(left), json::serialize(right)));
}

void Run::until(const json::object& argument, const std::function<std::string()>& ask) {
  const auto* limit = argument.if_contains("timeout");
  const base::Duration patience = limit ? check(parse_duration(limit->as_string())) : base::Duration(k_patience);
  for (base::Duration waited{};; waited += k_poll) {
    const std::string problem = ask();
    if (problem.empty()) return;
    if (waited >= patience)
      fail(fmt::format("after {} s: {}", std::chrono::duration<double>(patience).count(), problem));
    pass(k_poll);
  }
}

void Run::never(const json::object& argument) { watch(argument, false); }

void Run::always(const json::object& argument) { watch(argument, true); }

void Run::watch(const json::object& argument, bool must_match) {
  Target target;
  const json::object tree = pattern(argument, target);
  watchers_.push_back([this, target, tree, must_match]() -> std::string {
    json::value found;
    const std::string problem = matching(target, tree, &found);
    if (problem.empty() == must_match) return {};
    return must_match ? fmt::format("must always be: {}", problem)
                      : fmt::format("{}: is as it must never be: {}", target.to_string(), json::serialize(found));
  });
  check_watchers();
}

void Run::check_watchers() {
  if (!is_served()) return;
  for (const auto& watcher : watchers_) {
    if (const auto problem = watcher(); !problem.empty()) fail(problem);
  }
}

std::string Run::listed(const std::vector<WriteRecord>& records, std::string_view user) {
  std::string out;
  for (const auto& record : records) {
    if (record.plural != "leases" && (user.empty() || record.user == user))
      out += fmt::format("  {}\n", record.to_string());
  }
  return out;
}

void Run::mark(const json::object& argument) {
  marks_[std::string(argument.at("name").as_string())] = backend_.position();
}

void Run::writes(const json::object& argument) {
  const auto* since = argument.if_contains("since");
  const std::string name = since ? std::string(since->as_string()) : "start";
  if (!marks_.contains(name)) fail(fmt::format("no mark {}", name));
  auto records = backend_.writes(marks_[name]);
  if (const auto* of = argument.if_contains("of")) {
    std::erase_if(records, [&](const WriteRecord& record) {
      return std::ranges::find(of->as_array(), json::value(record.plural)) == of->as_array().end();
    });
  }
  for (const auto& [key, value] : argument) {
    if (key == "since" || key == "of") continue;
    if (key == "most") {
      for (const auto& [user, number] : value.as_object())
        compare(records, user, number.to_number<std::size_t>(), true);
    } else {
      compare(records, key, value.to_number<std::size_t>(), false);
    }
  }
}

void Run::compare(const std::vector<WriteRecord>& records, std::string_view user, std::size_t wanted, bool at_most) {
  const auto written = static_cast<std::size_t>(std::ranges::count_if(
      records, [&](const WriteRecord& record) { return record.user == user && record.counts() && !record.reminder; }));
  if (at_most ? written <= wanted : written == wanted) return;
  fail(fmt::format("{} wrote {} times, not {}{}:\n{}", user, written, at_most ? "at most " : "", wanted,
                   listed(records, user)));
}

}  // namespace scenarios
