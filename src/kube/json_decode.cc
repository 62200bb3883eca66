#include "kube/json_decode.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>

namespace kube::json {
namespace {

// "2006-01-02T15:04:05Z", with or without a fraction, as the API server prints every time.
bool parse_time(std::string_view text, std::int64_t& seconds) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text.back() != 'Z')
    return false;
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  const auto date = std::chrono::year(year) / month / day;
  if (year < 0 || !date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return false;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  seconds = std::chrono::duration_cast<std::chrono::seconds>(days).count() + hour * 3600 + minute * 60 + second;
  return true;
}

bool read_created(Value& value, Meta& out, Trail& trail) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return trail.fail("expected a string");
  return parse_time(text, out.created) || trail.fail("expected a time like 2006-01-02T15:04:05Z");
}

}  // namespace

template <>
struct Fields<OwnerReference> {
  static constexpr std::array list{field<&OwnerReference::apiVersion>("apiVersion"),
                                   field<&OwnerReference::kind>("kind"), field<&OwnerReference::name>("name"),
                                   field<&OwnerReference::uid>("uid"),
                                   field<&OwnerReference::controller>("controller")};
};

template <>
struct Fields<Meta> {
  static constexpr std::array list{
      field<&Meta::ns>("namespace"),
      field<&Meta::name>("name"),
      field<&Meta::uid>("uid"),
      field<&Meta::resourceVersion>("resourceVersion"),
      field<&Meta::generation>("generation"),
      Field<Meta>{"creationTimestamp", read_created,
                  [](const Meta& a, const Meta& b) { return a.created == b.created; }},
      Field<Meta>{"deletionTimestamp", [](Value&, Meta& out, Trail&) { return out.deleting = true; },
                  [](const Meta& a, const Meta& b) { return a.deleting == b.deleting; }},
      field<&Meta::labels>("labels"),
      field<&Meta::annotations>("annotations"),
      field<&Meta::finalizers>("finalizers"),
      field<&Meta::owners>("ownerReferences")};
};

bool Trail::fail(std::string_view problem) {
  if (problem_.empty()) problem_ = problem;
  return false;
}

bool Trail::inside(std::string_view part) {
  const bool joined = path_.empty() || path_.front() == '[';
  path_ = std::string(part) + (joined ? "" : ".") + path_;
  return false;
}

bool Trail::inside(std::size_t index) { return inside(fmt::format("[{}]", index)); }

bool read(Value& value, std::string& out, Trail& trail) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return trail.fail("expected a string");
  out = text;
  return true;
}

bool read(Value& value, bool& out, Trail& trail) {
  return value.get_bool().get(out) == simdjson::SUCCESS || trail.fail("expected true or false");
}

bool read(Value& value, std::int64_t& out, Trail& trail) {
  return value.get_int64().get(out) == simdjson::SUCCESS || trail.fail("expected an integer");
}

bool read(Value& value, int& out, Trail& trail) {
  std::int64_t wide = 0;
  if (!read(value, wide, trail)) return false;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    return trail.fail("expected a smaller integer");
  out = static_cast<int>(wide);
  return true;
}

bool read(Value& value, StringMap& out, Trail& trail) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return trail.fail("expected an object");
  out = {};
  for (auto item : object) {
    std::string_view key;
    std::string_view text;
    Value member;
    bool null = false;
    if (item.unescaped_key().get(key) != simdjson::SUCCESS || item.value().get(member) != simdjson::SUCCESS ||
        member.is_null().get(null) != simdjson::SUCCESS)
      return trail.fail("malformed JSON");
    if (!null && member.get_string().get(text) != simdjson::SUCCESS) {
      trail.fail("expected a string");
      return trail.inside(key);
    }
    out.set(std::string(key), std::string(text));
  }
  return true;
}

bool read_raw(Value& value, std::string& out, Trail& trail) {
  std::string_view text;
  if (simdjson::to_json_string(value).get(text) != simdjson::SUCCESS) return trail.fail("malformed JSON");
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  out = text;
  return true;
}

bool same_meta(const Meta& a, const Meta& b) {
  for (const Field<Meta>& field : Fields<Meta>::list) {
    if (field.key != "resourceVersion" && !field.same(a, b)) return false;
  }
  return true;
}

namespace {

// A parser and the padded copy that it reads; both keep their memory, since a process decodes millions of objects of
// like size.
struct Workspace {
  simdjson::ondemand::parser parser;
  std::string buffer;

  simdjson::padded_string_view padded(std::string_view text) {
    if (buffer.size() < text.size() + simdjson::SIMDJSON_PADDING)
      buffer.resize(text.size() + simdjson::SIMDJSON_PADDING);
    std::ranges::copy(text, buffer.begin());
    std::fill_n(buffer.begin() + static_cast<std::ptrdiff_t>(text.size()), simdjson::SIMDJSON_PADDING, ' ');
    return simdjson::padded_string_view(buffer.data(), text.size(), buffer.size());
  }
};

// What is beyond this is given back after use: a rare huge object must not pin its memory for ever.
constexpr std::size_t k_keep_bytes = 1 << 20;

template <class OnKey>
bool read_top(Workspace& work, std::string_view text, Trail& trail, const OnKey& on_key) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (work.parser.iterate(work.padded(text)).get(document) != simdjson::SUCCESS) return trail.fail("malformed JSON");
  if (document.get_object().get(object) != simdjson::SUCCESS) return trail.fail("expected an object");
  for (auto item : object) {
    std::string_view key;
    Value value;
    bool null = false;
    if (item.unescaped_key().get(key) != simdjson::SUCCESS || item.value().get(value) != simdjson::SUCCESS ||
        value.is_null().get(null) != simdjson::SUCCESS)
      return trail.fail("malformed JSON");
    if (!null && !on_key(key, value)) return trail.inside(key);
  }
  // Nothing may follow the object.
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS || trail.fail("malformed JSON");
}

void give_back(Workspace& work) {
  if (work.buffer.size() > k_keep_bytes) work = Workspace();
}

}  // namespace

base::Result<void> read_document(std::string_view document, std::string_view kind, Meta& meta, void* out,
                                 ReadKey read_key) {
  thread_local Workspace work;
  Trail trail;
  const bool ok = read_top(work, document, trail, [&](std::string_view key, Value& value) {
    return key == "metadata" ? read(value, meta, trail) : read_key(key, value, out, trail);
  });
  give_back(work);
  if (ok && !meta.name.empty()) return {};
  if (ok) trail.fail("expected a name");
  const std::string object = meta.ns.empty() ? meta.name : meta.ns + "/" + meta.name;
  return base::fail(fmt::format("{}{}{}{}{}: {}", kind, object.empty() ? "" : " ", object,
                                trail.path().empty() ? "" : " ", trail.path(), trail.problem()));
}

bool read_fragment(std::string_view text, void* out, ReadKey read_key, Trail& trail) {
  thread_local Workspace work;
  const bool ok =
      read_top(work, text, trail, [&](std::string_view key, Value& value) { return read_key(key, value, out, trail); });
  give_back(work);
  return ok;
}

}  // namespace kube::json
