// Decoding of one JSON object into a plain struct, from one declarative list of fields per struct (simdjson On-Demand:
// fields are visited as they come, never looked up, and what nobody asks for is skipped unread).
//
// Includes simdjson: for the .cc files that implement kinds, not for headers.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/types.h"

namespace kube::json {

using Value = simdjson::ondemand::value;

// Where a decode went wrong: the path is put together from the inside outwards. Both members return false.
class Trail {
 public:
  bool fail(std::string_view problem);
  bool inside(std::string_view part);
  bool inside(std::size_t index);
  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string path_;
  std::string problem_;
};

// One key of a JSON object and the member it fills. Null counts as absent.
template <class T>
struct Field {
  std::string_view key;
  bool (*read)(Value& value, T& out, Trail& trail);
  bool (*same)(const T& a, const T& b);
};

// Specialise with `static constexpr std::array list{field<&S::a>("a"), …}` for every struct that is read as an object.
template <class S>
struct Fields;

bool read(Value& value, std::string& out, Trail& trail);
bool read(Value& value, bool& out, Trail& trail);
bool read(Value& value, std::int64_t& out, Trail& trail);
bool read(Value& value, int& out, Trail& trail);
bool read(Value& value, StringMap& out, Trail& trail);
// The value's JSON text as it stands, without surrounding white space.
bool read_raw(Value& value, std::string& out, Trail& trail);

template <class S, std::size_t N>
bool read_object(Value& value, S& out, const std::array<Field<S>, N>& list, Trail& trail);

template <class S>
requires requires { Fields<S>::list; }
bool read(Value& value, S& out, Trail& trail) { return read_object(value, out, Fields<S>::list, trail); }

template <class E>
bool read(Value& value, std::optional<E>& out, Trail& trail) {
  return read(value, out.emplace(), trail);
}

// Null elements are left out.
template <class E>
bool read(Value& value, std::vector<E>& out, Trail& trail) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return trail.fail("expected a list");
  out.clear();
  std::size_t index = 0;
  for (auto item : array) {
    Value element;
    bool null = false;
    if (item.get(element) != simdjson::SUCCESS || element.is_null().get(null) != simdjson::SUCCESS)
      return trail.fail("malformed JSON");
    if (!null && !read(element, out.emplace_back(), trail)) return trail.inside(index);
    ++index;
  }
  return true;
}

template <class S, std::size_t N>
bool read_object(Value& value, S& out, const std::array<Field<S>, N>& list, Trail& trail) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return trail.fail("expected an object");
  for (auto item : object) {
    std::string_view key;
    if (item.unescaped_key().get(key) != simdjson::SUCCESS) return trail.fail("malformed JSON");
    for (const Field<S>& field : list) {
      if (field.key != key) continue;
      Value member;
      bool null = false;
      if (item.value().get(member) != simdjson::SUCCESS || member.is_null().get(null) != simdjson::SUCCESS)
        return trail.fail("malformed JSON");
      if (!null && !field.read(member, out, trail)) return trail.inside(field.key);
      break;
    }
  }
  return true;
}

template <class S, std::size_t N>
bool same_fields(const S& a, const S& b, const std::array<Field<S>, N>& list) {
  for (const Field<S>& field : list) {
    if (!field.same(a, b)) return false;
  }
  return true;
}

namespace detail {
template <class>
struct MemberOf;
template <class S, class M>
struct MemberOf<M S::*> {
  using Struct = S;
};
}  // namespace detail

// A key that fills `Member`.
template <auto Member>
constexpr auto field(std::string_view key) {
  using S = typename detail::MemberOf<decltype(Member)>::Struct;
  return Field<S>{key, [](Value& v, S& out, Trail& trail) { return read(v, out.*Member, trail); },
                  [](const S& a, const S& b) { return a.*Member == b.*Member; }};
}

// A key whose JSON text fills `Member`, a string.
template <auto Member>
constexpr auto raw_field(std::string_view key) {
  using S = typename detail::MemberOf<decltype(Member)>::Struct;
  return Field<S>{key, [](Value& v, S& out, Trail& trail) { return read_raw(v, out.*Member, trail); },
                  [](const S& a, const S& b) { return a.*Member == b.*Member; }};
}

// A nested JSON object whose keys fill members of the same struct: "spec", "status".
template <class S, const auto& List>
constexpr Field<S> section(std::string_view key) {
  return {key, [](Value& v, S& out, Trail& trail) { return read_object(v, out, List, trail); },
          [](const S& a, const S& b) { return same_fields(a, b, List); }};
}

// Whether two objects' metadata look the same to a reconciler: all but resourceVersion.
bool same_meta(const Meta& a, const Meta& b);

// Runs `read_key` for each top-level key of `document` but "metadata", which fills `meta`. Errors name kind, object and
// field. Not reentrant within one thread.
using ReadKey = bool (*)(std::string_view key, Value& value, void* out, Trail& trail);
base::Result<void> read_document(std::string_view document, std::string_view kind, Meta& meta, void* out,
                                 ReadKey read_key);
// The same for a JSON text out of a raw field, which may be read while a document is being read.
bool read_fragment(std::string_view text, void* out, ReadKey read_key, Trail& trail);

// Kind::decode and Kind::same for a T whose Fields<T>::list has the top-level keys besides metadata. `T::settle()`, if
// there is one, runs after decoding and fills in defaults.
template <class T>
base::Result<ObjectPtr> decode(std::string_view document, std::string_view kind) {
  auto object = std::make_shared<T>();
  const auto read_key = [](std::string_view key, Value& value, void* out, Trail& trail) {
    for (const Field<T>& field : Fields<T>::list) {
      if (field.key == key) return field.read(value, *static_cast<T*>(out), trail);
    }
    return true;
  };
  if (auto result = read_document(document, kind, object->meta, object.get(), read_key); !result)
    return std::unexpected(std::move(result.error()));
  if constexpr (requires { Fields<T>::settle(*object); }) Fields<T>::settle(*object);
  return object;
}

template <class T>
bool same(const Object& a, const Object& b) {
  return same_meta(a.meta, b.meta) && same_fields(static_cast<const T&>(a), static_cast<const T&>(b), Fields<T>::list);
}

// The Kind of T, whose decode errors name `resource.kind`.
template <class T, const Resource& R>
constexpr Kind kind_of() {
  return {R, [](std::string_view document) { return decode<T>(document, R.kind); }, &same<T>};
}

template <>
struct Fields<Condition> {
  static constexpr std::array list{field<&Condition::type>("type"),
                                   field<&Condition::status>("status"),
                                   field<&Condition::reason>("reason"),
                                   field<&Condition::message>("message"),
                                   field<&Condition::lastTransitionTime>("lastTransitionTime"),
                                   field<&Condition::observedGeneration>("observedGeneration")};
};

}  // namespace kube::json
