#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

std::shared_ptr<const std::string> line(std::string_view type, std::string_view object) {
  return std::make_shared<const std::string>(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
}

Failure watch_options_error(std::string_view detail) {
  return invalid({"meta.k8s.io", "ListOptions", ""}, {field_forbidden("resourceVersionMatch", detail)});
}

// A watch that fails after its options were understood fails with an event, not with a status code.
void send_error(WatchSink& sink, const Failure& failure) {
  sink.event(line("ERROR", failure.body()));
  sink.ended();
}

}  // namespace

Outcome<WatchId> ApiServer::Impl::start_watch(const Target& target, WatchSink& sink) {
  const RequestInfo& info = target.info;
  const Kind& kind = *target.kind;
  auto selection = selection_of(info, kind);
  if (!selection) return std::unexpected(selection.error());
  const bool initial = info.flag("sendInitialEvents");
  const std::string_view match = info.param("resourceVersionMatch");
  if (initial && match != "NotOlderThan") {
    return refuse(watch_options_error("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (!match.empty() && !info.query.contains("sendInitialEvents")) {
    return refuse(
        watch_options_error("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  std::uint64_t from = 0;
  if (const std::string_view text = info.param("resourceVersion"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), from);
    if (error != std::errc() || end != text.data() + text.size()) {
      return refuse(internal_error(fmt::format(
          "resourceVersion: Invalid value: {0}: strconv.ParseUint: parsing {0}: invalid syntax", quote(text))));
    }
  }
  auto watcher = std::make_unique<Watcher>();
  watcher->id = WatchId{++last_watch};
  watcher->kind = &kind;
  watcher->selection = std::move(*selection);
  watcher->sink = &sink;
  watcher->form = target.form;
  watcher->include = info.param("includeObject");
  if (watcher->form.shape == Shape::table) watcher->table = std::make_unique<TableMaker>(kind);
  watcher->bookmarks = info.flag("allowWatchBookmarks");
  const WatchId id = watcher->id;

  // without a version, or with "0", a watch starts with the current objects too
  const bool current = initial || from == 0;
  if (initial && from > storage.revision()) {
    send_error(sink, too_large_version(from, storage.revision()));
    return id;
  }
  if (current) {
    for (const auto& [key, version] : storage.objects(kind.stored_as())) {
      if (watcher->selection.matches(kind, key, *version)) sink.event(line("ADDED", watched(*watcher, *version)));
    }
    watcher->from = storage.revision();
    if (watcher->bookmarks) send_bookmark(*watcher, true);
  } else {
    auto changes = storage.changes_since(kind.stored_as(), from);
    if (!changes) {
      send_error(sink,
                 expired(fmt::format("too old resource version: {} ({})", from, storage.compacted(kind.stored_as()))));
      return id;
    }
    watcher->from = from;
    for (const ChangePtr& change : *changes) send_change(*watcher, *change);
  }
  std::int64_t seconds = 0;
  const std::string_view timeout = info.param("timeoutSeconds");
  std::from_chars(timeout.data(), timeout.data() + timeout.size(), seconds);
  if (seconds <= 0) seconds = static_cast<std::int64_t>(1800 + random.below(1800));
  watcher->deadline = reactor.at(reactor.now() + std::chrono::seconds(seconds), [this, id] { end_watch(id); });
  if (watcher->bookmarks) arm_bookmark(*watcher);
  watchers.emplace(id, std::move(watcher));
  return id;
}

void ApiServer::Impl::on_change(const Change& change) {
  for (auto& [id, watcher] : watchers) {
    if (&watcher->kind->stored_as() == change.kind) send_change(*watcher, change);
  }
}

void ApiServer::Impl::send_change(Watcher& watcher, const Change& change) const {
  if (change.revision <= watcher.from) return;
  const Kind& kind = *watcher.kind;
  const auto matches = [&](const VersionPtr& version) {
    return version != nullptr && watcher.selection.matches(kind, change.key, *version);
  };
  const bool had = matches(change.before);
  const bool has = matches(change.after);
  if (!had && !has) return;
  const std::string_view type = !has ? "DELETED" : had ? "MODIFIED" : "ADDED";
  // most watches see what is stored
  const bool common = kind.from_storage == nullptr && watcher.form.shape == Shape::object;
  if (common) {
    if (auto shared = change.lines[type].lock()) return watcher.sink->event(std::move(shared));
  }
  std::shared_ptr<const std::string> made;
  if (has) {
    made = line(type, watched(watcher, *change.after));
  } else {
    // what left the selection is shown as it last matched, with the version at which it left
    json::object last = *change.before->document();
    make_object(last, {"metadata"})["resourceVersion"] = std::to_string(change.revision);
    made = line(type, watched(watcher, last));
  }
  if (common) change.lines[type] = made;
  watcher.sink->event(std::move(made));
}

std::string ApiServer::Impl::watched(Watcher& watcher, const Version& version) const {
  const bool common = watcher.kind->from_storage == nullptr && watcher.form.shape == Shape::object;
  return common ? version.text() : watched(watcher, *version.document());
}

std::string ApiServer::Impl::watched(Watcher& watcher, const json::object& document) const {
  if (watcher.form.shape == Shape::object) return to_text(shown(*watcher.kind, document));
  const std::string& version = watcher.form.version;
  if (watcher.form.shape == Shape::partial) return to_text(partial_metadata(document, version));
  json::array rows;
  rows.push_back(watcher.table->row(document, watcher.include, version, wall()));
  json::object table{{"kind", "Table"},
                     {"apiVersion", "meta.k8s.io/" + version},
                     {"metadata", {{"resourceVersion", text_at(document, {"metadata", "resourceVersion"})}}},
                     {"columnDefinitions", nullptr},
                     {"rows", std::move(rows)}};
  // only the first event says what the columns are
  if (!std::exchange(watcher.defined, true)) table["columnDefinitions"] = watcher.table->definitions();
  return to_text(table);
}

void ApiServer::Impl::send_bookmark(Watcher& watcher, bool initial_end) const {
  json::object metadata{{"resourceVersion", std::to_string(std::max(storage.revision(), watcher.from))}};
  if (initial_end) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  const json::object object{
      {"kind", watcher.kind->name}, {"apiVersion", watcher.kind->api_version()}, {"metadata", std::move(metadata)}};
  watcher.sink->event(
      line("BOOKMARK", watcher.form.shape == Shape::object ? to_text(object) : watched(watcher, object)));
}

void ApiServer::Impl::arm_bookmark(Watcher& watcher) {
  watcher.bookmark = reactor.at(reactor.now() + config.bookmark_interval, [this, id = watcher.id] {
    const auto found = watchers.find(id);
    if (found == watchers.end()) return;
    send_bookmark(*found->second, false);
    arm_bookmark(*found->second);
  });
}

void ApiServer::Impl::end_watch(WatchId id) {
  const auto found = watchers.find(id);
  if (found == watchers.end()) return;
  Watcher& watcher = *found->second;
  if (watcher.bookmarks) send_bookmark(watcher, false);
  WatchSink* sink = watcher.sink;
  drop_watcher(id);
  sink->ended();
}

void ApiServer::Impl::drop_watcher(WatchId id) {
  const auto found = watchers.find(id);
  if (found == watchers.end()) return;
  reactor.cancel(found->second->deadline);
  reactor.cancel(found->second->bookmark);
  watchers.erase(found);
}

}  // namespace sandbox
