// What an event looks like on the wire, within the limits of its validation.
#include <fmt/format.h>

#include "base/text.h"
#include "kube/check.h"
#include "kube/event_recorder.h"
#include "kube/types.h"

namespace kube {
namespace {

constexpr std::size_t k_note = 1024;
constexpr std::size_t k_word = 128;  // reason, action, reportingInstance
constexpr std::size_t k_name = 253;

std::uint64_t fnv(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return (hash ^ 0xff) * 0x100000001b3ULL;  // a separator that UTF-8 does not have
}

}  // namespace

std::string cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

std::string event_name(std::string_view object, std::uint64_t number) {
  const std::string suffix = fmt::format(".{:016x}", number);
  std::string stem = cut(object, k_name - suffix.size());
  while (!stem.empty() && (stem.back() == '.' || stem.back() == '-')) stem.pop_back();
  return stem + suffix;
}

std::string once_name(const EventNote& note) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  hash = fnv(note.regarding_uid, hash);
  hash = fnv(note.reason, hash);
  hash = fnv(note.note, hash);
  return event_name(note.regarding.name, hash);
}

boost::json::object event_body(const EventNote& note, const EventOptions& options, std::string_view name,
                               base::WallTime at) {
  check(note.regarding.resource != nullptr, "an event about nothing");
  const Resource& resource = *note.regarding.resource;
  const std::string_view ns = note.regarding.ns.empty() ? std::string_view("default") : note.regarding.ns;
  boost::json::object regarding{{"apiVersion", resource.api_version()},
                                {"kind", resource.kind},
                                {"name", note.regarding.name},
                                {"uid", note.regarding_uid}};
  if (!note.regarding.ns.empty()) regarding["namespace"] = note.regarding.ns;
  return {{"apiVersion", "events.k8s.io/v1"},
          {"kind", "Event"},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"eventTime", micro_time(at)},
          {"reportingController", options.controller},
          {"reportingInstance", cut(options.instance, k_word)},
          {"action", cut(note.action.empty() ? note.reason : note.action, k_word)},
          {"reason", cut(note.reason, k_word)},
          {"type", note.warning ? "Warning" : "Normal"},
          {"note", cut(base::printable(note.note), k_note)},
          {"regarding", std::move(regarding)}};
}

}  // namespace kube
