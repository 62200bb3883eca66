#include "support/fake_world.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <cstdlib>

namespace kube::testing {
namespace json = boost::json;
namespace {

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "FakeWorld: %s\n", why.c_str());
  std::abort();
}

json::object parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) refuse("not a JSON object: " + std::string(text));
  return value.get_object();
}

json::object& section(json::object& document, std::string_view name) {
  json::value& value = document[name];
  return value.is_object() ? value.get_object() : value.emplace_object();
}

std::string text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// RFC 7386.
void merge(json::object& target, const json::object& patch) {
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      target.erase(key);
    } else if (value.is_object()) {
      merge(section(target, key), value.get_object());
    } else {
      target[key] = value;
    }
  }
}

bool has_finalizers(const json::object& document) {
  const json::value* metadata = document.if_contains("metadata");
  const json::value* list = metadata == nullptr ? nullptr : metadata->get_object().if_contains("finalizers");
  return list != nullptr && list->is_array() && !list->get_array().empty();
}

}  // namespace

FakeWorld::FakeWorld(const Controller& controller, std::uint64_t seed)
    : State(controller, {[this](KeyId id, Cause) { woken(id); }, {}, {}}), random_(seed) {
  for (const WatchSpec& watch : controller.watches) {
    if (!watch.optional) sync(*watch.kind);
  }
  for (const Key& key : controller.initial_keys) woken_.insert(key);
}

void FakeWorld::woken(KeyId id) { woken_.insert(keys()[id]); }

void FakeWorld::sync(const Kind& kind) { store(kind).replace({}, std::to_string(version_)); }

void FakeWorld::stamp(Meta& meta) {
  meta.resourceVersion = std::to_string(++version_);
  if (meta.uid.empty()) meta.uid = "uid-" + meta.name;
}

void FakeWorld::apply(const Kind& kind, ObjectPtr object) {
  Store& target = store(kind);
  const std::string version = object->meta.resourceVersion;
  target.apply(std::move(object));
  target.advance(version);
}

// Gives the document the next version and shows it to the store.
ObjectPtr FakeWorld::save(const Kind& kind, json::object document) {
  json::object& metadata = section(document, "metadata");
  metadata["resourceVersion"] = std::to_string(++version_);
  const std::string name = text(metadata, "name");
  const std::string ns = text(metadata, "namespace");
  if (name.empty()) refuse("an object without a name: " + json::serialize(document));
  if (kind.resource.namespaced == ns.empty())
    refuse("namespace of " + name + ": there is one exactly if its kind has them");
  auto decoded = kind.decode(json::serialize(document));
  if (!decoded) refuse(decoded.error().message + ": " + json::serialize(document));
  const Place place{&kind, {ns, name}};
  if ((*decoded)->meta.deleting && !has_finalizers(document)) {
    documents_.erase(place);
    store(kind).erase(ns, name, (*decoded)->meta.uid, (*decoded)->meta.resourceVersion);
    return *decoded;
  }
  documents_[place] = std::move(document);
  apply(kind, *decoded);
  return *decoded;
}

ObjectPtr FakeWorld::put(const Kind& kind, std::string_view text_) {
  json::object document = parse(text_);
  document["apiVersion"] = kind.resource.api_version();
  document["kind"] = kind.resource.kind;
  json::object& metadata = section(document, "metadata");
  if (!metadata.contains("uid")) metadata["uid"] = "uid-" + text(metadata, "name");
  if (!metadata.contains("generation")) metadata["generation"] = 1;
  if (!metadata.contains("creationTimestamp")) {
    const int n = created_++;
    char stamp[32];
    std::snprintf(stamp, sizeof stamp, "2024-01-01T%02d:%02d:%02dZ", n / 3600 % 24, n / 60 % 60, n % 60);
    metadata["creationTimestamp"] = stamp;
  }
  return save(kind, std::move(document));
}

ObjectPtr FakeWorld::change(const Kind& kind, std::string_view ns, std::string_view name, std::string_view patch) {
  const json::object* held = document(kind, ns, name);
  if (held == nullptr) refuse("nothing to change at " + std::string(ns) + "/" + std::string(name));
  json::object next = *held;
  merge(next, parse(patch));
  if (next.if_contains("spec") != nullptr &&
      (held->if_contains("spec") == nullptr || next.at("spec") != held->at("spec"))) {
    json::value& generation = section(next, "metadata")["generation"];
    generation = generation.to_number<std::int64_t>() + 1;
  }
  return save(kind, std::move(next));
}

void FakeWorld::remove(const Kind& kind, std::string_view ns, std::string_view name) {
  const json::object* held = document(kind, ns, name);
  if (held == nullptr) refuse("nothing to delete at " + std::string(ns) + "/" + std::string(name));
  if (!has_finalizers(*held)) return vanish(kind, ns, name);
  json::object next = *held;
  json::object& metadata = section(next, "metadata");
  if (metadata.contains("deletionTimestamp")) return;
  metadata["deletionTimestamp"] = "2025-01-01T00:00:00Z";
  save(kind, std::move(next));
}

void FakeWorld::vanish(const Kind& kind, std::string_view ns, std::string_view name) {
  const Slot* slot = store(kind).find(ns, name);
  if (slot == nullptr || slot->object == nullptr)
    refuse("nothing to delete at " + std::string(ns) + "/" + std::string(name));
  const std::string uid = slot->object->meta.uid;
  documents_.erase({&kind, {std::string(ns), std::string(name)}});
  store(kind).erase(ns, name, uid, std::to_string(++version_));
}

const json::object* FakeWorld::document(const Kind& kind, std::string_view ns, std::string_view name) const {
  const auto it = documents_.find({&kind, {std::string(ns), std::string(name)}});
  return it == documents_.end() ? nullptr : &it->second;
}

const Kind& FakeWorld::kind_of(const Resource& resource) {
  Store* found = store_of(resource);
  if (found == nullptr) refuse("a write to a kind that is not watched: " + std::string(resource.plural));
  return found->kind();
}

void FakeWorld::begin_write(const Ref& target) { store_of(*target.resource)->begin_write(target.ns, target.name); }
void FakeWorld::end_write(const Ref& target) { store_of(*target.resource)->end_write(target.ns, target.name); }

Plan FakeWorld::run(const Key& key) {
  woken_.erase(key);
  Plan plan = pass(keys().intern(key), memory_[key]);
  if (!plan.writes.empty()) {  // as the loop, which draws when it sends
    for (const std::string& name : plan.spends) memory_[key].spend(name);
  }
  for (const Confirm& confirm : plan.confirms) memory_[key].confirmed.push_back(confirm.target);
  if (plan.forget) memory_.erase(key);
  std::erase_if(plan.events, [this](const EventNote& event) {
    return event.once && std::ranges::any_of(events, [&](const EventNote& sent) {
             return sent.once && sent.regarding_uid == event.regarding_uid && sent.reason == event.reason &&
                    sent.note == event.note;
           });
  });
  return plan;
}

void FakeWorld::execute(const Plan& plan) {
  for (const Write& write : plan.writes) execute(write);
  events.insert(events.end(), plan.events.begin(), plan.events.end());
}

void FakeWorld::execute(const Write& write) {
  const std::string what = write.step + " on " + write.target.to_string();
  const Kind& kind = kind_of(*write.target.resource);
  ++writes;
  const json::object* held = document(kind, write.target.ns, write.target.name);
  if (write.verb == Write::Verb::create) {
    if (held != nullptr) refuse(what + ": it exists already");
    put(kind, json::serialize(write.body));
    return;
  }
  if (held == nullptr) refuse(what + ": there is no such object");
  const json::object& metadata = held->at("metadata").get_object();
  if (text(metadata, "resourceVersion") != write.planned_from) refuse(what + ": it has changed since");
  if (write.verb == Write::Verb::remove) {
    if (text(write.body.at("preconditions").get_object(), "uid") != text(metadata, "uid"))
      refuse(what + ": another uid");
    if (metadata.contains("deletionTimestamp")) refuse(what + ": it is being deleted already");
    return remove(kind, write.target.ns, write.target.name);
  }
  json::object patch = write.body;
  section(patch, "metadata").erase("resourceVersion");
  if (write.verb == Write::Verb::patch) {
    patch.erase("status");
  } else {
    json::object status{{"status", patch.if_contains("status") != nullptr ? patch.at("status") : json::value(nullptr)}};
    patch = std::move(status);
  }
  json::object next = *held;
  merge(next, patch);
  if (next == *held) refuse(what + ": changes nothing: " + json::serialize(write.body));
  change(kind, write.target.ns, write.target.name, json::serialize(patch));
}

Plan FakeWorld::settle(const Key& key, int limit) {
  for (int i = 0; i < limit; ++i) {
    Plan plan = run(key);
    if (plan.sends_nothing()) return plan;
    execute(plan);
  }
  refuse(key.to_string() + " does not settle");
}

void FakeWorld::settle_all(int limit) {
  for (int i = 0; i < limit; ++i) {
    const Key* next = nullptr;
    const auto rank = [&](const Key& key) { return controller().reconcilers[reconciler_of(key.reconciler)].rank; };
    for (const Key& key : woken_) {
      if (next == nullptr || rank(key) < rank(*next)) next = &key;
    }
    if (next == nullptr) return;
    const Key key = *next;
    const Plan plan = run(key);
    execute(plan);
    if (!plan.sends_nothing()) woken_.insert(key);
  }
  refuse("the keys do not settle");
}

std::vector<Key> FakeWorld::take_woken() {
  std::vector<Key> taken(woken_.begin(), woken_.end());
  woken_.clear();
  return taken;
}

void FakeWorld::publish(const Key& publisher, std::vector<Fact> facts) {
  fact_table().publish(publisher, keys().intern(publisher), std::move(facts));
}

void FakeWorld::advance(base::Duration d) {
  now_ += d;
  wall_ += d;
}

}  // namespace kube::testing
