// A kind for the tests of the watch, and a harness that steps a WatchMachine by hand.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/watch_machine.h"

namespace kube::watch_test {

struct Widget : Object {
  std::int64_t size = 0;
};

inline base::Result<ObjectPtr> decode_widget(std::string_view json) {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse({json.data(), json.size()}, failed);
  const auto* top = failed ? nullptr : value.if_object();
  const auto* metadata = top == nullptr ? nullptr : top->if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return base::fail("not a widget");
  auto widget = std::make_shared<Widget>();
  const boost::json::object& meta = metadata->as_object();
  const auto text = [&](const char* key) {
    const auto* found = meta.if_contains(key);
    return found == nullptr || !found->is_string() ? std::string() : std::string(found->as_string());
  };
  widget->meta.ns = text("namespace");
  widget->meta.name = text("name");
  widget->meta.uid = text("uid");
  widget->meta.resourceVersion = text("resourceVersion");
  if (widget->meta.name.empty()) return base::fail("a widget without a name");
  const auto* spec = top->if_contains("spec");
  const auto* size = spec == nullptr || !spec->is_object() ? nullptr : spec->as_object().if_contains("size");
  if (size != nullptr && size->is_int64()) widget->size = size->as_int64();
  return ObjectPtr(std::move(widget));
}

inline bool same_widget(const Object& a, const Object& b) {
  return static_cast<const Widget&>(a).size == static_cast<const Widget&>(b).size && a.meta.uid == b.meta.uid;
}

inline const Kind& widget_kind() {
  static const Kind kind{{"example.com", "v1", "widgets", "Widget", true}, decode_widget, same_widget};
  return kind;
}

inline ObjectPtr widget(const std::string& name, int version, const std::string& uid = "u", std::int64_t size = 0) {
  auto made = std::make_shared<Widget>();
  made->meta.ns = "ns";
  made->meta.name = name;
  made->meta.uid = uid;
  made->meta.resourceVersion = std::to_string(version);
  made->size = size;
  return made;
}

inline std::string widget_json(const Object& object) {
  const auto& w = static_cast<const Widget&>(object);
  return boost::json::serialize(boost::json::object{{"apiVersion", "example.com/v1"},
                                                    {"kind", "Widget"},
                                                    {"metadata",
                                                     {{"namespace", w.meta.ns},
                                                      {"name", w.meta.name},
                                                      {"uid", w.meta.uid},
                                                      {"resourceVersion", w.meta.resourceVersion}}},
                                                    {"spec", {{"size", w.size}}}});
}

inline WatchEvent event(WatchEvent::Type type, ObjectPtr object) {
  WatchEvent made;
  made.type = type;
  made.version = object->meta.resourceVersion;
  made.object = std::move(object);
  return made;
}
inline WatchEvent added(ObjectPtr object) { return event(WatchEvent::Type::added, std::move(object)); }
inline WatchEvent modified(ObjectPtr object) { return event(WatchEvent::Type::modified, std::move(object)); }
inline WatchEvent deleted(ObjectPtr object) { return event(WatchEvent::Type::deleted, std::move(object)); }
inline WatchEvent bookmark(int version, bool end = false) {
  WatchEvent made;
  made.version = std::to_string(version);
  made.initial_events_end = end;
  return made;
}

inline ApiError status(int code, std::string reason, std::string message = "") {
  ApiError error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return error;
}
inline ApiError lost(TransportError::Kind kind = TransportError::Kind::reset) {
  return error_of(TransportError{kind, "lost", true});
}
inline WatchEvent error_event(ApiError error) {
  WatchEvent made;
  made.type = WatchEvent::Type::error;
  made.error = std::move(error);
  return made;
}

// Plays the driver: keeps what the machine asked for, and the copy that results.
class Harness {
 public:
  explicit Harness(WatchPolicy policy = {}, std::uint64_t seed = 1) : machine(policy, seed) {
    take(machine.start(now));
  }

  static WatchPolicy pages() {
    WatchPolicy policy;
    policy.streaming_list = false;
    return policy;
  }

  void list_page(std::vector<ObjectPtr> objects, int version, std::string next = "") {
    list.reset();
    take(machine.listed(now, ListPage{std::move(objects), std::to_string(version), std::move(next)}));
  }
  void list_fails(ApiError error) {
    list.reset();
    take(machine.listed(now, std::unexpected(std::move(error))));
  }
  void open() { take(machine.opened(now)); }
  void events(std::vector<WatchEvent> events) { take(machine.batch(now, {std::move(events), ""})); }
  void garbage(std::string what = "<html>") { take(machine.batch(now, {{}, std::move(what)})); }
  void end(std::optional<ApiError> error = std::nullopt) {
    watch.reset();
    take(machine.closed(now, std::move(error)));
  }
  void pass(base::Duration d) { now += d; }
  // Lets the timer fire, which must be set.
  void fire() {
    now += *timer;
    timer.reset();
    take(machine.timer(now));
  }
  // Refuses the watch at once.
  void refuse(ApiError error) { end(std::move(error)); }

  static std::string param(const WatchMachine::Query& query, std::string_view key) {
    std::string found = "-";
    for (const auto& [k, v] : query) {
      if (k == key) found = v;
    }
    return found;
  }
  std::string list_param(std::string_view key) const { return list ? param(list->query, key) : "no list"; }
  std::string watch_param(std::string_view key) const { return watch ? param(watch->query, key) : "no watch"; }
  bool streaming() const { return watch && param(watch->query, "sendInitialEvents") == "true"; }
  int count(WatchMachine::Counter what, const std::string& reason) const {
    const auto found = counts.find({what, reason});
    return found == counts.end() ? 0 : found->second;
  }
  int relists(const std::string& reason) const { return count(WatchMachine::Counter::relist, reason); }
  int restarts(const std::string& reason) const { return count(WatchMachine::Counter::watch_restart, reason); }
  int fallbacks() const {
    int sum = 0;
    for (const auto& [key, n] : counts) sum += key.first == WatchMachine::Counter::streaming_fallback ? n : 0;
    return sum;
  }
  // "a=3 b=7": names and versions.
  std::string held() const {
    std::string text;
    for (const auto& [key, object] : store)
      text += (text.empty() ? "" : " ") + key + "=" + object->meta.resourceVersion;
    return text;
  }

  WatchMachine machine;
  base::MonoTime now{std::chrono::hours(1)};
  std::map<std::string, ObjectPtr> store;
  std::optional<WatchMachine::List> list;
  std::optional<WatchMachine::Watch> watch;
  std::optional<base::Duration> timer;
  std::map<std::pair<WatchMachine::Counter, std::string>, int> counts;
  std::vector<WatchMachine::Report> reports;
  std::vector<bool> availability;
  int replaces = 0;
  int lists = 0;    // LIST requests
  int watches = 0;  // WATCH requests

 private:
  void take(WatchMachine::Actions actions) {
    for (auto& action : actions) std::visit([this](auto& a) { take_one(a); }, action);
  }
  void take_one(WatchMachine::List& a) { list = a, ++lists; }
  void take_one(WatchMachine::Watch& a) { watch = a, ++watches; }
  void take_one(WatchMachine::Close&) { watch.reset(); }
  void take_one(WatchMachine::Wait& a) { timer = a.delay; }
  void take_one(WatchMachine::StopWaiting&) { timer.reset(); }
  void take_one(WatchMachine::Replace& a) {
    ++replaces;
    store.clear();
    for (const ObjectPtr& object : a.objects) store[object->meta.name] = object;
  }
  void take_one(WatchMachine::Apply& a) {
    for (const WatchEvent& e : a.events) {
      if (!e.object) continue;
      if (e.type == WatchEvent::Type::deleted) {
        store.erase(e.object->meta.name);
      } else {
        store[e.object->meta.name] = e.object;
      }
    }
  }
  void take_one(WatchMachine::Available& a) { availability.push_back(a.yes); }
  void take_one(WatchMachine::Count& a) { ++counts[{a.what, std::string(a.reason)}]; }
  void take_one(WatchMachine::Report& a) { reports.push_back(a); }
};

}  // namespace kube::watch_test
