#include "base/text.h"

#include <fmt/format.h>
#include <algorithm>

#include <cstdint>
#include <iterator>

namespace base {
namespace {

constexpr char32_t k_replacement = 0xfffd;

// Takes one character off the front of `text`, which is not empty.
char32_t take(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  char32_t code = length == 1 ? lead : lead & (0xff >> (length + 1));
  bool good = lead < 0x80 || (lead >= 0xc2 && lead <= 0xf4 && text.size() >= length);
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xc0) == 0x80;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  good = good && code >= smallest[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  text.remove_prefix(good ? length : 1);
  return good ? code : k_replacement;
}

bool is_control(char32_t c) {
  const bool c0_or_c1 = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool separates = c == 0x2028 || c == 0x2029;
  const bool directs =
      c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return c0_or_c1 || separates || directs;
}

void escape(std::string& out, char32_t c) {
  switch (c) {
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
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x80) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", code);
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take(text);
    if (is_control(c)) {
      escape(out, c);
    } else if (c == k_replacement) {
      out += "\xef\xbf\xbd";
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

bool is_dns_label(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && plain(text.front()) && plain(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return plain(c) || c == '-'; });
}

}  // namespace base
