#include "kube/line_framer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "base/random.h"

namespace kube {
namespace {

std::vector<std::string> cut(std::string_view text, std::size_t piece,
                             std::size_t limit = LineFramer::k_default_limit) {
  LineFramer framer(limit);
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  for (std::size_t i = 0; i < text.size(); i += piece) {
    if (!framer.feed(text.substr(i, piece), keep)) lines.emplace_back("<overflow>");
  }
  framer.finish(keep);
  return lines;
}

TEST(LineFramer, T40_CutsTheSameWhereverThePiecesEnd) {
  const std::string text = "{\"a\":\"ä€𝄞\"}\r\n\n\r\n{}\n{\"b\":\"\\n\"}\nrest";
  const std::vector<std::string> expected = {"{\"a\":\"ä€𝄞\"}", "{}", "{\"b\":\"\\n\"}", "rest"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(cut(text, piece), expected) << piece;
}

TEST(LineFramer, T40_RandomPiecesGiveTheLinesBack) {
  base::Random random(40);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> lines;
    std::string text;
    for (std::uint64_t n = random.below(20); n > 0; --n) {
      lines.push_back(std::string(1 + random.below(300), static_cast<char>('a' + random.below(26))));
      text += lines.back() + (random.below(2) == 0 ? "\r\n" : "\n");
    }
    LineFramer framer;
    std::vector<std::string> found;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t piece = 1 + random.below(700);
      EXPECT_TRUE(
          framer.feed(std::string_view(text).substr(i, piece), [&](std::string_view l) { found.emplace_back(l); }));
      i += piece;
    }
    EXPECT_EQ(found, lines);
    EXPECT_EQ(framer.pending(), 0U);
  }
}

TEST(LineFramer, T40_FiveMegabytesByteByByteTakeLinearTime) {
  const std::string line(std::size_t{5} << 20, 'x');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    LineFramer framer;
    std::size_t length = 0;
    const auto keep = [&](std::string_view l) { length = l.size(); };
    const std::clock_t before = std::clock();  // of this process: others may be busy
    for (std::size_t i = 0; i < line.size(); i += piece) framer.feed(std::string_view(line).substr(i, piece), keep);
    framer.feed("\n", keep);
    EXPECT_EQ(length, line.size());
    // A quadratic scan would take hours.
    EXPECT_LT((std::clock() - before) / CLOCKS_PER_SEC, 20);
  }
}

TEST(LineFramer, PaddingFollowsEveryLine) {
  LineFramer framer;
  framer.feed("{}\n", [](std::string_view line) {
    volatile char sum = 0;
    for (std::size_t i = 0; i < LineFramer::k_padding; ++i) sum = static_cast<char>(sum + line.data()[line.size() + i]);
  });
}

TEST(LineFramer, ALineOverTheLimitIsRefusedForGood) {
  EXPECT_EQ(cut("123456789\n", 100, 8), std::vector<std::string>{"<overflow>"});
  EXPECT_EQ(cut("12345678\n", 3, 8), std::vector<std::string>{"12345678"});
  LineFramer framer(8);
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_FALSE(framer.feed("ok\n123456789", keep)) << "unfinished, but too long already";
  EXPECT_FALSE(framer.feed("\nok\n", keep));
  EXPECT_EQ(lines, std::vector<std::string>{"ok"});
}

}  // namespace
}  // namespace kube
