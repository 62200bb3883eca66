#include "kube/watch_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/check.h"

namespace kube {
namespace {

using std::chrono::seconds;

// timeoutSeconds is uniform in five to ten minutes, so that the watches of a fleet do not end together.
constexpr std::uint64_t k_least_lifetime = 300;
constexpr std::uint64_t k_lifetime_spread = 301;
// After its timeoutSeconds a stream gets so long to end by itself.
constexpr base::Duration k_overdue = seconds(10);
// A watch that ends before this without an event is a failure in disguise.
constexpr base::Duration k_very_short = seconds(1);
constexpr base::Duration k_most_retry_after = std::chrono::minutes(5);
constexpr int k_initial_cuts = 2;
constexpr int k_silent_stalls = 2;
constexpr int k_internal_errors = 5;
constexpr int k_unreadable = 3;
// In a row: rights that were granted a moment ago count only after a while, and what stands between us and the server
// says for a moment that there is nothing.
constexpr int k_refusals = 3;

std::string key_of(const Object& object) { return object.meta.ns + "/" + object.meta.name; }

bool is_transient(const ApiError& error) {
  return error.is_transport() || error.is_too_many_requests() || error.is_server_error();
}

// Of an API server. Whatever stands before one has words of its own for not finding anything.
bool is_not_served(const ApiError& error) {
  return error.is_not_found() && (error.reason == "NotFound" || error.message.starts_with("404 page not found"));
}

ApiError local_error(std::string message) {
  ApiError error;
  error.message = std::move(message);
  error.transport = TransportError::Kind::reset;
  return error;
}

}  // namespace

WatchMachine::StartPoint WatchMachine::StartPoint::after(const std::string& version) {
  check(!version.empty() && version != "0", "a watch needs a version to start from");
  StartPoint point;
  point.version_ = version;
  return point;
}

WatchMachine::StartPoint WatchMachine::StartPoint::initial_events(std::string not_older_than) {
  StartPoint point;
  point.version_ = std::move(not_older_than);
  point.initial_ = true;
  return point;
}

void WatchMachine::StartPoint::add_to(Query& query) const {
  query.emplace_back("resourceVersion", version_);
  if (!initial_) return;
  query.emplace_back("sendInitialEvents", "true");
  query.emplace_back("resourceVersionMatch", "NotOlderThan");
}

// --- inputs
// ---------------------------------------------------------------------------------------------------------------------

WatchMachine::Actions WatchMachine::start(base::MonoTime now) {
  check(state_ == State::idle, "started twice");
  begin_list(now);
  return taken();
}

WatchMachine::Actions WatchMachine::listed(base::MonoTime now, ApiResult<ListPage> page) {
  if (state_ != State::listing) return {};
  if (!page) {
    list_failed(now, page.error());
    return taken();
  }
  pages_.insert(pages_.end(), std::make_move_iterator(page->objects.begin()),
                std::make_move_iterator(page->objects.end()));
  continue_ = std::move(page->next);
  if (!continue_.empty()) {
    send_list();
  } else if (complete(now, page->version)) {
    begin_watch();
  }
  return taken();
}

WatchMachine::Actions WatchMachine::opened(base::MonoTime now) {
  if (!in_stream()) return {};
  is_open_ = true;
  opened_at_ = now;
  actions_.emplace_back(Wait{state_ == State::initial ? policy_.initial_silence : lifetime_ + k_overdue});
  return taken();
}

WatchMachine::Actions WatchMachine::batch(base::MonoTime now, WatchBatch batch) {
  if (!in_stream()) return {};
  had_events_ = had_events_ || !batch.events.empty();
  if (state_ == State::initial) {
    const std::size_t used = take_initial(now, batch.events);
    batch.events.erase(batch.events.begin(), batch.events.begin() + static_cast<std::ptrdiff_t>(used));
  }
  if (state_ == State::watching && !batch.events.empty()) take_changes(now, std::move(batch.events));
  if (in_stream() && !batch.garbage.empty()) garbage(now, std::move(batch.garbage));
  return taken();
}

WatchMachine::Actions WatchMachine::closed(base::MonoTime now, std::optional<ApiError> error) {
  if (!in_stream()) return {};
  actions_.emplace_back(StopWaiting{});
  if (state_ == State::initial) {
    initial_failed(now, error ? *error : local_error("the stream ended before its initial events did"));
  } else if (error) {
    watch_failed(now, *error);
  } else {
    ended(now);
  }
  return taken();
}

WatchMachine::Actions WatchMachine::timer(base::MonoTime now) {
  if (state_ == State::initial) {
    // The end of the initial events never came: a proxy or server that does not know them. Pages work everywhere.
    leave_stream();
    fall_back(now, "silence");
  } else if (state_ == State::watching) {
    leave_stream();
    actions_.emplace_back(Count{Counter::watch_restart, "overdue"});
    begin_watch();
  } else if (state_ == State::waiting) {
    if (next_ == Next::list) begin_list(now);
    if (next_ == Next::page) send_list();
    if (next_ == Next::watch) begin_watch();
  }
  return taken();
}

// --- requests
// -------------------------------------------------------------------------------------------------------------------

void WatchMachine::begin_list(base::MonoTime now) {
  pages_.clear();
  positions_.clear();
  continue_.clear();
  list_newest_ = most_recent_ || version_.empty();
  // Relists name the version they need and take everything at once: the server answers those from its cache.
  whole_ = !list_newest_;
  if (policy_.streaming_list && !pages_once_ && now >= no_streaming_until_) {
    state_ = State::initial;
    open_watch(StartPoint::initial_events(list_newest_ ? std::string() : version_));
  } else {
    send_list();
  }
}

void WatchMachine::send_list() {
  state_ = State::listing;
  List list;
  list.timeout = whole_ ? 5 * policy_.list_timeout : policy_.list_timeout;
  if (!whole_ || !continue_.empty()) list.query.emplace_back("limit", std::to_string(policy_.page_size));
  if (!continue_.empty()) {
    list.query.emplace_back("continue", continue_);  // never together with a version: the server refuses that
  } else if (!list_newest_) {
    list.query.emplace_back("resourceVersion", version_);
    list.query.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  actions_.emplace_back(std::move(list));
}

void WatchMachine::open_watch(const StartPoint& from) {
  const std::uint64_t lifetime = k_least_lifetime + random_.below(k_lifetime_spread);
  lifetime_ = seconds(lifetime);
  is_open_ = false;
  had_events_ = false;
  Watch watch;
  watch.header_timeout = policy_.header_timeout;
  watch.query = {{"watch", "true"}, {"allowWatchBookmarks", "true"}, {"timeoutSeconds", std::to_string(lifetime)}};
  from.add_to(watch.query);
  actions_.emplace_back(std::move(watch));
}

void WatchMachine::begin_watch() {
  state_ = State::watching;
  open_watch(StartPoint::after(version_));
}

void WatchMachine::wait(base::Duration delay, Next next) {
  state_ = State::waiting;
  next_ = next;
  actions_.emplace_back(Wait{delay});
}

void WatchMachine::back_off(base::MonoTime now, const ApiError& error, std::string_view doing, Next next) {
  base::Duration delay = backoff_.next(now, random_);
  if (error.retry_after) delay = std::max(delay, std::min(*error.retry_after, k_most_retry_after));
  const bool routine = error.is_expired() || error.is_too_large_version();
  actions_.emplace_back(Report{error, doing, delay, routine});
  wait(delay, next);
}

// What failed before is over: the next failure is a first one.
void WatchMachine::worked() {
  backoff_.reset();
  expired_ = false;
}

void WatchMachine::relist(std::string_view reason) { actions_.emplace_back(Count{Counter::relist, reason}); }

void WatchMachine::leave_stream() {
  is_open_ = false;
  actions_.emplace_back(Close{});
  actions_.emplace_back(StopWaiting{});
}

// --- a complete list
// ------------------------------------------------------------------------------------------------------------

// What was collected is the whole collection at `version`. Returns false if it is not believed, and then waits for
// another.
bool WatchMachine::complete(base::MonoTime now, const std::string& version) {
  if (compare_versions(version, version_) < 0 && !(list_newest_ && distrusted_)) {
    // A lagging server, or one restored from a backup. The latter only if two lists of the most recent state say so.
    distrusted_ = list_newest_;
    most_recent_ = true;
    if (in_stream()) leave_stream();
    relist("older_than_known");
    back_off(now, local_error(fmt::format("a list at version {}, older than {}", version, version_)), "list",
             Next::list);
    return false;
  }
  distrusted_ = most_recent_ = pages_once_ = false;
  initial_cuts_ = silent_stalls_ = refusals_ = 0;
  version_ = version;
  synced_ = true;
  std::erase(pages_, nullptr);
  actions_.emplace_back(Replace{std::exchange(pages_, {}), version_});
  positions_ = {};
  if (!available_) actions_.emplace_back(Available{true});
  available_ = true;
  return true;
}

std::size_t WatchMachine::take_initial(base::MonoTime now, std::vector<WatchEvent>& events) {
  bool progress = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    WatchEvent& event = events[i];
    if (event.type == WatchEvent::Type::error) {
      leave_stream();
      is_open_ = true;  // it had been: a cut, not a refusal
      initial_failed(now, event.error);
      return events.size();
    }
    if (event.type != WatchEvent::Type::bookmark) {
      progress = progress || event.type == WatchEvent::Type::added;
      keep_initial(event);
    } else if (event.initial_events_end) {
      if (complete(now, event.version)) {
        state_ = State::watching;
        bookmarks_seen_ = true;
        actions_.emplace_back(Wait{lifetime_ + k_overdue - (now - opened_at_)});
      }
      return i + 1;
    }
  }
  // Only additions are a sign that the initial events are still coming; the rest is life going on behind them.
  if (progress) actions_.emplace_back(Wait{policy_.initial_silence});
  return events.size();
}

void WatchMachine::keep_initial(WatchEvent& event) {
  const auto [at, fresh] = positions_.try_emplace(key_of(*event.object), pages_.size());
  if (fresh) pages_.emplace_back();
  pages_[at->second] = event.type == WatchEvent::Type::deleted ? nullptr : std::move(event.object);
}

// --- changes
// --------------------------------------------------------------------------------------------------------------------

void WatchMachine::take_changes(base::MonoTime now, std::vector<WatchEvent> events) {
  const auto stop = std::ranges::find_if(events, [&](const WatchEvent& event) {
    if (event.type == WatchEvent::Type::error) return true;
    if (event.type == WatchEvent::Type::bookmark && !take_bookmark(event)) return true;
    if (compare_versions(event.version, version_) > 0) version_ = event.version;
    return false;
  });
  std::optional<WatchEvent> fatal;
  if (stop != events.end()) fatal = std::move(*stop);
  events.erase(stop, events.end());
  if (!events.empty()) {
    silent_stalls_ = internal_errors_ = unreadable_ = 0;
    worked();
    actions_.emplace_back(Apply{std::move(events), version_});
  }
  if (!fatal) return;
  leave_stream();
  if (fatal->type == WatchEvent::Type::error) {
    stream_error(now, fatal->error);
  } else {
    most_recent_ = true;
    relist("version_regressed");
    back_off(now, local_error(fmt::format("a bookmark at version {}, older than {}", fatal->version, version_)),
             "watch", Next::list);
  }
}

// False if the server went back in time: it was restored from a backup.
bool WatchMachine::take_bookmark(const WatchEvent& event) {
  bookmarks_seen_ = true;
  return compare_versions(event.version, version_) >= 0;
}

// --- failures
// -------------------------------------------------------------------------------------------------------------------

// The server does not have the version that was named, or not yet: both end with one list of the most recent state.
bool WatchMachine::version_failed(base::MonoTime now, const ApiError& error, std::string_view doing) {
  if (!error.is_expired() && !error.is_too_large_version()) return false;
  most_recent_ = true;
  // A server that was restarted knows no version from before: a list mends that, and need not wait as long as one has
  // waited for the server.
  if (error.is_expired() && !std::exchange(expired_, true)) backoff_.reset();
  relist(error.is_expired() ? "expired" : "too_large_resource_version");
  back_off(now, error, doing, Next::list);
  return true;
}

// Not served; or not readable, where that is to count as the same. One answer alone is no proof against what was there
// before, nor that a right is not about to be granted.
bool WatchMachine::is_missing(const ApiError& error) {
  const bool unread = error.is_forbidden() && policy_.right != ReadRight::needed;
  if (!is_not_served(error) && !unread) {
    refusals_ = 0;
    return false;
  }
  ++refusals_;
  if (unread) return policy_.right == ReadRight::optional || (!synced_ && refusals_ >= k_refusals);
  return !synced_ || !available_ || refusals_ >= k_refusals;
}

void WatchMachine::kind_missing(const ApiError& error, std::string_view doing) {
  // Told once; it may stay missing for long.
  const bool news = std::exchange(available_, false);
  if (news) actions_.emplace_back(Available{false});
  const auto spread = static_cast<double>(policy_.missing_poll.count()) / 3 * random_.unit();
  const base::Duration delay = policy_.missing_poll + base::Duration(static_cast<base::Duration::rep>(spread));
  actions_.emplace_back(Report{error, doing, delay, (policy_.optional && error.is_not_found()) || !news});
  wait(delay, Next::list);
}

void WatchMachine::list_failed(base::MonoTime now, const ApiError& error) {
  if (!continue_.empty() && error.is_expired()) {
    // Compaction overtook a slow list. In one piece it cannot happen again.
    relist("continue_expired");
    pages_.clear();
    continue_.clear();
    whole_ = list_newest_ = true;
    send_list();
  } else if (is_missing(error)) {
    kind_missing(error, "list");
  } else if (!version_failed(now, error, "list")) {
    back_off(now, error, "list", !continue_.empty() && is_transient(error) ? Next::page : Next::list);
  }
}

void WatchMachine::fall_back(base::MonoTime now, std::string_view reason) {
  no_streaming_until_ = now + policy_.fallback_memory;
  actions_.emplace_back(Count{Counter::streaming_fallback, reason});
  begin_list(now);
}

void WatchMachine::initial_failed(base::MonoTime now, const ApiError& error) {
  if (is_open_ && ++initial_cuts_ >= k_initial_cuts) pages_once_ = true;
  is_open_ = false;
  if (is_missing(error)) {
    kind_missing(error, "watch");
  } else if (!version_failed(now, error, "watch")) {
    const bool refused = error.code >= 400 && !is_transient(error) && !error.is_unauthorized() &&
                         !error.is_forbidden() && !error.is_not_found();
    if (refused) {
      fall_back(now, "refused");
    } else {
      back_off(now, error, "watch", Next::list);
    }
  }
}

void WatchMachine::watch_failed(base::MonoTime now, const ApiError& error) {
  const bool lived = std::exchange(is_open_, false) && now - opened_at_ >= k_very_short;
  if (lived) worked();
  if (is_missing(error)) {
    kind_missing(error, "watch");
  } else if (version_failed(now, error, "watch")) {
    return;
  } else if (error.is_transport() && lived) {
    const bool stalled = error.transport == TransportError::Kind::timeout;
    actions_.emplace_back(Count{Counter::watch_restart, stalled ? "stalled" : "broken"});
    if (stalled && !had_events_ && bookmarks_seen_ && ++silent_stalls_ >= k_silent_stalls) {
      // A server that used to send bookmarks and accepts the watch but says nothing may be waiting for our version to
      // come.
      silent_stalls_ = 0;
      relist("stalled");
      back_off(now, error, "watch", Next::list);
    } else {
      begin_watch();
    }
  } else if (is_transient(error) || error.is_unauthorized() || error.is_forbidden()) {
    back_off(now, error, "watch", Next::watch);
  } else {
    relist("refused");
    back_off(now, error, "watch", Next::list);
  }
}

void WatchMachine::stream_error(base::MonoTime now, const ApiError& error) {
  if (version_failed(now, error, "watch")) return;
  if (error.is_too_many_requests() || (error.is_server_error() && ++internal_errors_ < k_internal_errors)) {
    back_off(now, error, "watch", Next::watch);
  } else {
    internal_errors_ = 0;
    relist("watch_error");
    back_off(now, error, "watch", Next::list);
  }
}

void WatchMachine::ended(base::MonoTime now) {
  const bool very_short = !had_events_ && (!is_open_ || now - opened_at_ < k_very_short);
  is_open_ = false;
  if (very_short) {
    back_off(now, local_error("a very short watch: it ended at once and without an event"), "watch", Next::watch);
  } else {
    worked();
    actions_.emplace_back(Count{Counter::watch_restart, "ended"});
    begin_watch();
  }
}

void WatchMachine::garbage(base::MonoTime now, std::string what) {
  const bool initial = state_ == State::initial;
  leave_stream();
  const bool hopeless = ++unreadable_ >= k_unreadable;
  if (hopeless) unreadable_ = 0;
  if (initial && hopeless) pages_once_ = true;
  if (!initial && hopeless) relist("unreadable");
  back_off(now, local_error(std::move(what)), "watch", initial || hopeless ? Next::list : Next::watch);
}

}  // namespace kube
