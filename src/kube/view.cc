#include "kube/view.h"

#include <algorithm>
#include <ctime>

#include "kube/check.h"

namespace kube {

const Object* View::get(const Kind& kind, std::string_view ns, std::string_view name) {
  Store& store = world_.store(kind);
  if (!available(kind)) return nullptr;
  Slot& slot = store.slot(ns, name);
  world_.dependencies().note(slot.node);
  return slot.object.get();
}

void View::walk(const Kind& kind, std::string_view index, std::string_view bucket, std::string_view from,
                const std::function<bool(const Object&)>& visit) {
  Store& store = world_.store(kind);
  if (!available(kind)) return;
  Bucket& place = store.bucket(store.index_of(index), bucket);
  world_.dependencies().note(place.node);
  for (auto member = place.members.lower_bound(from); member != place.members.end(); ++member) {
    world_.dependencies().note(member->slot->node);
    if (!visit(*member->slot->object)) return;
  }
}

std::size_t View::size_of(const Kind& kind, std::string_view index, std::string_view bucket) {
  Store& store = world_.store(kind);
  if (!available(kind)) return 0;
  Bucket& place = store.bucket(store.index_of(index), bucket);
  world_.dependencies().note(place.node);
  return place.members.size();
}

void View::each_fact(std::string_view bucket,
                     const std::function<bool(std::string_view order, const FactBucket::Value&)>& visit) {
  FactBucket& facts = world_.facts(bucket);
  world_.dependencies().note(facts.node);
  for (const auto& [place, value] : facts.members) {
    if (!visit(place.first, value)) return;
  }
}

bool View::has_fact(std::string_view bucket) {
  FactBucket& facts = world_.facts(bucket);
  world_.dependencies().note(facts.node);
  return !facts.members.empty();
}

bool View::busy(const Ref& target) {
  check(target.resource != nullptr, "a reference without a resource");
  Store* store = world_.store_of(*target.resource);
  Slot* slot = store == nullptr ? nullptr : store->find(target.ns, target.name);
  if (slot == nullptr || !slot->busy()) return false;
  world_.dependencies().note(slot->in_flight->done);
  return true;
}

bool View::available(const Kind& kind) {
  Store& store = world_.store(kind);
  // Noted either way: a kind can vanish as well as appear.
  world_.dependencies().note(store.availability());
  return store.available();
}

bool View::confirmed(const Ref& target) const {
  return std::ranges::any_of(memory_.confirmed, [&](const Ref& ref) {
    return same_resource(*ref.resource, *target.resource) && ref.ns == target.ns && ref.name == target.name;
  });
}

base::Duration View::since(std::string_view fact, bool holds) {
  if (!holds) {
    if (const auto it = memory_.since.find(fact); it != memory_.since.end()) memory_.since.erase(it);
    return base::Duration::zero();
  }
  const auto it = memory_.since.try_emplace(std::string(fact), world_.now()).first;
  return world_.now() - it->second;
}

void View::note(std::string_view name, std::string value) {
  const auto it = memory_.notes.find(name);
  if (it != memory_.notes.end()) memory_.notes.erase(it);
  if (!value.empty()) memory_.notes.emplace(std::string(name), std::move(value));
}

std::string_view View::noted(std::string_view name) const {
  const auto it = memory_.notes.find(name);
  return it == memory_.notes.end() ? std::string_view() : it->second;
}

base::Duration View::throttle(std::string_view name, int burst, base::Duration refill) {
  check(burst > 0 && refill > base::Duration::zero(), "a throttle that never lets anything through");
  const base::MonoTime now = world_.now();
  auto it = memory_.throttles.find(name);
  if (it == memory_.throttles.end()) {
    it = memory_.throttles.emplace(std::string(name), KeyMemory::Bucket{static_cast<double>(burst), now, burst, refill})
             .first;
  }
  KeyMemory::Bucket& bucket = it->second;
  bucket.refill_until(now);
  bucket.burst = burst;
  bucket.refill = refill;
  return bucket.shortfall();
}

base::Duration View::throttled(std::string_view name) const {
  const auto it = memory_.throttles.find(name);
  if (it == memory_.throttles.end()) return base::Duration::zero();
  KeyMemory::Bucket bucket = it->second;
  bucket.refill_until(world_.now());
  return bucket.shortfall();
}

base::Duration KeyMemory::Bucket::shortfall() const {
  if (tokens >= 1) return base::Duration::zero();
  return base::Duration(static_cast<std::int64_t>((1 - tokens) * static_cast<double>(refill.count())) + 1);
}

void KeyMemory::Bucket::refill_until(base::MonoTime now) {
  tokens += static_cast<double>((now - at).count()) / static_cast<double>(refill.count());
  tokens = std::min(tokens, static_cast<double>(burst));
  at = now;
}

void KeyMemory::spend(std::string_view name) {
  const auto it = throttles.find(name);
  check(it != throttles.end(), "a plan spends from a throttle that its pass never asked for");
  it->second.tokens -= 1;
}

std::string View::wall_text(base::Duration ahead) const { return time_text(world_.wall() + ahead); }

}  // namespace kube
