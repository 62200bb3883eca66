// A loop over Things against a small server of their kind, all by hand: answers come when a test says so (or after a
// latency), watch events only when it shows them.
#pragma once

#include <boost/json.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/loop.h"
#include "manual_reactor.h"
#include "support/thing.h"

namespace kube::testing {

// Requests wait until they are answered.
class Wire final : public Transport {
 public:
  struct Waiting {
    Request request;
    Receiver receiver;
  };
  explicit Wire(ManualReactor& reactor) : reactor_(reactor) {}
  void send(Request request, Receiver receiver) override {
    sent.push_back(request);
    waiting.push_back({std::move(request), std::move(receiver)});
    if (on_send) on_send();
  }
  StreamId open(Request, std::unique_ptr<StreamReceiver>, base::Duration) override { return StreamId::none; }
  void close(StreamId) override {}

  // Answers the i-th waiting request.
  void answer(std::size_t i, Answer answer) {
    Waiting one = std::move(waiting.at(i));
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    reactor_.post(one.receiver(std::move(answer)));
  }
  void lose(std::size_t i, bool was_sent = true) {
    answer(i, std::unexpected(TransportError{TransportError::Kind::reset, "connection reset", was_sent}));
  }

  std::deque<Waiting> waiting;
  std::vector<Request> sent;  // all that ever was
  std::function<void()> on_send;

 private:
  ManualReactor& reactor_;
};

// Things, stored. Knows resourceVersions, merge patches, status, finalizers, preconditions.
class ThingServer {
 public:
  Response handle(const Request& request);
  // Somebody else's write; returns the document.
  boost::json::object& put(const std::string& name, boost::json::object spec = {}, const std::string& ns = "ns");
  void change(const std::string& name, const boost::json::object& patch, const std::string& ns = "ns");
  void remove(const std::string& name, const std::string& ns = "ns");
  const boost::json::object* find(const std::string& name, const std::string& ns = "ns") const;
  static Response status(int code, std::string reason, std::string message = "");
  std::string version() const { return std::to_string(version_); }

  std::map<std::string, boost::json::object> documents;  // by "ns/name"
  std::map<std::string, int> events;                     // posted, by reason
  std::vector<boost::json::object> event_bodies;
  int writes = 0;  // that took effect

 private:
  Response write(const Request& request, const std::string& key, bool status);
  Response erase(const Request& request, const std::string& key);
  Response create(const Request& request, const std::string& ns);
  Response stored(const std::string& key);
  std::uint64_t version_ = 100;
  int uids_ = 0;
};

// One controller, one loop. Tests set `reconcile` and `controller` before start().
class LoopFixture {
 public:
  using Reconcile = std::function<Plan(const Key&, View&)>;
  LoopFixture();

  // Builds the loop, fills the store with what the server has, leads.
  void start();
  // As start(), but does not lead; without `filled` the store stays empty, too.
  void start_as_standby(bool filled = true);
  // Brings the loop's store up to date with the server, as a watch would: one object, or all.
  void show(const std::string& name, const std::string& ns = "ns");
  void relist();
  // Lets `d` pass; requests are answered by the server `latency` after they were sent.
  void run(base::Duration d = std::chrono::milliseconds(100));
  // Runs until the loop is idle; fails the test if that takes more than a minute.
  void settle();
  // Answers the i-th waiting request as the server would, and runs.
  void answer(std::size_t i = 0);
  void answer(std::size_t i, Response response);
  std::vector<std::string> waiting() const;  // "PATCH ns/a", "GET ns/a", "PATCH ns/a/status", "POST events/ns" …
  const Thing* thing(const std::string& name, const std::string& ns = "ns");
  Store& store() { return loop->state().store(Thing::kind()); }
  static std::string describe(const Request& request);
  static Key key(const std::string& name, const std::string& ns = "ns") { return {"thing", ns, name}; }

  ManualReactor reactor;
  Wire wire{reactor};
  ThingServer server;
  MetricsSink no_metrics;
  MetricsSink* metrics = &no_metrics;
  Controller controller;
  LoopOptions options;
  Reconcile reconcile;
  std::unique_ptr<Loop> loop;
  std::vector<Key> passes;  // in order
  std::map<Key, int> running;
  bool automatic = true;  // the server answers by itself
  base::Duration latency = std::chrono::milliseconds(2);
  std::function<std::optional<Answer>(const Request&)> fault;  // instead of the server, when it returns something

 private:
  std::vector<ObjectPtr> decoded() const;
};

// A reconciler that protects a thing and writes a state that equals its value, in two steps.
Plan mirror(const Key& key, View& view);

}  // namespace kube::testing
