// Runs the table of objects that the API must accept or refuse. Prints the rows that fail and, last, "N passed, N
// failed".
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "scenarios/open_backend.h"
#include "scenarios/table.h"

int main(int argc, char** argv) {
  CLI::App app{"Runs the table of objects that the API must accept or refuse."};
  scenarios::BackendOptions options;
  std::string table = "tests/crds/table.yaml";
  std::string filter;
  bool verbose = false;
  scenarios::add_options(app, options);
  app.add_option("--table", table, "the table");
  app.add_option("--filter", filter, "only rows whose name contains this");
  app.add_flag("--verbose", verbose, "print every row");
  CLI11_PARSE(app, argc, argv);

  auto rows = scenarios::load_table(table);
  if (!rows) return fmt::print(stderr, "{}\n", rows.error().message), 2;
  auto backend = scenarios::open_backend(options, false);
  if (!backend) return fmt::print(stderr, "{}\n", backend.error().message), 2;
  int passed = 0;
  int failed = 0;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto& row = (*rows)[i];
    if (row.name.find(filter) == std::string::npos) continue;
    const std::string problem = scenarios::run_row(**backend, row, i + 1);
    ++(problem.empty() ? passed : failed);
    if (!problem.empty()) fmt::print("FAIL {}\n     {}\n", row.name, problem);
    if (problem.empty() && verbose) fmt::print("ok   {}\n", row.name);
  }
  fmt::print("{}: {} passed, {} failed\n", (*backend)->name(), passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
