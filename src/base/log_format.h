// The text of one log line, apart from where it goes. For base/log.cc and its tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace base::log {

// One line without its line feed. The result is valid UTF-8 and holds no control character, whatever the fields hold:
// text from a server or a user can neither forge a line nor break its JSON.
//   json: {"level":"info","ts":"2026-01-02T03:04:05.123456789Z","msg":"...","key":"value","n":1}
//   text: 2026-01-02T03:04:05.123Z INFO  message key="value" n=1
std::string format_line(Format format, Level level, WallTime when, std::string_view message,
                        std::span<const Field> fields);

}  // namespace base::log
