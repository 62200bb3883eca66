#include "sequences/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace sequences {
namespace {

constexpr std::string_view heading = "== ";
constexpr std::array<std::string_view, 2> versions{"0.15", "0.16"};

}  // namespace

std::vector<Section> read_sections(std::string_view text) {
  std::vector<Section> sections;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with(heading)) {
      sections.push_back({line.substr(heading.size()), {}});
    } else if (!sections.empty()) {
      sections.back().lines.push_back(line);
    }
  }
  return sections;
}

std::string difference(const Outcome& first, const Outcome& second) {
  std::string text;
  for (const std::string& line : first) {
    if (!second.contains(line)) text += fmt::format("  only the first:  {}\n", line);
  }
  for (const std::string& line : second) {
    if (!first.contains(line)) text += fmt::format("  only the second: {}\n", line);
  }
  return text;
}

Recording::Recording(std::string_view text) {
  for (const Section& section : read_sections(text)) {
    ByVersion& outcomes = outcomes_[section.name];
    for (const std::string_view version : versions) {
      Outcome& outcome = outcomes[std::string(version)];
      for (const std::string& line : section.lines) {
        const auto owner =
            std::ranges::find_if(versions, [&](auto v) { return line.starts_with(fmt::format("{} ", v)); });
        if (owner == versions.end()) {
          outcome.insert(line);
        } else if (*owner == version) {
          outcome.insert(line.substr(version.size() + 1));
        }
      }
    }
  }
}

std::string Recording::to_text() const {
  std::string text;
  for (const auto& [name, outcomes] : outcomes_) {
    std::map<std::string, std::vector<std::string>> owners;
    for (const auto& [version, outcome] : outcomes) {
      for (const std::string& line : outcome) owners[line].push_back(version);
    }
    text += fmt::format("{}{}\n", heading, name);
    for (const auto& [line, who] : owners) {
      text += who.size() == versions.size() ? fmt::format("{}\n", line) : fmt::format("{} {}\n", who.front(), line);
    }
  }
  return text;
}

std::vector<std::string> Recording::names() const {
  std::vector<std::string> names;
  for (const auto& [name, outcomes] : outcomes_) names.push_back(name);
  return names;
}

const Outcome* Recording::find(const std::string& name, const std::string& version) const {
  const auto outcomes = outcomes_.find(name);
  if (outcomes == outcomes_.end()) return nullptr;
  const auto outcome = outcomes->second.find(version);
  return outcome == outcomes->second.end() ? nullptr : &outcome->second;
}

void Recording::set(const std::string& name, const std::string& version, Outcome outcome) {
  outcomes_[name][version] = std::move(outcome);
}

}  // namespace sequences
