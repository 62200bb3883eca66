#include "loop_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/log.h"

namespace kube::testing {
namespace json = boost::json;
namespace {

json::object& section(json::object& document, std::string_view name) {
  json::value& value = document[name];
  return value.is_object() ? value.get_object() : value.emplace_object();
}

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

Response ok(int code, const json::object& body) {
  Response response;
  response.status = code;
  response.body = json::serialize(body);
  return response;
}

bool finalizers(const json::object& document) {
  const json::value* list = document.at("metadata").get_object().if_contains("finalizers");
  return list != nullptr && !list->get_array().empty();
}

std::string_view meta(const json::object& document, std::string_view field) {
  const json::value* value = document.at("metadata").get_object().if_contains(field);
  return value == nullptr ? std::string_view() : std::string_view(value->get_string());
}

ObjectPtr decode(const json::object& document) { return *Thing::kind().decode(json::serialize(document)); }

// "/apis/g/v/namespaces/NS/PLURAL[/NAME[/status]]" → NS, PLURAL, NAME, "status".
std::vector<std::string> parts(std::string_view path) {
  std::vector<std::string> all;
  std::size_t at = path.find("/namespaces/") + 12;
  while (at < path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    all.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  all.resize(4);
  return all;
}

}  // namespace

Response ThingServer::status(int code, std::string reason, std::string message) {
  return ok(code,
            {{"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}, {"message", message}});
}

json::object& ThingServer::put(const std::string& name, json::object spec, const std::string& ns) {
  json::object& document = documents[ns + "/" + name];
  document = {{"metadata",
               {{"name", name},
                {"namespace", ns},
                {"uid", "uid-" + std::to_string(++uids_)},
                {"generation", 1},
                {"resourceVersion", std::to_string(++version_)}}},
              {"spec", std::move(spec)}};
  return document;
}

void ThingServer::change(const std::string& name, const json::object& patch, const std::string& ns) {
  json::object& document = documents.at(ns + "/" + name);
  merge(document, patch);
  section(document, "metadata")["resourceVersion"] = std::to_string(++version_);
  if (document.at("metadata").get_object().contains("deletionTimestamp") && !finalizers(document)) {
    documents.erase(ns + "/" + name);
  }
}

void ThingServer::remove(const std::string& name, const std::string& ns) {
  if (finalizers(documents.at(ns + "/" + name))) {
    return change(name, {{"metadata", {{"deletionTimestamp", "2025-01-01T00:00:00Z"}}}}, ns);
  }
  documents.erase(ns + "/" + name);
  ++version_;
}

const json::object* ThingServer::find(const std::string& name, const std::string& ns) const {
  const auto it = documents.find(ns + "/" + name);
  return it == documents.end() ? nullptr : &it->second;
}

Response ThingServer::handle(const Request& request) {
  const std::vector<std::string> p = parts(request.path);
  const std::string key = p[0] + "/" + p[2];
  if (p[1] == "events") {
    if (request.method == "PATCH") return ok(200, {});
    event_bodies.push_back(json::parse(request.body).get_object());
    ++events[std::string(event_bodies.back().at("reason").get_string())];
    return ok(201, {});
  }
  if (request.method == "POST") return create(request, p[0]);
  if (!documents.contains(key)) return status(404, "NotFound", "things \"" + p[2] + "\" not found");
  if (request.method == "GET") return ok(200, documents.at(key));
  if (request.method == "DELETE") return erase(request, key);
  return write(request, key, p[3] == "status");
}

Response ThingServer::stored(const std::string& key) {
  ++writes;
  json::object& document = documents.at(key);
  section(document, "metadata")["resourceVersion"] = std::to_string(++version_);
  const json::object copy = document;
  if (copy.at("metadata").get_object().contains("deletionTimestamp") && !finalizers(copy)) documents.erase(key);
  return ok(200, copy);
}

Response ThingServer::write(const Request& request, const std::string& key, bool to_status) {
  json::object& document = documents.at(key);
  json::object patch = json::parse(request.body).get_object();
  if (meta(patch, "resourceVersion") != meta(document, "resourceVersion")) {
    return status(409, "Conflict", "the object has been modified");
  }
  json::object next = document;
  if (to_status) {
    patch = {{"status", patch.at("status")}};
  } else {
    patch.erase("status");
  }
  merge(next, patch);
  if (next == document) return ok(200, document);
  document = std::move(next);
  return stored(key);
}

Response ThingServer::erase(const Request& request, const std::string& key) {
  json::object& document = documents.at(key);
  const json::object preconditions = json::parse(request.body).at("preconditions").get_object();
  if (preconditions.at("uid") != document.at("metadata").at("uid")) return status(409, "Conflict", "another uid");
  if (finalizers(document)) {
    section(document, "metadata")["deletionTimestamp"] = "2025-01-01T00:00:00Z";
    return stored(key);
  }
  ++writes;
  ++version_;
  documents.erase(key);
  return ok(200, {{"kind", "Status"}, {"status", "Success"}, {"metadata", json::object()}});
}

Response ThingServer::create(const Request& request, const std::string& ns) {
  const json::object body = json::parse(request.body).get_object();
  const std::string name(meta(body, "name"));
  if (documents.contains(ns + "/" + name))
    return status(409, "AlreadyExists", "things \"" + name + "\" already exists");
  json::object& document = put(name, {}, ns);
  merge(document, body);
  ++writes;
  return ok(201, document);
}

LoopFixture::LoopFixture() {
  base::log::configure(base::log::Level::error, base::log::Format::text);
  controller.name = "test";
  WatchSpec things;
  things.kind = &Thing::kind();
  things.indexes = {{"group", [](const Object& o, std::vector<IndexEntry>& out) {
                       const auto& t = static_cast<const Thing&>(o);
                       if (!t.group.empty()) out.push_back({t.group, t.meta.name});
                     }}};
  things.keys = [](const Object& o, std::vector<Key>& out) { out.push_back(key(o.meta.name, o.meta.ns)); };
  controller.watches = {things};
  controller.reconcilers.push_back({"thing",
                                    [this](const Key& k, View& view) {
                                      passes.push_back(k);
                                      return reconcile(k, view);
                                    },
                                    0});
  reconcile = mirror;
  wire.on_send = [this] {
    if (!automatic) return;
    reactor.at(reactor.now() + latency, [this] {
      if (!wire.waiting.empty()) answer(0);
    });
  };
}

std::vector<ObjectPtr> LoopFixture::decoded() const {
  std::vector<ObjectPtr> all;
  for (const auto& [name, document] : server.documents) all.push_back(decode(document));
  return all;
}

void LoopFixture::start() {
  start_as_standby(false);
  loop->set_leading(true);
  relist();
}

void LoopFixture::start_as_standby(bool filled) {
  struct Nothing final : Source {
    void start() override {}
    void stop() override {}
  };
  const auto nothing = [](const WatchSpec&, Store&, const std::function<void()>&) {
    return std::make_unique<Nothing>();
  };
  loop = std::make_unique<Loop>(controller, wire, reactor, *metrics, options, nothing);
  loop->start();
  if (filled) relist();
}

void LoopFixture::show(const std::string& name, const std::string& ns) {
  const json::object* document = server.find(name, ns);
  const Slot* slot = store().find(ns, name);
  if (document != nullptr) {
    store().apply(decode(*document));
    store().advance(meta(*document, "resourceVersion"));
  } else if (slot != nullptr && slot->object != nullptr) {
    store().erase(ns, name, slot->object->meta.uid, server.version());
  }
  reactor.run();
}

void LoopFixture::relist() {
  store().replace(decoded(), server.version());
  // A turn notices what a reflector would report.
  loop->set_lease_deadline(base::MonoTime::max());
  reactor.run();
}

void LoopFixture::run(base::Duration d) { reactor.advance(d); }

void LoopFixture::settle() {
  reactor.run();
  for (int i = 0; i < 60'000 && !loop->idle(); ++i) reactor.advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(loop->idle()) << "the loop does not settle";
}

void LoopFixture::answer(std::size_t i) {
  const Request& request = wire.waiting.at(i).request;
  std::optional<Answer> other = fault ? fault(request) : std::nullopt;
  wire.answer(i, other ? std::move(*other) : Answer(server.handle(request)));
  reactor.run();
}

void LoopFixture::answer(std::size_t i, Response response) {
  wire.answer(i, std::move(response));
  reactor.run();
}

std::string LoopFixture::describe(const Request& request) {
  const std::vector<std::string> p = parts(request.path);
  if (p[1] == "events") return request.method + " events/" + p[0];
  return request.method + " " + p[0] + (p[2].empty() ? "" : "/" + p[2]) + (p[3].empty() ? "" : "/" + p[3]);
}

std::vector<std::string> LoopFixture::waiting() const {
  std::vector<std::string> all;
  for (const Wire::Waiting& one : wire.waiting) all.push_back(describe(one.request));
  return all;
}

const Thing* LoopFixture::thing(const std::string& name, const std::string& ns) {
  const Slot* slot = store().find(ns, name);
  return slot == nullptr ? nullptr : static_cast<const Thing*>(slot->object.get());
}

Plan mirror(const Key& key, View& view) {
  Plan plan;
  const Thing* t = view.get<Thing>(key.ns, key.name);
  if (t == nullptr) {
    plan.forget = true;
  } else if (t->meta.deleting) {
    if (t->meta.has_finalizer("f")) {
      plan.writes.push_back(
          patch(Thing::kind().resource, *t, {{"metadata", {{"finalizers", json::array()}}}}, "release"));
    }
  } else if (!t->meta.has_finalizer("f")) {
    plan.writes.push_back(
        patch(Thing::kind().resource, *t, {{"metadata", {{"finalizers", json::array{"f"}}}}}, "protect"));
  } else if (t->state != t->value) {
    plan.writes.push_back(patch_status(Thing::kind().resource, *t, {{"status", {{"state", t->value}}}}, "status"));
  }
  return plan;
}

}  // namespace kube::testing
