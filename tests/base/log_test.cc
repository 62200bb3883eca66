#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "base/log_format.h"

namespace base::log {
namespace {

using testing::HasSubstr;

constexpr WallTime k_when{std::chrono::sys_days(std::chrono::year(2026) / 2 / 3) + std::chrono::hours(4) +
                          std::chrono::minutes(5) + std::chrono::seconds(6) + std::chrono::nanoseconds(7'008'009)};

std::string line(Format format, Level level, std::string_view message, std::vector<Field> fields = {}) {
  return format_line(format, level, k_when, message, fields);
}

// Restores the process's defaults, so that the order of tests does not matter.
class LogTest : public testing::Test {
 protected:
  void TearDown() override { configure(Level::info, Format::text); }
};

TEST_F(LogTest, JsonHasTheFieldsOfZap) {
  EXPECT_EQ(
      line(Format::json, Level::info, "bound", {kv("claim", "default/web"), kv("n", 3), kv("done", true)}),
      R"({"level":"info","ts":"2026-02-03T04:05:06.007008009Z","msg":"bound","claim":"default/web","n":3,"done":true})");
}

TEST_F(LogTest, TextIsReadableAtAGlance) {
  EXPECT_EQ(line(Format::text, Level::warn, "slow", {kv("claim", "default/web"), kv("ms", -12)}),
            R"(2026-02-03T04:05:06.007Z WARN  slow claim="default/web" ms=-12)");
}

TEST_F(LogTest, EscapesWhatWouldBreakALine) {
  const std::string json =
      line(Format::json, Level::error, "a\"b\\c\nd", {kv("k\n", std::string_view("\x01\x7f\0", 3))});
  EXPECT_THAT(json, HasSubstr(R"("msg":"a\"b\\c\nd","k\n":"\u0001\u007f\u0000"})"));
  const std::string text = line(Format::text, Level::error, "first\nsecond", {kv("v", "x\r\n\tERROR forged")});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_THAT(text, HasSubstr(R"(first\nsecond v="x\r\n\tERROR forged")"));
}

TEST_F(LogTest, KeepsValidUtf8AndReplacesTheRest) {
  EXPECT_THAT(line(Format::json, Level::info, "grüße \xf0\x9f\x99\x82"), HasSubstr("\"grüße \xf0\x9f\x99\x82\""));
  // A lone tail, a truncated sequence, an overlong slash, a surrogate, and above U+10FFFF.
  for (const char* bad : {"\x80", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xf0\x80\x80\xaf"}) {
    const std::string out = line(Format::json, Level::info, "m", {kv("v", bad)});
    EXPECT_THAT(out, HasSubstr(R"("v":"\ufffd)")) << out;
    EXPECT_EQ(out.find(bad[0]), std::string::npos);
  }
  // C1 controls (here CSI) would steer a terminal.
  EXPECT_THAT(line(Format::text, Level::info, "m", {kv("v", "\xc2\x9b[2J")}), HasSubstr(R"(v="\u009b[2J")"));
}

TEST_F(LogTest, NumbersThatJsonLacksAreQuoted) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_THAT(line(Format::json, Level::info, "m", {kv("a", infinite), kv("b", 1.5)}),
              HasSubstr(R"("a":"inf","b":1.5)"));
}

TEST_F(LogTest, ParsesFlags) {
  Level level = Level::info;
  EXPECT_TRUE(parse("debug", level));
  EXPECT_EQ(level, Level::debug);
  EXPECT_TRUE(parse("warn", level));
  EXPECT_EQ(level, Level::warn);
  EXPECT_FALSE(parse("loud", level));
  EXPECT_EQ(level, Level::warn);
  Format format = Format::text;
  EXPECT_TRUE(parse("json", format));
  EXPECT_EQ(format, Format::json);
  EXPECT_FALSE(parse("JSON", format));
}

TEST_F(LogTest, WritesWholeLinesToStderrFromTheConfiguredLevelOn) {
  configure(Level::warn, Format::json);
  EXPECT_FALSE(enabled(Level::info));
  testing::internal::CaptureStderr();
  info("not this");
  warn("this {}", {kv("k", "{not a placeholder}")});
  const std::string out = testing::internal::GetCapturedStderr();
  EXPECT_EQ(out.find("not this"), std::string::npos);
  EXPECT_THAT(out, HasSubstr(R"("msg":"this {}","k":"{not a placeholder}")"));
  EXPECT_EQ(out.back(), '\n');
}

TEST_F(LogTest, ThreadsDoNotMixTheirLines) {
  testing::internal::CaptureStderr();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 200; ++i) info("message", {kv("filler", std::string(100, 'x')), kv("end", "yes")});
      });
    }
  }
  const std::string out = testing::internal::GetCapturedStderr();
  std::size_t lines = 0;
  for (std::size_t at = 0; at < out.size(); ++lines) {
    const std::size_t end = out.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_TRUE(out.substr(at, end - at).ends_with(R"(end="yes")"));
    at = end + 1;
  }
  EXPECT_EQ(lines, 800u);
}

}  // namespace
}  // namespace base::log
