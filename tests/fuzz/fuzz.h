// What the targets share: an input as a way to cut it and a text, and a stop that a fuzzer notices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// The entry of libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kube::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes the first byte: the length of the pieces that the rest comes in.
inline std::size_t take_piece_size(std::string_view& input) {
  if (input.empty()) return 1;
  const auto size = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return std::size_t{size} + 1;
}

template <class F>
void in_pieces(std::string_view text, std::size_t size, F f) {
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) f(text.substr(0, size));
}

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace kube::fuzz
