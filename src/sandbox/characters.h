// Characters as programs written in Go see them: which bytes are text, and which of it can be shown. Internal to the
// sandbox.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sandbox {

struct Rune {
  char32_t value = 0;
  std::size_t size = 1;  // in bytes; 1 of what is no UTF-8
  bool valid = false;
};
// The first character of `text`, which is not empty.
Rune first_rune(std::string_view text);

// As strconv.IsPrint, but for characters that Unicode has not assigned, which count as printable.
bool is_printable(char32_t value);

// A JSON text as encoding/json reads its strings: each byte that is no UTF-8, and each escape of half a surrogate pair,
// becomes U+FFFD.
std::string as_go_reads(std::string_view json);

}  // namespace sandbox
