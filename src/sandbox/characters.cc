#include "sandbox/characters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>

namespace sandbox {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

bool in(std::span<const Range> ranges, char32_t value) {
  return std::ranges::any_of(ranges,
                             [value](const Range& range) { return value >= range.first && value <= range.last; });
}

// The number of "\\uXXXX" at the start of `text`.
std::optional<std::uint32_t> escaped(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, value, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return value;
}

constexpr std::string_view k_replacement = "\xef\xbf\xbd";

}  // namespace

Rune first_rune(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t value = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    value = (value << 6U) | (byte(i) & 0x3fU);
  }
  static constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least.at(size) || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, size, true};
}

bool is_printable(char32_t value) {
  // Controls, formats, spaces other than ' ', separators, private use, no characters.
  static constexpr auto hidden = std::to_array<Range>(
      {{0, 0x1f},          {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
       {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x1680, 0x1680},
       {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},
       {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
       {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe007f},
       {0xf0000, 0x10ffff}});
  return !in(hidden, value);
}

std::string as_go_reads(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    std::size_t used = 1;
    if (const auto unit = escaped(json); unit && *unit >= 0xd800 && *unit <= 0xdfff) {
      const auto next = escaped(json.substr(6));
      const bool pair = *unit < 0xdc00 && next && *next >= 0xdc00 && *next <= 0xdfff;
      used = pair ? 12 : 6;
      out += pair ? json.substr(0, used) : k_replacement;
    } else if (json.front() == '\\') {
      used = std::min<std::size_t>(json.size(), 2);
      const bool ascii = used == 2 && static_cast<unsigned char>(json[1]) < 0x80;
      if (!ascii) used = 1;
      out += json.substr(0, used);
    } else {
      const Rune rune = first_rune(json);
      used = rune.size;
      out += rune.valid ? json.substr(0, used) : k_replacement;
    }
    json.remove_prefix(used);
  }
  return out;
}

}  // namespace sandbox
