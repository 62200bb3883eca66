#include "kube/watch_event.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>

#include "kube/line_framer.h"

namespace kube {
namespace {

namespace od = simdjson::ondemand;
static_assert(LineFramer::k_padding >= simdjson::SIMDJSON_PADDING);

constexpr std::string_view k_initial_events_end = "k8s.io/initial-events-end";

std::unexpected<base::Error> broken(std::string_view what, simdjson::error_code code, std::string_view text) {
  return base::fail(fmt::format("{} ({}): {}", what, simdjson::error_message(code), excerpt(text)));
}

std::optional<WatchEvent::Type> type_of(std::string_view name) {
  using Type = WatchEvent::Type;
  if (name == "ADDED") return Type::added;
  if (name == "MODIFIED") return Type::modified;
  if (name == "DELETED") return Type::deleted;
  if (name == "BOOKMARK") return Type::bookmark;
  if (name == "ERROR") return Type::error;
  return std::nullopt;
}

// What a bookmark says: only kind, apiVersion and metadata are there.
simdjson::error_code read_bookmark(od::object object, WatchEvent& event) {
  od::object metadata;
  if (auto e = object.find_field_unordered("metadata").get_object().get(metadata)) return e;
  for (auto field : metadata) {
    std::string_view key;
    if (auto e = field.unescaped_key().get(key)) return e;
    if (key == "resourceVersion") {
      std::string_view version;
      if (auto e = field.value().get_string().get(version)) return e;
      event.version.assign(version);
    } else if (key == "annotations") {
      od::object annotations;
      if (field.value().get_object().get(annotations) != simdjson::SUCCESS) continue;
      std::string_view value;
      const auto found = annotations.find_field_unordered(k_initial_events_end).get_string().get(value);
      event.initial_events_end = found == simdjson::SUCCESS && value == "true";
    }
  }
  return simdjson::SUCCESS;
}

base::Result<WatchEvent> read_object(const Kind& kind, od::object object, WatchEvent event) {
  std::string_view json;
  if (auto e = object.raw_json().get(json)) return broken("event object", e, {});
  if (event.type == WatchEvent::Type::error) {
    if (!decode_status(json, event.error)) return base::fail("an ERROR event without a Status: " + excerpt(json));
    return event;
  }
  auto decoded = kind.decode(json);
  if (!decoded) return base::fail(fmt::format("{}: {}", kind.resource.kind, decoded.error().message));
  event.object = std::move(*decoded);
  event.version = event.object->meta.resourceVersion;
  return event;
}

// `type` decides what `object` is, so it is looked at first, wherever it stands.
base::Result<WatchEvent> read_event(const Kind& kind, od::parser& parser, simdjson::padded_string_view line) {
  od::document document;
  od::object envelope;
  if (auto e = parser.iterate(line).get(document)) return broken("not a watch event", e, line);
  if (auto e = document.get_object().get(envelope)) return broken("not a watch event", e, line);
  std::string_view name;
  if (auto e = envelope.find_field_unordered("type").get_string().get(name)) {
    return broken("not a watch event", e, line);
  }
  const auto type = type_of(name);
  if (!type) return base::fail("unknown type of watch event: " + excerpt(name));
  WatchEvent event;
  event.type = *type;
  od::object object;
  if (auto e = envelope.find_field_unordered("object").get_object().get(object)) {
    return broken("a watch event without object", e, line);
  }
  if (*type != WatchEvent::Type::bookmark) return read_object(kind, object, std::move(event));
  if (auto e = read_bookmark(object, event)) return broken("unreadable bookmark", e, line);
  return event;
}

}  // namespace

struct WatchDecoder::Impl {
  const Kind& kind;
  LineFramer framer{};
  od::parser parser{};
  bool broken = false;
};

WatchDecoder::WatchDecoder(const Kind& kind) : impl_(new Impl{kind}) {}
WatchDecoder::~WatchDecoder() = default;

WatchBatch WatchDecoder::feed(std::string_view bytes) {
  WatchBatch batch;
  if (impl_->broken) return batch;
  const bool fits = impl_->framer.feed(bytes, [&](std::string_view line) {
    if (!batch.garbage.empty()) return;
    const simdjson::padded_string_view padded(line.data(), line.size(), line.size() + LineFramer::k_padding);
    auto event = read_event(impl_->kind, impl_->parser, padded);
    if (event) {
      batch.events.push_back(std::move(*event));
    } else {
      batch.garbage = std::move(event.error().message);
    }
  });
  if (!fits && batch.garbage.empty()) batch.garbage = "a watch event that is longer than any object can be";
  impl_->broken = !batch.garbage.empty();
  return batch;
}

base::Result<WatchEvent> decode_watch_event(const Kind& kind, std::string_view line) {
  const simdjson::padded_string padded(line);
  od::parser parser;
  return read_event(kind, parser, padded);
}

}  // namespace kube
