// Leader election against a Lease server in virtual time.
#include "kube/leader.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <regex>
#include <vector>

#include "base/random.h"
#include "kube/lease_server.h"
#include "kube/manual_reactor.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::LeaseServer;
using testing::ManualReactor;

// The way to the server: answers after a delay, or never within the request's time-out.
class FakeTransport final : public Transport {
 public:
  FakeTransport(ManualReactor& reactor, LeaseServer& server) : reactor_(reactor), server_(server) {}

  void send(Request request, Receiver receiver) override {
    const base::Duration delay = delays.empty() ? latency : delays.front();
    if (!delays.empty()) delays.erase(delays.begin());
    auto shared = std::make_shared<Receiver>(std::move(receiver));
    if (down) {
      return deliver(5ms, shared, std::unexpected(TransportError{TransportError::Kind::connect, "refused", false}));
    }
    if (delay < request.timeout) {
      reactor_.at(reactor_.now() + delay,
                  [this, shared, request = std::move(request)] { (*shared)(server_.handle(request))(); });
      return;
    }
    // The server acts on it late; the client has given up.
    const base::Duration timeout = request.timeout;
    reactor_.at(reactor_.now() + delay, [this, request = std::move(request)] { server_.handle(request); });
    deliver(timeout, shared, std::unexpected(TransportError{TransportError::Kind::timeout, "timed out", true}));
  }
  StreamId open(Request, std::unique_ptr<StreamReceiver>, base::Duration) override { return StreamId::none; }
  void close(StreamId) override {}

  base::Duration latency = 5ms;
  std::vector<base::Duration> delays;  // of the next requests
  bool down = false;

 private:
  void deliver(base::Duration after, std::shared_ptr<Receiver> receiver, Answer answer) {
    reactor_.at(reactor_.now() + after,
                [receiver, answer = std::move(answer)]() mutable { (*receiver)(std::move(answer))(); });
  }
  ManualReactor& reactor_;
  LeaseServer& server_;
};

struct Candidate {
  Candidate(LeaseServer& server, std::string identity, std::uint64_t seed = 1, base::Duration lease = 15s)
      : transport(reactor, server) {
    LeaderOptions options{.ns = "sys", .name = "lock", .identity = std::move(identity), .lease_duration = lease};
    EXPECT_TRUE(options.validate());
    elector.emplace(
        reactor, transport, options, seed,
        Elector::Listener{[this] { became_at = reactor.now(); },
                          [this](std::string_view why) { ++lost, lost_at = reactor.now(), reason = why; },
                          [this](std::string_view who) { observed.emplace_back(who); }, [this] { ++slow_paths; }});
    elector->start();
  }
  ManualReactor reactor;
  FakeTransport transport;
  std::optional<Elector> elector;
  base::MonoTime became_at{};
  base::MonoTime lost_at{};
  int lost = 0;
  int slow_paths = 0;
  std::string reason;
  std::vector<std::string> observed;
};

void together(std::initializer_list<Candidate*> candidates, base::Duration d) {
  for (base::Duration t{}; t < d; t += 10ms) {
    for (Candidate* c : candidates) c->reactor.advance(10ms);
  }
}

TEST(Leader, TheFirstCandidateCreatesTheLeaseAndRenewsWithoutReading) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  EXPECT_TRUE(a.elector->leading());
  EXPECT_EQ(server.posts, 1);
  EXPECT_EQ(server.spec("holderIdentity"), "\"a\"");
  EXPECT_EQ(server.spec("leaseDurationSeconds"), "15");
  EXPECT_EQ(server.spec("leaseTransitions"), "0");
  const std::string acquired = server.spec("acquireTime");
  EXPECT_TRUE(std::regex_match(acquired, std::regex("\"2025-01-01T\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z\""))) << acquired;
  a.reactor.advance(1min);
  EXPECT_EQ(server.gets, 1);
  EXPECT_EQ(server.puts, 30);
  EXPECT_EQ(a.slow_paths, 0);
  EXPECT_EQ(server.spec("acquireTime"), acquired);
  EXPECT_EQ(a.observed, std::vector<std::string>{"a"});
}

TEST(Leader, OptionsAreValidated) {
  const LeaderOptions good{.ns = "n", .name = "l", .identity = "i"};
  EXPECT_TRUE(good.validate());
  LeaderOptions bad = good;
  bad.renew_deadline = 15s;
  EXPECT_FALSE(bad.validate());
  bad = good;
  bad.retry_period = 9s;
  EXPECT_FALSE(bad.validate());
  bad = good;
  bad.identity = "";
  EXPECT_FALSE(bad.validate());
  bad = good;
  bad.lease_duration = 15500ms;
  EXPECT_FALSE(bad.validate());
  bad = good;
  bad.lease_duration = std::chrono::seconds(5);
  bad.renew_deadline = std::chrono::seconds(3);
  bad.retry_period = std::chrono::seconds(1);
  ASSERT_FALSE(bad.validate()) << "a leader that never writes";
}

TEST(Leader, IdentitiesDiffer) {
  EXPECT_NE(leader_identity(), leader_identity());
  EXPECT_NE(leader_identity().find('_'), std::string::npos);
}

TEST(Leader, T54_UnknownFieldsOfTheLeaseSurvive) {
  LeaseServer server;
  server.write("", 1, "2020-01-01T00:00:00.000000Z");
  server.lease->at("spec").as_object()["preferredHolder"] = "x";
  server.lease->at("metadata").as_object()["labels"] = boost::json::object{{"k", "v"}};
  Candidate a(server, "a");
  a.reactor.advance(10s);
  EXPECT_TRUE(a.elector->leading());
  EXPECT_EQ(server.spec("preferredHolder"), "\"x\"");
  EXPECT_EQ(server.lease->at("metadata").at("labels").at("k"), "v");
}

TEST(Leader, T56_NoTakeoverFromALiveHolderWhateverTheWallClocksSay) {
  for (const base::Duration skew : {base::Duration(1h), base::Duration(-1h)}) {
    LeaseServer server;
    Candidate a(server, "a");
    a.reactor.advance(1s);
    Candidate b(server, "b", 2);
    b.reactor.jump_wall(skew);
    together({&a, &b}, 2min);
    EXPECT_TRUE(a.elector->leading());
    EXPECT_FALSE(b.elector->leading());
    EXPECT_EQ(a.lost, 0);
  }
}

TEST(Leader, T56_ALeaseThatLooksLongExpiredIsWatchedForItsWholeDurationFirst) {
  LeaseServer server;
  server.write("dead", 15, "2001-01-01T00:00:00.000000Z");
  server.lease->at("spec").as_object()["leaseTransitions"] = 4;
  Candidate b(server, "b");
  b.reactor.advance(14900ms);
  EXPECT_FALSE(b.elector->leading());
  b.reactor.advance(5s);
  EXPECT_TRUE(b.elector->leading());
  EXPECT_EQ(server.spec("leaseTransitions"), "5");
  EXPECT_EQ(b.observed, (std::vector<std::string>{"dead", "b"}));
}

TEST(Leader, T57_OneSlowRenewalIsSurvived) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  a.transport.delays = {6s};
  a.reactor.advance(1min);
  EXPECT_TRUE(a.elector->leading());
  EXPECT_EQ(a.lost, 0);
  EXPECT_GE(a.slow_paths, 1);
}

TEST(Leader, T57_ThreeSlowRenewalsLoseItAtTheDeadlineAndBeforeTheLeaseExpires) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  const base::MonoTime renewed = a.elector->lease_until() - 15s;
  a.transport.delays = {6s, 6s, 6s};
  a.reactor.advance(1min);
  EXPECT_EQ(a.lost, 1);
  EXPECT_EQ(a.lost_at, renewed + 10s);
  EXPECT_FALSE(a.elector->leading());
  EXPECT_LT(a.elector->lease_until(), a.reactor.now());
}

TEST(Leader, TheLeaseIsCountedFromTheSendingOfTheRenewal) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  a.transport.delays = {4s};
  const base::MonoTime before = a.elector->lease_until();
  a.reactor.advance(5003ms);  // sent 2 s after the start, answered 4 s later
  EXPECT_EQ(a.elector->lease_until(), before + 1995ms);
}

TEST(Leader, T59_TheHoldersDurationCounts) {
  LeaseServer server;
  server.write("slow", 60, "2020-01-01T00:00:00.000000Z");
  Candidate b(server, "b");
  b.reactor.advance(59s);
  EXPECT_FALSE(b.elector->leading());
  b.reactor.advance(6s);
  EXPECT_TRUE(b.elector->leading());
}

TEST(Leader, ARenewalSeenStartsTheCountAnew) {
  LeaseServer server;
  server.write("other", 15, "2020-01-01T00:00:00.000000Z");
  Candidate b(server, "b");
  for (int i = 0; i < 10; ++i) {
    b.reactor.advance(12s);
    server.write("other", 15, "t" + std::to_string(i));
  }
  EXPECT_FALSE(b.elector->leading());
  b.reactor.advance(25s);
  EXPECT_TRUE(b.elector->leading());
}

TEST(Leader, T60_T64_AReleasedLeaseIsTakenOverWithinSeconds) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  Candidate b(server, "b", 3);
  together({&a, &b}, 10s);
  std::optional<bool> released;
  a.elector->release([&](bool given) { released = given; });
  EXPECT_FALSE(a.elector->leading()) << "nothing may be written from here on";
  a.reactor.advance(100ms);
  EXPECT_EQ(released, true);
  EXPECT_EQ(server.spec("holderIdentity"), "\"\"");
  EXPECT_EQ(server.spec("leaseDurationSeconds"), "1");
  b.reactor.advance(4500ms);
  EXPECT_TRUE(b.elector->leading());
  EXPECT_EQ(server.spec("leaseTransitions"), "1");
  a.reactor.advance(1min);
  EXPECT_EQ(a.lost, 0);
  EXPECT_EQ(server.spec("holderIdentity"), "\"b\"") << "the one that left does not come back";
}

TEST(Leader, ReleaseSurvivesAConflictAndARenewalInFlight) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  server.lease->at("metadata").as_object()["resourceVersion"] = "999";  // a label was changed
  std::optional<bool> released;
  a.elector->release([&](bool given) { released = given; });
  a.reactor.advance(1s);
  EXPECT_EQ(released, true);
  EXPECT_EQ(server.spec("holderIdentity"), "\"\"");

  LeaseServer other;
  Candidate b(other, "b");
  b.reactor.advance(1s);
  b.transport.delays = {1s};
  b.reactor.advance(1100ms);  // the renewal is under way
  released.reset();
  b.elector->release([&](bool given) { released = given; });
  b.reactor.advance(3s);
  EXPECT_EQ(released, true);
  EXPECT_EQ(other.spec("holderIdentity"), "\"\"");
}

TEST(Leader, ReleaseNeverTakesALeaseFromAnotherAndNeverHangs) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  server.write("thief", 15, "now");
  std::optional<bool> released;
  a.elector->release([&](bool given) { released = given; });
  a.reactor.advance(1s);
  EXPECT_EQ(released, false);
  EXPECT_EQ(server.spec("holderIdentity"), "\"thief\"");

  LeaseServer other;
  Candidate b(other, "b");
  b.reactor.advance(1s);
  b.transport.down = true;
  released.reset();
  b.elector->release([&](bool given) { released = given; });
  b.reactor.advance(6s);
  EXPECT_EQ(released, false);

  Candidate follower(other, "f");
  follower.reactor.advance(1s);
  released.reset();
  follower.elector->release([&](bool given) { released = given; });
  EXPECT_FALSE(released) << "not from within the call";
  follower.reactor.advance(1s);
  EXPECT_EQ(released, false);
}

TEST(Leader, T62_AfterAPauseTheLeaseHasRunOutBeforeAnythingElseRuns) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  const auto watchdog = a.elector->watchdog();
  EXPECT_TRUE(watchdog->healthy(a.reactor.now()));
  a.reactor.freeze(30s);
  EXPECT_LT(a.elector->lease_until(), a.reactor.now()) << "a write is refused already";
  EXPECT_TRUE(watchdog->healthy(a.reactor.now()));
  a.reactor.freeze(30s);
  EXPECT_FALSE(watchdog->healthy(a.reactor.now()));
  a.reactor.advance(15s);
  EXPECT_TRUE(a.lost == 1 || a.elector->lease_until() > a.reactor.now());
}

TEST(Leader, T63_LossIsToldExactlyOnce) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  a.transport.down = true;
  a.reactor.advance(9s);
  a.transport.down = false;
  server.write("thief", 15, "now");  // both ways of losing it at once
  a.reactor.advance(1min);
  EXPECT_EQ(a.lost, 1);
  EXPECT_EQ(a.reactor.timers(), 0U) << "nothing goes on";
}

TEST(Leader, ALeaseHeldByAnotherEndsLeadershipAtOnce) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  server.write("thief", 15, "now");
  a.reactor.advance(2500ms);
  EXPECT_EQ(a.lost, 1);
  EXPECT_EQ(a.reason, "the lease is held by thief");
}

TEST(Leader, ADeletedLeaseIsMadeAgain) {
  LeaseServer server;
  Candidate a(server, "a");
  a.reactor.advance(1s);
  server.lease.reset();
  a.reactor.advance(3s);
  EXPECT_TRUE(a.elector->leading());
  EXPECT_EQ(server.spec("holderIdentity"), "\"a\"");
}

TEST(Leader, AnAcquisitionWhoseAnswerIsLostIsNotWaitedOut) {
  LeaseServer server;
  server.write("", 1, "x");
  Candidate a(server, "a");
  a.transport.delays = {6s};  // the PUT, after the GET that start() has sent
  a.reactor.advance(12s);
  EXPECT_TRUE(a.elector->leading());
}

TEST(Leader, TwoCandidatesNeverLeadAtOnceUnderRandomFaults) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    base::Random random(seed);
    LeaseServer server;
    Candidate a(server, "a", seed);
    std::unique_ptr<Candidate> b = std::make_unique<Candidate>(server, "b", seed + 1000);
    std::uint64_t switches = 0;
    for (int i = 0; i < 20000; ++i) {
      for (Candidate* c : {&a, b.get()}) {
        if (random.below(400) == 0) c->transport.down = !c->transport.down;
        if (random.below(200) == 0) c->transport.delays.push_back(std::chrono::milliseconds(random.below(9000)));
        if (random.below(3000) == 0) {
          // Both processes live in the same time: the other one goes on.
          const base::Duration pause = std::chrono::milliseconds(random.below(20000));
          Candidate& other = c == &a ? *b : a;
          c->reactor.freeze(pause);
          other.reactor.advance(pause);
        }
        c->reactor.advance(20ms);
      }
      const bool both = a.elector->lease_until() > a.reactor.now() && b->elector->lease_until() > b->reactor.now();
      ASSERT_FALSE(both) << "step " << i;
      if (b->lost > 0) {
        ++switches;
        b = std::make_unique<Candidate>(server, "b" + std::to_string(switches), seed + 1000 + switches);
        b->reactor.freeze(a.reactor.now() - b->reactor.now());
      }
    }
  }
}

}  // namespace
}  // namespace kube
