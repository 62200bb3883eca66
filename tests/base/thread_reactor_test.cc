#include "base/thread_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace base {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

TEST(ThreadReactor, RunsPostedTasksInOrder) {
  ThreadReactor reactor;
  std::vector<int> order;
  reactor.post([&] {
    order.push_back(1);
    reactor.post([&] {
      order.push_back(3);
      reactor.stop();
    });
  });
  reactor.post([&] { order.push_back(2); });
  reactor.run();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(ThreadReactor, TimersRunInTimeOrderThenInOrderOfSetting) {
  ThreadReactor reactor;
  std::vector<int> order;
  const MonoTime start = reactor.now();
  reactor.at(start + milliseconds(6), [&] {
    order.push_back(4);
    reactor.stop();
  });
  reactor.at(start + milliseconds(3), [&] { order.push_back(2); });
  reactor.at(start + milliseconds(3), [&] { order.push_back(3); });
  reactor.at(start - milliseconds(1), [&] { order.push_back(1); });
  reactor.run();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
  EXPECT_GE(reactor.now() - start, milliseconds(6));
}

TEST(ThreadReactor, ACancelledTimerNeitherRunsNorKeepsItsTask) {
  ThreadReactor reactor;
  auto held = std::make_shared<int>(0);
  const TimerId cancelled = reactor.at(reactor.now() + milliseconds(1), [held] { ++*held; });
  reactor.at(reactor.now() + milliseconds(3), [&] { reactor.stop(); });
  EXPECT_EQ(held.use_count(), 2);
  reactor.cancel(cancelled);
  EXPECT_EQ(held.use_count(), 1);
  reactor.cancel(cancelled);
  reactor.cancel(TimerId::none);
  reactor.run();
  EXPECT_EQ(*held, 0);
}

TEST(ThreadReactor, ATimerMayCancelAnotherThatIsDueToo) {
  ThreadReactor reactor;
  bool second_ran = false;
  TimerId second = TimerId::none;
  reactor.at(reactor.now(), [&] {
    reactor.cancel(second);
    reactor.post([&] { reactor.stop(); });
  });
  second = reactor.at(reactor.now(), [&] { second_ran = true; });
  reactor.run();
  EXPECT_FALSE(second_ran);
}

TEST(ThreadReactor, ATimerThatSetsItselfAgainDoesNotStarveTasks) {
  ThreadReactor reactor;
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    if (ticks == 1) reactor.post([&] { reactor.stop(); });
    reactor.at(reactor.now(), [&] { tick(); });
  };
  reactor.at(reactor.now(), [&] { tick(); });
  reactor.run();
  EXPECT_GE(ticks, 1);
}

TEST(ThreadReactor, PostWakesASleepingReactorFromAnyThread) {
  ThreadReactor reactor;
  constexpr int k_threads = 4;
  constexpr int k_each = 5000;
  int count = 0;  // no atomic: only the reactor's thread touches it
  std::vector<std::jthread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < k_each; ++i) {
        reactor.post([&] {
          if (++count == k_threads * k_each) reactor.stop();
        });
      }
    });
  }
  reactor.run();
  EXPECT_EQ(count, k_threads * k_each);
}

TEST(ThreadReactor, StopKeepsWhatIsLeftForTheNextRun) {
  ThreadReactor reactor;
  std::vector<int> order;
  reactor.post([&] {
    order.push_back(1);
    reactor.stop();
  });
  reactor.post([&] { order.push_back(2); });
  reactor.run();
  EXPECT_THAT(order, ElementsAre(1));
  reactor.post([&] {
    order.push_back(3);
    reactor.stop();
  });
  reactor.run();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(ThreadReactor, StopBeforeRunEndsThatRun) {
  ThreadReactor reactor;
  bool ran = false;
  reactor.post([&] {
    ran = true;
    reactor.stop();
  });
  reactor.stop();
  reactor.run();
  EXPECT_FALSE(ran);
  reactor.run();
  EXPECT_TRUE(ran);
}

TEST(ThreadReactor, DestructionDropsWhatIsLeft) {
  auto held = std::make_shared<int>(0);
  {
    ThreadReactor reactor;
    reactor.post([held] { ++*held; });
    reactor.at(reactor.now(), [held] { ++*held; });
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace base
