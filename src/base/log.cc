#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>

#include "base/log_format.h"

namespace base::log {
namespace {

std::atomic<Level> g_level{Level::info};
std::atomic<Format> g_format{Format::text};

// Never destroyed: threads may still log while static objects go. Not asynchronous: the last lines before an abort
// count.
spdlog::logger& sink() {
  static spdlog::logger* const logger = [] {
    auto* created = new spdlog::logger("stderr", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_pattern("%v");
    created->set_level(spdlog::level::trace);
    return created;
  }();
  return *logger;
}

}  // namespace

void configure(Level level, Format format) {
  g_level.store(level, std::memory_order_relaxed);
  g_format.store(format, std::memory_order_relaxed);
}

bool parse(std::string_view text, Level& level) {
  if (text == "debug") {
    level = Level::debug;
  } else if (text == "info") {
    level = Level::info;
  } else if (text == "warn") {
    level = Level::warn;
  } else if (text == "error") {
    level = Level::error;
  } else {
    return false;
  }
  return true;
}

bool parse(std::string_view text, Format& format) {
  if (text == "text") {
    format = Format::text;
  } else if (text == "json") {
    format = Format::json;
  } else {
    return false;
  }
  return true;
}

bool enabled(Level level) { return level >= g_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (!enabled(level)) return;
  const std::string line =
      format_line(g_format.load(std::memory_order_relaxed), level, std::chrono::system_clock::now(), message,
                  std::span(fields.begin(), fields.size()));
  // The string_view overload takes the text as it is, braces included.
  sink().log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace base::log
