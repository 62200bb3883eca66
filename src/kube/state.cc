#include "kube/state.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "kube/check.h"

namespace kube {
namespace {

// Takes out of a plan what must not be in it, so that the rest can be carried out: of two writes on one object the
// second, as if the object were busy. Returns what was wrong; "" if nothing was.
std::string mend(Plan& plan, State& state, const KeyMemory& memory) {
  std::string wrong;
  const auto demand = [&](bool holds, std::string_view what) {
    if (!holds && wrong.empty()) wrong = what;
    return holds;
  };
  if (!demand(plan.confirms.empty() || plan.writes.empty(), "a plan asks for live reads and writes at once"))
    plan.writes.clear();
  std::erase_if(plan.confirms, [&](const Confirm& confirm) {
    const Resource* resource = confirm.target.resource;
    return !demand(resource != nullptr && state.store_of(*resource) != nullptr,
                   "a plan asks for a live read of a kind that is not watched");
  });
  if (plan.writes.size() > 1) {
    std::set<std::string> targets;
    std::erase_if(plan.writes, [&](const Write& write) {
      return !demand(targets.insert(write.target.to_string()).second, "a plan writes twice on one object");
    });
  }
  std::erase_if(plan.events, [&](const EventNote& event) {
    return !demand(event.regarding.resource != nullptr, "an event is about nothing") ||
           !demand(event.once || !plan.writes.empty(), "an event rides on no write and is not sent once");
  });
  std::erase_if(plan.spends, [&](const std::string& throttle) {
    return !demand(memory.throttles.contains(throttle), "a plan spends from a throttle that its pass never asked for");
  });
  for (Fact& fact : plan.facts) {
    const std::string& reader = fact.reader.reconciler;
    const auto& known = state.controller().reconcilers;
    if (!demand(reader.empty() || std::ranges::find(known, reader, &ReconcilerSpec::name) != known.end(),
                "a fact is for a reconciler that its controller does not declare"))
      fact.reader = {};
  }
  if (!demand(!plan.forget || (plan.sends_nothing() && plan.facts.empty()),
              "a plan forgets its key but wants something of it"))
    plan.forget = false;
  return wrong;
}

}  // namespace

std::size_t KeyTable::Hash::operator()(const Key& key) const {
  const std::hash<std::string_view> hash;
  std::size_t h = hash(key.reconciler);
  h = h * 0x9e3779b97f4a7c15ULL + hash(key.ns);
  return h * 0x9e3779b97f4a7c15ULL + hash(key.name);
}

KeyId KeyTable::intern(const Key& key) {
  if (const auto it = ids_.find(key); it != ids_.end()) return it->second;
  KeyId id;
  if (free_.empty()) {
    id = static_cast<KeyId>(keys_.size());
    keys_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  keys_[static_cast<std::size_t>(id)] = {key, true};
  ids_.emplace(key, id);
  return id;
}

const KeyId* KeyTable::find(const Key& key) const {
  const auto it = ids_.find(key);
  return it == ids_.end() ? nullptr : &it->second;
}

void KeyTable::release(KeyId id) {
  check(known(id), "an unknown key is released");
  Entry& entry = keys_[static_cast<std::size_t>(id)];
  ids_.erase(entry.key);
  entry = {};
  free_.push_back(id);
}

void KeyTable::for_each(const std::function<void(KeyId, const Key&)>& f) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].used) f(static_cast<KeyId>(i), keys_[i].key);
  }
}

FactBucket& FactTable::bucket(std::string_view name) {
  const auto [it, fresh] = buckets_.try_emplace(std::string(name));
  if (fresh) {
    it->second = std::make_unique<FactBucket>();
    doubt(it->first, *it->second);
  }
  return *it->second;
}

const std::vector<Fact>& FactTable::published(KeyId id) const {
  static const std::vector<Fact> none;
  const auto it = published_.find(static_cast<std::uint32_t>(id));
  return it == published_.end() ? none : it->second;
}

bool FactTable::publish(const Key& publisher, KeyId id, std::vector<Fact> facts) {
  const auto place = [](const Fact& fact) { return std::tie(fact.bucket, fact.order); };
  std::ranges::stable_sort(facts, {}, place);
  const auto surplus = std::ranges::unique(facts, {}, place);
  const bool sound = surplus.empty();
  facts.erase(surplus.begin(), surplus.end());
  const std::vector<Fact> old = std::exchange(published_[static_cast<std::uint32_t>(id)], facts);
  if (facts.empty()) published_.erase(static_cast<std::uint32_t>(id));
  // Both are sorted: one walk finds what differs.
  auto was = old.begin();
  for (const Fact& fact : facts) {
    for (; was != old.end() && place(*was) < place(fact); ++was) change(publisher, *was, false);
    const bool there = was != old.end() && place(*was) == place(fact);
    if (there && *was == fact) {
      ++was;
      continue;
    }
    if (there) change(publisher, *was++, false);
    change(publisher, fact, true);
  }
  for (; was != old.end(); ++was) change(publisher, *was, false);
  return sound;
}

void FactTable::change(const Key& publisher, const Fact& fact, bool add) {
  FactBucket& place = bucket(fact.bucket);
  std::pair<std::string, std::string> position{fact.order, publisher.to_string()};
  if (add) {
    place.members.insert_or_assign(std::move(position), FactBucket::Value{fact.value, publisher});
  } else {
    place.members.erase(position);
    if (place.members.empty()) doubt(fact.bucket, place);
  }
  listener_.touched(place.node);
  if (!fact.reader.reconciler.empty()) listener_.born(fact.reader);
}

void FactTable::doubt(const std::string& name, FactBucket& bucket) {
  if (!std::exchange(bucket.doubtful, true)) doubtful_.push_back(name);
}

void FactTable::collect(std::size_t most) {
  for (std::size_t n = std::min(most, doubtful_.size()); n > 0; --n) {
    std::string name = std::move(doubtful_.front());
    doubtful_.pop_front();
    const auto it = buckets_.find(name);
    if (!it->second->members.empty()) {
      it->second->doubtful = false;
    } else if (it->second->node.unread()) {
      buckets_.erase(it);
    } else {
      doubtful_.push_back(std::move(name));
    }
  }
}

State::State(const Controller& controller, Listener listener)
    : controller_(controller),
      listener_(std::move(listener)),
      facts_({[this](const Node& node) { touched(node); }, [this](const Key& key) { born(key, Cause::fresh); }}) {
  for (const WatchSpec& watch : controller_.watches) {
    check(watch.kind != nullptr, "a watch without a kind");
    check(store_of(watch.kind->resource) == nullptr, "a kind is watched twice");
    Store::Listener to_me;
    to_me.touched = [this](const Node& node) { touched(node); };
    to_me.changed = [this, &watch](const Change& change) { changed(watch, change); };
    to_me.refreshed = [this](const Slot& slot) {
      if (listener_.versions) listener_.versions(slot.node);
    };
    to_me.unfinished = listener_.unfinished;
    stores_.push_back(std::make_unique<Store>(*watch.kind, watch.indexes, std::move(to_me), watch.counts));
  }
}

Store& State::store(const Kind& kind) {
  for (const auto& store : stores_) {
    if (&store->kind() == &kind) return *store;
  }
  broken("a pass reads a kind that its controller does not watch");
}

Store* State::store_of(const Resource& resource) {
  for (const auto& store : stores_) {
    if (same_resource(store->kind().resource, resource)) return store.get();
  }
  return nullptr;
}

std::size_t State::reconciler_of(std::string_view name) const {
  const auto it = std::ranges::find(controller_.reconcilers, name, &ReconcilerSpec::name);
  check(it != controller_.reconcilers.end(), "a key of a reconciler that its controller does not declare");
  return static_cast<std::size_t>(it - controller_.reconcilers.begin());
}

Plan State::pass(KeyId id, KeyMemory& memory, std::string* flaw) {
  const Key key = keys_[id];
  const ReconcilerSpec& reconciler = controller_.reconcilers[reconciler_of(key.reconciler)];
  std::string wrong;
  Plan plan;
  graph_.begin_pass();
  View view(*this, memory);
  try {
    plan = reconciler.reconcile(key, view);
    wrong = mend(plan, *this, memory);
  } catch (const std::exception& e) {
    wrong = "a pass throws: " + std::string(e.what());
    plan.facts = facts_.published(id);
  }
  graph_.end_pass(id);
  memory.confirmed.clear();
  if (!facts_.publish(key, id, plan.facts) && wrong.empty())
    wrong = "a pass publishes two facts at one place of a bucket";
  check(wrong.empty() || flaw != nullptr, wrong);
  if (flaw != nullptr) *flaw = std::move(wrong);
  if (plan.forget) graph_.forget(id);
  return plan;
}

Plan State::rehearse(KeyId id, KeyMemory memory, bool& same_reads) {
  const Key key = keys_[id];
  graph_.begin_pass();
  View view(*this, memory);
  Plan plan = controller_.reconcilers[reconciler_of(key.reconciler)].reconcile(key, view);
  same_reads = graph_.abandon_pass(id);
  return plan;
}

// Like a pass, but nobody's: what it reads wakes no key.
std::optional<std::string> State::objection() {
  if (!controller_.objection) return std::nullopt;
  const KeyId nobody = keys_.intern({"objection", "", ""});
  KeyMemory memory;
  graph_.begin_pass();
  View view(*this, memory);
  auto why = controller_.objection(view);
  graph_.abandon_pass(nobody);
  keys_.release(nobody);
  return why;
}

void State::forget(KeyId id) {
  facts_.publish(keys_[id], id, {});
  graph_.forget(id);
}

void State::collect(std::size_t most) {
  check(!graph_.in_pass(), "collecting within a pass");
  for (const auto& store : stores_) store->collect(most);
  facts_.collect(most);
}

void State::touched(const Node& node) {
  graph_.readers(node, [this](KeyId key) { listener_.wake(key, Cause::fresh); });
  if (listener_.versions) listener_.versions(node);
}

void State::born(const Key& key, Cause cause) { listener_.wake(keys_.intern(key), cause); }

void State::bear(std::size_t watch, const Object& object, Cause cause) {
  if (!controller_.watches[watch].keys) return;
  keys_after_.clear();
  controller_.watches[watch].keys(object, keys_after_);
  for (const Key& key : keys_after_) born(key, cause);
}

// Keys on both sides of a change to the same object are left to what they read.
void State::changed(const WatchSpec& watch, const Change& change) {
  if (!watch.keys || !births_) return;
  keys_before_.clear();
  keys_after_.clear();
  if (change.before != nullptr) watch.keys(*change.before, keys_before_);
  if (change.after != nullptr) watch.keys(*change.after, keys_after_);
  const bool same_object =
      change.before != nullptr && change.after != nullptr && change.before->meta.uid == change.after->meta.uid;
  const Cause cause = change.initial ? Cause::initial : Cause::fresh;
  for (const Key& key : keys_after_) {
    if (!same_object || std::ranges::find(keys_before_, key) == keys_before_.end()) born(key, cause);
  }
  for (const Key& key : keys_before_) {
    if (std::ranges::find(keys_after_, key) == keys_after_.end()) born(key, cause);
  }
}

}  // namespace kube
