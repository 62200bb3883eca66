// All that a controller's passes can read, in one place: stores, facts, and who read what. It finds out which keys a
// change wakes and tells the owner; it plans and sends nothing. Reactor's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kube/controller.h"
#include "kube/view.h"

namespace kube {

// Numbers for keys. A number stays a key's as long as the key is known.
class KeyTable {
 public:
  KeyId intern(const Key& key);
  // The key's number if it is known.
  const KeyId* find(const Key& key) const;
  const Key& operator[](KeyId id) const { return keys_[static_cast<std::size_t>(id)].key; }
  bool known(KeyId id) const {
    return static_cast<std::size_t>(id) < keys_.size() && keys_[static_cast<std::size_t>(id)].used;
  }
  // Forgets the key; its number may be given to another one. Nothing must refer to it any more.
  void release(KeyId id);
  std::size_t size() const { return ids_.size(); }
  // All known keys, by number.
  void for_each(const std::function<void(KeyId, const Key&)>& f) const;

 private:
  struct Entry {
    Key key;
    bool used = false;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, KeyId, Hash> ids_;
  std::vector<Entry> keys_;
  std::vector<KeyId> free_;
};

// Fact buckets, and what each key publishes.
class FactTable {
 public:
  struct Listener {
    std::function<void(const Node&)> touched;  // readers of that bucket must be woken
    std::function<void(const Key&)> born;      // Fact::reader
  };
  explicit FactTable(Listener listener) : listener_(std::move(listener)) {}
  // Valid until collect().
  FactBucket& bucket(std::string_view name);
  // Replaces all facts that `publisher` has published. What does not differ touches nothing. Of several at one place of
  // a bucket the first counts, and the answer is false: that is a bug of the publisher.
  bool publish(const Key& publisher, KeyId id, std::vector<Fact> facts);
  // Whether the key publishes anything now.
  bool publishes(KeyId id) const { return published_.contains(static_cast<std::uint32_t>(id)); }
  const std::vector<Fact>& published(KeyId id) const;
  // Frees buckets that are empty and unread; as Store::collect().
  void collect(std::size_t most = SIZE_MAX);

 private:
  void change(const Key& publisher, const Fact& fact, bool add);
  void doubt(const std::string& name, FactBucket& bucket);

  Listener listener_;
  std::unordered_map<std::string, std::unique_ptr<FactBucket>> buckets_;
  std::unordered_map<std::uint32_t, std::vector<Fact>> published_;
  std::deque<std::string> doubtful_;
};

class State : public World {
 public:
  // Why a key is woken: `fresh` = something it read changed or its object did; `initial` = part of a first complete
  // list.
  enum class Cause : std::uint8_t { fresh, initial };
  struct Listener {
    std::function<void(KeyId, Cause)> wake;
    // See Store::Listener. Both may be empty; replacements are done at once then.
    std::function<void(Store&)> unfinished;
    std::function<void(const Node&)> versions;  // the slot's object has another version now, whatever it looks like
  };
  // Keeps a reference to `controller`, which must outlive it.
  State(const Controller& controller, Listener listener);

  Store& store(const Kind& kind) override;
  Store* store_of(const Resource& resource) override;
  FactBucket& facts(std::string_view bucket) override { return facts_.bucket(bucket); }
  DependencyGraph& dependencies() override { return graph_; }

  const Controller& controller() const { return controller_; }
  KeyTable& keys() { return keys_; }
  FactTable& fact_table() { return facts_; }
  // In the order of Controller::watches.
  const std::vector<std::unique_ptr<Store>>& stores() const { return stores_; }
  // Position of a reconciler in Controller::reconcilers; aborts if there is none (a bug).
  std::size_t reconciler_of(std::string_view name) const;
  // Whether objects give birth to keys as they change. A process that plans nothing yet keeps no keys: bear() makes up
  // for it.
  void set_births(bool on) { births_ = on; }
  // Wakes the keys that an object of that watch gives birth to.
  void bear(std::size_t watch, const Object& object, Cause cause);
  // Runs one pass of `key`: reads are recorded, facts published (or, with Plan::forget, withdrawn). Throttles are the
  // caller's to draw from: KeyMemory::spend().
  // A pass that throws, or plans what no plan may, is a bug of its reconciler, and aborts. With `flaw` it does not:
  // what is wrong is said there in a sentence, and the plan is what can be carried out of it; nothing at all, and the
  // facts of the pass before, after an exception.
  Plan pass(KeyId key, KeyMemory& memory, std::string* flaw = nullptr);
  // A pass that leaves no trace, for checks: nothing is published or recorded. `same_reads` tells whether it read what
  // the latest real pass read.
  Plan rehearse(KeyId key, KeyMemory memory, bool& same_reads);
  // What the controller says against working on what is there.
  std::optional<std::string> objection();
  // Drops what the key read and published. Its number may be released after that.
  void forget(KeyId key);
  // Frees what nobody reads any more, looking at no more than `most` places of each store. Not within a pass.
  void collect(std::size_t most = SIZE_MAX);

 private:
  void touched(const Node& node);
  void changed(const WatchSpec& watch, const Change& change);
  void born(const Key& key, Cause cause);

  const Controller& controller_;
  Listener listener_;
  DependencyGraph graph_;
  KeyTable keys_;
  std::vector<std::unique_ptr<Store>> stores_;
  FactTable facts_;
  bool births_ = true;
  std::vector<Key> keys_before_, keys_after_;  // scratch
};

}  // namespace kube
