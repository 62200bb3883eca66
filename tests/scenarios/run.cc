// The flow of a scenario: bindings, operations in order, time, processes.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {

void Run::prepare(int number) {
  check(backend_.set_driver_flags(scenario_.driver_flags));
  check(backend_.set_webhook(scenario_.webhook));
  check(backend_.set_metallb_version(""));
  check(backend_.run_only(scenario_.needs));
  bindings_["placeholders"] = options_.placeholder_namespace;
  bindings_["metallb"] = options_.metallb_namespace;
  bindings_["backend"] = backend_.name();
  bindings_["namespace"] = check(cluster_.make_namespace("tenant", number));
  for (const auto& name : scenario_.namespaces) bindings_[name] = check(cluster_.make_namespace(name, number));
  bind(scenario_.bindings);
  marks_["start"] = backend_.position();
}

void Run::run() {
  for (const auto& step : scenario_.steps) {
    bind(step.bindings);
    run_all(step.operations, step.name);
  }
  if (!is_served()) fail("ends while nothing is served");
  check_watchers();
  review_shown(true);
  check_disclosure();
}

void Run::bind(const BindingList& list) {
  for (const auto& [name, value] : list) {
    const auto other = options_.bindings.find(name);
    bindings_[name] = other == options_.bindings.end() ? check(substitute(value, bindings_)) : other->second;
  }
}

void Run::outputs(const json::object& argument, const json::value& object) {
  const auto* list = argument.if_contains("outputs");
  if (!list) return;
  for (const auto& item : list->as_array()) {
    const std::string expression(item.at("value").as_string());
    if (!is_expression(expression)) fail("the value of an output is an expression in parentheses");
    bindings_[std::string(item.at("name").as_string())] =
        check(evaluate(std::string_view(expression).substr(1, expression.size() - 2), object, bindings_));
  }
}

void Run::run_all(const json::array& operations, const std::string& step) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& operation = operations[i].as_object();
    if (operation.empty()) fail(fmt::format("step \"{}\", operation {} is empty", step, i + 1));
    const auto& [verb, argument] = *operation.begin();
    try {
      if (options_.restart_between && !scenario_.remembers) restart_controllers();
      check_watchers();
      run_one(std::string(verb), argument.is_object() ? argument.as_object() : json::object{});
    } catch (const Failed& failed) {
      fail(fmt::format("step \"{}\", operation {} ({}): {}", step, i + 1, std::string_view(verb), failed.problem));
    } catch (const std::exception& e) {  // a member is missing or of another type
      fail(fmt::format("step \"{}\", operation {} ({}): {}", step, i + 1, std::string_view(verb), e.what()));
    }
  }
}

void Run::run_one(const std::string& verb, const json::object& argument) {
  using Handler = void (Run::*)(const json::object&);
  static const std::map<std::string, Handler> handlers = {
      {"create", &Run::create},   {"apply", &Run::apply},         {"patch", &Run::patch},     {"delete", &Run::remove},
      {"assert", &Run::assert_},  {"error", &Run::error},         {"count", &Run::count},     {"never", &Run::never},
      {"always", &Run::always},   {"settle", &Run::settle},       {"sleep", &Run::sleep},     {"start", &Run::start},
      {"stop", &Run::stop},       {"kill", &Run::kill},           {"restart", &Run::restart}, {"mark", &Run::mark},
      {"writes", &Run::writes},   {"repeat", &Run::repeat},       {"store", &Run::store},     {"equal", &Run::equal},
      {"shown", &Run::shown},     {"meanwhile", &Run::meanwhile}, {"backup", &Run::backup},   {"wipe", &Run::wipe},
      {"restore", &Run::restore}, {"drain", &Run::drain},         {"cut", &Run::cut},         {"served", &Run::served},
  };
  const auto handler = handlers.find(verb);
  if (handler == handlers.end()) fail("no such operation");
  (this->*handler->second)(argument);
}

json::object Run::document(const json::object& argument, std::string_view key) {
  return check(substitute(argument.at(key), bindings_)).as_object();
}

json::object Run::pattern(const json::object& argument, Target& target) {
  json::object tree = argument.at("resource").as_object();
  json::object identity;
  for (const auto key : {"apiVersion", "kind"}) {
    if (tree.contains(key)) identity[key] = tree[key];
    tree.erase(key);
  }
  if (const auto* meta = tree.if_contains("metadata")) {
    json::object named;
    for (const auto key : {"name", "namespace"}) {
      if (const auto* value = meta->as_object().if_contains(key)) named[key] = check(substitute(*value, bindings_));
    }
    identity["metadata"] = named;
  }
  target = check(target_of(identity, bindings_["namespace"].as_string()));
  return tree;
}

void Run::repeat(const json::object& argument) {
  const auto times = check(substitute(argument.at("times"), bindings_)).to_number<std::int64_t>();
  for (std::int64_t n = 1; n <= times; ++n) {
    bindings_["n"] = n;
    run_all(argument.at("try").as_array(), fmt::format("round {}", n));
  }
}

void Run::sleep(const json::object& argument) {
  const auto end = backend_.now() + check(parse_duration(argument.at("duration").as_string()));
  while (backend_.now() < end) pass(std::min<base::Duration>(k_poll, end - backend_.now()));
}

void Run::settle(const json::object& argument) {
  const auto* text = argument.if_contains("quiet");
  const base::Duration quiet = text ? check(parse_duration(text->as_string())) : base::Duration(k_quiet);
  const std::size_t begin = backend_.position();
  auto since = backend_.now();
  std::string busy;
  base::Duration waited{};
  for (std::size_t seen = begin;; waited += k_poll) {
    if (waited > k_patience + quiet)
      fail(fmt::format("does not settle: {}\n{}", busy, listed(backend_.writes(begin), {})));
    const auto fresh = backend_.writes(seen);
    seen += fresh.size();
    if (std::ranges::any_of(fresh, &WriteRecord::counts)) since = backend_.now();
    if (backend_.now() - since >= quiet) {
      if (busy = backend_.unrest(); busy.empty()) break;
      since = backend_.now();
    }
    pass(k_poll);
  }
  if (const auto problems = backend_.check_settled(); !problems.empty()) {
    fail(fmt::format("is not settled: {}", fmt::join(problems, "; ")));
  }
}

void Run::pass(base::Duration time) {
  go_on_meanwhile();
  backend_.let_pass(time);
  revive();
  check_watchers();
  review_shown(false);
}

std::vector<Process> Run::processes(const json::object& argument) {
  std::vector<Process> out;
  const json::value names = check(substitute(argument.at("of"), bindings_));
  for (const auto& name : names.as_array()) out.push_back(check(process_named(name.as_string())));
  return out;
}

// How what is started from now on is started.
void Run::set_up(const json::object& argument) {
  if (const auto* version = argument.if_contains("version"))
    check(backend_.set_metallb_version(std::string(check(substitute(*version, bindings_)).as_string())));
  if (const auto* flags = argument.if_contains("flags")) {
    std::vector<std::string> texts;
    const auto values = check(substitute(*flags, bindings_));
    for (const auto& flag : values.as_array()) texts.emplace_back(flag.as_string());
    check(backend_.set_driver_flags(texts));
  }
}

void Run::start(const json::object& argument) {
  set_up(argument);
  const auto* refused = argument.if_contains("refused");
  const auto* behind = argument.if_contains("behind");
  for (const auto process : processes(argument)) {
    if (refused != nullptr) {
      check(backend_.start_refused(process, std::string(check(substitute(*refused, bindings_)).as_string())));
    } else {
      check(behind != nullptr && behind->as_bool() ? backend_.start_behind(process) : backend_.start(process));
    }
  }
}

bool Run::is_served() { return backend_.running(Process::apiserver) && backend_.running(Process::etcd); }

void Run::stop(const json::object& argument) {
  for (const auto process : processes(argument)) check(backend_.stop(process, false));
}

void Run::kill(const json::object& argument) {
  for (const auto process : processes(argument)) {
    if (is_server(process)) review_shown(true);  // what changed until now takes longer to tell afterwards
    check(backend_.stop(process, true));
  }
}

void Run::restart(const json::object& argument) {
  const auto* how = argument.if_contains("kill");
  for (const auto process : processes(argument)) check(backend_.stop(process, how && how->as_bool()));
  start(argument);
}

void Run::drain(const json::object& argument) {
  for (const auto process : processes(argument)) check(backend_.drain(process));
}

void Run::restart_controllers() {
  for (const auto process : scenario_.needs) {
    if (process == Process::metallb || !backend_.running(process)) continue;  // a scenario may have stopped it
    check(backend_.stop(process, true));
    check(backend_.start(process));
  }
}

namespace {
bool all_run(const Scenario& scenario) {
  return std::ranges::find(scenario.needs, Process::core) != scenario.needs.end() &&
         std::ranges::find(scenario.needs, Process::driver) != scenario.needs.end();
}

}  // namespace

Verdict run_scenario(Backend& backend, const Scenario& scenario, const RunOptions& options, int number) {
  Verdict verdict;
  if (auto begun = backend.begin(scenario.name); !begun) {
    verdict.problem = begun.error().message;
    return verdict;
  }
  Cluster cluster(backend, options);
  Run run(backend, scenario, options, cluster);
  try {
    run.prepare(number);
    run.run();
  } catch (const Failed& failed) {
    verdict.problem = failed.problem;
  } catch (const std::exception& e) {
    verdict.problem = e.what();
  }
  for (const auto server : {Process::etcd, Process::apiserver}) {
    if (auto served = backend.start(server); verdict.passed() && !served) verdict.problem = served.error().message;
  }
  if (!verdict.passed()) verdict.state = cluster.dump();
  auto running = backend.run_only(scenario.needs);
  const std::string left = cluster.clean_up(!all_run(scenario) || !verdict.passed());
  if (verdict.passed() && !running) verdict.problem = running.error().message;
  if (verdict.passed() && !left.empty()) verdict.problem = "left behind: " + left;
  for (const auto& breach : backend.take_breaches()) {
    if (scenario.takes_rights && breach.starts_with("forbidden:")) continue;
    verdict.problem += (verdict.passed() ? "" : "\n     ") + breach;
  }
  backend.end(scenario.name, !verdict.passed());
  return verdict;
}

}  // namespace scenarios
