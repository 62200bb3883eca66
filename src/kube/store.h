// The loop's picture of the cluster: one Store per kind, with indexes, own results, tombstones, and a record of who
// read what. Everything here belongs to the reactor's thread; nothing is thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/graph.h"
#include "kube/types.h"

namespace kube {

// Tells where an object belongs in an index: any number of (bucket, order) pairs. Must depend on the object alone, and
// not on its resourceVersion: versions that Kind::same calls equal are not indexed anew.
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

// A metric: how many objects there are by labels. `values` are those of the labels, one each, and must depend on the
// object alone, as an index does.
struct CountSpec {
  std::string metric;
  std::string help;
  std::vector<std::string> labels;
  std::function<std::vector<std::string>(const Object&)> values;
};
// Its numbers. What there was once stays, at zero.
struct Count {
  CountSpec spec;
  std::map<std::vector<std::string>, std::size_t> numbers;
};

// Requests in flight that change one object.
struct InFlight {
  int count = 0;
  Node done;  // changes when one of them has been answered
};

// An object's place, whether it exists or not.
struct Slot {
  ObjectPtr object;                     // null if absent
  Node node;                            // changes when the object appears, goes, or no longer looks the same
  std::unique_ptr<InFlight> in_flight;  // null if there never was one
  const std::string* name = nullptr;    // "ns/name", owned by the store
  std::uint32_t listed = 0;             // the replacement that listed it last
  bool doubtful = false;                // noted for collect()
  bool busy() const { return in_flight != nullptr && in_flight->count > 0; }
};

struct Bucket {
  struct Member {
    std::string order;
    Slot* slot;
    friend bool operator<(const Member& a, const Member& b) {
      const int order = a.order.compare(b.order);
      return order != 0 ? order < 0 : *a.slot->name < *b.slot->name;
    }
    // To find the first member at or after a position.
    friend bool operator<(const Member& a, std::string_view order) { return a.order < order; }
    friend bool operator<(std::string_view order, const Member& a) { return order < a.order; }
  };
  Node node;  // changes when membership or order changes
  std::set<Member, std::less<>> members;
  bool doubtful = false;  // noted for collect()
};

// What the store reports about one change; `before`/`after` are null for absent.
struct Change {
  const Kind* kind;
  ObjectPtr before;
  ObjectPtr after;
  bool initial;  // part of the first complete list
};

class Store {
 public:
  struct Listener {
    // A node whose readers must be woken.
    std::function<void(const Node&)> touched;
    // A change that is visible to reconcilers (that is, Kind::same is false), after store and indexes are up to date.
    std::function<void(const Change&)> changed;
    // A newer version was stored that looks the same: nobody is woken, but whoever waits for the version may go on.
    std::function<void(const Slot&)> refreshed;
    // A replacement has work left: call resume() in later turns until it returns true, and plan nothing until then, so
    // that no pass sees half of it. If empty, replacements are done at once.
    std::function<void(Store&)> unfinished;
  };
  Store(const Kind& kind, std::vector<IndexSpec> indexes, Listener listener, std::vector<CountSpec> counts = {});
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const Kind& kind() const { return kind_; }

  // An object as the server showed it, in a watch event or in the answer to a request of ours: takes the newer version,
  // ignores older and equal ones and what is known to be gone. Returns false if it was ignored. Does not advance
  // version(): whoever feeds the watch's events calls advance() after each.
  bool apply(ObjectPtr object);
  // A DELETED event. `version` is the deletion's own resourceVersion. Advances version().
  void erase(std::string_view ns, std::string_view name, std::string_view uid, std::string_view version);
  // Our DELETE was answered with the object gone, or a live read found nothing: if `uid` is held, it is absent from now
  // on, whatever older lists and events say, until the watch has come so far. If it is not held any more, the watch has
  // come so far already.
  void entomb(std::string_view ns, std::string_view name, std::string_view uid);
  // A complete list at `version`. Atomic for readers (see Listener::unfinished). Keeps own results newer than
  // `version`; a version lower than the known one (a server restored from backup) resets everything: objects, own
  // results, tombstones. A replacement that has not finished is given up: a newer list is as complete. Events that
  // follow the list may be applied while it is unfinished.
  void replace(std::vector<ObjectPtr> objects, std::string_view version);
  bool replacing() const { return replacement_ != nullptr; }
  // Does at most `objects` objects' worth of an unfinished replacement; true when it has finished.
  bool resume(std::size_t objects);
  // A bookmark or any other proof that the watch has passed `version`.
  void advance(std::string_view version);

  // The highest version the watch or a list has shown.
  const std::string& version() const { return version_; }
  // Whether a first complete list is in.
  bool synced() const { return synced_; }
  // Whether the server serves the kind at all, as far as is known: until told otherwise it does. Objects that were
  // there when it went missing are kept, unseen by passes; a complete list follows when it is back.
  void set_served(bool served);
  bool served() const { return served_; }
  // What passes may look at.
  bool available() const { return synced_ && served_; }
  std::size_t size() const { return live_; }
  std::size_t slots() const { return slots_.size(); }
  const std::vector<Count>& counts() const { return counts_; }

  // Never null; an absent object has a slot while somebody asks for it. Valid until collect().
  Slot& slot(std::string_view ns, std::string_view name);
  // The slot if there is one, without making it.
  Slot* find(std::string_view ns, std::string_view name);
  Bucket& bucket(std::size_t index, std::string_view bucket);
  // Position of an index by name; aborts if there is none (a bug).
  std::size_t index_of(std::string_view name) const;
  // Changes with available().
  Node& availability() { return availability_; }
  // In no particular order.
  void for_each(const std::function<void(const ObjectPtr&)>& f) const;
  // Whether `uid` is known to be gone from that place.
  bool entombed(std::string_view ns, std::string_view name, std::string_view uid) const;

  // Number of objects that are known to be gone although the watch has not come so far.
  std::size_t tombstones() const { return tombstones_.size(); }

  // Frees slots and buckets that are empty and unread, looking at no more than `most` of each that became empty; where
  // it left off, the next call goes on. Never within a pass.
  void collect(std::size_t most = SIZE_MAX);

  // A write starts / has been answered; other keys see it through View::busy.
  void begin_write(std::string_view ns, std::string_view name);
  void end_write(std::string_view ns, std::string_view name);

 private:
  struct Index {
    IndexSpec spec;
    std::unordered_map<std::string, std::unique_ptr<Bucket>> buckets;
  };
  struct Tombstone {
    std::string uid;
    std::string version;      // highest version known when it was set
    bool for_list = false;    // needed only until the replacement under way has finished
    std::uint32_t shown = 0;  // the replacement whose list still showed it
  };
  struct Replacement {
    std::vector<ObjectPtr> objects;
    std::string version;
    std::size_t next = 0;  // in objects
    std::size_t bucket = 0,
                buckets = 0;  // of slots_: looked through for what the list does not show; how many there are
    bool reset = false;
  };
  bool take(Slot& slot, ObjectPtr object, const Replacement* from);
  void sweep(Slot& slot, const Replacement& replacement);
  void put(Slot& slot, ObjectPtr next);
  void reindex(Slot& slot, const Object* before, const Object* after);
  void recount(const Object* before, const Object* after);
  void move_entry(Index& index, Slot& slot, const IndexEntry& entry, bool add);
  void doubt(Slot& slot);
  void doubt(std::size_t index, const std::string& name, Bucket& bucket);
  void finish_replacement();
  const std::string& key(std::string_view ns, std::string_view name) const;

  const Kind& kind_;
  Listener listener_;
  std::vector<Index> indexes_;
  std::vector<Count> counts_;
  std::unordered_map<std::string, std::unique_ptr<Slot>> slots_;  // by "ns/name"
  std::unordered_map<std::string, Tombstone> tombstones_;         // by "ns/name"
  std::deque<std::string> doubtful_slots_;                        // empty, or were
  std::deque<std::pair<std::size_t, std::string>> doubtful_buckets_;
  std::unique_ptr<Replacement> replacement_;
  std::uint32_t replacements_ = 0;
  std::string version_;
  bool synced_ = false;
  bool served_ = true;
  Node availability_;
  std::size_t live_ = 0;
  std::vector<IndexEntry> entries_before_, entries_after_;  // scratch
  mutable std::string key_;                                 // scratch
};

}  // namespace kube
