#include "kube/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

#include "base/random.h"

namespace kube {
namespace {
using namespace std::chrono_literals;
using Lane = WorkQueue::Lane;
using ::testing::ElementsAre;

const base::MonoTime k_now{1h};

std::vector<std::uint32_t> pop_all(WorkQueue& queue, base::MonoTime now = k_now) {
  std::vector<std::uint32_t> order;
  while (const auto item = queue.pop(now)) {
    order.push_back(static_cast<std::uint32_t>(item->key));
    queue.done(item->key);
  }
  return order;
}

TEST(WorkQueue, T38_IsFirstInFirstOutWithinANamespace) {
  WorkQueue queue(1, 10);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(queue.add(KeyId{i}, "a", 0, Lane::fresh, k_now));
  EXPECT_FALSE(queue.add(KeyId{2}, "a", 0, Lane::fresh, k_now)) << "once is enough";
  EXPECT_THAT(pop_all(queue), ElementsAre(0, 1, 2, 3));
}

TEST(WorkQueue, NamespacesTakeTurns) {
  WorkQueue queue(1, 10);
  for (std::uint32_t i = 0; i < 3; ++i) queue.add(KeyId{i}, "a", 0, Lane::fresh, k_now);
  for (std::uint32_t i = 10; i < 12; ++i) queue.add(KeyId{i}, "b", 0, Lane::fresh, k_now);
  EXPECT_THAT(pop_all(queue), ElementsAre(0, 10, 1, 11, 2));
}

TEST(WorkQueue, KeysWithoutANamespaceGetEverySecondTurn) {
  WorkQueue queue(1, 10);
  for (std::uint32_t i = 0; i < 3; ++i) queue.add(KeyId{i}, "", 0, Lane::fresh, k_now);
  queue.add(KeyId{10}, "a", 0, Lane::fresh, k_now);
  queue.add(KeyId{11}, "b", 0, Lane::fresh, k_now);
  EXPECT_THAT(pop_all(queue), ElementsAre(0, 10, 1, 11, 2));
}

TEST(WorkQueue, FreshBeforeBackgroundAndPromotionMovesUp) {
  WorkQueue queue(1, 10);
  for (std::uint32_t i = 0; i < 3; ++i) queue.add(KeyId{i}, "a", 0, Lane::background, k_now);
  queue.add(KeyId{9}, "a", 0, Lane::fresh, k_now);
  EXPECT_TRUE(queue.add(KeyId{2}, "a", 0, Lane::fresh, k_now));
  EXPECT_FALSE(queue.add(KeyId{2}, "a", 0, Lane::background, k_now));
  EXPECT_THAT(pop_all(queue), ElementsAre(9, 2, 0, 1));
}

TEST(WorkQueue, ANamespaceAtItsCapLetsOthersPass) {
  WorkQueue queue(1, 2);
  for (std::uint32_t i = 0; i < 5; ++i) queue.add(KeyId{i}, "a", 0, Lane::fresh, k_now);
  queue.add(KeyId{10}, "b", 0, Lane::fresh, k_now);
  std::set<std::uint32_t> flying;
  while (const auto item = queue.pop(k_now)) flying.insert(static_cast<std::uint32_t>(item->key));
  EXPECT_EQ(flying, (std::set<std::uint32_t>{0, 1, 10}));
  queue.done(KeyId{1});
  EXPECT_EQ(queue.pop(k_now)->key, KeyId{2});
  EXPECT_FALSE(queue.pop(k_now));
}

TEST(WorkQueue, LaterRanksComeAfterEarlierOnesOfBothLanes) {
  WorkQueue queue(2, 1);
  queue.add(KeyId{5}, "", 1, Lane::fresh, k_now);
  queue.add(KeyId{0}, "a", 0, Lane::background, k_now);
  queue.add(KeyId{1}, "a", 0, Lane::fresh, k_now);
  EXPECT_THAT(pop_all(queue), ElementsAre(1, 0, 5));
}

TEST(WorkQueue, ALaterRankRunsWhileTheEarlierOnesAreAtTheirCap) {
  WorkQueue queue(2, 1);
  queue.add(KeyId{0}, "a", 0, Lane::fresh, k_now);
  queue.add(KeyId{1}, "a", 0, Lane::fresh, k_now);
  queue.add(KeyId{5}, "", 1, Lane::fresh, k_now);
  EXPECT_EQ(queue.pop(k_now)->key, KeyId{0});
  EXPECT_EQ(queue.pop(k_now)->key, KeyId{5});
}

TEST(WorkQueue, FreshWorkCannotStarveALaterRankButTheFirstListMay) {
  WorkQueue queue(2, 10);
  queue.add(KeyId{5}, "", 1, Lane::fresh, k_now);
  queue.add(KeyId{0}, "a", 0, Lane::fresh, k_now);
  queue.add(KeyId{1}, "a", 0, Lane::background, k_now);
  const base::MonoTime later = k_now + 2 * WorkQueue::k_patience;
  EXPECT_EQ(queue.pop(later)->key, KeyId{0});
  EXPECT_EQ(queue.pop(later)->key, KeyId{1});
  queue.add(KeyId{2}, "a", 0, Lane::fresh, later);
  EXPECT_EQ(queue.pop(later)->key, KeyId{5}) << "no background work is left";
}

TEST(WorkQueue, ANamespaceIsForgottenWithItsLastKey) {
  WorkQueue queue(1, 10);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::string ns = "n" + std::to_string(i);
    queue.add(KeyId{i}, ns, 0, Lane::background, k_now);
    queue.add(KeyId{i}, ns, 0, Lane::fresh, k_now);  // its turn in the background is void
    if (i % 2 == 0) queue.done(queue.pop(k_now)->key);
  }
  pop_all(queue);
  EXPECT_EQ(queue.namespaces(), 0u);
}

TEST(WorkQueue, T47_T49_NothingIsLostAndCapsHold) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    WorkQueue queue(3, 3);
    std::map<std::uint32_t, std::string> queued;
    std::map<std::uint32_t, std::string> flying;
    const auto ns_of = [](std::uint32_t key) { return key % 4 == 0 ? "" : "n" + std::to_string(key % 7); };
    const auto take = [&] {
      const auto item = queue.pop(k_now);
      if (!item) {
        // Whatever is queued is held up by its namespace's cap.
        for (const auto& [key, ns] : queued) {
          ASSERT_FALSE(ns.empty()) << "seed " << seed;
          ASSERT_EQ(std::ranges::count_if(flying, [&, &ns = ns](const auto& f) { return f.second == ns; }), 3);
        }
        return;
      }
      const auto key = static_cast<std::uint32_t>(item->key);
      ASSERT_TRUE(queued.erase(key)) << "seed " << seed;
      flying[key] = ns_of(key);
    };
    for (int step = 0; step < 500; ++step) {
      const auto key = static_cast<std::uint32_t>(random.below(60));
      if (random.below(2) == 0) {
        if (flying.contains(key)) continue;
        queue.add(KeyId{key}, ns_of(key), random.below(3), random.below(2) == 0 ? Lane::fresh : Lane::background,
                  k_now);
        queued[key] = ns_of(key);
      } else if (random.below(2) == 0) {
        take();
      } else if (!flying.empty()) {
        auto it = flying.begin();
        std::advance(it, static_cast<long>(random.below(flying.size())));
        queue.done(KeyId{it->first});
        flying.erase(it);
      }
      ASSERT_EQ(queue.size(), queued.size());
      ASSERT_EQ(queue.in_flight(), flying.size());
    }
    while (!queued.empty()) {
      take();
      while (!flying.empty()) {
        queue.done(KeyId{flying.begin()->first});
        flying.erase(flying.begin());
      }
    }
    ASSERT_FALSE(queue.pop(k_now));
    ASSERT_EQ(queue.namespaces(), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kube
