#include "kube/work_queue.h"

#include <utility>

#include "kube/check.h"

namespace kube {
namespace {
constexpr std::uint32_t k_cluster = 0;  // the group of keys without a namespace
}  // namespace

WorkQueue::WorkQueue(std::size_t ranks, std::size_t per_namespace) : per_namespace_(per_namespace), levels_(ranks * 2) {
  check(ranks > 0 && per_namespace > 0, "a queue that nothing can leave");
  groups_.push_back({"", std::vector<List>(levels_.size())});
}

WorkQueue::Entry& WorkQueue::entry(KeyId key) {
  const auto i = static_cast<std::size_t>(key);
  if (i >= entries_.size()) entries_.resize(i + 1);
  return entries_[i];
}

bool WorkQueue::queued(KeyId key) const {
  const auto i = static_cast<std::size_t>(key);
  return i < entries_.size() && entries_[i].queued;
}

std::uint32_t WorkQueue::group_of(std::string_view ns) {
  if (ns.empty()) return k_cluster;
  const auto [it, fresh] = group_ids_.try_emplace(std::string(ns));
  if (!fresh) return it->second;
  if (free_groups_.empty()) {
    it->second = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
  } else {
    it->second = free_groups_.back();
    free_groups_.pop_back();
  }
  groups_[it->second] = {it->first, std::vector<List>(levels_.size())};
  return it->second;
}

// Forgets a namespace that nothing refers to any more.
void WorkQueue::release(std::uint32_t id) {
  Group& group = groups_[id];
  if (id == k_cluster || group.in_flight > 0 || group.queued > 0 || group.rings > 0) return;
  group_ids_.erase(group.ns);
  group = {};
  free_groups_.push_back(id);
}

bool WorkQueue::add(KeyId key, std::string_view ns, std::size_t rank, Lane lane, base::MonoTime now) {
  Entry& e = entry(key);
  check(!e.in_flight, "a key is queued while it is in flight");
  const std::size_t level = rank * 2 + (lane == Lane::background ? 1 : 0);
  check(level < levels_.size(), "a key of an unknown rank");
  const auto id = static_cast<std::uint32_t>(key);
  if (e.queued) {
    if (level >= e.level) return false;
    const std::uint32_t group = e.group;  // kept alive by what is linked again at once
    unlink(id);
    e.group = group;
    link(id, level);
    return true;
  }
  e.queued = true;
  e.group = group_of(ns);
  e.since = now;
  link(id, level);
  return true;
}

void WorkQueue::link(std::uint32_t key, std::size_t level) {
  Entry& e = entries_[key];
  List& list = groups_[e.group].lists[level];
  e.level = static_cast<std::uint16_t>(level);
  e.next = k_none;
  e.previous = list.tail;
  (list.tail == k_none ? list.head : entries_[list.tail].next) = key;
  list.tail = key;
  ++groups_[e.group].queued;
  ++levels_[level].queued;
  ++size_;
  enter_ring(e.group, level);
}

void WorkQueue::unlink(std::uint32_t key) {
  Entry& e = entries_[key];
  List& list = groups_[e.group].lists[e.level];
  (e.previous == k_none ? list.head : entries_[e.previous].next) = e.next;
  (e.next == k_none ? list.tail : entries_[e.next].previous) = e.previous;
  --groups_[e.group].queued;
  --levels_[e.level].queued;
  --size_;
}

void WorkQueue::enter_ring(std::uint32_t id, std::size_t level) {
  Group& group = groups_[id];
  List& list = group.lists[level];
  if (id == k_cluster || list.in_ring || list.head == k_none || group.in_flight >= per_namespace_) return;
  list.in_ring = true;
  ++group.rings;
  levels_[level].ring.push_back(id);
}

std::optional<WorkQueue::Item> WorkQueue::pop(base::MonoTime now) {
  std::size_t background = 0;  // of earlier ranks
  for (std::size_t level = 0; level < levels_.size(); level += 2) {
    if (background == 0 && level > 0 && impatient(level, now)) {
      if (const auto key = take(level)) return start(*key);
    }
    background += levels_[level + 1].queued;
  }
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (const auto key = take(level)) return start(*key);
  }
  return std::nullopt;
}

// Looks at the keys whose turn is next, which are about the oldest ones.
bool WorkQueue::impatient(std::size_t level, base::MonoTime now) const {
  const auto waited = [&](std::uint32_t group) {
    const std::uint32_t head = groups_[group].lists[level].head;
    return head != k_none && now - entries_[head].since > k_patience;
  };
  const Level& at = levels_[level];
  return at.queued > 0 && (waited(k_cluster) || (!at.ring.empty() && waited(at.ring.front())));
}

std::optional<std::uint32_t> WorkQueue::take(std::size_t level) {
  Level& at = levels_[level];
  if (at.queued == 0) {
    clear_ring(level);
    return std::nullopt;
  }
  const std::uint32_t cluster = groups_[k_cluster].lists[level].head;
  std::uint32_t key = k_none;
  if (cluster != k_none && at.cluster_next) {
    key = cluster;
  } else {
    key = take_from_ring(level);
    if (key == k_none) key = cluster;
  }
  if (key == k_none) return std::nullopt;
  at.cluster_next = key != cluster;
  return key;
}

std::uint32_t WorkQueue::take_from_ring(std::size_t level) {
  Level& at = levels_[level];
  while (!at.ring.empty()) {
    const std::uint32_t id = at.ring.front();
    at.ring.pop_front();
    Group& group = groups_[id];
    group.lists[level].in_ring = false;
    --group.rings;
    const std::uint32_t head = group.lists[level].head;
    if (head != k_none && group.in_flight < per_namespace_) return head;
    release(id);  // or, at its cap, it comes back with done()
  }
  return k_none;
}

// Nothing is queued here any more: what moved to another level has left its namespace's turn behind.
void WorkQueue::clear_ring(std::size_t level) {
  for (const std::uint32_t id : std::exchange(levels_[level].ring, {})) {
    groups_[id].lists[level].in_ring = false;
    --groups_[id].rings;
    release(id);
  }
}

WorkQueue::Item WorkQueue::start(std::uint32_t key) {
  Entry& e = entries_[key];
  const std::size_t level = e.level;
  unlink(key);
  e.queued = false;
  e.in_flight = true;
  ++in_flight_;
  ++groups_[e.group].in_flight;
  enter_ring(e.group, level);
  return {static_cast<KeyId>(key), level % 2 == 0 ? Lane::fresh : Lane::background, e.since};
}

void WorkQueue::done(KeyId key) {
  Entry& e = entry(key);
  check(e.in_flight, "a key is done that was not in flight");
  e.in_flight = false;
  --in_flight_;
  const std::uint32_t group = e.group;
  --groups_[group].in_flight;
  for (std::size_t level = 0; level < levels_.size(); ++level) enter_ring(group, level);
  release(group);
}

}  // namespace kube
