// The simulation: time, transport, faults, crashes, replay.
#include "sandbox/world.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Effect = Fault::Effect;

constexpr std::string_view config_maps = "/api/v1/namespaces/default/configmaps";

kube::Request request(std::string_view method, std::string_view path, std::string_view body = {}) {
  kube::Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  if (!body.empty()) request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
  return request;
}

// An actor that creates one ConfigMap after another and notes the answers.
class Creator final : public Actor {
 public:
  Creator(Habitat& habitat, std::vector<std::string>& log) : habitat_(habitat), log_(log) { next(0); }

 private:
  void next(int i) {
    if (i == 5) return;
    const std::string body = R"({"metadata":{"name":"c)" + std::to_string(i) + "\"}}";
    habitat_.transport.send(request("POST", config_maps, body), [this, i](kube::Answer answer) -> base::Task {
      return [this, i, text = answer ? std::to_string(answer->status) : answer.error().message] {
        log_.push_back(text);
        next(i + 1);
      };
    });
  }
  Habitat& habitat_;
  std::vector<std::string>& log_;
};

class Watching final : public Actor {
 public:
  struct Receiver final : kube::StreamReceiver {
    explicit Receiver(std::vector<std::string>& into) : log(into) {}
    base::Task opened() override {
      return [this] { log.emplace_back("opened"); };
    }
    base::Task data(std::string_view bytes) override {
      buffer += bytes;
      std::vector<std::string> lines;
      for (std::size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
        const std::size_t type = buffer.find("\"type\":\"") + 8;
        lines.push_back(buffer.substr(type, buffer.find('"', type) - type));
        buffer.erase(0, end + 1);
      }
      return [this, lines] { log.insert(log.end(), lines.begin(), lines.end()); };
    }
    base::Task closed(kube::Answer how) override {
      const std::string text = how ? "end " + std::to_string(how->status) : how.error().message;
      return [&into = log, text] { into.push_back(text); };
    }
    std::vector<std::string>& log;
    std::string buffer;
  };

  Watching(Habitat& habitat, std::vector<std::string>& log, std::string timeout = "3600") {
    kube::Request watch = request("GET", config_maps);
    watch.query = {{"watch", "true"},
                   {"resourceVersion", "1"},
                   {"allowWatchBookmarks", "true"},
                   {"timeoutSeconds", std::move(timeout)}};
    habitat.transport.open(std::move(watch), std::make_unique<Receiver>(log), seconds(90));
  }
};

World::Factory creator(std::vector<std::string>& log) {
  return [&log](Habitat& habitat) { return std::make_unique<Creator>(habitat, log); };
}

TEST(SimReactor, RunsTasksInTheOrderOfTimeThenPosting) {
  SimReactor reactor;
  std::string order;
  reactor.after(milliseconds(2), [&] { order += 'c'; });
  reactor.post([&] { order += 'a'; });
  reactor.after(milliseconds(2), [&] { order += 'd'; });
  reactor.post([&] { order += 'b'; });
  const base::TimerId cancelled = reactor.after(milliseconds(1), [&] { order += 'x'; });
  reactor.cancel(cancelled);
  reactor.run_for(milliseconds(5));
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(reactor.now().time_since_epoch(), milliseconds(5));
  EXPECT_FALSE(reactor.step());
}

TEST(SimReactor, ShufflingKeepsTheOrderWithinAProcess) {
  bool differs = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimReactor reactor({.seed = seed, .shuffle = true});
    SimProcess a(reactor, "a");
    SimProcess b(reactor, "b");
    std::string order;
    a.post([&] { order += 'a'; });
    b.post([&] { order += 'b'; });
    a.post([&] { order += 'A'; });
    b.post([&] { order += 'B'; });
    reactor.run_for(milliseconds(1));
    EXPECT_LT(order.find('a'), order.find('A'));
    EXPECT_LT(order.find('b'), order.find('B'));
    differs = differs || order.front() == 'b';
  }
  EXPECT_TRUE(differs);
}

TEST(SimReactor, AProcessHasItsOwnClocks) {
  SimReactor reactor;
  SimProcess fast(reactor, "fast", {.rate = 0.5, .offset = seconds(100)});
  base::MonoTime fired{};
  fast.at(fast.now() + seconds(3), [&] { fired = reactor.now(); });
  reactor.run_for(seconds(10));
  EXPECT_EQ(fired.time_since_epoch(), seconds(2));
  EXPECT_EQ(fast.now().time_since_epoch(), seconds(15));
  EXPECT_EQ(fast.wall() - reactor.wall(), seconds(100));
}

TEST(SimReactor, AKilledProcessRunsNothing) {
  SimReactor reactor;
  auto process = std::make_unique<SimProcess>(reactor, "p");
  int ran = 0;
  process->post([&] {
    ++ran;
    process->kill();
  });
  process->post([&] { ++ran; });
  reactor.run_for(milliseconds(1));
  process.reset();
  EXPECT_EQ(ran, 1);
}

TEST(World, RequestsTakeTimeAndAreAnsweredInOrder) {
  World world;
  std::vector<std::string> log;
  world.start("creator", "tenant", creator(log));
  EXPECT_TRUE(log.empty());
  world.run_for(seconds(1));
  EXPECT_EQ(log, std::vector<std::string>(5, "201"));
  EXPECT_EQ(world.writes("tenant"), 5);
}

TEST(World, WatchEventsArriveInOrderAndBookmarksKeepTheStreamAlive) {
  World world;
  std::vector<std::string> events;
  std::vector<std::string> log;
  world.start("watcher", "admin", [&](Habitat& h) { return std::make_unique<Watching>(h, events, "130"); });
  world.start("creator", "tenant", creator(log));
  world.run_for(seconds(200));
  EXPECT_EQ(events, (std::vector<std::string>{"opened", "ADDED", "ADDED", "ADDED", "ADDED", "ADDED", "BOOKMARK",
                                              "BOOKMARK", "BOOKMARK", "end 200"}));
  EXPECT_EQ(world.server().open_watches(), 0U);
}

struct FaultCase {
  Effect effect;
  std::string answer;  // what the client sees
  bool effective;      // whether the object exists afterwards
};

class WorldFault : public testing::TestWithParam<FaultCase> {};

TEST_P(WorldFault, HitsTheRequestAsItSays) {
  World world;
  world.set_crash_restart(std::nullopt);
  world.faults().add({.effect = GetParam().effect, .verb = "create", .skip = 1, .delay = seconds(2), .code = 503});
  std::vector<std::string> log;
  world.start("creator", "tenant", creator(log));
  world.run_for(seconds(40));
  ASSERT_GE(log.size(), 1U);
  EXPECT_EQ(log[0], "201");
  if (GetParam().answer.empty()) {
    EXPECT_EQ(log.size(), 1U);
    EXPECT_FALSE(world.running("creator"));
    EXPECT_EQ(world.crashes(), 1);
  } else {
    ASSERT_EQ(log.size(), 5U);
    EXPECT_EQ(log[1], GetParam().answer);
    EXPECT_EQ(log[2], "201");
  }
  EXPECT_EQ(!world.get(std::string(config_maps) + "/c1").empty(), GetParam().effective);
  EXPECT_EQ(world.faults().hits(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, WorldFault,
    testing::Values(FaultCase{Effect::fail_before, "connection reset by peer", false},
                    FaultCase{Effect::fail_after, "connection reset by peer", true},
                    FaultCase{Effect::hang_before, "time-out", false}, FaultCase{Effect::hang_after, "time-out", true},
                    FaultCase{Effect::delay, "201", true}, FaultCase{Effect::delay_answer, "201", true},
                    FaultCase{Effect::status, "503", false}, FaultCase{Effect::expired, "410", false},
                    FaultCase{Effect::crash_before, "", false}, FaultCase{Effect::crash_after, "", true}));

TEST(World, ACrashedProcessComesBackAndStartsAnew) {
  World world;
  world.faults().add({.effect = Effect::crash_after, .verb = "create", .skip = 2});
  std::vector<std::string> log;
  world.start("creator", "tenant", creator(log));
  world.run_for(seconds(5));
  // two answers of the first life, then the second finds three objects
  EXPECT_EQ(log, (std::vector<std::string>{"201", "201", "409", "409", "409", "201", "201"}));
}

TEST(World, WatchesCanBeDroppedExpiredStalledAndReset) {
  World world;
  std::vector<std::string> log;
  const auto watching = [&](Habitat& h) { return std::make_unique<Watching>(h, log); };
  world.faults().add({.effect = Effect::drop_watch, .delay = seconds(1)});
  world.faults().add({.effect = Effect::expired, .verb = "watch"});
  world.start("dropped", "a", watching);
  world.run_for(seconds(3));
  EXPECT_EQ(log, (std::vector<std::string>{"opened", "connection reset by peer"}));
  log.clear();
  world.start("expired", "b", watching);
  world.run_for(seconds(1));
  EXPECT_EQ(log, (std::vector<std::string>{"opened", "ERROR", "end 200"}));
  log.clear();
  world.start("stalled", "c", watching);
  world.run_for(seconds(1));
  world.transport("stalled")->stall_watches(world.now() + seconds(10));
  world.call("POST", config_maps, R"({"metadata":{"name":"x"}})");
  world.run_for(seconds(9));
  EXPECT_EQ(log, (std::vector<std::string>{"opened"}));
  world.run_for(seconds(2));
  EXPECT_EQ(log, (std::vector<std::string>{"opened", "ADDED"}));
  world.transport("stalled")->reset_watches();
  world.run_for(seconds(1));
  EXPECT_EQ(log.back(), "connection reset by peer");
  EXPECT_EQ(world.server().open_watches(), 0U);
}

TEST(World, APartitionIsFelt) {
  World world;
  std::vector<std::string> log;
  world.start("watcher", "a", [&](Habitat& h) { return std::make_unique<Watching>(h, log); });
  world.run_for(seconds(1));
  world.transport("watcher")->partition(true);
  world.run_for(seconds(100));
  EXPECT_EQ(log, (std::vector<std::string>{"opened", "time-out"}));
}

TEST(World, ASeedReplays) {
  const auto history = [](std::uint64_t seed) {
    World world({.seed = seed});
    world.faults().add({.effect = Effect::fail_after, .count = -1, .probability = 0.3});
    std::vector<std::string> log;
    std::vector<std::string> events;
    world.start("watcher", "admin", [&](Habitat& h) { return std::make_unique<Watching>(h, events); });
    for (int i = 0; i < 3; ++i) world.start("creator" + std::to_string(i), "tenant" + std::to_string(i), creator(log));
    world.run_for(seconds(10));
    std::string text = world.get(std::string(config_maps) + "/c0");
    for (const AuditEntry& entry : world.audit()) {
      text += "\n" + entry.access.user + " " + std::to_string(entry.when.time_since_epoch().count()) + " " +
              std::to_string(entry.code);
    }
    return text;
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

TEST(World, SettlesWhenNothingChangesAnyMore) {
  World world;
  std::vector<std::string> log;
  world.start("creator", "tenant", creator(log));
  EXPECT_TRUE(world.settle(seconds(2)));
  EXPECT_EQ(log.size(), 5U);
}

}  // namespace
}  // namespace sandbox
