// A controller's state without a loop and without a server: tests put objects, run one reconciler for one key and look
// at its plan, or let it work until it settles. Deterministic; time stands still until advance().
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "kube/state.h"

namespace kube::testing {

class FakeWorld : public State {
 public:
  // Stores count as synced unless their watch is optional (see sync()). Keeps a reference to `controller`.
  explicit FakeWorld(const Controller& controller, std::uint64_t seed = 1);

  // --- objects ---
  // Stores what `json` says, decoded as `kind`. Every put gets the next resourceVersion; a missing uid becomes
  // "uid-NAME", a missing creationTimestamp counts up from 2024-01-01T00:00:00Z by seconds. Aborts with a message if it
  // cannot be decoded. Returns the object as stored.
  ObjectPtr put(const Kind& kind, std::string_view json);
  template <class T>
  const T& put(std::string_view json) {
    return static_cast<const T&>(*put(T::kind(), json));
  }
  // Changes a stored object by a merge patch, as somebody else would.
  ObjectPtr change(const Kind& kind, std::string_view ns, std::string_view name, std::string_view merge_patch);
  template <class T>
  const T& change(std::string_view ns, std::string_view name, std::string_view merge_patch) {
    return static_cast<const T&>(*change(T::kind(), ns, name, merge_patch));
  }
  // A decoded object as it is; gets a resourceVersion, and a uid if it has none. It cannot be patched by execute().
  template <class T>
  void put_decoded(T object) {
    stamp(object.meta);
    apply(T::kind(), std::make_shared<const T>(std::move(object)));
  }
  // Deletes as a user would: with finalizers it only gets its deletionTimestamp.
  void remove(const Kind& kind, std::string_view ns, std::string_view name);
  template <class T>
  void remove(std::string_view ns, std::string_view name) {
    remove(T::kind(), ns, name);
  }
  // Makes it vanish, finalizers or not.
  void vanish(const Kind& kind, std::string_view ns, std::string_view name);
  template <class T>
  void vanish(std::string_view ns, std::string_view name) {
    vanish(T::kind(), ns, name);
  }
  template <class T>
  const T* get(std::string_view ns, std::string_view name) {
    const Slot* slot = store(T::kind()).find(ns, name);
    return slot == nullptr ? nullptr : static_cast<const T*>(slot->object.get());
  }
  // The stored document; null if there is none.
  const boost::json::object* document(const Kind& kind, std::string_view ns, std::string_view name) const;
  // First complete list of an optional kind.
  void sync(const Kind& kind);
  // A write of somebody else's key is in flight on it.
  void begin_write(const Ref& target);
  void end_write(const Ref& target);

  // --- passes ---
  // One pass. Its facts are published, its throttles drawn from, the live reads it asks for are answered from what is
  // stored (so the next pass sees View::confirmed). Events that are sent once are left out if they were executed
  // before.
  Plan run(const Key& key);
  // Carries out a plan's writes on the stored documents, as the server would: merge patches, status apart from the
  // rest, creation, deletion with finalizers. Aborts on a write that the server would refuse or that changes nothing.
  // Events are kept in `events`.
  void execute(const Plan& plan);
  // run() and execute() until a plan sends nothing; returns that plan. Aborts after `limit` passes.
  Plan settle(const Key& key, int limit = 20);
  // settle() every woken key, lower ranks first, until none is left. Aborts after `limit` passes in all.
  void settle_all(int limit = 1000);

  // Keys woken since the last call, by what changed; in order, each once. A key that ran is not woken by what it wrote
  // before its last pass.
  std::vector<Key> take_woken();
  bool is_woken(const Key& key) const { return woken_.contains(key); }
  void publish(const Key& publisher, std::vector<Fact> facts);
  // The key's memory: failures, since, throttles.
  KeyMemory& memory(const Key& key) { return memory_[key]; }
  // The next pass of `key` sees View::confirmed(target).
  void confirm(const Key& key, const Ref& target) { memory_[key].confirmed.push_back(target); }

  // --- time ---
  base::MonoTime now() const override { return now_; }
  base::WallTime wall() const override { return wall_; }
  std::uint64_t entropy() override { return random_.next(); }
  void advance(base::Duration d);
  void set_now(base::MonoTime now) { now_ = now; }

  std::vector<EventNote> events;  // of executed plans
  int writes = 0;                 // executed

 private:
  using Place = std::pair<const Kind*, std::pair<std::string, std::string>>;
  void stamp(Meta& meta);
  void apply(const Kind& kind, ObjectPtr object);
  ObjectPtr save(const Kind& kind, boost::json::object document);
  const Kind& kind_of(const Resource& resource);
  void execute(const Write& write);
  void woken(KeyId id);

  std::map<Place, boost::json::object> documents_;
  std::map<Key, KeyMemory> memory_;
  std::set<Key> woken_;
  base::MonoTime now_{std::chrono::hours(1)};
  base::WallTime wall_{std::chrono::seconds(1'735'689'600)};  // 2025-01-01T00:00:00Z
  base::Random random_;
  std::uint64_t version_ = 100;
  int created_ = 0;
};

}  // namespace kube::testing
