// Client-side apply as kubectl does it: three ways between what was applied last, what is there and what is wanted.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include "client/kinds.h"
#include "client/kubectl.h"
#include "kube/yaml.h"

namespace client {
namespace {

constexpr std::string_view k_last_applied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr int k_attempts = 5;

// Whether `now` has all that `wanted` says; members that the server added do not matter.
bool has_all(const json::value& now, const json::value& wanted) {
  if (const auto* object = wanted.if_object()) {
    const auto* there = now.if_object();
    if (there == nullptr) return false;
    for (const auto& member : *object) {
      const auto* value = there->if_contains(member.key());
      if (value == nullptr ? !member.value().is_null() : !has_all(*value, member.value())) return false;
    }
    return true;
  }
  if (const auto* array = wanted.if_array()) {
    const auto* there = now.if_array();
    if (there == nullptr || there->size() != array->size()) return false;
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (!has_all((*there)[i], (*array)[i])) return false;
    }
    return true;
  }
  return now == wanted;
}

// The merge patch that brings `now` to `wanted` and drops what only `last` had.
json::object difference(const json::object& now, const json::object& wanted, const json::object& last) {
  json::object patch;
  for (const auto& member : wanted) {
    const auto* there = now.if_contains(member.key());
    if (there != nullptr && there->is_object() && member.value().is_object()) {
      const auto* before = last.if_contains(member.key());
      static const json::object nothing;
      json::object inner = difference(there->get_object(), member.value().get_object(),
                                      before != nullptr && before->is_object() ? before->get_object() : nothing);
      if (!inner.empty()) patch[member.key()] = std::move(inner);
    } else if (there == nullptr ? !member.value().is_null() : !has_all(*there, member.value())) {
      patch[member.key()] = member.value();
    }
  }
  for (const auto& member : last) {
    if (!wanted.contains(member.key()) && now.contains(member.key())) patch[member.key()] = nullptr;
  }
  return patch;
}

json::object& child(json::object& object, std::string_view name) {
  json::value& value = object[name];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

// The document with a note of itself, as kubectl leaves it for the next apply.
json::object annotated(const json::object& document) {
  json::object out = document;
  json::object note = document;
  json::object& meta = child(note, "metadata");
  if (auto* annotations = meta.if_contains("annotations"); annotations == nullptr || !annotations->is_object()) {
    meta["annotations"] = json::object();
  }
  meta["annotations"].get_object().erase(k_last_applied);
  child(child(out, "metadata"), "annotations")[k_last_applied] = to_compact_json(note) + "\n";
  return out;
}

json::object last_applied(const json::object& now) {
  const std::string_view note = text_at(now, {"metadata", "annotations", k_last_applied});
  auto last = parse_object(note);
  return last ? std::move(*last) : json::object();
}

struct Applied {
  std::string_view verb;  // created, configured, unchanged
};

kube::ApiResult<Applied> apply_one(const Session& session, const kube::Resource& kind, std::string_view place,
                                   const json::object& wanted) {
  const std::string name(text_at(wanted, {"metadata", "name"}));
  for (int attempt = 1;; ++attempt) {
    const auto now = session.get(kind, place, name);
    if (!now && !now.error().is_not_found()) return std::unexpected(now.error());
    if (!now) {
      const auto created = session.create(kind, place, wanted);
      if (created) return Applied{"created"};
      if (created.error().is_already_exists() && attempt < k_attempts) continue;
      return std::unexpected(created.error());
    }
    json::object patch = difference(*now, wanted, last_applied(*now));
    if (patch.empty()) return Applied{"unchanged"};
    child(patch, "metadata")["resourceVersion"] = text_at(*now, {"metadata", "resourceVersion"});
    const auto patched = session.patch(kind, place, name, patch);
    if (patched) return Applied{"configured"};
    if (patched.error().is_conflict() && attempt < k_attempts) continue;
    return std::unexpected(patched.error());
  }
}

int apply_document(const Session& session, const std::string& file, json::object document) {
  const auto kind = kind_of(document);
  if (!kind) return session.fail(fmt::format("{}: {}", file, kind.error().message));
  const std::string name(text_at(document, {"metadata", "name"}));
  if (name.empty()) return session.fail(fmt::format("{}: a {} without metadata.name", file, (*kind)->kind));
  std::string place(text_at(document, {"metadata", "namespace"}));
  if ((*kind)->namespaced && place.empty()) place = session.ns;
  if (!(*kind)->namespaced) place.clear();
  if (!place.empty()) child(document, "metadata")["namespace"] = place;
  const auto applied = apply_one(session, **kind, place, annotated(document));
  if (!applied) return session.fail(applied.error());
  session.out << display_name(**kind, name) << " " << applied->verb << "\n";
  return k_done;
}

}  // namespace

base::Result<std::vector<json::object>> read_documents(const std::string& file) {
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::error_code error;
    if (std::filesystem::is_directory(file, error))
      return base::fail(fmt::format("cannot read {}: it is a folder", file));
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return base::fail(fmt::format("cannot read {}", file));
    text.assign(std::istreambuf_iterator<char>(stream), {});
  }
  auto values = kube::parse_yaml(text);
  if (!values) return base::fail(fmt::format("{}: {}", file, values.error().message));
  std::vector<json::object> documents;
  for (json::value& value : *values) {
    if (!value.is_object()) return base::fail(fmt::format("{}: a document is no object", file));
    json::object& object = value.get_object();
    if (const auto* items = array_at(object, {"items"}); items != nullptr && text_at(object, {"kind"}) == "List") {
      for (const json::value& item : *items) {
        if (item.is_object()) documents.push_back(item.get_object());
      }
    } else {
      documents.push_back(std::move(object));
    }
  }
  if (documents.empty()) return base::fail(fmt::format("{}: no objects in it", file));
  return documents;
}

int apply(const Session& session, const std::vector<std::string>& files) {
  if (files.empty()) return session.fail("say which file: apply -f FILE, or -f - for standard input", k_usage);
  int status = k_done;
  for (const std::string& file : files) {
    const auto documents = read_documents(file);
    if (!documents) {
      status = session.fail(documents.error().message);
      continue;
    }
    for (const json::object& document : *documents) {
      if (apply_document(session, file, document) != k_done) status = k_failed;
    }
  }
  return status;
}

}  // namespace client
