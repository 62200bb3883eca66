// Runs scenario files on the in-memory server or on a real control plane. One line a scenario; last, "N passed, N
// failed".
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "scenarios/open_backend.h"
#include "scenarios/run.h"
#include "scenarios/scenario.h"

namespace {

namespace fs = std::filesystem;

struct Options {
  scenarios::BackendOptions backend;
  scenarios::RunOptions run;
  std::vector<std::string> paths{"tests/scenarios"};
  std::vector<std::string> filters;
  std::vector<std::string> bindings;
  bool list = false;
};

// Named by a filter, if there are such, and by none that begins with "!".
bool wanted(const scenarios::Scenario& scenario, const std::vector<std::string>& filters) {
  const auto named = [&](std::string_view text) {
    return scenario.name.contains(text) || scenario.where.contains(text);
  };
  bool any = false;
  bool chosen = false;
  for (const std::string_view filter : filters) {
    if (filter.starts_with('!')) {
      if (named(filter.substr(1))) return false;
    } else {
      any = true;
      chosen = chosen || named(filter);
    }
  }
  return chosen || !any;
}

// Scenarios that need the same processes run after one another, so that these are seldom restarted.
void order(std::vector<scenarios::Scenario>& all) {
  std::ranges::stable_sort(all, {}, [](const scenarios::Scenario& scenario) { return scenario.needs; });
}

void keep_state(const Options& options, const scenarios::Scenario& scenario, const scenarios::Verdict& verdict,
                std::string_view backend) {
  if (options.backend.real.logs.empty()) return;
  const fs::path folder = fs::path(options.backend.real.logs) / backend / scenarios::folder_name(scenario.name);
  fs::create_directories(folder);
  std::ofstream(folder / "problem.txt") << scenario.where << "\n" << verdict.problem << "\n";
  std::ofstream(folder / "objects.jsonl") << verdict.state;
}

int run_all(const Options& options, std::vector<scenarios::Scenario>& all) {
  auto backend = scenarios::open_backend(options.backend, true);
  if (!backend) return fmt::print(stderr, "{}\n", backend.error().message), 2;
  order(all);
  int passed = 0;
  int failed = 0;
  int number = 0;
  for (const auto& scenario : all) {
    if (!wanted(scenario, options.filters) || !scenario.runs_on((*backend)->name())) continue;
    const auto began = std::chrono::steady_clock::now();
    const auto verdict = scenarios::run_scenario(**backend, scenario, options.run, ++number);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    ++(verdict.passed() ? passed : failed);
    fmt::print("{} {} ({:.2f} s)\n", verdict.passed() ? "ok  " : "FAIL", scenario.name, took.count());
    if (!verdict.passed()) {
      fmt::print("     {}: {}\n", scenario.where, verdict.problem);
      keep_state(options, scenario, verdict, (*backend)->name());
    }
    std::fflush(stdout);
  }
  fmt::print("{}: {} passed, {} failed\n", (*backend)->name(), passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs scenarios on the in-memory server or on a real control plane."};
  Options options;
  scenarios::add_options(app, options.backend);
  app.add_option("paths", options.paths, "files, or folders of files; default tests/scenarios");
  app.add_option("--filter", options.filters,
                 "only scenarios whose name or file contains this, with ! before it only others; may be repeated");
  app.add_flag("--restart-between", options.run.restart_between,
               "kill and restart both controllers before every operation; events are then not looked for");
  app.add_option("--bind", options.bindings,
                 "NAME=VALUE (JSON): bindings of that name have this value: --bind rounds=200");
  app.add_flag("--list", options.list, "only list them");
  CLI11_PARSE(app, argc, argv);

  base::log::configure(base::log::Level::error, base::log::Format::text);
  for (const std::string& binding : options.bindings) {
    const std::size_t at = binding.find('=');
    boost::system::error_code error;
    const auto value = boost::json::parse(at == std::string::npos ? "" : binding.substr(at + 1), error);
    if (error) return fmt::print(stderr, "--bind {}: NAME=VALUE, and the value as JSON\n", binding), 2;
    options.run.bindings[binding.substr(0, at)] = value;
  }
  std::vector<scenarios::Scenario> all;
  for (const auto& path : options.paths) {
    auto loaded = scenarios::load_scenarios(path, options.backend.real.sources + "/tests/scenarios/templates");
    if (!loaded) return fmt::print(stderr, "{}\n", loaded.error().message), 2;
    std::ranges::move(*loaded, std::back_inserter(all));
  }
  if (!options.list) return run_all(options, all);
  for (const auto& scenario : all) {
    if (wanted(scenario, options.filters)) fmt::print("{}: {}\n", scenario.where, scenario.name);
  }
  return 0;
}
