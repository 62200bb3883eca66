#include "kube/store.h"

#include <algorithm>

#include "kube/check.h"

namespace kube {

Store::Store(const Kind& kind, std::vector<IndexSpec> indexes, Listener listener, std::vector<CountSpec> counts)
    : kind_(kind), listener_(std::move(listener)) {
  for (IndexSpec& spec : indexes) indexes_.push_back({std::move(spec), {}});
  for (CountSpec& spec : counts) counts_.push_back({std::move(spec), {}});
}

// Valid until the next call.
const std::string& Store::key(std::string_view ns, std::string_view name) const {
  key_.assign(ns);
  key_ += '/';
  key_ += name;
  return key_;
}

Slot* Store::find(std::string_view ns, std::string_view name) {
  const auto it = slots_.find(key(ns, name));
  return it == slots_.end() ? nullptr : it->second.get();
}

Slot& Store::slot(std::string_view ns, std::string_view name) {
  const auto [it, fresh] = slots_.try_emplace(key(ns, name));
  if (fresh) {
    it->second = std::make_unique<Slot>();
    it->second->name = &it->first;
    doubt(*it->second);
  }
  return *it->second;
}

Bucket& Store::bucket(std::size_t index, std::string_view bucket) {
  check(index < indexes_.size(), "no such index");
  const auto [it, fresh] = indexes_[index].buckets.try_emplace(std::string(bucket));
  if (fresh) {
    it->second = std::make_unique<Bucket>();
    doubt(index, it->first, *it->second);
  }
  return *it->second;
}

std::size_t Store::index_of(std::string_view name) const {
  const auto it = std::ranges::find(indexes_, name, [](const Index& i) -> std::string_view { return i.spec.name; });
  check(it != indexes_.end(), "a pass asks for an index that its controller does not declare");
  return static_cast<std::size_t>(it - indexes_.begin());
}

void Store::for_each(const std::function<void(const ObjectPtr&)>& f) const {
  for (const auto& [name, slot] : slots_) {
    if (slot->object) f(slot->object);
  }
}

bool Store::entombed(std::string_view ns, std::string_view name, std::string_view uid) const {
  const auto it = tombstones_.find(key(ns, name));
  return it != tombstones_.end() && it->second.uid == uid;
}

bool Store::apply(ObjectPtr object) {
  check(object != nullptr, "no object to apply");
  Slot& place = slot(object->meta.ns, object->meta.name);
  return take(place, std::move(object), nullptr);
}

// The version rules. `from` is the replacement whose list shows the object; null for events and own results.
bool Store::take(Slot& slot, ObjectPtr object, const Replacement* from) {
  const std::string& version = object->meta.resourceVersion;
  if (const auto tomb = tombstones_.find(*slot.name); tomb != tombstones_.end()) {
    if (tomb->second.uid == object->meta.uid) {
      tomb->second.shown = replacements_;
      return false;
    }
    // An incarnation before the one that is known to be gone.
    if (compare_versions(version, tomb->second.version) <= 0) return false;
    tombstones_.erase(tomb);
  }
  const bool reset = replacement_ != nullptr && replacement_->reset;
  const bool other_world = reset && slot.listed != replacements_;  // held since before the server was restored
  if (slot.object != nullptr && !other_world) {
    if (from != nullptr) slot.listed = replacements_;
    if (compare_versions(version, slot.object->meta.resourceVersion) <= 0) return false;
  } else if (from == nullptr && compare_versions(version, version_) <= 0) {
    return false;  // the watch has passed that version without showing the object: it is gone again
  }
  if (from != nullptr || reset) slot.listed = replacements_;
  put(slot, std::move(object));
  return true;
}

void Store::erase(std::string_view ns, std::string_view name, std::string_view uid, std::string_view version) {
  const auto tomb = tombstones_.find(key(ns, name));
  if (tomb != tombstones_.end() && tomb->second.uid == uid) tombstones_.erase(tomb);
  if (replacing()) {
    // The list that is being taken in may be older than the deletion and still hold the object.
    Tombstone stone{std::string(uid), std::string(version)};
    stone.for_list = true;
    tombstones_.try_emplace(key(ns, name), std::move(stone));
  }
  advance(version);
  Slot* slot = find(ns, name);
  if (slot == nullptr || slot->object == nullptr) return;
  const bool other_world = replacing() && replacement_->reset && slot->listed != replacements_;
  if (other_world || compare_versions(slot->object->meta.resourceVersion, version) <= 0) put(*slot, nullptr);
}

void Store::entomb(std::string_view ns, std::string_view name, std::string_view uid) {
  Slot* slot = find(ns, name);
  const Object* held = slot == nullptr ? nullptr : slot->object.get();
  // Not held: the watch or a list has shown the deletion before its answer came, and will not show it again; whatever
  // is late is older than version_. Another uid: the next incarnation is known already.
  if (held == nullptr || held->meta.uid != uid) return;
  Tombstone stone{std::string(uid), version_};
  if (compare_versions(held->meta.resourceVersion, version_) > 0) stone.version = held->meta.resourceVersion;
  tombstones_.insert_or_assign(key(ns, name), std::move(stone));
  put(*slot, nullptr);
}

void Store::advance(std::string_view version) {
  if (compare_versions(version, version_) > 0) version_ = version;
}

// Makes `next` the slot's object and tells whoever has to know.
void Store::put(Slot& slot, ObjectPtr next) {
  ObjectPtr before = std::exchange(slot.object, next);
  if (before == nullptr && next == nullptr) return;
  if (before == nullptr) ++live_;
  if (next == nullptr) {
    --live_;
    doubt(slot);
  }
  const bool one_object = before != nullptr && next != nullptr && before->meta.uid == next->meta.uid;
  if (one_object && kind_.same(*before, *next)) {
    if (listener_.refreshed) listener_.refreshed(slot);
    return;
  }
  reindex(slot, before.get(), next.get());
  recount(before.get(), next.get());
  if (listener_.touched) listener_.touched(slot.node);
  if (listener_.changed) listener_.changed({&kind_, std::move(before), std::move(next), !synced_});
}

void Store::reindex(Slot& slot, const Object* before, const Object* after) {
  for (Index& index : indexes_) {
    entries_before_.clear();
    entries_after_.clear();
    if (before != nullptr) index.spec.entries(*before, entries_before_);
    if (after != nullptr) index.spec.entries(*after, entries_after_);
    if (entries_before_ == entries_after_) continue;
    for (const IndexEntry& entry : entries_before_) {
      if (std::ranges::find(entries_after_, entry) == entries_after_.end()) move_entry(index, slot, entry, false);
    }
    for (const IndexEntry& entry : entries_after_) {
      if (std::ranges::find(entries_before_, entry) == entries_before_.end()) move_entry(index, slot, entry, true);
    }
  }
}

void Store::recount(const Object* before, const Object* after) {
  for (Count& count : counts_) {
    if (before != nullptr) --count.numbers.at(count.spec.values(*before));
    if (after != nullptr) ++count.numbers[count.spec.values(*after)];
  }
}

void Store::move_entry(Index& index, Slot& slot, const IndexEntry& entry, bool add) {
  const auto position = static_cast<std::size_t>(&index - indexes_.data());
  Bucket& place = bucket(position, entry.bucket);
  if (add) {
    place.members.insert({entry.order, &slot});
  } else {
    place.members.erase({entry.order, &slot});
    if (place.members.empty()) doubt(position, entry.bucket, place);
  }
  if (listener_.touched) listener_.touched(place.node);
}

void Store::begin_write(std::string_view ns, std::string_view name) {
  Slot& place = slot(ns, name);
  if (place.in_flight == nullptr) place.in_flight = std::make_unique<InFlight>();
  ++place.in_flight->count;
}

void Store::end_write(std::string_view ns, std::string_view name) {
  Slot& place = slot(ns, name);
  check(place.busy(), "a write ends that never began");
  --place.in_flight->count;
  doubt(place);
  if (listener_.touched) listener_.touched(place.in_flight->done);
}

void Store::doubt(Slot& slot) {
  if (std::exchange(slot.doubtful, true)) return;
  doubtful_slots_.push_back(*slot.name);
}

void Store::doubt(std::size_t index, const std::string& name, Bucket& bucket) {
  if (std::exchange(bucket.doubtful, true)) return;
  doubtful_buckets_.emplace_back(index, name);
}

void Store::collect(std::size_t most) {
  if (replacing()) return;  // it goes through the slots
  for (std::size_t n = std::min(most, doubtful_slots_.size()); n > 0; --n) {
    std::string name = std::move(doubtful_slots_.front());
    doubtful_slots_.pop_front();
    const auto it = slots_.find(name);
    Slot& slot = *it->second;
    if (slot.in_flight != nullptr && slot.in_flight->count == 0 && slot.in_flight->done.unread())
      slot.in_flight.reset();
    const bool idle = slot.in_flight == nullptr;
    if (slot.object == nullptr && idle && slot.node.unread()) {
      slots_.erase(it);
    } else if (slot.object == nullptr || !idle) {
      doubtful_slots_.push_back(std::move(name));
    } else {
      slot.doubtful = false;
    }
  }
  for (std::size_t n = std::min(most, doubtful_buckets_.size()); n > 0; --n) {
    auto [index, name] = std::move(doubtful_buckets_.front());
    doubtful_buckets_.pop_front();
    auto& buckets = indexes_[index].buckets;
    const auto it = buckets.find(name);
    if (!it->second->members.empty()) {
      it->second->doubtful = false;
    } else if (it->second->node.unread()) {
      buckets.erase(it);
    } else {
      doubtful_buckets_.emplace_back(index, std::move(name));
    }
  }
}

}  // namespace kube
