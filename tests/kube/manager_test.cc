// A controller's life: filling, running for the lease, working, ending.
#include "kube/manager.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "kube/lease_server.h"
#include "kube/manual_reactor.h"
#include "support/thing.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::LeaseServer;
using testing::ManualReactor;
using testing::Thing;

// Serves streaming lists of Things, one Lease, and writes that wait for their answer.
struct Server final : Transport {
  explicit Server(ManualReactor& r) : reactor(r) {}

  void send(Request request, Receiver receiver) override {
    if (request.path.ends_with("/events")) {
      events.push_back(boost::json::parse(request.body).as_object());
      Response created;
      created.status = 201;
      reactor.post(receiver(created));
      return;
    }
    if (request.lane != Lane::lease) {
      writes.emplace_back(std::move(request), std::move(receiver));
      return;
    }
    if (!lease_up) {
      reactor.post(receiver(std::unexpected(TransportError{TransportError::Kind::connect, "refused", false})));
      return;
    }
    reactor.post(receiver(lease.handle(request)));
  }
  StreamId open(Request, std::unique_ptr<StreamReceiver> receiver, base::Duration) override {
    stream = std::move(receiver);
    if (!served) {
      Response missing;
      missing.status = 404;
      missing.body = "404 page not found";
      reactor.post(stream->closed(missing));
    } else if (answers) {
      reactor.post(stream->opened());
      reactor.post(stream->data(
          R"({"type":"ADDED","object":{"metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":")" +
          std::to_string(version) +
          "\"}}}\n"
          R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"19","annotations":{"k8s.io/initial-events-end":"true"}}}})"
          "\n"));
    }
    return StreamId{1};
  }
  void close(StreamId) override {}
  std::shared_ptr<const base::Pulse> pulse() const override { return io; }
  void answer_write() {
    Response done;
    done.status = 200;
    done.body =
        R"({"metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":"10"},"spec":{"value":"done"}})";
    auto [request, receiver] = std::move(writes.front());
    writes.erase(writes.begin());
    reactor.post(receiver(done));
  }

  ManualReactor& reactor;
  LeaseServer lease;
  std::vector<std::pair<Request, Receiver>> writes;
  std::vector<boost::json::object> events;
  std::shared_ptr<base::Pulse> io = std::make_shared<base::Pulse>();
  std::unique_ptr<StreamReceiver> stream;
  int version = 5;  // of the Thing
  bool served = true;
  bool answers = true;
  bool lease_up = true;
};

struct ManagerTest : ::testing::Test {
  ManagerTest() {
    controller.name = "thing-controller";
    controller.lease_name = "lock";
    controller.watches.push_back(
        {&Thing::kind(), "", "", "", false, {}, {}, [](const Object& object, std::vector<Key>& keys) {
           keys.push_back({"thing", object.meta.ns, object.meta.name});
         }});
    controller.reconcilers.push_back(
        {"thing",
         [](const Key& key, View& view) {
           Plan plan;
           const auto* thing = view.get<Thing>(key.ns, key.name);
           if (thing != nullptr && thing->value != "done") {
             plan.writes.push_back(patch(Thing::kind().resource, *thing, {{"spec", {{"value", "done"}}}}, "finish"));
           }
           return plan;
         },
         0});
    registry.emplace(controller, 64, [this] { return reactor.now(); });
  }
  void start(bool leader_elect = true) {
    ManagerOptions options;
    options.leader_elect = leader_elect;
    options.until_settled = until_settled;
    options.lease.ns = "sys";
    options.lease.name = "lock";
    options.lease.identity = "me";
    options.server = "https://server";
    options.exit = [this](int status, bool at_once) { exits.emplace_back(status, at_once); };
    options.clock = [this] { return reactor.now(); };
    manager.emplace(controller, reactor, server, *registry, std::move(options));
    manager->start();
    reactor.advance(100ms);
  }
  std::string unready() const { return manager->readyz().front().fails().value_or(""); }
  std::string unhealthy() const {
    std::string all;
    for (const ProbeCheck& check : manager->healthz()) {
      if (const auto failure = check.fails()) all += check.name + ": " + *failure + "; ";
    }
    return all;
  }
  std::string holder() { return server.lease.lease ? server.lease.spec("holderIdentity") : "-"; }

  ManualReactor reactor;
  Server server{reactor};
  Controller controller;
  std::optional<Registry> registry;
  std::optional<Manager> manager;
  bool until_settled = false;
  std::vector<std::pair<int, bool>> exits;
};

using Exits = std::vector<std::pair<int, bool>>;

TEST_F(ManagerTest, WhoObjectsToWhatIsThereEndsBeforeRunningForTheLease) {
  controller.objection = [](View& view) -> std::optional<std::string> {
    if (view.get<Thing>("ns", "a") == nullptr) return std::nullopt;
    return "there is a Thing";
  };
  start();
  reactor.advance(3s);
  EXPECT_EQ(exits, (Exits{{1, false}}));
  EXPECT_TRUE(server.writes.empty());
  EXPECT_EQ(holder(), "-");
  EXPECT_EQ(unready(), "there is a Thing");
}

// Somebody else has led meanwhile.
TEST_F(ManagerTest, WhoObjectsWhenItWinsTheLeaseGivesItBackAndEnds) {
  bool late = false;
  controller.objection = [&late](View&) {
    return std::exchange(late, true) ? std::optional<std::string>("now") : std::nullopt;
  };
  start();
  reactor.advance(3s);
  EXPECT_EQ(exits, (Exits{{1, false}}));
  EXPECT_TRUE(server.writes.empty());
  EXPECT_EQ(holder(), "\"\"") << "the next one need not wait";
}

// As it is where a definition is taken away, or not served for a while.
TEST_F(ManagerTest, IsUnreadyAndDoesNothingWhileItsKindIsNotServed) {
  start();
  reactor.advance(3s);
  ASSERT_EQ(server.writes.size(), 1U);
  server.answer_write();
  server.served = false;
  reactor.post(server.stream->closed(std::unexpected(TransportError{TransportError::Kind::reset, "gone", true})));
  reactor.advance(1min);
  EXPECT_EQ(unready(),
            "the server does not serve things.tests.example/v1: their CustomResourceDefinitions are not installed");
  EXPECT_EQ(unhealthy(), "");
  server.served = true;
  reactor.advance(1min);
  EXPECT_EQ(unready(), "");
  EXPECT_TRUE(server.writes.empty()) << "there is nothing to do that was not done before";
  EXPECT_TRUE(exits.empty());
}

TEST_F(ManagerTest, WhoWinsTheLeaseWithoutAKindObjectsWhenItSeesAgain) {
  controller.objection = [](View& view) -> std::optional<std::string> {
    const auto* thing = view.get<Thing>("ns", "a");
    return thing != nullptr && thing->meta.resourceVersion == "15" ? std::optional<std::string>("a stranger")
                                                                   : std::nullopt;
  };
  server.lease_up = false;
  start();
  server.served = false;
  reactor.post(server.stream->closed(std::unexpected(TransportError{TransportError::Kind::reset, "gone", true})));
  reactor.advance(1min);
  server.lease_up = true;
  reactor.advance(1min);
  EXPECT_EQ(holder(), "\"me\"");
  EXPECT_TRUE(exits.empty());
  server.version = 15;
  server.served = true;
  reactor.advance(1min);
  EXPECT_EQ(exits, (Exits{{1, false}}));
  EXPECT_TRUE(server.writes.empty());
}

TEST_F(ManagerTest, FillsThenRunsForTheLeaseThenWorks) {
  server.answers = false;
  start();
  EXPECT_EQ(unready(), "not listed yet: things.tests.example/v1");
  EXPECT_EQ(holder(), "-") << "a process without a picture must not lead";
  server.answers = true;
  reactor.post(server.stream->closed(std::unexpected(TransportError{TransportError::Kind::reset, "gone", true})));
  reactor.advance(3s);
  EXPECT_EQ(unready(), "");
  EXPECT_EQ(holder(), "\"me\"");
  EXPECT_EQ(server.writes.size(), 1U);
  EXPECT_NE(registry->expose().find("leader_election_master_status{name=\"lock\"} 1"), std::string::npos);
  EXPECT_NE(registry->expose().find("informer_objects{group=\"tests.example\",resource=\"things\",version=\"v1\"} 1"),
            std::string::npos);
}

TEST_F(ManagerTest, TheNewLeaderIsAnEventOnTheLease) {
  start();
  reactor.advance(1min);
  ASSERT_EQ(server.events.size(), 1U);
  const boost::json::object& event = server.events.front();
  EXPECT_EQ(event.at("reason"), "LeaderElection");
  EXPECT_EQ(event.at("type"), "Normal");
  EXPECT_EQ(event.at("note"), "me became leader");
  EXPECT_EQ(event.at("metadata").at("namespace"), "sys");
  EXPECT_EQ(
      boost::json::serialize(event.at("regarding")),
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","name":"lock","uid":"lease-uid","namespace":"sys"})");
}

TEST_F(ManagerTest, MissingKindsAreNamedAndWaitedFor) {
  server.served = false;
  start();
  reactor.advance(2s);
  EXPECT_EQ(unready(),
            "the server does not serve things.tests.example/v1: their CustomResourceDefinitions are not installed");
  EXPECT_TRUE(exits.empty());
  server.served = true;
  reactor.advance(15s);
  EXPECT_EQ(unready(), "");
}

TEST_F(ManagerTest, WithoutElectionItWorksAsSoonAsItIsFilled) {
  start(false);
  EXPECT_EQ(server.writes.size(), 1U);
  EXPECT_EQ(holder(), "-");
  manager->shut_down();
  reactor.advance(100ms);
  EXPECT_TRUE(exits.empty());
  server.answer_write();
  reactor.advance(1s);
  EXPECT_EQ(exits, (Exits{{0, false}}));
}

TEST_F(ManagerTest, T60_ShutdownWaitsForWorkThenGivesTheLeaseBack) {
  start();
  ASSERT_EQ(server.writes.size(), 1U);
  manager->shut_down();
  manager->shut_down();
  reactor.advance(3s);
  EXPECT_EQ(unready(), "shutting down");
  EXPECT_EQ(holder(), "\"me\"") << "a write is under way";
  server.answer_write();
  reactor.advance(1s);
  EXPECT_EQ(holder(), "\"\"");
  EXPECT_EQ(exits, (Exits{{0, false}}));
  EXPECT_TRUE(server.writes.empty());
}

TEST_F(ManagerTest, AProcessThatNeverGotGoingEndsAtOnce) {
  server.answers = false;
  start();
  manager->shut_down();
  reactor.advance(100ms);
  EXPECT_EQ(exits, (Exits{{0, false}}));
  EXPECT_EQ(holder(), "-");
}

TEST_F(ManagerTest, T60_WorkThatDoesNotEndKeepsTheLease) {
  start();
  manager->shut_down();
  reactor.advance(29s);
  EXPECT_TRUE(exits.empty());
  reactor.advance(2s);
  EXPECT_EQ(exits, (Exits{{1, true}}));
  EXPECT_EQ(holder(), "\"me\"");
}

TEST_F(ManagerTest, T50_AStandbyThatEndsNeverLeads) {
  server.lease.write("other", 15, "t");
  start();
  reactor.advance(5s);
  manager->shut_down();
  server.lease.write("", 1, "t2");  // free now
  reactor.advance(1min);
  EXPECT_EQ(exits, (Exits{{0, false}}));
  EXPECT_EQ(holder(), "\"\"");
  EXPECT_TRUE(server.writes.empty());
}

TEST_F(ManagerTest, ALostLeaseEndsTheProcessAtOnce) {
  start();
  server.lease_up = false;
  reactor.advance(9500ms);
  EXPECT_TRUE(exits.empty());
  reactor.advance(1s);
  EXPECT_EQ(exits, (Exits{{1, true}}));
  EXPECT_FALSE(manager->loop().leading());
  reactor.advance(1min);
  EXPECT_EQ(exits.size(), 1U);
}

TEST_F(ManagerTest, UntilSettledItEndsWhenAllIsDone) {
  until_settled = true;
  start();
  reactor.advance(3s);
  ASSERT_EQ(server.writes.size(), 1U);
  reactor.advance(2s);
  EXPECT_TRUE(exits.empty()) << "a write is under way";
  server.answer_write();
  reactor.advance(5s);
  EXPECT_EQ(exits, (Exits{{0, false}}));
  EXPECT_EQ(holder(), "\"\"");
}

TEST_F(ManagerTest, UntilSettledItDoesNotEndWhileSomethingIsTriedAgain) {
  until_settled = true;
  start(false);
  ASSERT_EQ(server.writes.size(), 1U);
  for (int i = 0; i < 5; ++i) {
    Response refused;
    refused.status = 403;
    auto [request, receiver] = std::move(server.writes.front());
    server.writes.erase(server.writes.begin());
    reactor.post(receiver(refused));
    reactor.advance(20s);
    ASSERT_EQ(server.writes.size(), 1U);
    EXPECT_TRUE(exits.empty());
  }
}

TEST_F(ManagerTest, UntilSettledItIsAFailureToBeEndedBeforeThat) {
  until_settled = true;
  server.lease.write("other", 15, "t");
  start();
  reactor.advance(5s);
  EXPECT_TRUE(exits.empty()) << "another works";
  manager->shut_down();
  reactor.advance(1s);
  EXPECT_EQ(exits, (Exits{{1, false}}));
}

TEST_F(ManagerTest, LivenessSeesATransportThatStandsStill) {
  start();
  EXPECT_EQ(unhealthy(), "") << "it has not begun";
  server.io->beat(reactor.now());
  reactor.advance(30s);
  EXPECT_EQ(unhealthy(), "");
  reactor.advance(1s);
  EXPECT_EQ(unhealthy(), "transport: it has not turned for 31 s; ");
  server.io->beat(reactor.now());
  EXPECT_EQ(unhealthy(), "");
}

TEST_F(ManagerTest, T62_LivenessSeesALoopThatStandsStill) {
  start();
  EXPECT_EQ(unhealthy(), "");
  reactor.advance(5min);
  EXPECT_EQ(unhealthy(), "");
  reactor.freeze(31s);
  EXPECT_EQ(unhealthy(), "loop: it has not turned for 31 s; ");
  reactor.freeze(10s);
  EXPECT_NE(unhealthy().find("leader-election: "), std::string::npos);
}

}  // namespace
}  // namespace kube
