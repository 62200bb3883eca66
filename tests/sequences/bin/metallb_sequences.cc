// Plays sequences of Service and pool edits on a real MetalLB and on its model, and compares what became of them. The
// last line reads "…: N passed, N failed".
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <sstream>

#include "sequences/generate.h"
#include "sequences/player.h"

namespace {

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string milliseconds_since(std::chrono::steady_clock::time_point began) {
  return fmt::format("{} ms", (std::chrono::steady_clock::now() - began) / std::chrono::milliseconds(1));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Plays sequences of Service and pool edits on a real MetalLB and on its model, and compares what became of "
      "them:\n"
      "those of hand.txt, and the generated ones that are recorded."};
  std::string version = "0.16", plane, binaries, folder = "tests/sequences", filter;
  int port = 0;
  int count = 0;
  std::uint64_t seed = 1;
  bool record = false;
  bool verbose = false;
  app.add_option("--metallb", version, "0.15 or 0.16")->check(CLI::IsMember({"0.15", "0.16"}));
  app.add_option("--plane", plane,
                 "folder of a real control plane that runs; without it the model is compared with what is recorded");
  app.add_option("--controllers", binaries, "folder of MetalLB's controllers");
  app.add_option("--port", port, "the plane's first port");
  app.add_option("--folder", folder, "where hand.txt and recorded.txt are");
  app.add_option("--filter", filter, "only sequences whose name contains this");
  app.add_option("--count", count, "play this many newly generated sequences instead");
  app.add_option("--seed", seed, "the first one's seed");
  app.add_flag("--record", record, "write what the real MetalLB made of them into recorded.txt");
  app.add_flag("--verbose", verbose, "print each sequence with its time");
  CLI11_PARSE(app, argc, argv);

  const std::string recorded = folder + "/recorded.txt";
  sequences::Recording recording(read_file(recorded));
  std::vector<sequences::Sequence> all;
  if (count == 0) {
    all = sequences::read_sections(read_file(folder + "/hand.txt"));
    for (const std::string& name : recording.names()) {
      if (const auto known = sequences::seed_of(name)) all.push_back(sequences::generate(*known));
    }
  }
  for (; count > 0; ++seed) {
    auto sequence = sequences::generate(seed);
    if (!sequences::determinate(sequence)) continue;
    all.push_back(std::move(sequence));
    --count;
  }
  std::erase_if(all, [&](const auto& sequence) { return sequence.name.find(filter) == std::string::npos; });

  std::unique_ptr<sequences::Stage> real;
  if (!plane.empty()) {
    auto stage = sequences::real_stage(plane, binaries, version, "tests/real/plane", port);
    if (!stage) return fmt::print(stderr, "{}\n", stage.error().message), 2;
    real = std::move(*stage);
  }
  int passed = 0;
  int failed = 0;
  for (const sequences::Sequence& sequence : all) {
    const auto began = std::chrono::steady_clock::now();
    const auto model = sequences::play(*sequences::memory_stage(version, 1), sequence);
    std::string problem = model ? "" : "the model: " + model.error().message + "\n";
    if (real) {
      const auto outcome = sequences::play(*real, sequence);
      if (!outcome) problem += "the real one: " + outcome.error().message + "\n";
      if (model && outcome) problem = sequences::difference(*model, *outcome);
      if (outcome && record) recording.set(sequence.name, version, *outcome);
      if (record && !sequences::determinate(sequence)) problem += "it depends on what is in no particular order\n";
    } else if (const auto* outcome = recording.find(sequence.name, version); model && outcome != nullptr) {
      problem = sequences::difference(*model, *outcome);
    }
    ++(problem.empty() ? passed : failed);
    if (!problem.empty()) {
      fmt::print("FAIL {} (first: the model, second: the real one)\n", sequence.name);
      int number = 0;
      for (const std::string& step : sequence.lines) fmt::print("  {:02} {}\n", ++number, step);
      fmt::print("{}", problem);
    }
    if (verbose) fmt::print("{} took {}\n", sequence.name, milliseconds_since(began));
    std::fflush(stdout);
  }
  if (record) std::ofstream(recorded) << recording.to_text();
  fmt::print("MetalLB {}: {} passed, {} failed\n", version, passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
