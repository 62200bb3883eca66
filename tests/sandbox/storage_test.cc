// The revision log by itself, and what lists make of it: the work of a page grows with the page, the memory of the log
// and of parsed documents with neither.
#include "sandbox/storage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <set>

#include "sandbox/request.h"
#include "sandbox/world.h"

namespace sandbox {
namespace {

constexpr std::size_t k_mebibyte = 1UL << 20U;

struct Stored : testing::Test {
  json::object document(int number, std::string_view value = "") {
    return {{"metadata", {{"name", fmt::format("m{:05}", number)}, {"labels", {{"n", std::to_string(number)}}}}},
            {"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"data", {{"value", value}}}};
  }
  std::string key(int number) { return fmt::format("{}/m{:05}", number % 2 == 0 ? "even" : "odd", number); }
  void put(int number, std::string_view value = "") { storage.put(kind, key(number), document(number, value)); }
  // "key=value" of all at a revision.
  std::vector<std::string> all_at(std::uint64_t revision, std::string_view from = {}) {
    std::vector<std::string> all;
    EXPECT_TRUE(storage.visit_at(kind, revision, from, [&](const std::string& at, const VersionPtr& version) {
      all.push_back(fmt::format("{}={}", at, text_at(*version->document(), {"data", "value"})));
      return true;
    }));
    return all;
  }

  Kind kind;
  Storage storage{100'000, 4 * k_mebibyte};
};

TEST_F(Stored, VisitsNoMoreThanIsAskedFor) {
  for (int i = 0; i < 10'000; ++i) put(i);
  const std::uint64_t before = storage.revision();
  put(5'000, "x");
  for (const std::uint64_t revision : {before, storage.revision()}) {
    std::vector<std::string> seen;
    storage.visit_at(kind, revision, "odd/m00100", [&](const std::string& at, const VersionPtr&) {
      seen.push_back(at);
      return seen.size() < 3;
    });
    EXPECT_EQ(seen, (std::vector<std::string>{"odd/m00101", "odd/m00103", "odd/m00105"}));
  }
}

TEST_F(Stored, ShowsEveryRevisionAsItWas) {
  std::vector<std::vector<std::string>> states{all_at(storage.revision())};
  const std::uint64_t first = storage.revision();
  const auto step = [&](int number, bool there) {
    if (there) {
      put(number, std::to_string(states.size()));
    } else {
      storage.remove(kind, key(number));
    }
    states.push_back(all_at(storage.revision()));
  };
  for (const int number : {3, 1, 2, 2, 7}) step(number, true);
  for (const int number : {2, 3}) step(number, false);
  for (const int number : {2, 9, 1}) step(number, true);
  step(7, false);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::uint64_t revision = first + i;
    EXPECT_EQ(all_at(revision), states[i]) << i;
    EXPECT_EQ(storage.count_at(kind, revision, ""), states[i].size()) << i;
    std::size_t odd = 0;
    for (const std::string& object : states[i]) odd += object.starts_with("odd/") ? 1U : 0U;
    EXPECT_EQ(storage.count_at(kind, revision, "odd"), odd) << i;
  }
  EXPECT_EQ(all_at(storage.revision(), "odd/").size(), 2U);
  storage.compact();
  EXPECT_FALSE(storage.count_at(kind, first, ""));
  EXPECT_FALSE(storage.visit_at(kind, first, "", [](const std::string&, const VersionPtr&) { return true; }));
}

TEST_F(Stored, KeepsFewDocumentsParsed) {
  std::vector<std::weak_ptr<const json::object>> documents;
  const auto alive = [&] {
    return std::ranges::count_if(documents, [](const auto& document) { return !document.expired(); });
  };
  for (int i = 0; i < 5'000; ++i) {
    put(i);
    documents.push_back(storage.get(kind, key(i))->document());
  }
  EXPECT_LE(alive(), 1'000);
  EXPECT_EQ(storage.get(kind, key(4'999))->document(), documents.back().lock());
  for (int i = 0; i < 20; ++i) {
    put(i, std::string(k_mebibyte, 'x'));
    documents.push_back(storage.get(kind, key(i))->document());
  }
  EXPECT_LE(alive(), 4);
  EXPECT_EQ(text_at(*storage.get(kind, key(7))->document(), {"metadata", "name"}), "m00007");
}

TEST_F(Stored, TheLogIsBoundedByBytes) {
  Kind other;
  storage.put(other, "x", document(1));
  storage.put(other, "x", document(1));
  std::vector<std::weak_ptr<const Version>> versions;
  for (int i = 0; i < 200; ++i) {
    put(1, std::string(k_mebibyte / 16, 'x'));
    versions.push_back(storage.get(kind, key(1)));
  }
  EXPECT_LE(std::ranges::count_if(versions, [](const auto& version) { return !version.expired(); }), 65);
  EXPECT_GT(storage.changes_since(kind, storage.revision() - 50)->size(), 49U);
  EXPECT_FALSE(storage.changes_since(kind, storage.revision() - 100));
  EXPECT_FALSE(storage.changes_since(other, 1));  // the oldest goes first, whose ever it is
}

TEST_F(Stored, NotesWhatSelectorsAskFor) {
  kind.selectable = {"data.value", "spec.none"};
  put(1, std::string_view("a\0b", 3));
  const VersionPtr version = storage.get(kind, key(1));
  EXPECT_EQ(version->label("n"), "1");
  EXPECT_EQ(version->label("data.value"), std::nullopt);
  EXPECT_EQ(version->field("data.value"), std::string_view("a\0b", 3));
  EXPECT_EQ(version->field("spec.none"), "");
  EXPECT_EQ(version->field("n"), std::nullopt);
}

TEST_F(Stored, TextsBeginWithTheType) {
  put(1);
  EXPECT_EQ(storage.get(kind, key(1))->text().substr(0, 40), R"({"kind":"ConfigMap","apiVersion":"v1","m)");
  EXPECT_EQ(storage.get(kind, key(1))->untyped_text().substr(0, 12), R"({"metadata":)");
}

TEST(Pages, AreOfOneRevisionAndSayHowManyAreLeft) {
  World world;
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const auto write = [&](int number) {
    ASSERT_EQ(world.call("POST", maps, fmt::format(R"({{"metadata":{{"name":"m{:03}"}}}})", number)).status, 201);
  };
  for (int i = 0; i < 100; i += 2) write(i);
  std::set<std::string> seen;
  std::string token;
  std::int64_t left = 50;
  do {
    const auto answer = world.call("GET", maps + "?limit=7" + (token.empty() ? "" : "&continue=" + token));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const json::object list = parse_json(answer.body)->get_object();
    for (const json::value& item : *array_at(list, {"items"})) {
      seen.emplace(text_at(item.get_object(), {"metadata", "name"}));
      --left;
    }
    EXPECT_EQ(int_at(list, {"metadata", "remainingItemCount"}), left);
    token = text_at(list, {"metadata", "continue"});
    write(static_cast<int>(2 * seen.size() + 1));
    world.call("DELETE", fmt::format("{}/m{:03}", maps, 2 * seen.size() + 10));
  } while (!token.empty());
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace sandbox
