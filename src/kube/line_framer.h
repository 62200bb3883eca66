// Cuts a stream that arrives in arbitrary pieces into lines: the framing of a watch (one JSON document per line).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace kube {

// Linear in the bytes fed, however they are cut (inside UTF-8, between CR and LF, byte by byte). Not thread-safe.
class LineFramer {
 public:
  // A line longer than `limit` bytes is refused: nothing that an API server stores comes near.
  static constexpr std::size_t k_default_limit = std::size_t{16} << 20;
  // So many readable bytes follow every line that is handed out, as simdjson wants them.
  static constexpr std::size_t k_padding = 64;

  explicit LineFramer(std::size_t limit = k_default_limit) : limit_(limit) {}

  // Calls `line(std::string_view)` for each line that `bytes` completes, without its LF or CRLF; empty lines are
  // skipped. The views are valid during the call only. Returns false, now and ever after, once a line exceeded the
  // limit.
  template <std::invocable<std::string_view> Sink>
  bool feed(std::string_view bytes, Sink&& line) {
    if (overflown_) return false;
    append(bytes);
    std::string_view found;
    while (next(found)) line(found);
    compact();
    return !overflown_;
  }

  // What the stream ended with: a last line that had no newline, or "". The framer is empty afterwards.
  template <std::invocable<std::string_view> Sink>
  void finish(Sink&& line) {
    if (!overflown_ && end_ > begin_) line(trimmed(begin_, end_));
    begin_ = scanned_ = end_ = 0;
  }

  // Bytes kept of an unfinished line.
  std::size_t pending() const { return end_ - begin_; }

 private:
  void append(std::string_view bytes);
  bool next(std::string_view& line);
  void compact();
  std::string_view trimmed(std::size_t from, std::size_t to) const;

  std::size_t limit_;
  std::vector<char> buffer_;  // [begin_, end_) is unconsumed; [begin_, scanned_) is known to hold no newline
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t end_ = 0;
  bool overflown_ = false;
};

}  // namespace kube
