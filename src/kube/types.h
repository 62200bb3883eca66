// What every Kubernetes object has, and how a kind is described to the runtime. Knows no concrete kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace kube {

// A kind's place in the API. Instances are constants with static storage; compared by address.
struct Resource {
  std::string_view group;  // "" = core
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;

  // "v1" or "group/version".
  std::string api_version() const;
  // "/api/v1/namespaces/ns/services" or "/apis/g/v/plural"; an empty `ns` means all namespaces. Parts are
  // percent-encoded.
  std::string collection_path(std::string_view ns = {}) const;
  std::string object_path(std::string_view ns, std::string_view name) const;
};

// Whether both are the same place in the API, though perhaps of two decoders.
inline bool same_resource(const Resource& a, const Resource& b) {
  return &a == &b || (a.group == b.group && a.plural == b.plural);
}

// An object by name, whether it exists or not. `ns` is empty for cluster-scoped kinds.
struct Ref {
  const Resource* resource = nullptr;
  std::string ns;
  std::string name;
  friend bool operator==(const Ref&, const Ref&) = default;
  // "plural/ns/name", for logs and maps.
  std::string to_string() const;
};

// A small sorted map of strings: labels and annotations.
class StringMap {
 public:
  using Item = std::pair<std::string, std::string>;
  StringMap() = default;
  StringMap(std::initializer_list<Item> items);
  // nullptr if absent; valid until the map changes.
  const std::string* find(std::string_view key) const;
  // "" if absent.
  std::string_view get(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  void set(std::string key, std::string value);
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  friend bool operator==(const StringMap&, const StringMap&) = default;

 private:
  std::vector<Item> items_;
};

struct OwnerReference {
  std::string apiVersion;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

// The fields of ObjectMeta that controllers read. managedFields are never decoded.
struct Meta {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resourceVersion;
  std::int64_t generation = 0;
  std::int64_t created = 0;  // creationTimestamp, Unix seconds
  bool deleting = false;     // deletionTimestamp is set
  StringMap labels;
  StringMap annotations;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;

  bool has_finalizer(std::string_view name) const;
};

// Base of every decoded object. Decoded objects are immutable and shared; nothing decoded is ever PUT back.
struct Object {
  Meta meta;
  virtual ~Object() = default;
};
using ObjectPtr = std::shared_ptr<const Object>;

// A kind as the stores use it: its resource, its decoder and its notion of sameness. Constants with static storage.
struct Kind {
  Resource resource;
  // Decodes one JSON document (no padding needed). Unknown fields are skipped; a missing optional field is its default.
  base::Result<ObjectPtr> (*decode)(std::string_view json);
  // Whether two versions look the same to every reconciler: all decoded fields except resourceVersion.
  bool (*same)(const Object& a, const Object& b);
};

// Compares two resourceVersions as the numbers they are (KEP-5504), of any length; "" is older than all.
int compare_versions(std::string_view a, std::string_view b);

// RFC 3339 as Kubernetes writes Time, and MicroTime.
std::string time_text(base::WallTime at);
std::string micro_time(base::WallTime at);

// A condition of status.conditions, shared by the kinds that have them.
struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::string lastTransitionTime;  // carried over as text, never compared
  std::int64_t observedGeneration = 0;
  friend bool operator==(const Condition&, const Condition&) = default;
};
const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);

}  // namespace kube
