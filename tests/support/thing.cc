#include "support/thing.h"

#include <boost/json/parse.hpp>

namespace kube::testing {
namespace json = boost::json;
namespace {

std::string text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

json::object part(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

StringMap map_of(const json::object& object) {
  StringMap map;
  for (const auto& [key, value] : object) map.set(std::string(key), std::string(value.get_string()));
  return map;
}

Meta decode_meta(const json::object& m) {
  Meta meta;
  meta.ns = text(m, "namespace");
  meta.name = text(m, "name");
  meta.uid = text(m, "uid");
  meta.resourceVersion = text(m, "resourceVersion");
  meta.generation = m.contains("generation") ? m.at("generation").to_number<std::int64_t>() : 0;
  meta.deleting = m.contains("deletionTimestamp");
  meta.labels = map_of(part(m, "labels"));
  meta.annotations = map_of(part(m, "annotations"));
  if (const json::value* list = m.if_contains("finalizers"); list != nullptr && list->is_array()) {
    for (const json::value& name : list->get_array()) meta.finalizers.emplace_back(name.get_string());
  }
  return meta;
}

bool same_meta(const Meta& a, const Meta& b) {
  return a.ns == b.ns && a.name == b.name && a.uid == b.uid && a.generation == b.generation &&
         a.deleting == b.deleting && a.labels == b.labels && a.annotations == b.annotations &&
         a.finalizers == b.finalizers;
}

base::Result<json::object> document(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return base::fail("not a JSON object");
  return std::move(value.get_object());
}

base::Result<ObjectPtr> decode_thing(std::string_view text_) {
  auto doc = document(text_);
  if (!doc) return std::unexpected(doc.error());
  auto thing = std::make_shared<Thing>();
  thing->meta = decode_meta(part(*doc, "metadata"));
  const json::object spec = part(*doc, "spec");
  thing->value = text(spec, "value");
  thing->group = text(spec, "group");
  if (const json::value* links = spec.if_contains("links"); links != nullptr) {
    for (const json::value& link : links->get_array()) thing->links.emplace_back(link.get_string());
  }
  thing->state = text(part(*doc, "status"), "state");
  return thing;
}

bool same_thing(const Object& a, const Object& b) {
  const auto& x = static_cast<const Thing&>(a);
  const auto& y = static_cast<const Thing&>(b);
  return same_meta(x.meta, y.meta) && x.value == y.value && x.group == y.group && x.links == y.links &&
         x.state == y.state;
}

base::Result<ObjectPtr> decode_place(std::string_view text_) {
  auto doc = document(text_);
  if (!doc) return std::unexpected(doc.error());
  auto place = std::make_shared<Place>();
  place->meta = decode_meta(part(*doc, "metadata"));
  place->value = text(part(*doc, "spec"), "value");
  return place;
}

bool same_place(const Object& a, const Object& b) {
  return same_meta(a.meta, b.meta) && static_cast<const Place&>(a).value == static_cast<const Place&>(b).value;
}

}  // namespace

const Kind& Thing::kind() {
  static constexpr Kind kind{{"tests.example", "v1", "things", "Thing", true}, decode_thing, same_thing};
  return kind;
}

const Kind& Place::kind() {
  static constexpr Kind kind{{"tests.example", "v1", "places", "Place", false}, decode_place, same_place};
  return kind;
}

std::shared_ptr<Thing> thing(std::string name, int version, std::string value, std::string uid) {
  auto made = std::make_shared<Thing>();
  made->meta.ns = "ns";
  made->meta.uid = uid.empty() ? "uid-" + name : std::move(uid);
  made->meta.name = std::move(name);
  made->meta.resourceVersion = std::to_string(version);
  made->value = std::move(value);
  return made;
}

}  // namespace kube::testing
