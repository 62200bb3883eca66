// The loop's picture of the cluster: one Store per kind, with indexes, own results, tombstones, and a record of who
// read what. Everything here belongs to the reactor's thread; nothing is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/types.h"

namespace kube {

// A key as the dependency graph and the queue know it. Dense, never reused while anything refers to it.
enum class KeyId : std::uint32_t {};

// A place in the state that a pass can read: an object's slot, an index bucket, a fact bucket. Knows the keys that read
// it.
class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  bool unread() const { return readers_.empty(); }

 private:
  friend class DependencyGraph;
  struct Reader {
    KeyId key;
    std::uint32_t slot;  // position in the key's own list
  };
  std::vector<Reader> readers_;
  std::uint64_t mark_ = 0;  // the pass that read it last, so that one pass notes it once
};

// Which key read which nodes in its latest pass. Registering and unregistering cost O(1) per node.
class DependencyGraph {
 public:
  // Notes a read of the current pass.
  void begin_pass();
  void note(Node& node);
  // Ends the pass: what `key` read before is replaced by what was noted. Cheap when nothing differs.
  void end_pass(KeyId key);
  void forget(KeyId key);
  // Calls `wake` for each key that read the node in its latest pass.
  void readers(const Node& node, const std::function<void(KeyId)>& wake) const;

 private:
  struct Read {
    Node* node;
    std::uint32_t position;  // in node->readers_
  };
  std::unordered_map<std::uint32_t, std::vector<Read>> reads_;
  std::vector<Node*> noted_;
  std::uint64_t pass_ = 0;
  void unregister(KeyId key);
};

// Tells where an object belongs in an index: any number of (bucket, order) pairs. Must depend on the object alone.
struct IndexEntry {
  std::string bucket;
  std::string order;  // position inside the bucket, compared as bytes; ties by namespace/name
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
  friend auto operator<=>(const IndexEntry&, const IndexEntry&) = default;
};
using IndexFunction = std::function<void(const Object&, std::vector<IndexEntry>&)>;
struct IndexSpec {
  std::string name;
  IndexFunction entries;
};

struct Slot {
  ObjectPtr object;               // null if absent
  Node node;                      // changes when the object appears, goes, or no longer looks the same
  Node writes_done;               // changes when a write in flight on it has been answered
  int writing = 0;                // requests in flight that change it
  std::string tombstone_uid;      // this uid is known to be gone although lists or events may still show it
  std::string tombstone_version;  // highest version seen when the tombstone was set
};

struct Bucket {
  Node node;  // changes when membership or order changes
  // (order, namespace/name) → slot
  std::map<std::pair<std::string, std::string>, const Slot*> members;
};

// What the store reports about one change; `before`/`after` are null for absent.
struct Change {
  const Kind* kind;
  ObjectPtr before;
  ObjectPtr after;
};

class Store {
 public:
  // `touched` is told of every node whose readers must be woken, `changed` of every change that is visible to
  // reconcilers (that is, Kind::same is false), after store and indexes are up to date.
  struct Listener {
    std::function<void(const Node&)> touched;
    std::function<void(const Change&)> changed;
  };
  Store(const Kind& kind, std::vector<IndexSpec> indexes, Listener listener);

  const Kind& kind() const { return kind_; }

  // A watch event or an own result: takes the newer version, ignores older ones and what a tombstone says is gone.
  // Returns false if the version was not newer than what is held.
  bool apply(ObjectPtr object);
  // A DELETED event. `version` is the deletion's own resourceVersion.
  void erase(std::string_view ns, std::string_view name, std::string_view uid, std::string_view version);
  // Our DELETE was answered with the object gone, or a live read found nothing: absent from now on, whatever older
  // lists say.
  void entomb(std::string_view ns, std::string_view name, std::string_view uid);
  // A complete list at `version`. Atomic for readers. Keeps own results newer than `version`; a version lower than the
  // known one (a server restored from backup) resets everything.
  void replace(std::vector<ObjectPtr> objects, std::string_view version);
  // A bookmark or any other proof that the watch has passed `version`.
  void advance(std::string_view version);

  // The highest version the watch or a list has shown.
  const std::string& version() const { return version_; }
  bool synced() const { return synced_; }
  std::size_t size() const { return live_; }

  // Never null; an absent object has a slot while somebody asks for it. Valid until collect().
  Slot& slot(std::string_view ns, std::string_view name);
  Bucket& bucket(std::size_t index, std::string_view bucket);
  // Position of an index by name; aborts if there is none (a bug).
  std::size_t index_of(std::string_view name) const;
  void for_each(const std::function<void(const ObjectPtr&)>& f) const;

  // Frees slots and buckets that are empty and unread.
  void collect();

  // A write starts / has been answered; other keys see the overlay through View::busy.
  void begin_write(std::string_view ns, std::string_view name);
  void end_write(std::string_view ns, std::string_view name);

 private:
  struct Index {
    IndexSpec spec;
    std::unordered_map<std::string, std::unique_ptr<Bucket>> buckets;
  };
  void put(Slot& slot, ObjectPtr next);

  const Kind& kind_;
  Listener listener_;
  std::vector<Index> indexes_;
  std::unordered_map<std::string, std::unique_ptr<Slot>> slots_;  // by "ns/name"
  std::string version_;
  bool synced_ = false;
  std::size_t live_ = 0;
};

}  // namespace kube
