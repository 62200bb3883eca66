#include "kube/http/token_bucket.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kube {
namespace {

using std::chrono::milliseconds;

constexpr base::MonoTime k_start{std::chrono::hours(1)};

TEST(TokenBucket, WithoutALimitNobodyWaits) {
  TokenBucket bucket(0, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.reserve(k_start), base::Duration::zero());
}

TEST(TokenBucket, TheBurstIsFreeThenPlacesComeAtTheRate) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.reserve(k_start), base::Duration::zero());
  EXPECT_EQ(bucket.reserve(k_start), milliseconds(100));
  EXPECT_EQ(bucket.reserve(k_start), milliseconds(200));
  EXPECT_EQ(bucket.reserve(k_start + milliseconds(100)), milliseconds(200)) << "places are given in order";
}

TEST(TokenBucket, RestFillsNoMoreThanTheBurst) {
  TokenBucket bucket(10, 2);
  bucket.reserve(k_start);
  const base::MonoTime later = k_start + std::chrono::hours(1);
  EXPECT_EQ(bucket.reserve(later), base::Duration::zero());
  EXPECT_EQ(bucket.reserve(later), base::Duration::zero());
  EXPECT_EQ(bucket.reserve(later), milliseconds(100));
}

TEST(TokenBucket, ABurstBelowOneIsOne) {
  TokenBucket bucket(1, 0);
  EXPECT_EQ(bucket.reserve(k_start), base::Duration::zero());
  EXPECT_EQ(bucket.reserve(k_start), std::chrono::seconds(1));
}

}  // namespace
}  // namespace kube
