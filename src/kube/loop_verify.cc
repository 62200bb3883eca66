// A check for simulations: at rest, nothing is left to do, and nobody has missed anything.
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <tuple>

#include "kube/loop_impl.h"

namespace kube {
namespace {

std::string describe(const Plan& plan) {
  std::string text;
  for (const Write& write : plan.writes) {
    text += " " + write.step + " on " + write.target.to_string() + " " + boost::json::serialize(write.body);
  }
  for (const Confirm& confirm : plan.confirms) text += " confirm of " + confirm.target.to_string();
  return text;
}

}  // namespace

// What the key should have done but has not.
std::string Loop::Impl::missed(KeyId id, const Key& key) {
  KeyState& at = key_state(id);
  if (at.phase != KeyState::Phase::idle) return {};  // it waits for a time, and says so
  bool same_reads = false;
  Plan plan = state.rehearse(id, at.extra == nullptr ? KeyMemory{} : at.extra->memory, same_reads);
  if (!plan.writes.empty() || !plan.confirms.empty())
    return key.to_string() + " is at rest but has to do:" + describe(plan);
  if (!same_reads) return key.to_string() + " was not woken by a change that makes it read something else";
  std::ranges::sort(plan.facts, {}, [](const Fact& fact) { return std::tie(fact.bucket, fact.order); });
  if (plan.facts != state.fact_table().published(id))
    return key.to_string() + " has published facts that do not hold any more";
  return {};
}

std::vector<std::string> Loop::verify_settled() {
  Impl& loop = *impl_;
  std::vector<std::string> wrong;
  if (!idle()) wrong.emplace_back("the loop is not at rest");
  std::vector<std::pair<KeyId, Key>> known;
  loop.state.keys().for_each([&](KeyId id, const Key& key) { known.emplace_back(id, key); });
  for (const auto& [id, key] : known) {
    if (std::string what = loop.missed(id, key); !what.empty()) wrong.push_back(std::move(what));
  }
  // Births: an object's key is known, or has nothing to do.
  std::vector<Key> born;
  for (std::size_t i = 0; i < loop.controller.watches.size(); ++i) {
    const WatchSpec& watch = loop.controller.watches[i];
    if (!watch.keys) continue;
    loop.state.stores()[i]->for_each([&](const ObjectPtr& object) { watch.keys(*object, born); });
  }
  for (const Key& key : born) {
    if (loop.state.keys().find(key) != nullptr) continue;
    const KeyId id = loop.state.keys().intern(key);
    bool same_reads = false;
    const Plan plan = loop.state.rehearse(id, {}, same_reads);
    if (!plan.forget) wrong.push_back(key.to_string() + " was never planned, but has to do:" + describe(plan));
    loop.state.keys().release(id);
  }
  return wrong;
}

}  // namespace kube
