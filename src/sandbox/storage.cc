#include "sandbox/storage.h"

#include <algorithm>

namespace sandbox {

namespace {

std::string_view namespace_of(std::string_view key) {
  const std::size_t slash = key.find('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

// What a change keeps in memory that nothing else does: the version that it ended.
std::size_t weight(const Change& change) {
  return sizeof(Change) + change.key.size() + (change.before == nullptr ? 0 : change.before->bytes());
}

}  // namespace

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

bool Storage::visit_at(const Kind& kind, std::uint64_t revision, std::string_view from,
                       const std::function<bool(const std::string& key, const VersionPtr& version)>& visit) const {
  const auto later = changes_since(kind, revision);
  if (!later) return false;
  std::map<std::string_view, const VersionPtr*> was;  // what has changed since
  for (const ChangePtr& change : *later) {
    if (change->key >= from) was.try_emplace(change->key, &change->before);
  }
  const Objects& now = objects(kind);
  auto next = now.lower_bound(from);
  auto earlier = was.begin();
  while (next != now.end() || earlier != was.end()) {
    if (earlier == was.end() || (next != now.end() && next->first < earlier->first)) {
      if (!visit(next->first, next->second)) return true;
      ++next;
      continue;
    }
    if (next != now.end() && next->first == earlier->first) ++next;
    if (*earlier->second != nullptr && !visit(std::string(earlier->first), *earlier->second)) return true;
    ++earlier;
  }
  return true;
}

std::optional<std::size_t> Storage::count_at(const Kind& kind, std::uint64_t revision, std::string_view ns) const {
  const auto later = changes_since(kind, revision);
  if (!later) return std::nullopt;
  const auto found = buckets_.find(&kind);
  if (found == buckets_.end()) return 0;
  const Bucket& bucket = found->second;
  const auto own = bucket.in_namespace.find(ns);
  std::size_t count = ns.empty() ? bucket.objects.size() : own == bucket.in_namespace.end() ? 0 : own->second;
  for (const ChangePtr& change : *later) {
    if (!ns.empty() && namespace_of(change->key) != ns) continue;
    if (change->after == nullptr) ++count;
    if (change->before == nullptr) --count;
  }
  return count;
}

Storage::Bucket& Storage::bucket(const Kind& kind) {
  return buckets_.try_emplace(&kind, Bucket{.objects = {}, .in_namespace = {}, .history = {}, .compacted = floor_})
      .first->second;
}

VersionPtr& Storage::slot(Bucket& bucket, const std::string& key) {
  const auto [place, fresh] = bucket.objects.try_emplace(key);
  if (fresh) ++bucket.in_namespace[std::string(namespace_of(key))];
  return place->second;
}

void Storage::each(const std::function<void(const Kind&, const Objects&)>& visit) const {
  for (const auto& [kind, bucket] : buckets_) visit(*kind, bucket.objects);
}

void Storage::clear() {
  buckets_.clear();
  logged_bytes_ = 0;
}

void Storage::restore(const Kind& kind, const std::string& key, json::object document, std::uint64_t revision) {
  const auto version = std::make_shared<const Version>(kind, revision, std::move(document), recent_);
  slot(bucket(kind), key) = version;
  const Change change{.kind = &kind, .key = key, .before = nullptr, .after = version, .revision = revision};
  for (const Observer& observer : observers_) observer(change);
}

VersionPtr Storage::put(const Kind& kind, const std::string& key, json::object document) {
  Bucket& bucket = this->bucket(kind);
  make_object(document, {"metadata"})["resourceVersion"] = std::to_string(++revision_);
  const auto version = std::make_shared<const Version>(kind, revision_, std::move(document), recent_);
  VersionPtr& slot = this->slot(bucket, key);
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
  const auto count = bucket.in_namespace.find(namespace_of(key));
  if (--count->second == 0) bucket.in_namespace.erase(count);
  json::object last = *change.before->document();
  make_object(last, {"metadata"})["resourceVersion"] = std::to_string(change.revision);
  record(bucket, std::move(change));
  return last;
}

void Storage::record(Bucket& bucket, Change change) {
  auto shared = std::make_shared<const Change>(std::move(change));
  bucket.history.push_back(shared);
  logged_bytes_ += weight(*shared);
  if (bucket.history.size() > history_) forget_first(bucket);
  while (logged_bytes_ > history_bytes_) {
    Bucket* oldest = nullptr;
    for (auto& [kind, each] : buckets_) {
      if (each.history.empty()) continue;
      if (oldest == nullptr || each.history.front()->revision < oldest->history.front()->revision) oldest = &each;
    }
    if (oldest == nullptr) break;
    forget_first(*oldest);
  }
  for (const Observer& observer : observers_) observer(*shared);
}

void Storage::forget_first(Bucket& bucket) {
  logged_bytes_ -= weight(*bucket.history.front());
  bucket.compacted = bucket.history.front()->revision;
  bucket.history.pop_front();
}

void Storage::compact() {
  floor_ = revision_;
  logged_bytes_ = 0;
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
