#include "kube/plan.h"

#include "kube/check.h"

namespace kube {
namespace {

boost::json::object& metadata_of(boost::json::object& body) {
  boost::json::value& metadata = body["metadata"];
  return metadata.is_object() ? metadata.get_object() : metadata.emplace_object();
}

Write guarded(Write::Verb verb, const Resource& resource, const Object& from, boost::json::object body,
              std::string step) {
  check(!from.meta.resourceVersion.empty(), "a patch planned from an object without a version");
  metadata_of(body)["resourceVersion"] = from.meta.resourceVersion;
  return {verb, {&resource, from.meta.ns, from.meta.name}, std::move(body), from.meta.resourceVersion, std::move(step)};
}

std::string text_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

std::string Key::to_string() const { return reconciler + "/" + (ns.empty() ? name : ns + "/" + name); }

Write patch(const Resource& resource, const Object& from, boost::json::object body, std::string step) {
  return guarded(Write::Verb::patch, resource, from, std::move(body), std::move(step));
}

Write patch_status(const Resource& resource, const Object& from, boost::json::object body, std::string step) {
  return guarded(Write::Verb::patch_status, resource, from, std::move(body), std::move(step));
}

Write create(const Resource& resource, boost::json::object body, std::string step) {
  body["apiVersion"] = resource.api_version();
  body["kind"] = resource.kind;
  const boost::json::object& metadata = metadata_of(body);
  Ref target{&resource, text_at(metadata, "namespace"), text_at(metadata, "name")};
  check(!target.name.empty(), "an object to create needs a name");
  check(resource.namespaced != target.ns.empty(), "an object to create has a namespace exactly if its kind has them");
  return {Write::Verb::create, std::move(target), std::move(body), {}, std::move(step)};
}

Write remove(const Resource& resource, const Object& from, bool exact, std::string step) {
  check(!from.meta.uid.empty(), "a deletion needs the uid of what it deletes");
  boost::json::object preconditions{{"uid", from.meta.uid}};
  if (exact) preconditions["resourceVersion"] = from.meta.resourceVersion;
  boost::json::object body{{"apiVersion", "v1"},
                           {"kind", "DeleteOptions"},
                           {"propagationPolicy", "Background"},
                           {"preconditions", std::move(preconditions)}};
  return {Write::Verb::remove,
          {&resource, from.meta.ns, from.meta.name},
          std::move(body),
          from.meta.resourceVersion,
          std::move(step)};
}

}  // namespace kube
