#include "sandbox/storage.h"

#include <algorithm>
#include <ranges>

namespace sandbox {

const std::string& Version::text() const {
  if (text_.empty()) text_ = to_text(document);
  return text_;
}

std::string Storage::key(std::string_view ns, std::string_view name) {
  std::string text(ns);
  if (!ns.empty()) text += '/';
  return text += name;
}

VersionPtr Storage::get(const Kind& kind, std::string_view key) const {
  const Objects& all = objects(kind);
  const auto found = all.find(key);
  return found == all.end() ? nullptr : found->second;
}

const Storage::Objects& Storage::objects(const Kind& kind) const {
  static const Objects none;
  const auto bucket = buckets_.find(&kind);
  return bucket == buckets_.end() ? none : bucket->second.objects;
}

std::uint64_t Storage::compacted(const Kind& kind) const {
  const auto bucket = buckets_.find(&kind);
  return bucket == buckets_.end() ? floor_ : bucket->second.compacted;
}

std::optional<std::vector<ChangePtr>> Storage::changes_since(const Kind& kind, std::uint64_t revision) const {
  std::vector<ChangePtr> changes;
  const auto found = buckets_.find(&kind);
  if (found == buckets_.end()) return revision < floor_ ? std::nullopt : std::optional(std::move(changes));
  const Bucket& bucket = found->second;
  if (revision < bucket.compacted) return std::nullopt;
  const auto first =
      std::ranges::upper_bound(bucket.history, revision, {}, [](const ChangePtr& c) { return c->revision; });
  changes.assign(first, bucket.history.end());
  return changes;
}

std::optional<Storage::Objects> Storage::objects_at(const Kind& kind, std::uint64_t revision) const {
  auto later = changes_since(kind, revision);
  if (!later) return std::nullopt;
  Objects objects = this->objects(kind);
  for (const ChangePtr& change : *later | std::views::reverse) {
    if (change->before == nullptr) {
      objects.erase(change->key);
    } else {
      objects[change->key] = change->before;
    }
  }
  return objects;
}

Storage::Bucket& Storage::bucket(const Kind& kind) {
  return buckets_.try_emplace(&kind, Bucket{.objects = {}, .history = {}, .compacted = floor_}).first->second;
}

void Storage::each(const std::function<void(const Kind&, const Objects&)>& visit) const {
  for (const auto& [kind, bucket] : buckets_) visit(*kind, bucket.objects);
}

void Storage::clear() { buckets_.clear(); }

void Storage::restore(const Kind& kind, const std::string& key, json::object document, std::uint64_t revision) {
  auto version = std::make_shared<Version>();
  version->revision = revision;
  version->document = std::move(document);
  bucket(kind).objects[key] = version;
  const Change change{.kind = &kind, .key = key, .before = nullptr, .after = version, .revision = revision};
  for (const Observer& observer : observers_) observer(change);
}

VersionPtr Storage::put(const Kind& kind, const std::string& key, json::object document) {
  Bucket& bucket = this->bucket(kind);
  auto version = std::make_shared<Version>();
  version->revision = ++revision_;
  make_object(document, {"metadata"})["resourceVersion"] = std::to_string(revision_);
  version->document = std::move(document);
  VersionPtr& slot = bucket.objects[key];
  Change change{.kind = &kind, .key = key, .before = slot, .after = version, .revision = revision_};
  slot = version;
  record(bucket, std::move(change));
  return version;
}

json::object Storage::remove(const Kind& kind, const std::string& key) {
  Bucket& bucket = this->bucket(kind);
  const auto found = bucket.objects.find(key);
  if (found == bucket.objects.end()) return {};
  Change change{.kind = &kind, .key = key, .before = found->second, .after = nullptr, .revision = ++revision_};
  bucket.objects.erase(found);
  json::object last = change.before->document;
  make_object(last, {"metadata"})["resourceVersion"] = std::to_string(change.revision);
  record(bucket, std::move(change));
  return last;
}

void Storage::record(Bucket& bucket, Change change) {
  auto shared = std::make_shared<const Change>(std::move(change));
  bucket.history.push_back(shared);
  while (bucket.history.size() > history_) {
    bucket.compacted = bucket.history.front()->revision;
    bucket.history.pop_front();
  }
  for (const Observer& observer : observers_) observer(*shared);
}

void Storage::compact() {
  floor_ = revision_;
  for (auto& [kind, bucket] : buckets_) {
    bucket.history.clear();
    bucket.compacted = revision_;
  }
}

void Storage::set_revision(std::uint64_t revision) {
  revision_ = revision;
  compact();
}

}  // namespace sandbox
