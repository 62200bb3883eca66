// A map with a bound: what was used least recently makes room.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kube/check.h"

namespace kube {

// For what is worth remembering but may be forgotten. All operations take constant time; values stay at their address
// until they are erased or make room. Not thread-safe.
template <class Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t limit) : limit_(limit) { check(limit > 0, "a map that may hold nothing"); }
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  // Null if absent. Does not count as use.
  Value* find(std::string_view key) {
    const auto at = places_.find(key);
    return at == places_.end() ? nullptr : &at->second->value;
  }
  // The key's value, made by Value{} if there is none, and whether it was made. It is the most recently used one now.
  std::pair<Value&, bool> use(std::string_view key) {
    if (const auto at = places_.find(key); at != places_.end()) {
      entries_.splice(entries_.end(), entries_, at->second);
      return {at->second->value, false};
    }
    if (entries_.size() >= limit_) {
      places_.erase(entries_.front().key);
      entries_.pop_front();
    }
    Entry& entry = entries_.emplace_back(std::string(key), Value{});
    places_.emplace(entry.key, std::prev(entries_.end()));
    return {entry.value, true};
  }
  void erase(std::string_view key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return;
    const auto entry = at->second;
    places_.erase(at);
    entries_.erase(entry);
  }
  // Visits all values, the least recently used one first, and erases those for which `unwanted` returns true. It must
  // not use the map.
  template <class Predicate>
  void erase_if(Predicate unwanted) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (!unwanted(entry->value)) {
        ++entry;
        continue;
      }
      places_.erase(entry->key);
      entry = entries_.erase(entry);
    }
  }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    Value value;
  };
  std::size_t limit_;
  std::list<Entry> entries_;                                                          // the most recently used one last
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> places_;  // keys are the entries' own
};

}  // namespace kube
