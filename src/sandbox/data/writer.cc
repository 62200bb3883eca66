#include "sandbox/data/writer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace sandbox::data {
namespace {

constexpr std::size_t k_block = 1UL << 20U;

}  // namespace

Snapshot Snapshot::of(const Storage& storage) {
  Snapshot snapshot{.revision = storage.revision(), .kinds = {}, .entries = {}};
  storage.each([&snapshot](const Kind& kind, const Storage::Objects& objects) {
    for (const auto& [key, version] : objects) snapshot.entries.push_back({snapshot.kinds.size(), key, version});
    snapshot.kinds.push_back({kind.group, kind.version, kind.plural});
  });
  return snapshot;
}

base::Result<Written> write_snapshot(const std::string& path, const Snapshot& snapshot) {
  auto file = DataFile::draft(path);
  if (!file) return std::unexpected(file.error());
  Written written{.file = std::move(*file), .encoder = Encoder(), .bytes = 0};
  std::string block(magic);
  const auto flush = [&]() -> base::Result<void> {
    written.bytes += block.size();
    auto appended = written.file.append(block);
    block.clear();
    return appended;
  };
  block += written.encoder.begin(snapshot.revision, snapshot.entries.size());
  for (const Snapshot::Entry& entry : snapshot.entries) {
    block +=
        written.encoder.object(entry.version->revision(), snapshot.kinds[entry.kind], entry.key, entry.version->text());
    if (block.size() < k_block) continue;
    if (auto flushed = flush(); !flushed) return std::unexpected(flushed.error());
  }
  block += written.encoder.end(snapshot.entries.size());
  if (auto flushed = flush(); !flushed) return std::unexpected(flushed.error());
  return written;
}

Writer::Writer(std::string path, Written file, std::size_t log_bytes, std::size_t least_log, Callbacks callbacks)
    : path_(std::move(path)),
      current_(std::move(file)),
      log_bytes_(log_bytes),
      least_log_(least_log),
      callbacks_(std::move(callbacks)),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wakeup_.notify_one();
  thread_.join();
  if (!snapshot_thread_.joinable()) return;
  snapshot_thread_.join();
  if (compacting_) std::remove((path_ + ".new").c_str());
}

void Writer::push(Item item) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(item));
  }
  wakeup_.notify_one();
}

void Writer::change(std::uint64_t revision, std::string payload) { push(Changed{revision, std::move(payload)}); }
void Writer::snapshot(Snapshot snapshot) { push(std::move(snapshot)); }

std::size_t Writer::compactions() const {
  const std::scoped_lock lock(mutex_);
  return compactions_;
}

void Writer::run() {
  while (true) {
    std::vector<Item> items;
    {
      std::unique_lock lock(mutex_);
      wakeup_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      items.swap(queue_);
      if (items.empty()) return;
    }
    if (!write(std::move(items))) return;
  }
}

// Everything that has come meanwhile goes to the disk at once.
bool Writer::write(std::vector<Item> items) {
  std::string bytes;
  std::uint64_t revision = 0;
  base::Result<void> good;
  for (Item& item : items) {
    if (auto* changed = std::get_if<Changed>(&item)) {
      revision = changed->revision;
      bytes += current_.encoder.record(changed->payload);
      if (compacting_) since_snapshot_.push_back(std::move(changed->payload));
    } else if (auto* snapshot = std::get_if<Snapshot>(&item)) {
      start_snapshot(std::move(*snapshot));
    } else if (auto& ready = std::get<Ready>(item); ready.written) {
      good = append(bytes);
      if (good) good = take_over(std::move(*ready.written));
    } else {
      good = std::unexpected(ready.written.error());
    }
    if (!good) break;
  }
  if (good) good = append(bytes);
  if (good && revision != 0) good = current_.file.sync();
  if (!good) {
    callbacks_.failed(good.error().message);
    return false;
  }
  if (revision != 0) callbacks_.durable(revision);
  if (!compacting_ && log_bytes_ > std::max(least_log_, current_.bytes)) {
    compacting_ = true;
    callbacks_.wants_snapshot();
  }
  return true;
}

base::Result<void> Writer::append(std::string& bytes) {
  log_bytes_ += bytes.size();
  auto appended = current_.file.append(bytes);
  bytes.clear();
  return appended;
}

// The snapshot is written beside the file while changes go on into the file; they are repeated behind the snapshot.
void Writer::start_snapshot(Snapshot snapshot) {
  since_snapshot_.clear();
  if (snapshot_thread_.joinable()) snapshot_thread_.join();
  snapshot_thread_ =
      std::thread([this, snapshot = std::move(snapshot)] { push(Ready{write_snapshot(path_, snapshot)}); });
}

base::Result<void> Writer::take_over(Written written) {
  std::string bytes;
  for (const std::string& payload : since_snapshot_) bytes += written.encoder.record(payload);
  since_snapshot_.clear();
  if (auto appended = written.file.append(bytes); !appended) return appended;
  if (auto replaced = written.file.replace(path_); !replaced) return replaced;
  current_ = std::move(written);
  log_bytes_ = bytes.size();
  compacting_ = false;
  const std::scoped_lock lock(mutex_);
  ++compactions_;
  return {};
}

}  // namespace sandbox::data
