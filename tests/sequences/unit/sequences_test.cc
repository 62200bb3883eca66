// What real MetalLBs made of the sequences (recorded.txt), against what the model makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "sequences/generate.h"
#include "sequences/player.h"

namespace sequences {
namespace {

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(std::string(SOURCE_DIR "/tests/sequences/") + file).rdbuf();
  return text.str();
}

class Sequences : public testing::TestWithParam<const char*> {
 protected:
  // Whether the model agrees with what is recorded.
  static testing::AssertionResult agrees(const Recording& recording, const Sequence& sequence) {
    const Outcome* real = recording.find(sequence.name, GetParam());
    if (real == nullptr) return testing::AssertionFailure() << "\"" << sequence.name << "\" is not recorded";
    const auto model = play(*memory_stage(GetParam(), 1), sequence);
    if (!model) return testing::AssertionFailure() << "\"" << sequence.name << "\": " << model.error().message;
    const std::string differs = difference(*model, *real);
    if (differs.empty()) return testing::AssertionSuccess();
    std::string steps;
    for (const std::string& line : sequence.lines) steps += "  " + line + "\n";
    return testing::AssertionFailure() << "\"" << sequence.name << "\" (first: the model, second: the real one)\n"
                                       << steps << differs;
  }
  const Recording recording_{text_of("recorded.txt")};
};

TEST_P(Sequences, TheModelMakesOfTheHandPickedOnesWhatTheRealOneDid) {
  const auto sequences = read_sections(text_of("hand.txt"));
  EXPECT_GT(sequences.size(), 40U);
  for (const Sequence& sequence : sequences) EXPECT_TRUE(agrees(recording_, sequence));
}

TEST_P(Sequences, TheModelMakesOfTheGeneratedOnesWhatTheRealOneDid) {
  int count = 0;
  for (const std::string& name : recording_.names()) {
    const auto seed = seed_of(name);
    if (!seed) continue;
    ++count;
    EXPECT_TRUE(agrees(recording_, generate(*seed)));
  }
  EXPECT_GE(count, 100);
}

INSTANTIATE_TEST_SUITE_P(MetalLb, Sequences, testing::Values("0.15", "0.16"),
                         [](const auto& version) { return "v" + std::string(version.param).replace(1, 1, "_"); });

TEST(SequenceFiles, EveryRecordedOneIsThere) {
  const auto sequences = read_sections(text_of("hand.txt"));
  for (const std::string& name : Recording(text_of("recorded.txt")).names()) {
    EXPECT_TRUE(seed_of(name) || std::ranges::find(sequences, name, &Sequence::name) != sequences.end()) << name;
  }
}

TEST(SequenceFiles, ARecordingSaysOnceWhatBothVersionsDid) {
  Recording recording;
  recording.set("x", "0.15", {"01 | a/one | 192.0.2.1 | p", "event | a/one | old words"});
  recording.set("x", "0.16", {"01 | a/one | 192.0.2.1 | p"});
  const std::string text = recording.to_text();
  EXPECT_EQ(text, "== x\n01 | a/one | 192.0.2.1 | p\n0.15 event | a/one | old words\n");
  EXPECT_EQ(Recording(text).to_text(), text);
  EXPECT_EQ(difference(*recording.find("x", "0.15"), *Recording(text).find("x", "0.16")),
            "  only the first:  event | a/one | old words\n");
}

TEST(SequenceFiles, AStepThatCannotBeReadIsAnError) {
  for (const char* line : {"service web {}", "pool a/p {}", "patch deployment a/x {}", "service a/web", "pool p []"}) {
    const auto outcome = play(*memory_stage("0.16", 1), {"x", {line}});
    ASSERT_FALSE(outcome) << line;
    EXPECT_TRUE(outcome.error().message.starts_with("step 1: ")) << outcome.error().message;
  }
}

}  // namespace
}  // namespace sequences
