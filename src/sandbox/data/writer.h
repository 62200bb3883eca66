// The thread that writes the data file. Internal to the sandbox.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "sandbox/data/data_file.h"
#include "sandbox/data/format.h"
#include "sandbox/storage.h"

namespace sandbox::data {

// All objects at one revision.
struct Snapshot {
  struct Entry {
    std::size_t kind;  // in `kinds`
    std::string key;
    VersionPtr version;
  };
  std::uint64_t revision = 0;
  std::vector<KindName> kinds;  // copies: the server may change its own while this is written
  std::vector<Entry> entries;

  static Snapshot of(const Storage& storage);
};

// A file that a snapshot has been written to, ready to go on with changes.
struct Written {
  DataFile file;
  Encoder encoder;
  std::size_t bytes = 0;
};
// Into a draft beside `path`.
base::Result<Written> write_snapshot(const std::string& path, const Snapshot& snapshot);

class Writer {
 public:
  struct Callbacks {  // on the writer's thread
    std::function<void(std::uint64_t revision)> durable;
    std::function<void()> wants_snapshot;
    std::function<void(const std::string& why)> failed;
  };

  // Goes on in `file` after `snapshot_bytes` of snapshot and `log_bytes` of log.
  Writer(std::string path, Written file, std::size_t log_bytes, std::size_t least_log, Callbacks callbacks);
  // Writes what is left, a snapshot under way excepted.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // From any thread.
  void change(std::uint64_t revision, std::string payload);
  void snapshot(Snapshot snapshot);
  std::size_t compactions() const;

 private:
  struct Changed {
    std::uint64_t revision;
    std::string payload;
  };
  struct Ready {
    base::Result<Written> written;
  };
  using Item = std::variant<Changed, Snapshot, Ready>;

  void push(Item item);
  void run();
  // False once writing has failed.
  bool write(std::vector<Item> items);
  base::Result<void> append(std::string& bytes);
  base::Result<void> take_over(Written written);
  void start_snapshot(Snapshot snapshot);

  std::string path_;
  Written current_;  // with `bytes` of its snapshot
  std::size_t log_bytes_;
  std::size_t least_log_;
  Callbacks callbacks_;
  bool compacting_ = false;
  std::vector<std::string> since_snapshot_;  // changes that the next file must have too
  std::thread snapshot_thread_;

  mutable std::mutex mutex_;
  std::condition_variable wakeup_;
  std::vector<Item> queue_;      // guarded by mutex_
  bool ending_ = false;          // guarded by mutex_
  std::size_t compactions_ = 0;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace sandbox::data
