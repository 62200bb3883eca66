// The revision log: all kinds' objects with one monotonic version counter, like etcd. Internal to the sandbox.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/kind.h"
#include "sandbox/version.h"

namespace sandbox {

// One step of the log.
struct Change {
  const Kind* kind = nullptr;
  std::string key = {};
  VersionPtr before = {};  // nullptr: the object is new
  VersionPtr after = {};   // nullptr: the object is gone
  std::uint64_t revision = 0;
  // The event's line for watches that see the object as it is stored, by its type: shared by all that have yet to send
  // it.
  mutable std::map<std::string_view, std::weak_ptr<const std::string>> lines = {};
};
using ChangePtr = std::shared_ptr<const Change>;

class Storage {
 public:
  using Objects = std::map<std::string, VersionPtr, std::less<>>;
  using Observer = std::function<void(const Change&)>;

  // The log reaches back `history` changes of a kind, and no further than what takes `history_bytes` in all.
  Storage(std::size_t history, std::size_t history_bytes) : history_(history), history_bytes_(history_bytes) {}

  // "ns/name", or "name" for cluster-scoped kinds: the order of keys is the order of lists.
  static std::string key(std::string_view ns, std::string_view name);

  std::uint64_t revision() const { return revision_; }
  VersionPtr get(const Kind& kind, std::string_view key) const;
  const Objects& objects(const Kind& kind) const;
  // Shows the objects as they were at `revision` in the order of their keys, from the first that is not before `from`,
  // until `visit` returns false. False if the log no longer reaches back that far. Work grows with what is visited and
  // with the changes since, not with what there is.
  bool visit_at(const Kind& kind, std::uint64_t revision, std::string_view from,
                const std::function<bool(const std::string& key, const VersionPtr& version)>& visit) const;
  // How many there were, in one namespace or ("") in all; nullopt as above.
  std::optional<std::size_t> count_at(const Kind& kind, std::uint64_t revision, std::string_view ns) const;
  // The changes after `revision`; nullopt if the log no longer reaches back that far.
  std::optional<std::vector<ChangePtr>> changes_since(const Kind& kind, std::uint64_t revision) const;
  // The oldest revision that changes_since still accepts.
  std::uint64_t compacted(const Kind& kind) const;

  VersionPtr put(const Kind& kind, const std::string& key, json::object document);
  // Returns the last version's document with the revision of its removal, as DELETED events show it.
  json::object remove(const Kind& kind, const std::string& key);
  // Forgets all history: watches from before now get 410.
  void compact();
  // Sets the counter back or forward, as restoring a backup of the store does. History is forgotten.
  void set_revision(std::uint64_t revision);

  // Every kind's objects, in no particular order of kinds.
  void each(const std::function<void(const Kind&, const Objects&)>& visit) const;
  // For starting with what an earlier process had: clear(), restore() of each object, set_revision(). Observers are
  // told of restored objects as of new ones; there is no history.
  void clear();
  void restore(const Kind& kind, const std::string& key, json::object document, std::uint64_t revision);

  // Called after every change, in order. Observers are never removed; they outlive no storage.
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }

 private:
  struct Bucket {
    Objects objects;
    std::map<std::string, std::size_t, std::less<>> in_namespace;  // how many objects
    std::deque<ChangePtr> history;
    std::uint64_t compacted = 0;
  };
  Bucket& bucket(const Kind& kind);
  // The place of an object, new or not.
  VersionPtr& slot(Bucket& bucket, const std::string& key);
  void record(Bucket& bucket, Change change);
  void forget_first(Bucket& bucket);

  std::size_t history_;
  std::size_t history_bytes_;
  std::size_t logged_bytes_ = 0;  // that only the log keeps
  std::shared_ptr<RecentDocuments> recent_ = std::make_shared<RecentDocuments>();
  std::uint64_t revision_ = 1;
  std::uint64_t floor_ = 0;  // no kind's history reaches back beyond this
  std::map<const Kind*, Bucket> buckets_;
  std::vector<Observer> observers_;
};

}  // namespace sandbox
