// Framing, against the obvious way to split lines.
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "kube/line_framer.h"

namespace {

constexpr std::size_t k_limit = 64;

// Stops at a line beyond the limit.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > k_limit) return lines;
    if (end == std::string_view::npos) return lines;
    if (!line.empty()) lines.emplace_back(line);
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = kube::fuzz::text_of(data, size);
  const std::size_t piece = kube::fuzz::take_piece_size(input);
  kube::LineFramer framer(k_limit);
  std::vector<std::string> lines;
  bool fits = true;
  kube::fuzz::in_pieces(input, piece, [&](std::string_view bytes) {
    const bool still = framer.feed(bytes, [&](std::string_view line) { lines.emplace_back(line); });
    kube::fuzz::expect(fits || !still, "once too long, always too long");
    fits = still;
  });
  kube::fuzz::expect(lines == split(input), "the lines are those of the text");
  kube::fuzz::expect(framer.pending() <= k_limit + 256, "no more is kept than the limit and a piece");
  framer.finish([](std::string_view) {});
  return 0;
}
