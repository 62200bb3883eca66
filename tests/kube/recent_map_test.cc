#include "kube/recent_map.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

TEST(RecentMap, WhatWasUsedLeastRecentlyMakesRoom) {
  RecentMap<int> map(3);
  for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(map.use(key).second);
  map.use("a").first = 7;
  EXPECT_TRUE(map.use("d").second);
  EXPECT_EQ(map.find("b"), nullptr);
  ASSERT_NE(map.find("a"), nullptr);
  EXPECT_EQ(*map.find("a"), 7);
  EXPECT_EQ(map.size(), 3u);
}

TEST(RecentMap, LookingIsNotUsing) {
  RecentMap<int> map(2);
  map.use("a");
  map.use("b");
  map.find("a");
  map.use("c");
  EXPECT_EQ(map.find("a"), nullptr);
}

TEST(RecentMap, ErasedEntriesComeBackFresh) {
  RecentMap<int> map(10);
  for (int i = 0; i < 10; ++i) map.use(std::to_string(i)).first = i;
  map.erase("3");
  map.erase("unknown");
  map.erase_if([](int value) { return value % 2 == 0; });
  EXPECT_EQ(map.size(), 4u);
  EXPECT_EQ(map.find("3"), nullptr);
  EXPECT_EQ(*map.find("5"), 5);
  EXPECT_TRUE(map.use("3").second);
  EXPECT_EQ(*map.find("3"), 0);
}

}  // namespace
}  // namespace kube
