// Keeping a copy of a collection: the list and watch protocol as a pure state machine. It does no I/O, reads no clock
// and owns no store; the Reflector runs it, tests step it by hand.
//
//            ┌────────────► listing (pages) ──────────┐
//  waiting ──┤                                        ├──► watching ──► waiting …
//            └────────────► initial (streaming list) ─┘
//
// The rules, by the names of the reference: pages of 500 and never a partial list; a streaming list first, with a
// deadline after which pages are used; versions advance by proof only; 410 in its three forms and "too large" versions
// lead to one list of the most recent state; a list older than what is known is not believed before it is confirmed;
// failures wait, regular ends do not.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kube/api_error.h"
#include "kube/backoff.h"
#include "kube/list_decoder.h"
#include "kube/read_right.h"
#include "kube/watch_event.h"

namespace kube {

struct WatchPolicy {
  bool optional = false;                // the kind may be missing: quiet about it
  ReadRight right = ReadRight::needed;  // of an optional kind only; told once
  bool streaming_list = true;           // begin with sendInitialEvents
  int page_size = 500;
  base::Duration list_timeout = std::chrono::seconds(60);
  base::Duration header_timeout = std::chrono::seconds(30);
  base::Duration initial_silence = std::chrono::seconds(30);  // of a streaming list, until pages are tried
  base::Duration fallback_memory = std::chrono::hours(1);     // for so long pages are used after that
  base::Duration missing_poll = std::chrono::seconds(10);     // looking again for a missing kind, plus up to a third
};

class WatchMachine {
 public:
  using Query = std::vector<std::pair<std::string, std::string>>;

  // What the driver has to do, in order. At most one request and one timer are outstanding at a time.
  struct List {
    Query query;
    base::Duration timeout;
  };
  struct Watch {
    Query query;
    base::Duration header_timeout;
  };
  struct Close {};  // the stream; nothing of it is wanted any more
  struct Wait {     // call timer() after `delay`; replaces an earlier Wait
    base::Duration delay;
  };
  struct StopWaiting {};
  struct Replace {  // a complete list
    std::vector<ObjectPtr> objects;
    std::string version;
  };
  struct Apply {  // changes in order, and the version they lead to
    std::vector<WatchEvent> events;
    std::string version;
  };
  struct Available {  // whether the server serves the kind
    bool yes;
  };
  enum class Counter : std::uint8_t { relist, watch_restart, streaming_fallback };
  struct Count {
    Counter what;
    std::string_view reason;  // static storage
  };
  struct Report {  // for the log and the status; `again` is when it is tried again
    ApiError error;
    std::string_view doing;  // "list", "watch", …; static storage
    base::Duration again;
    bool quiet;
  };
  using Action = std::variant<List, Watch, Close, Wait, StopWaiting, Replace, Apply, Available, Count, Report>;
  using Actions = std::vector<Action>;

  // `seed` makes processes differ, so that their requests do not come at once.
  WatchMachine(WatchPolicy policy, std::uint64_t seed) : policy_(policy), random_(seed) {}

  // Inputs. Each returns what to do next. Call start() once, first.
  Actions start(base::MonoTime now);
  Actions listed(base::MonoTime now, ApiResult<ListPage> page);
  Actions opened(base::MonoTime now);
  Actions batch(base::MonoTime now, WatchBatch batch);
  // The stream's end: nothing for a regular one.
  Actions closed(base::MonoTime now, std::optional<ApiError> error);
  Actions timer(base::MonoTime now);

  enum class State : std::uint8_t { idle, waiting, listing, initial, watching };
  State state() const { return state_; }
  bool synced() const { return synced_; }
  bool available() const { return available_; }
  // The version up to which everything is known; "" before the first complete list.
  const std::string& version() const { return version_; }

 private:
  enum class Next : std::uint8_t { list, page, watch };  // what a wait ends with
  // Where a watch may start. There is no watch without one: an empty version would stream from etcd without bounds.
  class StartPoint {
   public:
    static StartPoint after(const std::string& version);
    static StartPoint initial_events(std::string not_older_than);
    void add_to(Query& query) const;

   private:
    std::string version_;
    bool initial_ = false;
  };

  void begin_list(base::MonoTime now);
  void send_list();
  void open_watch(const StartPoint& from);
  void begin_watch();
  void wait(base::Duration delay, Next next);
  void back_off(base::MonoTime now, const ApiError& error, std::string_view doing, Next next);
  void worked();
  void relist(std::string_view reason);

  bool complete(base::MonoTime now, const std::string& version);
  void list_failed(base::MonoTime now, const ApiError& error);
  void watch_failed(base::MonoTime now, const ApiError& error);
  void initial_failed(base::MonoTime now, const ApiError& error);
  bool version_failed(base::MonoTime now, const ApiError& error, std::string_view doing);
  void stream_error(base::MonoTime now, const ApiError& error);
  void ended(base::MonoTime now);
  void garbage(base::MonoTime now, std::string what);
  void fall_back(base::MonoTime now, std::string_view reason);
  bool is_missing(const ApiError& error);
  void kind_missing(const ApiError& error, std::string_view doing);

  // Takes the events of a streaming list; returns how many belong to it.
  std::size_t take_initial(base::MonoTime now, std::vector<WatchEvent>& events);
  void keep_initial(WatchEvent& event);
  void take_changes(base::MonoTime now, std::vector<WatchEvent> events);
  bool take_bookmark(const WatchEvent& event);
  void leave_stream();
  bool in_stream() const { return state_ == State::initial || state_ == State::watching; }
  Actions taken() { return std::exchange(actions_, {}); }

  WatchPolicy policy_;
  base::Random random_;
  Backoff backoff_;
  State state_ = State::idle;
  Next next_ = Next::list;
  Actions actions_;

  std::string version_;
  bool synced_ = false;
  bool available_ = true;
  bool most_recent_ = false;  // the next list must not name a version
  bool distrusted_ = false;   // a list of the most recent state was older than version_: once more, then it is believed
  bool list_newest_ = false;  // the list under way names no version
  base::MonoTime no_streaming_until_{};
  bool pages_once_ = false;  // use pages for the next list, whatever is remembered

  // Of the list under way.
  std::vector<ObjectPtr> pages_;
  std::string continue_;
  bool whole_ = false;                                      // in one piece: no limit
  std::unordered_map<std::string, std::size_t> positions_;  // streaming: where "ns/name" is in pages_
  int initial_cuts_ = 0;                                    // streaming lists in a row that broke off

  // Of the watch under way.
  base::Duration lifetime_{};
  base::MonoTime opened_at_{};
  bool is_open_ = false;
  bool had_events_ = false;
  bool bookmarks_seen_ = false;  // by any watch: silence is suspicious then
  int silent_stalls_ = 0;
  int internal_errors_ = 0;
  int unreadable_ = 0;
  bool expired_ = false;  // the server did not have the version, and no watch has worked since
  int refusals_ = 0;      // in a row: of a kind that is not served, or not ours to read
};

}  // namespace kube
