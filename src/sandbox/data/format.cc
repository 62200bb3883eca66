#include "sandbox/data/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <optional>

namespace sandbox::data {
namespace {

constexpr std::size_t k_header = 12;

void append_number(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>((value >> (8 * i)) & 0xffU);
}

std::uint64_t number(std::string_view from, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(from[static_cast<std::size_t>(i)])} << (8 * i);
  }
  return value;
}

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

// Of a record's header: where it stands, and its first eight bytes.
std::uint32_t check_of(std::uint64_t ordinal, std::string_view first_eight) {
  std::string bytes;
  append_number(bytes, ordinal, 8);
  bytes += first_eight;
  return checksum(bytes);
}

std::string payload_of(char type, std::uint64_t revision, const KindName& kind, std::string_view key,
                       std::string_view document) {
  std::string text(1, type);
  text.reserve(document.size() + 128);
  append_number(text, revision, 8);
  for (const std::string_view part :
       {std::string_view(kind.group), std::string_view(kind.version), std::string_view(kind.plural), key}) {
    text += part;
    text += '\0';
  }
  return text += document;
}

// Takes a payload apart; every step fails softly.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  std::string_view rest() const { return rest_; }

  char type() { return take(1).empty() ? '\0' : last_[0]; }
  std::uint64_t number() { return take(8).empty() ? 0 : data::number(last_, 8); }
  std::string text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) return fail(), std::string();
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return found;
  }

 private:
  std::string_view take(std::size_t bytes) {
    if (rest_.size() < bytes) {
      fail();
      return last_ = {};
    }
    last_ = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return last_;
  }
  void fail() { good_ = false; }

  std::string_view rest_;
  std::string_view last_;
  bool good_ = true;
};

// Follows the records: which may come where, and what they add up to.
class Replay {
 public:
  // "" or what is wrong.
  std::string take(std::string_view payload) {
    Reader reader(payload);
    const char type = reader.type();
    if (type == 'B') return begin(reader);
    if (type == 'E') return end(reader);
    if (type == 'O' || type == 'P' || type == 'D') return change(type, reader);
    return "an unknown record";
  }
  bool complete() const { return complete_; }
  Contents& contents() { return contents_; }

 private:
  std::string begin(Reader& reader) {
    if (begun_) return "a second snapshot";
    begun_ = true;
    contents_.revision = reader.number();
    expected_ = reader.number();
    return reader.good() && reader.rest().empty() ? "" : "a malformed record";
  }

  std::string end(Reader& reader) {
    if (!begun_ || complete_) return "the end of a snapshot in the wrong place";
    complete_ = true;
    const std::uint64_t count = reader.number();
    if (!reader.good() || !reader.rest().empty()) return "a malformed record";
    if (count != expected_ || contents_.objects.size() != expected_) return "a snapshot with objects missing";
    return {};
  }

  std::string change(char type, Reader& reader) {
    if ((type == 'O') == complete_ || !begun_) return "a record in the wrong place";
    const std::uint64_t revision = reader.number();
    KindName kind;
    kind.group = reader.text();
    kind.version = reader.text();
    kind.plural = reader.text();
    std::string key = reader.text();
    if (!reader.good()) return "a malformed record";
    if (type != 'O' && revision != contents_.revision + 1) return "a change is missing";
    if (type == 'O' && revision > contents_.revision) return "an object newer than its snapshot";
    if (type != 'O') contents_.revision = revision;
    const std::pair place(std::move(kind), std::move(key));
    if (type == 'D') return contents_.objects.erase(place) == 1 ? "" : "the removal of what is not there";
    contents_.objects.insert_or_assign(place, Stored{revision, reader.rest()});
    return {};
  }

  Contents contents_;
  std::uint64_t expected_ = 0;
  bool begun_ = false;
  bool complete_ = false;
};

bool only_zeros(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

}  // namespace

std::string Encoder::record(std::string_view payload) {
  std::string bytes;
  bytes.reserve(k_header + payload.size());
  append_number(bytes, payload.size(), 4);
  append_number(bytes, checksum(payload), 4);
  append_number(bytes, check_of(next_++, bytes), 4);
  return bytes += payload;
}

std::string Encoder::begin(std::uint64_t revision, std::uint64_t objects) {
  std::string payload = "B";
  append_number(payload, revision, 8);
  append_number(payload, objects, 8);
  return record(payload);
}

std::string Encoder::end(std::uint64_t objects) {
  std::string payload = "E";
  append_number(payload, objects, 8);
  return record(payload);
}

std::string Encoder::object(std::uint64_t revision, const KindName& kind, std::string_view key,
                            std::string_view document) {
  return record(payload_of('O', revision, kind, key, document));
}

std::string Encoder::put_payload(std::uint64_t revision, const KindName& kind, std::string_view key,
                                 std::string_view document) {
  return payload_of('P', revision, kind, key, document);
}

std::string Encoder::remove_payload(std::uint64_t revision, const KindName& kind, std::string_view key) {
  return payload_of('D', revision, kind, key, {});
}

std::string Encoder::put(std::uint64_t revision, const KindName& kind, std::string_view key,
                         std::string_view document) {
  return record(put_payload(revision, kind, key, document));
}

std::string Encoder::remove(std::uint64_t revision, const KindName& kind, std::string_view key) {
  return record(remove_payload(revision, kind, key));
}

base::Result<Contents> decode(std::string_view file) {
  if (!file.starts_with(magic)) {
    const std::string_view first = file.substr(0, std::min(file.find('\n'), std::size_t{60}));
    if (first.starts_with(magic.substr(0, magic.find_last_of(' ') + 1)))
      return base::fail(fmt::format("it is of another version of address-sandbox: \"{}\"", first));
    return base::fail("it is not a data file of address-sandbox");
  }
  Replay replay;
  std::size_t at = magic.size();
  std::uint64_t ordinal = 0;
  const auto damaged = [&at](std::string_view what) { return base::fail(fmt::format("{} at byte {}", what, at)); };
  while (at < file.size()) {
    const std::string_view rest = file.substr(at);
    const bool cut_head = rest.size() < k_header;
    if (cut_head || only_zeros(rest)) break;  // zeros: the system went down before the bytes were written
    if (number(rest.substr(8), 4) != check_of(ordinal, rest.substr(0, 8))) return damaged("a checksum is wrong");
    const std::size_t length = number(rest, 4);
    if (rest.size() - k_header < length) break;
    const std::string_view payload = rest.substr(k_header, length);
    if (checksum(payload) != number(rest.substr(4), 4)) return damaged("a checksum is wrong");
    if (const std::string wrong = replay.take(payload); !wrong.empty()) return damaged(wrong);
    at += k_header + length;
    ++ordinal;
    if (replay.complete() && replay.contents().snapshot_bytes == 0) replay.contents().snapshot_bytes = at;
  }
  if (!replay.complete()) return damaged("the snapshot is cut short");
  Contents contents = std::move(replay.contents());
  contents.records = ordinal;
  contents.valid_bytes = at;
  return contents;
}

}  // namespace sandbox::data
