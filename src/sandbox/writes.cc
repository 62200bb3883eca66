#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "sandbox/bodies.h"
#include "sandbox/duplicates.h"
#include "sandbox/metadata.h"
#include "sandbox/server_impl.h"
#include "sandbox/size_limit.h"
#include "sandbox/strategic.h"

namespace sandbox {
namespace {

// The document without what does not count for metadata.generation.
bool same_besides_metadata_and_status(const json::object& a, const json::object& b) {
  const auto covered = [](const json::object& x, const json::object& y) {
    return std::ranges::all_of(x, [&y](const json::key_value_pair& member) {
      const std::string_view name = member.key();
      if (name == "metadata" || name == "status") return true;
      const json::value* other = y.if_contains(name);
      return other != nullptr && same(member.value(), *other);
    });
  };
  return covered(a, b) && covered(b, a);
}

// What a document says of its managers; the rules for metadata leave it out.
json::value take_managers(json::object& object) {
  json::object* metadata = object_at(object, {"metadata"});
  json::value* list = metadata == nullptr ? nullptr : metadata->if_contains("managedFields");
  return list == nullptr ? json::value(nullptr) : std::move(*list);
}

}  // namespace

std::string ApiServer::Impl::now() const { return timestamp(wall()); }

std::string ApiServer::Impl::new_uid() {
  const std::uint64_t a = random.next();
  const std::uint64_t b = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU, a & 0xfffU,
                     0x8000U | ((b >> 48U) & 0x3fffU), b & 0xffffffffffffULL);
}

std::string ApiServer::Impl::generated_name(std::string_view base_name) {
  static constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name(base_name.substr(0, 58));
  for (int i = 0; i < 5; ++i) name += letters[random.below(letters.size())];
  return name;
}

void ApiServer::Impl::committed(const Kind& kind, const json::object* before, const json::object* after) {
  kind.strategy->replaced(before, after);
  if (&kind != definitions) return;
  if (before != nullptr && after == nullptr) undefine(*before);
  if (after != nullptr) (void)define(*after);  // validated when it was stored
}

Outcome<void> ApiServer::Impl::check_namespace(const Target& target, std::string_view name) const {
  const std::string& ns = target.info.ns;
  const VersionPtr found = storage.get(*namespaces, ns);
  if (found == nullptr) return refuse(not_found(namespaces->subject(ns)));
  if (text_at(*found->document(), {"metadata", "deletionTimestamp"}).empty()) return {};
  Failure failure =
      forbidden(target.kind->subject(std::string(name)),
                fmt::format("unable to create new content in namespace {} because it is being terminated", ns));
  failure.causes.push_back(
      {"NamespaceTerminating", fmt::format("namespace {} is being terminated", ns), "metadata.namespace"});
  return refuse(std::move(failure));
}

Outcome<Document> ApiServer::Impl::store_new(Target& target, json::object object) {
  const Kind& kind = target.kind->stored_as();
  const json::value submitted = take_managers(object);
  if (auto checked = check_document(target, object, target.managers != nullptr); !checked)
    return std::unexpected(checked.error());
  json::object& metadata = make_object(object, {"metadata"});
  const std::string_view stated_ns = text_at(metadata, {"namespace"});
  if (kind.namespaced && !stated_ns.empty() && stated_ns != target.info.ns) {
    return refuse(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  }
  if (text_at(metadata, {"name"}).empty() && !text_at(metadata, {"generateName"}).empty()) {
    metadata["name"] = generated_name(text_at(metadata, {"generateName"}));
  }
  const std::string name(text_at(metadata, {"name"}));
  if (kind.namespaced) {
    if (auto checked = check_namespace(target, name); !checked) return std::unexpected(checked.error());
    metadata["namespace"] = target.info.ns;
  } else {
    metadata.erase("namespace");
  }
  if (!text_at(metadata, {"resourceVersion"}).empty()) {
    return refuse(internal_error("resourceVersion should not be set on objects to be created"));
  }
  for (const std::string_view field : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
    metadata.erase(field);
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = now();
  if (kind.generation) metadata["generation"] = 1;
  if (kind.custom && kind.status) object.erase("status");
  const json::object sent = config.managed_fields ? object : json::object();
  kind.strategy->prepare_create(object);
  track(target, object, nullptr, submitted, &sent);
  if (is_too_large(object)) return refuse(too_large());

  Causes causes;
  const std::string stated_kind(text_at(object, {"kind"}));
  if (kind.custom && stated_kind != kind.name)
    causes.push_back(field_invalid("kind", quote(stated_kind), "must be " + kind.name));
  validate_metadata(object, kind, causes);
  if (kind.custom && kind.schema != nullptr) {
    json::value whole(std::move(object));
    kind.schema->validate(whole, nullptr, causes);
    object = std::move(whole.get_object());
  }
  kind.strategy->validate(object, nullptr, causes);
  if (target.kind != &kind) target.kind->strategy->validate(object, nullptr, causes);
  const std::string key = Storage::key(target.info.ns, name);
  if (causes.empty() && storage.get(kind, key) != nullptr) return refuse(already_exists(target.kind->subject(name)));
  if (!causes.empty()) return refuse(invalid({kind.group, stated_kind, name}, std::move(causes)));
  target.info.name = name;
  if (auto admitted = admit(target, &object, nullptr); !admitted) return std::unexpected(admitted.error());
  if (auto chosen = kind.strategy->allocate(object, nullptr); !chosen) return std::unexpected(chosen.error());
  if (target.dry_run) return std::make_shared<const json::object>(std::move(object));
  Document stored = storage.put(kind, key, std::move(object))->document();
  committed(kind, nullptr, stored.get());
  return stored;
}

void ApiServer::Impl::note_duplicates(Target& target, const kube::Request& request) {
  const std::string_view type = media_type(request.content_type);
  if (type.empty() || type.ends_with("json")) target.duplicates = duplicate_fields(request.body);
}

Outcome<kube::Response> ApiServer::Impl::create(Target& target, const kube::Request& request) {
  auto object = decode_body(request, target);
  if (!object) return std::unexpected(object.error());
  note_duplicates(target, request);
  if (target.kind->to_storage != nullptr) target.kind->to_storage(*object);
  auto stored = store_new(target, std::move(*object));
  if (!stored) return std::unexpected(stored.error());
  return answer(201, target, **stored);
}

Outcome<Document> ApiServer::Impl::store_next(Target& target, json::object next, const VersionPtr& current, Part part,
                                              bool patched) {
  const Kind& kind = target.kind->stored_as();
  const std::string& name = target.info.name;
  const Document before_this = current->document();
  const json::object& old = *before_this;
  const json::value submitted = take_managers(next);
  if (auto checked = check_document(target, next, patched); !checked) return std::unexpected(checked.error());
  json::object& metadata = make_object(next, {"metadata"});
  if (text_at(metadata, {"name"}) != name) {
    return refuse(bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                                          text_at(metadata, {"name"}), name)));
  }
  if (const std::string_view ns = text_at(metadata, {"namespace"});
      kind.namespaced && !ns.empty() && ns != target.info.ns) {
    return refuse(bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  }
  if (kind.custom && text_at(next, {"apiVersion"}) != kind.api_version()) {
    return refuse(invalid({"", kind.name, name}, {field_invalid("apiVersion", quote(text_at(next, {"apiVersion"})),
                                                                "must be " + kind.api_version())}));
  }
  const std::string_view uid = text_at(metadata, {"uid"});
  const std::string_view own_uid = text_at(old, {"metadata", "uid"});
  if (!patched && !uid.empty() && uid != own_uid) {
    return refuse(conflict(
        kind.subject(name),
        fmt::format(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: "
            "Precondition failed: UID in precondition: {}, UID in object meta: {}",
            kind.group.empty() ? kind.plural : kind.group + "/" + kind.plural, target.key(), uid, own_uid)));
  }
  const std::string revision = std::to_string(current->revision());
  const std::string_view stated = text_at(metadata, {"resourceVersion"});
  if (stated.empty() && !kind.unconditional_update) {
    return refuse(invalid(kind.subject(name),
                          {field_invalid("metadata.resourceVersion", "0", "must be specified for an update")}));
  }
  if (!stated.empty() && stated != revision) return refuse(modified(kind.subject(name)));

  metadata["resourceVersion"] = revision;
  if (kind.namespaced) metadata["namespace"] = target.info.ns;
  for (const std::string_view field : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const json::value* before = find(old, {"metadata", field});
    if (before != nullptr && !metadata.contains(field)) metadata[field] = *before;
  }
  metadata.erase("generation");
  if (const json::value* generation = find(old, {"metadata", "generation"})) metadata["generation"] = *generation;

  if (part == Part::status) {
    kind.strategy->prepare_status(next, old);
  } else if (part == Part::finalize) {
    json::value finalizers = find(next, {"spec", "finalizers"}) == nullptr ? json::value(json::array())
                                                                           : *find(next, {"spec", "finalizers"});
    next = old;
    json::object& spec = make_object(next, {"spec"});
    if (finalizers.get_array().empty()) {
      spec.erase("finalizers");
    } else {
      spec["finalizers"] = std::move(finalizers);
    }
  } else {
    if (kind.status) {
      next.erase("status");
      if (const json::value* status = old.if_contains("status")) next["status"] = *status;
    }
    kind.strategy->prepare_update(next, old);
    if (kind.generation && !same_besides_metadata_and_status(next, old)) {
      make_object(next, {"metadata"})["generation"] = int_at(old, {"metadata", "generation"}) + 1;
    }
  }

  track(target, next, &old, submitted);
  if (is_too_large(next)) return refuse(too_large());

  Causes causes;
  const std::string stated_kind(text_at(next, {"kind"}));
  if (kind.custom && stated_kind != kind.name)
    causes.push_back(field_invalid("kind", quote(stated_kind), "must be " + kind.name));
  validate_metadata_update(next, old, kind, causes);
  if (kind.custom && kind.schema != nullptr) {
    const json::value before(old);
    json::value whole(std::move(next));
    kind.schema->validate(whole, &before, causes);
    next = std::move(whole.get_object());
  }
  if (part == Part::status) {
    kind.strategy->validate_status(next, old, causes);
  } else if (part == Part::main) {
    kind.strategy->validate(next, &old, causes);
    if (target.kind != &kind) target.kind->strategy->validate(next, &old, causes);
  }
  if (!causes.empty()) return refuse(invalid({kind.group, stated_kind, name}, std::move(causes)));
  if (auto admitted = admit(target, &next, &old); !admitted) return std::unexpected(admitted.error());
  if (part == Part::main) {
    if (auto chosen = kind.strategy->allocate(next, &old); !chosen) return std::unexpected(chosen.error());
  }

  const std::string key = target.key();
  if (find(next, {"metadata", "deletionTimestamp"}) != nullptr && !kind.strategy->held(next)) {
    if (!target.dry_run) {
      storage.remove(kind, key);
      committed(kind, &old, nullptr);
    }
    // as the client asked for it: the last version that there was
    return std::make_shared<const json::object>(std::move(next));
  }
  if (target.dry_run || same(next, old)) return std::make_shared<const json::object>(std::move(next));
  Document stored = storage.put(kind, key, std::move(next))->document();
  committed(kind, &old, stored.get());
  return stored;
}

Outcome<kube::Response> ApiServer::Impl::update(Target& target, const kube::Request& request) {
  auto object = decode_body(request, target);
  if (!object) return std::unexpected(object.error());
  note_duplicates(target, request);
  if (target.kind->to_storage != nullptr) target.kind->to_storage(*object);
  const VersionPtr current = storage.get(target.kind->stored_as(), target.key());
  if (current == nullptr) return refuse(not_found(target.kind->subject(target.info.name)));
  const Part part = target.info.subresource == "status"     ? Part::status
                    : target.info.subresource == "finalize" ? Part::finalize
                                                            : Part::main;
  auto stored = store_next(target, std::move(*object), current, part, false);
  if (!stored) return std::unexpected(stored.error());
  return answer(200, target, **stored);
}

Outcome<kube::Response> ApiServer::Impl::patch(Target& target, const kube::Request& request) {
  const Kind& kind = *target.kind;
  const std::string_view type = media_type(request.content_type);
  if (type == apply_type && config.managed_fields) return apply_patch(target, request);
  const bool strategic = type == strategic_type && !kind.custom;
  if (type != merge_type && type != json_patch_type && !strategic) {
    // built-in kinds are refused by the router already
    if (!kind.custom) {
      return refuse({.code = 415, .reason = "UnsupportedMediaType", .message = "415: Unsupported Media Type"});
    }
    return refuse(unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml"));
  }
  const VersionPtr current = storage.get(kind.stored_as(), target.key());
  if (current == nullptr) return refuse(not_found(kind.subject(target.info.name)));
  const auto body = parse_json(request.body);
  if (!body) return refuse(bad_request("error decoding patch: " + body.error().message));
  json::value document(shown(kind, *current->document()));
  if (type == json_patch_type) {
    if (!body->is_array()) {
      return refuse(bad_request(
          "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"));
    }
    if (const std::size_t count = body->get_array().size(); count > k_most_patch_operations) {
      return refuse({.code = 413,
                     .reason = "RequestEntityTooLarge",
                     .message = fmt::format("Request entity too large: The allowed maximum operations in a JSON patch "
                                            "is {}, got {}",
                                            k_most_patch_operations, count),
                     .bare = true});
    }
    auto patched = json_patch(document, body->get_array());
    if (!patched)
      return refuse({.code = 422,
                     .reason = "Invalid",
                     .message = "the server rejected our request due to an error in our request"});
    document = std::move(*patched);
  } else if (!body->is_object()) {
    return refuse(bad_request(
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"));
  } else if (is_too_large(body->get_object())) {
    return refuse(too_large());
  } else if (strategic) {
    strategic_merge(document, *body);
  } else {
    merge_patch(document, *body);
  }
  note_duplicates(target, request);
  if (!document.is_object()) return refuse(bad_request("error decoding patch: the result is not an object"));
  json::object& next = document.get_object();
  if (!kind.custom && text_at(next, {"kind"}) != kind.name)
    return refuse(wrong_type_in_patch(next, unknown_conversion(kind, text_at(next, {"kind"}))));
  if (kind.to_storage != nullptr) kind.to_storage(next);
  const Part part = target.info.subresource == "status" ? Part::status : Part::main;
  auto stored = store_next(target, std::move(next), current, part, true);
  if (!stored) return std::unexpected(stored.error());
  return answer(200, target, **stored);
}

}  // namespace sandbox
