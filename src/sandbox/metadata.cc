#include "sandbox/metadata.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cctype>
#include <set>
#include "base/text.h"

namespace sandbox {
namespace {

enum class Form : char { text, integer, texts, list, map, skip };
struct Known {
  std::string_view name;
  Form form;
};
constexpr auto known_fields = std::to_array<Known>({{"name", Form::text},
                                                    {"generateName", Form::text},
                                                    {"namespace", Form::text},
                                                    {"selfLink", Form::skip},
                                                    {"uid", Form::text},
                                                    {"resourceVersion", Form::text},
                                                    {"generation", Form::integer},
                                                    {"creationTimestamp", Form::text},
                                                    {"deletionTimestamp", Form::text},
                                                    {"deletionGracePeriodSeconds", Form::integer},
                                                    {"labels", Form::map},
                                                    {"annotations", Form::map},
                                                    {"ownerReferences", Form::list},
                                                    {"finalizers", Form::texts},
                                                    {"managedFields", Form::skip}});

bool alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool framed(std::string_view text, bool (*edge)(char), std::string_view inner) {
  return !text.empty() && edge(text.front()) && edge(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return edge(c) || inner.find(c) != std::string_view::npos; });
}

constexpr std::string_view subdomain_rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view label_rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view name_part_rule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view label_value_rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

void check_qualified(std::string_view name, const std::string& field, Causes& causes) {
  const std::size_t slash = name.find('/');
  const std::string_view part = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (slash == 0) {
    causes.push_back(field_invalid(field, quote(name), "prefix part must be non-empty"));
  } else if (slash != std::string_view::npos && !is_dns_subdomain(name.substr(0, slash))) {
    causes.push_back(field_invalid(field, quote(name), "prefix part " + std::string(subdomain_rule)));
  }
  if (part.empty()) {
    causes.push_back(field_invalid(field, quote(name), "name part must be non-empty"));
  } else if (part.size() > 63) {
    causes.push_back(field_invalid(field, quote(name), "name part must be no more than 63 bytes"));
  } else if (!framed(part, alphanumeric, "-_.")) {
    causes.push_back(field_invalid(field, quote(name), name_part_rule));
  }
}

void check_labels(const json::object& metadata, Causes& causes) {
  const json::object* labels = object_at(metadata, {"labels"});
  if (labels == nullptr) return;
  for (const json::key_value_pair& label : *labels) {
    if (enough(causes)) return;
    check_qualified(label.key(), "metadata.labels", causes);
    const std::string_view value = view(label.value().get_string());
    if (value.size() > 63) {
      causes.push_back(field_invalid("metadata.labels", quote(value), "must be no more than 63 bytes"));
    } else if (!value.empty() && !framed(value, alphanumeric, "-_.")) {
      causes.push_back(field_invalid("metadata.labels", quote(value), label_value_rule));
    }
  }
}

void check_annotations(const json::object& metadata, Causes& causes) {
  const json::object* annotations = object_at(metadata, {"annotations"});
  if (annotations == nullptr) return;
  std::size_t total = 0;
  for (const json::key_value_pair& annotation : *annotations) {
    if (enough(causes)) return;
    std::string lower(annotation.key());
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    check_qualified(lower, "metadata.annotations", causes);
    total += annotation.key().size() + annotation.value().get_string().size();
  }
  constexpr std::size_t most = 256 * 1024;
  if (total > most) causes.push_back(field_too_long("metadata.annotations", most));
}

// Built-in kinds want a prefix on every finalizer that is not one of the system's own.
void check_finalizers(const json::object& object, const Kind& kind, Causes& causes) {
  static constexpr auto standard = std::to_array<std::string_view>({"kubernetes", "orphan", "foregroundDeletion"});
  const std::vector<std::string> finalizers = finalizers_of(object);
  for (std::size_t i = 0; i < finalizers.size() && !enough(causes); ++i) {
    check_qualified(finalizers[i], "metadata.finalizers", causes);
    const bool prefixed = finalizers[i].find('/') != std::string::npos;
    if (kind.custom || prefixed || std::ranges::find(standard, finalizers[i]) != standard.end()) continue;
    causes.push_back(field_invalid(fmt::format("metadata.finalizers[{}]", i), quote(finalizers[i]),
                                   "name is neither a standard finalizer name nor is it fully qualified"));
  }
}

void check_owners(const json::object& metadata, Causes& causes) {
  const json::array* owners = array_at(metadata, {"ownerReferences"});
  if (owners == nullptr) return;
  int controllers = 0;
  for (const json::value& owner : *owners) {
    if (enough(causes)) return;
    const json::object& reference = owner.get_object();
    for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
      if (text_at(reference, {field}).empty()) {
        const std::string at = field == "apiVersion" ? "version" : std::string(field);
        causes.push_back(field_invalid("metadata.ownerReferences." + at, "\"\"", "must not be empty"));
      }
    }
    if (bool_at(reference, {"controller"})) ++controllers;
  }
  if (controllers > 1) {
    causes.push_back(
        field_invalid("metadata.ownerReferences", {}, "Only one reference can have Controller set to true"));
  }
}

}  // namespace

bool is_dns_subdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  while (true) {
    const std::size_t dot = name.find('.');
    if (!framed(name.substr(0, dot), lower_alphanumeric, "-")) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

std::string timestamp(std::int64_t unix_seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

std::string normalise_metadata(json::object& object, std::vector<std::string>* unknown) {
  json::object& metadata = make_object(object, {"metadata"});
  std::vector<std::string> drop;
  for (json::key_value_pair& member : metadata) {
    const std::string_view name = member.key();
    const auto* field = std::ranges::find(known_fields, name, &Known::name);
    json::value& value = member.value();
    if (field == known_fields.end()) {
      if (unknown != nullptr && unknown->size() < k_most_unknown) unknown->push_back("metadata." + std::string(name));
      drop.emplace_back(name);
      continue;
    }
    if (field->form == Form::skip || value.is_null()) {
      drop.emplace_back(name);
      continue;
    }
    const auto wrong = [&](std::string_view type, const json::value* inner = nullptr) {
      return go_type_error(go_kind(inner == nullptr ? value : *inner), fmt::format("ObjectMeta.{}", name), type);
    };
    switch (field->form) {
      case Form::text:
        if (!value.is_string()) return wrong("string");
        if (value.get_string().empty()) drop.emplace_back(name);
        break;
      case Form::integer:
        if (!value.is_int64()) return wrong("int64");
        break;
      case Form::texts:
        if (!value.is_array()) return wrong("[]string");
        for (const json::value& item : value.get_array()) {
          if (!item.is_string()) return wrong("string", &item);
        }
        if (value.get_array().empty()) drop.emplace_back(name);
        break;
      case Form::list:
        if (!value.is_array()) return wrong("[]v1.OwnerReference");
        for (const json::value& item : value.get_array()) {
          if (!item.is_object()) return wrong("v1.OwnerReference", &item);
        }
        if (value.get_array().empty()) drop.emplace_back(name);
        break;
      case Form::map: {
        json::object* map = value.if_object();
        if (map == nullptr) return wrong("map[string]string");
        for (json::key_value_pair& item : *map) {
          if (item.value().is_null()) item.value().emplace_string();
          if (!item.value().is_string()) return wrong("string", &item.value());
        }
        if (map->empty()) drop.emplace_back(name);
        break;
      }
      case Form::skip:
        break;
    }
  }
  for (const std::string& name : drop) metadata.erase(name);
  return {};
}

void validate_metadata(const json::object& object, const Kind& kind, Causes& causes) {
  const json::object& metadata = *object_at(object, {"metadata"});
  const std::string_view name = text_at(metadata, {"name"});
  if (name.empty()) {
    causes.push_back(field_required("metadata.name", "name or generateName is required"));
  } else if (kind.name_rule == NameRule::label) {
    if (name.size() > 63) {
      causes.push_back(field_invalid("metadata.name", quote(name), "must be no more than 63 bytes"));
    } else if (!base::is_dns_label(name)) {
      causes.push_back(field_invalid("metadata.name", quote(name), label_rule));
    }
  } else if (kind.name_rule == NameRule::path) {
    if (name == "." || name == ".." || name.find_first_of("/%") != std::string_view::npos) {
      causes.push_back(field_invalid("metadata.name", quote(name), "may not be '.' or '..', nor contain '/' or '%'"));
    }
  } else if (name.size() > 253) {
    causes.push_back(field_invalid("metadata.name", quote(name), "must be no more than 253 bytes"));
  } else if (!is_dns_subdomain(name)) {
    causes.push_back(field_invalid("metadata.name", quote(name), subdomain_rule));
  }
  check_labels(metadata, causes);
  check_annotations(metadata, causes);
  check_owners(metadata, causes);
  check_finalizers(object, kind, causes);
}

void validate_metadata_update(const json::object& object, const json::object& old, const Kind& kind, Causes& causes) {
  const json::object& metadata = *object_at(object, {"metadata"});
  const json::object& before = *object_at(old, {"metadata"});
  for (const std::string_view field : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const json::value* now = metadata.if_contains(field);
    const json::value* was = before.if_contains(field);
    if ((now == nullptr) == (was == nullptr) && (now == nullptr || same(*now, *was))) continue;
    causes.push_back(field_invalid("metadata." + std::string(field), now == nullptr ? "null" : shown_value(*now),
                                   "field is immutable"));
  }
  if (before.contains("deletionTimestamp")) {
    const std::vector<std::string> list = finalizers_of(old);
    const std::set<std::string> had(list.begin(), list.end());
    std::vector<std::string> added;
    for (const std::string& finalizer : finalizers_of(object)) {
      if (!had.contains(finalizer)) added.push_back(quote(finalizer));
    }
    if (!added.empty()) {
      causes.push_back(field_forbidden(
          "metadata.finalizers",
          fmt::format(
              "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
              fmt::join(added, ", "))));
    }
  }
  check_labels(metadata, causes);
  check_annotations(metadata, causes);
  check_owners(metadata, causes);
  check_finalizers(object, kind, causes);
}

std::vector<std::string> finalizers_of(const json::object& object) {
  std::vector<std::string> finalizers;
  if (const json::array* items = array_at(object, {"metadata", "finalizers"})) {
    for (const json::value& item : *items) finalizers.emplace_back(view(item.get_string()));
  }
  return finalizers;
}

void set_finalizers(json::object& object, const std::vector<std::string>& finalizers) {
  json::object& metadata = make_object(object, {"metadata"});
  if (finalizers.empty()) {
    metadata.erase("finalizers");
    return;
  }
  json::array items;
  for (const std::string& finalizer : finalizers) items.emplace_back(finalizer);
  metadata["finalizers"] = std::move(items);
}

}  // namespace sandbox
