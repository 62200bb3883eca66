// Which key is planned next: fresh work before background work, namespaces in turn with a cap in flight for each, later
// ranks after earlier ones. A pure data structure: it plans nothing and reads no clock. All operations take constant
// time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "kube/graph.h"

namespace kube {

class WorkQueue {
 public:
  enum class Lane : std::uint8_t { fresh, background };
  struct Item {
    KeyId key;
    Lane lane;
    base::MonoTime since;  // when it was added
  };

  // `ranks` > 0: number of ranks, which are 0 … ranks-1. `per_namespace` > 0: keys of one namespace in flight at once;
  // keys without a namespace have no cap and get every second turn.
  WorkQueue(std::size_t ranks, std::size_t per_namespace);

  // Queues the key, or moves it from the background to the fresh lane. False if it changed nothing. Not while in
  // flight.
  bool add(KeyId key, std::string_view ns, std::size_t rank, Lane lane, base::MonoTime now);
  bool queued(KeyId key) const;
  // The next runnable key; it is in flight until done(). Nothing if all that is queued has to wait for done().
  std::optional<Item> pop(base::MonoTime now);
  void done(KeyId key);
  // Number of keys queued.
  std::size_t size() const { return size_; }
  std::size_t in_flight() const { return in_flight_; }
  // Number of namespaces remembered: those with keys queued or in flight.
  std::size_t namespaces() const { return group_ids_.size(); }

  // A later rank waits behind fresh work of earlier ranks for no longer than this, so that a steady stream cannot
  // starve it. Behind background work (the first list) it waits to the end: it pairs and sums up what that work
  // publishes.
  static constexpr base::Duration k_patience = std::chrono::seconds(1);

 private:
  static constexpr std::uint32_t k_none = ~0U;
  struct Entry {
    std::uint32_t next = k_none, previous = k_none;  // in its list
    std::uint32_t group = k_none;                    // while queued or in flight
    std::uint16_t level = 0;
    bool queued = false;
    bool in_flight = false;
    base::MonoTime since;
  };
  struct List {
    std::uint32_t head = k_none, tail = k_none;
    bool in_ring = false;
  };
  struct Group {  // a namespace
    std::string ns;
    std::vector<List> lists;  // by level
    std::size_t in_flight = 0, queued = 0, rings = 0;
  };
  struct Level {                     // a rank's lane: even = fresh, odd = background
    std::deque<std::uint32_t> ring;  // groups with something queued here, in turn
    std::size_t queued = 0;
    bool cluster_next = true;
  };

  Entry& entry(KeyId key);
  std::uint32_t group_of(std::string_view ns);
  void release(std::uint32_t group);
  void link(std::uint32_t key, std::size_t level);
  void unlink(std::uint32_t key);
  void enter_ring(std::uint32_t group, std::size_t level);
  bool impatient(std::size_t level, base::MonoTime now) const;
  std::optional<std::uint32_t> take(std::size_t level);
  std::uint32_t take_from_ring(std::size_t level);
  void clear_ring(std::size_t level);
  Item start(std::uint32_t key);

  std::size_t per_namespace_;
  std::vector<Entry> entries_;  // by key
  std::vector<Level> levels_;   // rank * 2 + lane
  std::vector<Group> groups_;   // the first one is for keys without a namespace
  std::vector<std::uint32_t> free_groups_;
  std::unordered_map<std::string, std::uint32_t> group_ids_;
  std::size_t size_ = 0, in_flight_ = 0;
};

}  // namespace kube
