#include "api/conditions.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace api {
namespace {

const std::vector<kube::Condition> k_current{{"Theirs", "True", "Because", "text", "2024-01-01T00:00:00Z", 3},
                                             {"Ours", "False", "Wait", "waits", "2024-01-02T00:00:00Z", 1}};
constexpr const char* k_now = "2025-05-05T05:05:05Z";

boost::json::array json(std::string_view text) { return boost::json::parse(text).as_array(); }

TEST(ConditionsTest, SayingTheSameChangesNothing) {
  EXPECT_EQ(updated_conditions(k_current, {{"Ours", "False", "Wait", "waits"}}, 1, k_now), std::nullopt);
  EXPECT_EQ(updated_conditions({}, {}, 1, k_now), std::nullopt);
  EXPECT_EQ(updated_conditions(k_current, {}, 1, k_now, {"Absent"}), std::nullopt);
}

TEST(ConditionsTest, AFlipMovesTheTimeAndCarriesTheOthersOver) {
  EXPECT_EQ(updated_conditions(k_current, {{"Ours", "True", "Done", "done"}}, 2, k_now), json(R"([
      {"type":"Theirs","status":"True","reason":"Because","message":"text","lastTransitionTime":"2024-01-01T00:00:00Z",
       "observedGeneration":3},
      {"type":"Ours","status":"True","reason":"Done","message":"done","lastTransitionTime":"2025-05-05T05:05:05Z",
       "observedGeneration":2}])"));
}

TEST(ConditionsTest, OtherWordsLeaveTheTime) {
  const auto list = updated_conditions(k_current, {{"Ours", "False", "Wait", "waits longer"}}, 1, k_now);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at(1).at("lastTransitionTime"), "2024-01-02T00:00:00Z");
  EXPECT_EQ(list->at(1).at("message"), "waits longer");
}

TEST(ConditionsTest, AnotherGenerationIsAChange) {
  const auto list = updated_conditions(k_current, {{"Ours", "False", "Wait", "waits"}}, 2, k_now);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at(1).at("observedGeneration"), 2);
  EXPECT_EQ(list->at(1).at("lastTransitionTime"), "2024-01-02T00:00:00Z");
}

TEST(ConditionsTest, NewTypesFollowAndWithdrawnOnesGo) {
  const auto list = updated_conditions(k_current, {{"New", "Unknown", "Why", ""}}, 1, k_now, {"Ours"});
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ(list->at(0).at("type"), "Theirs");
  EXPECT_EQ(list->at(1).at("type"), "New");
  EXPECT_EQ(list->at(1).at("lastTransitionTime"), k_now);
}

TEST(ConditionsTest, MessagesAreCutBetweenCharacters) {
  const auto list = updated_conditions({}, {{"New", "True", "Why", std::string(32767, 'x') + "\xc3\xa4"}}, 1, k_now);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at(0).at("message").as_string(), std::string(32767, 'x'));
}

TEST(ConditionsTest, WhatIsQuotedInAMessageGivesATerminalNoOrders) {
  const auto list = updated_conditions({}, {{"Ours", "False", "Wait", "named \x1b[2Jx\ny"}}, 1, k_now);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at(0).at("message"), "named \\x1b[2Jx\\ny");
}

}  // namespace
}  // namespace api
