// Decoding of what WATCH answers with: the events of a stream. Runs on the transport's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api_error.h"
#include "kube/types.h"

namespace kube {

struct WatchEvent {
  enum class Type : std::uint8_t { added, modified, deleted, bookmark, error };
  Type type = Type::bookmark;
  ObjectPtr object;                 // added, modified; deleted: the last state
  std::string version;              // the object's or the bookmark's resourceVersion
  bool initial_events_end = false;  // bookmark: the synthetic events of a streaming list end here
  ApiError error;                   // error: the Status
};

// A stretch of a stream, decoded.
struct WatchBatch {
  std::vector<WatchEvent> events;
  // Not empty: what followed the events cannot be read; the stream is of no more use.
  std::string garbage;
};

// Turns the body of one watch into events, however it is cut. Not thread-safe; one per stream.
class WatchDecoder {
 public:
  explicit WatchDecoder(const Kind& kind);
  ~WatchDecoder();
  WatchDecoder(const WatchDecoder&) = delete;
  WatchDecoder& operator=(const WatchDecoder&) = delete;

  // The events completed by `bytes`. After a batch with `garbage` all further ones are empty.
  WatchBatch feed(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One document of a stream (no newline). Needs no padding.
base::Result<WatchEvent> decode_watch_event(const Kind& kind, std::string_view line);

}  // namespace kube
