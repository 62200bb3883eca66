#include "scenarios/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <map>

#include "scenarios/cluster.h"
#include "scenarios/match.h"
#include "scenarios/resources.h"

namespace scenarios {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto k_poll = milliseconds(20);
constexpr auto k_patience = seconds(30);
constexpr auto k_quiet = milliseconds(600);

// Raised to end a scenario; caught where it is run.
struct Failed {
  std::string problem;
};

class Run {
 public:
  Run(Backend& backend, const Scenario& scenario, const RunOptions& options, Cluster& cluster)
      : backend_(backend), scenario_(scenario), options_(options), cluster_(cluster), client_(backend) {}

  void prepare(int number) {
    check(backend_.run_only(scenario_.needs));
    bindings_["placeholders"] = options_.placeholder_namespace;
    bindings_["metallb"] = options_.metallb_namespace;
    bindings_["backend"] = backend_.name();
    bindings_["namespace"] = check(cluster_.make_namespace("tenant", number));
    for (const auto& name : scenario_.namespaces) bindings_[name] = check(cluster_.make_namespace(name, number));
    bind(scenario_.bindings);
    marks_["start"] = backend_.position();
  }

  void run() {
    for (const auto& step : scenario_.steps) {
      bind(step.bindings);
      run_all(step.operations, step.name);
    }
    check_watchers();
  }

 private:
  [[noreturn]] static void fail(std::string problem) { throw Failed{std::move(problem)}; }
  template <class T>
  static T check(base::Result<T> result) {
    if (!result) fail(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  // --- bindings
  // ------------------------------------------------------------------------------------------------------------------------
  void bind(const BindingList& list) {
    for (const auto& [name, value] : list) bindings_[name] = check(substitute(value, bindings_));
  }
  void outputs(const json::object& argument, const json::value& object) {
    const auto* list = argument.if_contains("outputs");
    if (!list) return;
    for (const auto& item : list->as_array()) {
      const std::string expression(item.at("value").as_string());
      if (!is_expression(expression)) fail("the value of an output is an expression in parentheses");
      bindings_[std::string(item.at("name").as_string())] =
          check(evaluate(std::string_view(expression).substr(1, expression.size() - 2), object, bindings_));
    }
  }

  // --- operations
  // ----------------------------------------------------------------------------------------------------------------------
  void run_all(const json::array& operations, const std::string& step) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const auto& operation = operations[i].as_object();
      if (operation.empty()) fail(fmt::format("step \"{}\", operation {} is empty", step, i + 1));
      const auto& [verb, argument] = *operation.begin();
      try {
        if (options_.restart_between) restart_controllers();
        check_watchers();
        run_one(std::string(verb), argument.is_object() ? argument.as_object() : json::object{});
      } catch (const Failed& failed) {
        fail(fmt::format("step \"{}\", operation {} ({}): {}", step, i + 1, std::string_view(verb), failed.problem));
      } catch (const std::exception& e) {  // a member is missing or of another type
        fail(fmt::format("step \"{}\", operation {} ({}): {}", step, i + 1, std::string_view(verb), e.what()));
      }
    }
  }
  void run_one(const std::string& verb, const json::object& argument) {
    using Handler = void (Run::*)(const json::object&);
    static const std::map<std::string, Handler> handlers = {
        {"create", &Run::create},  {"apply", &Run::apply},   {"patch", &Run::patch},     {"delete", &Run::remove},
        {"assert", &Run::assert_}, {"error", &Run::error},   {"count", &Run::count},     {"never", &Run::never},
        {"always", &Run::always},  {"settle", &Run::settle}, {"sleep", &Run::sleep},     {"start", &Run::start},
        {"stop", &Run::stop},      {"kill", &Run::kill},     {"restart", &Run::restart}, {"mark", &Run::mark},
        {"writes", &Run::writes},  {"repeat", &Run::repeat}, {"store", &Run::store},     {"equal", &Run::equal},
    };
    const auto handler = handlers.find(verb);
    if (handler == handlers.end()) fail("no such operation");
    (this->*handler->second)(argument);
  }

  json::object document(const json::object& argument, std::string_view key = "resource") {
    return check(substitute(argument.at(key), bindings_)).as_object();
  }
  // The same without evaluating what stands in it: a pattern.
  json::object pattern(const json::object& argument, Target& target) {
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
  Client client_of(const json::object& argument) {
    const auto* user = argument.if_contains("as");
    return Client(backend_, user ? std::string(user->as_string()) : "admin");
  }
  void expect(const json::object& argument, const Target& target, const Outcome& outcome) {
    const auto* refused = argument.if_contains("refused");
    if (!refused) {
      if (!outcome.accepted()) fail(fmt::format("{}: {} {}", target.to_string(), outcome.status, outcome.message()));
      return outputs(argument, outcome.body);
    }
    if (outcome.accepted()) fail(fmt::format("{}: was accepted", target.to_string()));
    if (outcome.message().find(refused->as_string()) == std::string::npos) {
      fail(fmt::format("{}: refused for another reason: {}", target.to_string(), outcome.message()));
    }
  }
  void create(const json::object& argument) {
    json::object object = document(argument);
    const Target target = check(target_of(object, bindings_["namespace"].as_string()));
    cluster_.remember(target);
    expect(argument, target, client_of(argument).create(target, object));
  }
  void apply(const json::object& argument) {
    json::object object = document(argument);
    const Target target = check(target_of(object, bindings_["namespace"].as_string()));
    cluster_.remember(target);
    expect(argument, target, client_of(argument).apply(target, object));
  }
  void patch(const json::object& argument) {
    json::object object = document(argument);
    const Target target = check(target_of(object, bindings_["namespace"].as_string()));
    const auto* subresource = argument.if_contains("subresource");
    expect(
        argument, target,
        client_of(argument).merge_patch(target, object, subresource ? std::string_view(subresource->as_string()) : ""));
  }
  void remove(const json::object& argument) {
    json::object object = document(argument, argument.contains("ref") ? "ref" : "resource");
    if (!object.contains("metadata")) object["metadata"] = json::object{};
    for (const auto key : {"name", "namespace"}) {  // a `ref` has them at its top
      if (object.contains(key)) object["metadata"].as_object()[key] = object[key];
    }
    const Target target = check(target_of(object, bindings_["namespace"].as_string()));
    const Outcome outcome = client_of(argument).remove(target);
    expect(argument, target, outcome);
    const auto* wait = argument.if_contains("wait");
    if (argument.contains("refused") || (wait && !wait->as_bool())) return;
    const std::string uid = uid_of(client_.get(target).body);
    until(argument, [&]() -> std::string {
      const Outcome now = client_.get(target);
      if (now.not_found() || uid_of(now.body) != uid) return {};
      return fmt::format("{} is still there: {}", target.to_string(), json::serialize(now.body.at("metadata")));
    });
  }
  static std::string uid_of(const json::value& object) {
    boost::system::error_code ignored;
    const auto* uid = object.find_pointer("/metadata/uid", ignored);
    return uid ? std::string(uid->as_string()) : "";
  }
  void store(const json::object& argument) {
    json::object object = document(argument);
    const Target target = check(target_of(object, bindings_["namespace"].as_string()));
    cluster_.remember(target);
    check(backend_.store_unchecked(object));
  }

  // --- what must be so
  // --------------------------------------------------------------------------------------------------------------- The
  // objects that `resource` may mean: the named one, or all of its kind in its namespace.
  std::vector<json::value> candidates(const Target& target, std::string& problem) {
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
  // "" if an object matches, which is then in `found`; else why the nearest one does not.
  std::string matching(const Target& target, const json::object& tree, json::value* found = nullptr) {
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
  void assert_(const json::object& argument) {
    Target target;
    const json::object tree = pattern(argument, target);
    json::value found;
    until(argument, [&] { return matching(target, tree, &found); });
    outputs(argument, found);
  }
  void error(const json::object& argument) {
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
  void count(const json::object& argument) {
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
  void equal(const json::object& argument) {
    const json::value left = check(substitute(argument.at("left"), bindings_));
    const json::value right = check(substitute(argument.at("right"), bindings_));
    if (left != right) fail(fmt::format("{} is not {}", json::serialize(left), json::serialize(right)));
  }
  // Asks until the answer is "" or patience ends; fails with the last answer.
  void until(const json::object& argument, const std::function<std::string()>& ask) {
    const auto* limit = argument.if_contains("timeout");
    const base::Duration patience = limit ? check(parse_duration(limit->as_string())) : base::Duration(k_patience);
    const auto end = backend_.now() + patience;
    for (;;) {
      const std::string problem = ask();
      if (problem.empty()) return;
      if (backend_.now() >= end)
        fail(fmt::format("after {} s: {}", std::chrono::duration<double>(patience).count(), problem));
      pass(k_poll);
    }
  }

  // --- watchers
  // ------------------------------------------------------------------------------------------------------------------------
  void never(const json::object& argument) { watch(argument, false); }
  void always(const json::object& argument) { watch(argument, true); }
  void watch(const json::object& argument, bool must_match) {
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
  void check_watchers() {
    for (const auto& watcher : watchers_) {
      if (const auto problem = watcher(); !problem.empty()) fail(problem);
    }
  }

  // --- time
  // --------------------------------------------------------------------------------------------------------------------------
  void pass(base::Duration time) {
    backend_.let_pass(time);
    check_watchers();
  }
  void sleep(const json::object& argument) {
    const auto end = backend_.now() + check(parse_duration(argument.at("duration").as_string()));
    while (backend_.now() < end) pass(std::min<base::Duration>(k_poll, end - backend_.now()));
  }
  // Until nobody has written anything for a while.
  void settle(const json::object& argument) {
    const auto* text = argument.if_contains("quiet");
    const base::Duration quiet = text ? check(parse_duration(text->as_string())) : base::Duration(k_quiet);
    const auto limit = backend_.now() + k_patience + quiet;
    auto since = backend_.now();
    for (std::size_t seen = backend_.position(); backend_.now() - since < quiet; pass(k_poll)) {
      if (backend_.now() > limit) fail(fmt::format("does not settle:\n{}", listed(backend_.writes(seen), {})));
      const auto fresh = backend_.writes(seen);
      if (std::ranges::any_of(fresh, counts)) since = backend_.now();
      seen += fresh.size();
    }
    if (const auto problems = backend_.check_settled(); !problems.empty()) {
      fail(fmt::format("is not settled: {}", fmt::join(problems, "; ")));
    }
  }

  // --- processes
  // ---------------------------------------------------------------------------------------------------------------------
  std::vector<Process> processes(const json::object& argument) {
    std::vector<Process> out;
    for (const auto& name : argument.at("of").as_array()) out.push_back(check(process_named(name.as_string())));
    return out;
  }
  void start(const json::object& argument) {
    for (const auto process : processes(argument)) check(backend_.start(process));
  }
  void stop(const json::object& argument) {
    for (const auto process : processes(argument)) check(backend_.stop(process, false));
  }
  void kill(const json::object& argument) {
    for (const auto process : processes(argument)) check(backend_.stop(process, true));
  }
  void restart(const json::object& argument) {
    const auto* how = argument.if_contains("kill");
    for (const auto process : processes(argument)) check(backend_.stop(process, how && how->as_bool()));
    for (const auto process : processes(argument)) check(backend_.start(process));
  }
  void restart_controllers() {
    for (const auto process : scenario_.needs) {
      if (process == Process::metallb) continue;
      check(backend_.stop(process, true));
      check(backend_.start(process));
    }
  }

  // --- writes
  // ------------------------------------------------------------------------------------------------------------------------
  static bool counts(const WriteRecord& record) {
    return record.plural != "events" && record.plural != "leases" && record.changed;
  }
  static std::string listed(const std::vector<WriteRecord>& records, std::string_view user) {
    std::string out;
    for (const auto& record : records) {
      if (record.plural != "leases" && (user.empty() || record.user == user))
        out += fmt::format("  {}\n", record.to_string());
    }
    return out;
  }
  void mark(const json::object& argument) {
    marks_[std::string(argument.at("name").as_string())] = backend_.position();
  }
  // {since: mark, core: 5, driver: 3} exactly; {most: {driver: 6}} at most; {of: [services]} on these resources only.
  void writes(const json::object& argument) {
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
  static void compare(const std::vector<WriteRecord>& records, std::string_view user, std::size_t wanted,
                      bool at_most) {
    const auto written = static_cast<std::size_t>(std::ranges::count_if(
        records, [&](const WriteRecord& record) { return record.user == user && counts(record); }));
    if (at_most ? written <= wanted : written == wanted) return;
    fail(fmt::format("{} wrote {} times, not {}{}:\n{}", user, written, at_most ? "at most " : "", wanted,
                     listed(records, user)));
  }

  void repeat(const json::object& argument) {
    const auto times = argument.at("times").to_number<std::int64_t>();
    for (std::int64_t n = 1; n <= times; ++n) {
      bindings_["n"] = n;
      run_all(argument.at("try").as_array(), fmt::format("round {}", n));
    }
  }

  Backend& backend_;
  const Scenario& scenario_;
  const RunOptions& options_;
  Cluster& cluster_;
  Client client_;
  Bindings bindings_;
  std::map<std::string, std::size_t> marks_;
  std::vector<std::function<std::string()>> watchers_;
};

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
    verdict.state = cluster.dump();
  }
  auto running = backend.run_only(scenario.needs);
  const std::string left = cluster.clean_up(!all_run(scenario) || !verdict.passed());
  if (verdict.passed() && !running) verdict.problem = running.error().message;
  if (verdict.passed() && !left.empty()) verdict.problem = "left behind: " + left;
  for (const auto& breach : backend.take_breaches()) verdict.problem += (verdict.passed() ? "" : "\n     ") + breach;
  backend.end(scenario.name, !verdict.passed());
  return verdict;
}

}  // namespace scenarios
