#include "base/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>

namespace base::log {
namespace {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warn:
      return "warn";
    case Level::error:
      return "error";
  }
  return "error";
}

std::string_view padded_name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "DEBUG";
    case Level::info:
      return "INFO ";
    case Level::warn:
      return "WARN ";
    case Level::error:
      return "ERROR";
  }
  return "ERROR";
}

// The length of the well-formed UTF-8 sequence that `text` starts with; 0 if it starts with none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    const bool overlong = lead == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = lead == 0xed && byte(1) > 0x9f;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    const bool overlong = lead == 0xf0 && byte(1) < 0x90;
    const bool too_high = lead == 0xf4 && byte(1) > 0x8f;
    return overlong || too_high ? 0 : 4;
  }
  return 0;
}

void append_escaped_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto code = static_cast<std::uint8_t>(c);
  if (code < 0x20 || code == 0x7f) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    out += c;
  }
}

// The inside of a JSON string.
void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    // U+0080..U+009F are control characters to a terminal although JSON would let them pass.
    const bool c1 =
        length == 2 && static_cast<std::uint8_t>(text[0]) == 0xc2 && static_cast<std::uint8_t>(text[1]) < 0xa0;
    if (length == 1) {
      append_escaped_ascii(out, text[0]);
    } else if (c1) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint8_t>(text[1]));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

// A raw value may be NaN or infinite, which JSON has no number for.
bool is_json_literal(std::string_view text) {
  if (text == "true" || text == "false") return true;
  const auto number_char = [](char c) { return (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !text.empty() && std::ranges::all_of(text, number_char);
}

void append_value(std::string& out, const Field& field) {
  if (field.raw && is_json_literal(field.value)) {
    out += field.value;
  } else {
    append_quoted(out, field.value);
  }
}

void append_time(std::string& out, WallTime when, int digits) {
  const auto days = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss<Duration> time(when - days);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                 time.minutes().count(), time.seconds().count());
  const auto nanoseconds = time.subseconds().count();
  if (digits == 3) {
    fmt::format_to(std::back_inserter(out), ".{:03}Z", nanoseconds / 1'000'000);
  } else {
    fmt::format_to(std::back_inserter(out), ".{:09}Z", nanoseconds);
  }
}

}  // namespace

std::string format_line(Format format, Level level, WallTime when, std::string_view message,
                        std::span<const Field> fields) {
  std::string line;
  line.reserve(96 + message.size() + fields.size() * 32);
  if (format == Format::json) {
    line += R"({"level":")";
    line += name_of(level);
    line += R"(","ts":")";
    append_time(line, when, 9);
    line += R"(","msg":)";
    append_quoted(line, message);
    for (const Field& field : fields) {
      line += ',';
      append_quoted(line, field.key);
      line += ':';
      append_value(line, field);
    }
    line += '}';
    return line;
  }
  append_time(line, when, 3);
  line += ' ';
  line += padded_name_of(level);
  line += ' ';
  append_escaped(line, message);
  for (const Field& field : fields) {
    line += ' ';
    append_escaped(line, field.key);
    line += '=';
    append_value(line, field);
  }
  return line;
}

}  // namespace base::log
