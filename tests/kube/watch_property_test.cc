// The watch against a model of an API server that fails at random: whatever happens, the copy is always one that the
// server had at the version the machine claims, and after a quiet time it is the server's (T19, T26, T33, T34, T35,
// T37).
#include <gtest/gtest.h>

#include <deque>

#include "kube/watch_fixture.h"

namespace kube::watch_test {
namespace {

using namespace std::chrono_literals;
using State = std::map<std::string, std::string>;  // name → "uid/version"

std::string identity(const Object& object) { return object.meta.uid + "/" + object.meta.resourceVersion; }

// One revision log for one kind, with compaction.
class ModelServer {
 public:
  explicit ModelServer(base::Random& random) : random_(random) { history_[revision_] = {}; }

  void mutate() {
    const std::string name = "w" + std::to_string(random_.below(12));
    const auto held = objects_.find(name);
    ++revision_;
    if (held == objects_.end()) {
      put(WatchEvent::Type::added, widget(name, revision_, "u" + std::to_string(revision_)));
    } else if (random_.below(3) == 0) {
      const std::string uid = held->second->meta.uid;
      objects_.erase(held);
      log_.push_back(deleted(widget(name, revision_, uid)));
    } else {
      put(WatchEvent::Type::modified, widget(name, revision_, held->second->meta.uid));
    }
    record();
  }
  void compact() {
    if (!log_.empty()) oldest_ = std::stoi(log_[random_.below(log_.size())].version);
  }
  // Back to an earlier state, as after a restored backup; later revisions are forgotten.
  void restore(int revision) {
    history_.erase(history_.upper_bound(revision), history_.end());
    std::erase_if(log_, [&](const WatchEvent& e) { return std::stoi(e.version) > revision; });
    revision_ = revision;
    objects_.clear();
    for (const auto& [name, id] : history_.rbegin()->second) {
      const std::size_t slash = id.find('/');
      objects_[name] = widget(name, std::stoi(id.substr(slash + 1)), id.substr(0, slash));
    }
    oldest_ = revision_;
  }

  int revision() const { return revision_; }
  int oldest() const { return oldest_; }
  std::vector<ObjectPtr> objects() const {
    std::vector<ObjectPtr> all;
    for (const auto& [name, object] : objects_) all.push_back(object);
    return all;
  }
  const State& at(int revision) const { return std::prev(history_.upper_bound(revision))->second; }
  // What a watch shows after `version`, at most `most` events.
  std::vector<WatchEvent> since(int version, std::size_t most) const {
    std::vector<WatchEvent> events;
    for (const WatchEvent& e : log_) {
      if (std::stoi(e.version) > version && events.size() < most) events.push_back(e);
    }
    return events;
  }

 private:
  void put(WatchEvent::Type type, ObjectPtr object) {
    objects_[object->meta.name] = object;
    log_.push_back(event(type, std::move(object)));
  }
  void record() {
    State state;
    for (const auto& [name, object] : objects_) state[name] = identity(*object);
    history_[revision_] = std::move(state);
  }

  base::Random& random_;
  int revision_ = 100;
  int oldest_ = 100;
  std::map<std::string, ObjectPtr> objects_;
  std::vector<WatchEvent> log_;
  std::map<int, State> history_;
};

// Serves one Harness from a ModelServer, with or without faults.
class Game {
 public:
  explicit Game(std::uint64_t seed) : random_(seed), server_(random_), h_(policy(), seed) {
    supports_streaming_ = random_.below(3) != 0;
    annotates_ = random_.below(3) != 0;
    may_restore_ = random_.below(4) == 0;
  }

  void play_with_faults(int steps) {
    for (int i = 0; i < steps; ++i) {
      // A restored server whose new history passes the client's version before the client notices cannot be told from
      // one that was never restored, by any client: such histories are not played.
      if (random_.below(2) == 0 && !behind_client()) server_.mutate();
      if (random_.below(60) == 0) server_.compact();
      if (may_restore_ && random_.below(150) == 0) restore();
      step(true);
      check();
      if (testing::Test::HasFailure()) return;
    }
  }
  // Without faults and changes it must come to rest at the server's state.
  int settle(int most) {
    for (int i = 0; i < most; ++i) {
      if (settled()) return i;
      step(false);
      check();
    }
    return most;
  }
  std::string describe() const {
    return "state " + std::to_string(static_cast<int>(h_.machine.state())) + " at " + h_.machine.version() +
           ", server at " + std::to_string(server_.revision()) + (restored_ ? ", restored" : "") + ", watch from " +
           std::to_string(position_);
  }
  bool settled() const {
    return h_.watch && opened_ && h_.machine.synced() && copy() == server_.at(server_.revision());
  }

 private:
  WatchPolicy policy() {
    WatchPolicy p;
    p.page_size = 4;
    p.streaming_list = random_.below(4) != 0;
    return p;
  }
  bool behind_client() const { return h_.machine.synced() && std::stoi(h_.machine.version()) > server_.revision(); }
  State copy() const {
    State state;
    for (const auto& [name, object] : h_.store) state[name] = identity(*object);
    return state;
  }
  void check() {
    if (!h_.machine.synced() || restored_) return;
    ASSERT_EQ(copy(), server_.at(std::stoi(h_.machine.version()))) << "at version " << h_.machine.version();
  }
  void restore() {
    const int back = server_.revision() - static_cast<int>(random_.below(5));
    if (back <= server_.oldest()) return;
    server_.restore(back);
    restored_ = true;
    if (h_.watch && opened_) finish(lost());
    snapshot_.clear();
  }

  void step(bool faults) {
    h_.pass(std::chrono::milliseconds(random_.below(faults ? 3000 : 30000)));
    if (h_.list) {
      answer_list(faults);
    } else if (h_.watch && !opened_) {
      answer_watch(faults);
    } else if (h_.watch) {
      feed_watch(faults);
    } else {
      ASSERT_TRUE(h_.timer) << "nothing outstanding: asleep for ever";
      h_.fire();
    }
  }

  void answer_list(bool faults) {
    if (faults && random_.below(4) == 0) return h_.list_fails(fault());
    const std::string token = h_.list_param("continue");
    const std::string wanted = h_.list_param("resourceVersion");
    if (token != "-") {
      EXPECT_EQ(wanted, "-");
      if (snapshot_.empty() || (faults && random_.below(5) == 0)) return h_.list_fails(status(410, "Expired"));
      return send_page(std::stoul(token));
    }
    if (wanted != "-" && std::stoi(wanted) > server_.revision())
      return h_.list_fails(status(504, "Timeout", "Too large resource version"));
    snapshot_ = server_.objects();
    snapshot_version_ = server_.revision();
    send_page(0);
  }
  void send_page(std::size_t from) {
    const bool limited = h_.list_param("limit") != "-";
    const std::size_t to = limited ? std::min(from + 4, snapshot_.size()) : snapshot_.size();
    std::vector<ObjectPtr> page(snapshot_.begin() + static_cast<std::ptrdiff_t>(from),
                                snapshot_.begin() + static_cast<std::ptrdiff_t>(to));
    const std::string next = to < snapshot_.size() ? std::to_string(to) : "";
    h_.list_page(std::move(page), snapshot_version_, next);
  }

  void answer_watch(bool faults) {
    if (faults && random_.below(4) == 0) return h_.refuse(fault());
    const std::string wanted = h_.watch_param("resourceVersion");
    if (h_.streaming()) {
      if (!supports_streaming_) return h_.refuse(status(422, "Invalid"));
      if (!wanted.empty() && std::stoi(wanted) > server_.revision())
        return h_.refuse(status(504, "Timeout", "Too large resource version"));
      pending_.clear();
      for (const ObjectPtr& object : server_.objects()) pending_.push_back(added(object));
      // In no order of versions, as a server without an ordered cache sends them.
      for (std::size_t i = pending_.size(); i > 1; --i) std::swap(pending_[i - 1], pending_[random_.below(i)]);
      pending_.push_back(bookmark(server_.revision(), annotates_));
      position_ = server_.revision();
    } else {
      ASSERT_FALSE(wanted.empty());
      if (std::stoi(wanted) < server_.oldest()) return h_.refuse(status(410, "Expired"));
      pending_.clear();
      position_ = std::stoi(wanted);
    }
    opened_ = true;
    silence_ = {};
    h_.open();
  }

  void feed_watch(bool faults) {
    if (faults && random_.below(12) == 0) return break_watch();
    std::vector<WatchEvent> events;
    const std::size_t most = 1 + random_.below(6);
    while (!pending_.empty() && events.size() < most) {
      events.push_back(std::move(pending_.front()));
      pending_.pop_front();
    }
    if (pending_.empty()) {
      for (WatchEvent& e : server_.since(position_, most)) {
        position_ = std::stoi(e.version);
        events.push_back(std::move(e));
      }
      // A server that has not come to the watch's version yet says nothing at all.
      if (server_.revision() >= position_ && (events.empty() || random_.below(3) == 0))
        events.push_back(bookmark(position_));
    }
    if (!events.empty()) {
      silence_ = {};
      h_.events(std::move(events));
      opened_ = h_.watch.has_value() && opened_;
    } else if (!wait_in_silence()) {
      finish(lost(TransportError::Kind::timeout));
      return;
    }
    // The initial events are over but their end was not marked: the machine's own deadline has to end it.
    if (h_.machine.state() == WatchMachine::State::initial && pending_.empty() && h_.timer) {
      const int watches = h_.watches;
      h_.fire();
      if (h_.list || h_.watches != watches) opened_ = false;
    }
    if (!h_.watch) opened_ = false;
  }
  bool wait_in_silence() { return (silence_ += 40s) < 75s; }

  void break_watch() {
    opened_ = false;
    switch (random_.below(6)) {
      case 0:
        return h_.end();
      case 1:
        return h_.garbage();
      case 2:
        return h_.events({error_event(status(410, "Expired"))});
      case 3:
        return h_.events({error_event(status(500, "InternalError"))});
      case 4:
        return h_.events({error_event(status(400, "BadRequest"))});
      default:
        return h_.end(lost());
    }
  }
  void finish(std::optional<ApiError> error) {
    opened_ = false;
    h_.end(std::move(error));
  }
  ApiError fault() {
    switch (random_.below(5)) {
      case 0:
        return status(500, "InternalError");
      case 1:
        return status(429, "TooManyRequests");
      case 2:
        return lost(TransportError::Kind::connect);
      case 3:
        return status(410, "Expired");
      default:
        return lost(TransportError::Kind::timeout);
    }
  }

  base::Random random_;
  ModelServer server_;
  Harness h_;
  bool supports_streaming_;
  bool annotates_;
  bool may_restore_;
  bool restored_ = false;
  bool opened_ = false;
  std::vector<ObjectPtr> snapshot_;
  int snapshot_version_ = 0;
  std::deque<WatchEvent> pending_;
  int position_ = 0;
  base::Duration silence_{};
};

TEST(WatchProperty, T19_T35_ConvergesAfterAnyFaultsAndIsNeverAMixture) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Game game(seed);
    game.play_with_faults(400);
    if (HasFailure()) return;
    EXPECT_LT(game.settle(200), 200) << game.describe();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace kube::watch_test
