// Structured logging: a constant message and key/value data, as text or as one JSON object a line (client-go's field
// names). Thread-safe. Configure once in main before the first line; until then lines of level info and above go to
// stderr as text.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace base::log {

enum class Level : std::uint8_t { debug, info, warn, error };
enum class Format : std::uint8_t { text, json };

// One datum of a line. `raw` values (numbers, booleans) are printed unquoted in JSON.
struct Field {
  std::string_view key;
  std::string value;
  bool raw = false;
};

inline Field kv(std::string_view key, std::string_view value) { return {key, std::string(value), false}; }
inline Field kv(std::string_view key, const char* value) { return {key, value, false}; }
inline Field kv(std::string_view key, bool value) { return {key, value ? "true" : "false", true}; }
template <class N>
requires(std::is_arithmetic_v<N> && !std::same_as<N, bool>) Field kv(std::string_view key, N value) {
  return {key, std::to_string(value), true};
}

// Writes to stderr from here on. `logger` fields such as the process's name are the caller's to add.
void configure(Level level, Format format);
// Parse the flags --log-level (debug, info, warn, error) and --log-format (text, json); false if unknown.
bool parse(std::string_view text, Level& level);
bool parse(std::string_view text, Format& format);

bool enabled(Level level);
void write(Level level, std::string_view message, std::initializer_list<Field> fields);

inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
  if (enabled(Level::debug)) write(Level::debug, message, fields);
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::info, message, fields);
}
inline void warn(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::warn, message, fields);
}
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::error, message, fields);
}

}  // namespace base::log
