#include "kube/watch_event.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "kube/watch_fixture.h"

namespace kube::watch_test {
namespace {

using Type = WatchEvent::Type;

std::string line(std::string_view type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object);
}

std::vector<WatchEvent> decode_all(std::string_view stream, std::size_t piece, std::string* garbage = nullptr) {
  WatchDecoder decoder(widget_kind());
  std::vector<WatchEvent> all;
  for (std::size_t i = 0; i < stream.size(); i += piece) {
    WatchBatch batch = decoder.feed(stream.substr(i, piece));
    for (WatchEvent& e : batch.events) all.push_back(std::move(e));
    if (garbage != nullptr && !batch.garbage.empty()) *garbage = batch.garbage;
  }
  return all;
}

TEST(WatchEvent, EveryTypeIsDecoded) {
  const std::string object = widget_json(*widget("ä", 7, "u1", 3));
  const std::string stream =
      line("ADDED", object) + "\n" + line("MODIFIED", object) + "\n" + line("DELETED", object) + "\n" +
      line(
          "BOOKMARK",
          R"({"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"12","creationTimestamp":null},"spec":{}})") +
      "\n" +
      line("BOOKMARK",
           R"({"metadata":{"annotations":{"x":"y","k8s.io/initial-events-end":"true"},"resourceVersion":"13"}})") +
      "\r\n" +
      line(
          "ERROR",
          R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410})") +
      "\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    const auto events = decode_all(stream, piece);
    ASSERT_EQ(events.size(), 6U);
    EXPECT_EQ(events[0].type, Type::added);
    EXPECT_EQ(events[1].type, Type::modified);
    EXPECT_EQ(events[2].type, Type::deleted);
    EXPECT_EQ(events[2].object->meta.name, "ä");
    EXPECT_EQ(events[2].version, "7");
    EXPECT_EQ(events[3].version, "12");
    EXPECT_FALSE(events[3].initial_events_end);
    EXPECT_EQ(events[4].version, "13");
    EXPECT_TRUE(events[4].initial_events_end);
    EXPECT_TRUE(events[5].error.is_expired());
    EXPECT_EQ(events[5].object, nullptr);
  }
}

TEST(WatchEvent, TheTypeIsLookedAtFirstWhereverItStands) {
  const auto event =
      decode_watch_event(widget_kind(), R"({"object":{"kind":"Status","code":410,"reason":"Gone"},"type":"ERROR"})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, Type::error);
  EXPECT_EQ(event->error.code, 410);
}

TEST(WatchEvent, T22_WhatIsNoEventIsGarbageAndNeverACrash) {
  for (const std::string bad : {"<html>", "{", "[]", "null", R"({"type":"ADDED"})", R"({"type":"SUNG","object":{}})",
                                R"({"type":"ADDED","object":{"kind":"Status","code":403}})", R"({"object":{}})",
                                R"({"type":"ERROR","object":{"kind":"Widget"}})", R"({"type":7,"object":{}})",
                                "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}",
                                R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":7}}})"}) {
    EXPECT_FALSE(decode_watch_event(widget_kind(), bad)) << bad;
    std::string garbage;
    const std::string good = line("ADDED", widget_json(*widget("a", 7)));
    const auto events = decode_all(good + "\n" + bad + "\n" + good + "\n", 1000, &garbage);
    EXPECT_EQ(events.size(), 1U) << "what came before counts, what follows does not";
    EXPECT_FALSE(garbage.empty()) << bad;
  }
}

TEST(WatchEvent, T40_ABigObjectInSmallPieces) {
  std::string object = widget_json(*widget("big", 7));
  object.insert(1, R"("annotations":")" + std::string(std::size_t{5} << 20, 'x') + R"(",)");
  const auto events = decode_all(line("ADDED", object) + "\n", 4096);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].object->meta.name, "big");
}

TEST(WatchEvent, MutatedStreamsNeverCrash) {
  const std::string stream =
      line("ADDED", widget_json(*widget("a", 7))) + "\n" +
      line("BOOKMARK", R"({"metadata":{"resourceVersion":"13"}})") + "\n" +
      line("ERROR", R"({"kind":"Status","details":{"causes":[{"reason":"x"}],"retryAfterSeconds":1},"code":410})") +
      "\n";
  base::Random random(22);
  for (int round = 0; round < 20000; ++round) {
    std::string mutated = stream;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
      const std::size_t at = random.below(mutated.size());
      switch (random.below(3)) {
        case 0:
          mutated[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          mutated.erase(at, 1 + random.below(8));
          break;
        default:
          mutated.insert(at, mutated.substr(random.below(mutated.size()), random.below(16)));
      }
      if (mutated.empty()) mutated = "x";
    }
    decode_all(mutated, 1 + random.below(80));
  }
}

}  // namespace
}  // namespace kube::watch_test
