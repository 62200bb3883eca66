// Lists of any length, decoded while they arrive.
#include "kube/list_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "kube/watch_fixture.h"

namespace kube::watch_test {
namespace {
using ::testing::HasSubstr;

TEST(List, ADecodedPage) {
  const std::string body =
      R"({"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"90","continue":"tok\"en","remainingItemCount":3},"items":[)" +
      widget_json(*widget("a", 7, "u1", 4)) + ",\n" + widget_json(*widget("b", 8)) + "]}";
  const auto page = decode_list(widget_kind(), body);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->version, "90");
  EXPECT_EQ(page->next, "tok\"en");
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(static_cast<const Widget&>(*page->objects[0]).size, 4);
  EXPECT_EQ(page->objects[1]->meta.name, "b");
}

TEST(List, ItemsMayStandBeforeMetadataAndBeNull) {
  const auto page = decode_list(widget_kind(), R"({"items":null,"metadata":{"resourceVersion":"9"}})");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->objects.empty());
  EXPECT_EQ(page->version, "9");
}

TEST(List, NothingButAWholeListIsAccepted) {
  for (const std::string bad :
       {"", "<html>", "{}", "[]", R"({"items":[]})", R"({"items":[],"metadata":{}})",
        R"({"items":[{}],"metadata":{"resourceVersion":"9"}})", R"({"items":[7],"metadata":{"resourceVersion":"9"}})",
        R"({"items":{},"metadata":{"resourceVersion":"9"}})",
        R"({"kind":"Status","metadata":{"resourceVersion":"9"},"code":200})",
        R"({"metadata":{"resourceVersion":"9"},"items":[)"}) {
    EXPECT_FALSE(decode_list(widget_kind(), bad)) << bad;
  }
}

// A list with everything that could mislead a scanner.
std::string tricky_list() {
  const auto item = [](const std::string& name, const std::string& more) {
    return R"({"metadata":{"namespace":"ns","name":")" + name + R"(","uid":"u","resourceVersion":"7"},"more":)" + more +
           "}";
  };
  return "  {\"kind\":\"items\",\"note\":\"}],{\\\"items\\\":[\\\\\",\n \"nested\":{\"items\":[{\"a\":[1,2]}]},"
         "\"list\":[{\"items\":[3]}],\"items\" : [ " +
         item("a", R"("quotes \" and \\")") + " ,\r\n\t" + item("b", R"({"items":[[],{}],"s":"]}"})") + "," +
         item("c", R"("\u005d\u007d é")") +
         " ] ,\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"t\"},\"tail\":[\"items\"]}\n";
}

TEST(List, InPiecesOfAnySizeItIsTheSame) {
  const std::string body = tricky_list();
  for (std::size_t size = 1; size <= body.size(); ++size) {
    ListDecoder decoder(widget_kind());
    for (std::size_t at = 0; at < body.size(); at += size) decoder.data(std::string_view(body).substr(at, size));
    const auto page = decoder.finish();
    ASSERT_TRUE(page) << size << ": " << page.error().message;
    ASSERT_EQ(page->objects.size(), 3u) << size;
    EXPECT_EQ(page->objects[2]->meta.name, "c");
    EXPECT_EQ(page->version, "9");
    EXPECT_EQ(page->next, "t");
  }
}

TEST(List, ABadItemIsNamedAndNothingIsKept) {
  std::string body = R"({"metadata":{"resourceVersion":"9"},"items":[)" + widget_json(*widget("a", 7)) + ",{}]}";
  const auto page = decode_list(widget_kind(), body);
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("Widget: not a widget"));
  EXPECT_THAT(decode_list(widget_kind(), "<html>Bad Gateway</html>").error().message, HasSubstr("Bad Gateway"));
}

TEST(List, ItemsAreSeparatedByOneComma) {
  const std::string item = widget_json(*widget("a", 7));
  const auto with = [&](const std::string& items) {
    return decode_list(widget_kind(), R"({"metadata":{"resourceVersion":"9"},"items":[)" + items + "]}").has_value();
  };
  EXPECT_TRUE(with(""));
  EXPECT_TRUE(with(" " + item + "," + item + " "));
  for (const std::string& bad :
       std::vector<std::string>{"," + item, item + ",", item + item, item + ",," + item, item + ",7", "x", "[]"}) {
    EXPECT_FALSE(with(bad)) << bad;
  }
}

TEST(List, ANewAttemptStartsFromNothing) {
  ListDecoder decoder(widget_kind());
  const std::string body = tricky_list();
  decoder.data(std::string_view(body).substr(0, body.size() - 120));
  decoder.restart();
  decoder.data(body);
  auto page = decoder.finish();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->objects.size(), 3u);
  decoder.data("garbage");
  EXPECT_FALSE(decoder.finish());
  decoder.data(body);
  EXPECT_TRUE(decoder.finish()) << "as new after each end";
}

TEST(List, WhatIsLongerThanAnyObjectIsRefused) {
  const std::string piece(std::size_t{1} << 20, 'x');
  for (const char* begin : {R"({"items":[{"a":")", R"({"metadata":")", R"({"items":[],"a":")"}) {
    ListDecoder decoder(widget_kind());
    decoder.data(begin);
    for (int i = 0; i < 17; ++i) decoder.data(piece);
    const auto page = decoder.finish();
    ASSERT_FALSE(page);
    EXPECT_THAT(page.error().message, HasSubstr("longer")) << begin;
  }
}

TEST(List, MutatedListsNeverCrash) {
  base::Random random(9);
  const std::string body = tricky_list();
  for (int round = 0; round < 20000; ++round) {
    std::string mutated = body;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
      const std::size_t at = random.below(mutated.size());
      if (random.below(2) == 0) {
        mutated[at] = "{}[]\",:\\x"[random.below(9)];
      } else {
        mutated.erase(at, 1 + random.below(8));
      }
    }
    ListDecoder decoder(widget_kind());
    const std::size_t size = 1 + random.below(200);
    for (std::size_t at = 0; at < mutated.size(); at += size) decoder.data(std::string_view(mutated).substr(at, size));
    const auto in_pieces = decoder.finish();
    const auto whole = decode_list(widget_kind(), mutated);
    ASSERT_EQ(in_pieces.has_value(), whole.has_value()) << mutated;
    ASSERT_EQ(in_pieces ? in_pieces->objects.size() : 0, whole ? whole->objects.size() : 0) << mutated;
  }
}

}  // namespace
}  // namespace kube::watch_test
