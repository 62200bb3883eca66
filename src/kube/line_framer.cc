#include "kube/line_framer.h"

#include <algorithm>

namespace kube {
namespace {
// A buffer that one big object blew up is not kept for ever.
constexpr std::size_t k_keep_bytes = std::size_t{1} << 20;
}  // namespace

void LineFramer::append(std::string_view bytes) {
  const std::size_t needed = end_ + bytes.size() + k_padding;
  // Doubling keeps the cost of growing linear in the bytes fed.
  if (needed > buffer_.size()) buffer_.resize(std::max(needed, 2 * buffer_.size()));
  if (!bytes.empty()) std::memcpy(buffer_.data() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

bool LineFramer::next(std::string_view& line) {
  while (scanned_ < end_) {
    const void* newline = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
    if (newline == nullptr) {
      scanned_ = end_;
      break;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data());
    line = trimmed(begin_, at);
    begin_ = scanned_ = at + 1;
    if (line.size() > limit_) break;
    if (!line.empty()) return true;
  }
  overflown_ = overflown_ || line.size() > limit_ || end_ - begin_ > limit_;
  return false;
}

void LineFramer::compact() {
  // Moving the rest to the front at every call would be quadratic for a big line in small pieces, but begin_ moves only
  // when a line was taken, so that each byte is moved at most once per line that ended before it in the same piece.
  if (begin_ == 0 && !overflown_) return;
  const std::size_t rest = overflown_ ? 0 : end_ - begin_;
  if (rest > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, rest);
  begin_ = 0;
  scanned_ = end_ = rest;
  if (buffer_.size() > k_keep_bytes && rest < k_keep_bytes / 2) {
    buffer_.resize(k_keep_bytes);
    buffer_.shrink_to_fit();
  }
}

std::string_view LineFramer::trimmed(std::size_t from, std::size_t to) const {
  if (to > from && buffer_[to - 1] == '\r') --to;
  return {buffer_.data() + from, to - from};
}

}  // namespace kube
