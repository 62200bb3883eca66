// Sequences of edits of Services and pools that are played on the model of MetalLB and on the real controllers alike,
// and what became of them. docs/testing.md describes both files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sequences {

// Below a line "== name": lines of a text; empty ones and those that begin with "#" are left out.
struct Section {
  std::string name;
  std::vector<std::string> lines;
};
std::vector<Section> read_sections(std::string_view text);

// A line for each step, as player.h reads it.
using Sequence = Section;

// In no order: "03 | a/web | 192.0.2.1 | pool" (what a Service shows from this step on), "04 | refused | 422",
// "event | a/web | Warning | reason | message".
using Outcome = std::set<std::string>;
// "only the first: …" and "only the second: …", one line each; "" if they are equal.
std::string difference(const Outcome& first, const Outcome& second);

// What versions of MetalLB made of sequences: a section each. A line that only some versions have begins with theirs.
class Recording {
 public:
  explicit Recording(std::string_view text = {});
  std::string to_text() const;
  // Names in their order.
  std::vector<std::string> names() const;
  // nullptr if it was not recorded.
  const Outcome* find(const std::string& name, const std::string& version) const;
  void set(const std::string& name, const std::string& version, Outcome outcome);

 private:
  using ByVersion = std::map<std::string, Outcome>;
  std::map<std::string, ByVersion> outcomes_;
};

}  // namespace sequences
