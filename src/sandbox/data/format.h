// The data file's format: a snapshot, then a log of changes, in records with checksums. Internal to the sandbox.
//
//   file    = magic record...
//   record  = length:4 checksum:4 check:4 payload        little-endian; check covers the ordinal, length and checksum
//   payload = 'B' revision:8 count:8                     a snapshot of this revision begins: so many objects
//           | 'O' revision:8 kind key document           one of its objects
//           | 'E' count:8                                it is complete
//           | 'P' revision:8 kind key document           an object was created or replaced
//           | 'D' revision:8 kind key                    an object was removed
//   kind    = group NUL version NUL plural NUL, key = text NUL
//
// A file begins with one complete snapshot; revisions of the log follow one another without a gap. The last record of a
// log may be cut short: the process was killed while it wrote, and nobody was told of that change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/result.h"

namespace sandbox::data {

inline constexpr std::string_view magic = "address-sandbox data 1\n";

struct KindName {
  std::string group;
  std::string version;
  std::string plural;
  auto operator<=>(const KindName&) const = default;
};

// Makes records one after the other; a record's place is part of its checksum.
class Encoder {
 public:
  explicit Encoder(std::uint64_t next = 0) : next_(next) {}
  // The number of records so far.
  std::uint64_t count() const { return next_; }

  std::string begin(std::uint64_t revision, std::uint64_t objects);
  std::string object(std::uint64_t revision, const KindName& kind, std::string_view key, std::string_view document);
  std::string end(std::uint64_t objects);
  std::string put(std::uint64_t revision, const KindName& kind, std::string_view key, std::string_view document);
  std::string remove(std::uint64_t revision, const KindName& kind, std::string_view key);

  // The same in two steps: what a record says, whatever its place.
  static std::string put_payload(std::uint64_t revision, const KindName& kind, std::string_view key,
                                 std::string_view document);
  static std::string remove_payload(std::uint64_t revision, const KindName& kind, std::string_view key);
  std::string record(std::string_view payload);

 private:
  std::uint64_t next_;
};

struct Stored {
  std::uint64_t revision = 0;
  std::string_view document;
};

// What a file says; refers to its bytes.
struct Contents {
  std::uint64_t revision = 0;
  std::map<std::pair<KindName, std::string>, Stored> objects;  // by kind and key
  std::uint64_t records = 0;
  std::size_t snapshot_bytes = 0;  // of magic and snapshot
  std::size_t valid_bytes = 0;     // what follows is a record cut short
};

// An error says what is wrong at which byte.
base::Result<Contents> decode(std::string_view file);

}  // namespace sandbox::data
