// The version rules of the store, by the scenarios of the reference, and its indexes.
#include "kube/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "support/thing.h"

namespace kube::testing {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct StoreTest : ::testing::Test {
  StoreTest()
      : store(Thing::kind(),
              {{"value",
                [](const Object& o, std::vector<IndexEntry>& out) {
                  const auto& t = static_cast<const Thing&>(o);
                  if (!t.value.empty()) out.push_back({t.value, t.group});
                }}},
              {[this](const Node& node) { touched.push_back(&node); },
               [this](const Change& c) {
                 changes.push_back((c.before ? c.before->meta.uid : "-") + ">" + (c.after ? c.after->meta.uid : "-"));
               },
               [this](const Slot&) { ++refreshed; },
               {}}) {}

  // A watch event.
  bool event(std::shared_ptr<Thing> t) {
    const std::string version = t->meta.resourceVersion;
    const bool taken = store.apply(std::move(t));
    store.advance(version);
    return taken;
  }
  const Thing* get(std::string_view name) {
    const Slot* slot = store.find("ns", name);
    return slot == nullptr ? nullptr : static_cast<const Thing*>(slot->object.get());
  }
  std::string version_of(std::string_view name) { return get(name) == nullptr ? "-" : get(name)->meta.resourceVersion; }
  std::vector<std::string> bucket(std::string_view name) {
    std::vector<std::string> names;
    for (const Bucket::Member& m : store.bucket(0, name).members) names.push_back(m.slot->object->meta.name);
    return names;
  }

  std::vector<const Node*> touched;
  std::vector<std::string> changes;
  int refreshed = 0;
  Store store;
};

TEST_F(StoreTest, TakesNewerVersionsOnly) {
  EXPECT_TRUE(event(thing("a", 9)));
  EXPECT_TRUE(event(thing("a", 10, "x"))) << "numbers, not text";
  EXPECT_FALSE(event(thing("a", 10, "other")));
  EXPECT_FALSE(event(thing("a", 9)));
  EXPECT_EQ(get("a")->value, "x");
  EXPECT_EQ(store.version(), "10");
}

TEST_F(StoreTest, WhatLooksTheSameIsStoredSilently) {
  event(thing("a", 1, "x"));
  touched.clear();
  changes.clear();
  EXPECT_TRUE(event(thing("a", 2, "x")));
  EXPECT_EQ(version_of("a"), "2");
  EXPECT_THAT(touched, IsEmpty());
  EXPECT_THAT(changes, IsEmpty());
  EXPECT_EQ(refreshed, 1);
}

TEST_F(StoreTest, AnOwnResultDoesNotAdvanceTheWatch) {
  store.replace({}, "5");
  EXPECT_TRUE(store.apply(thing("a", 8)));
  EXPECT_EQ(store.version(), "5");
  // An event in between, of something else, is still news.
  EXPECT_TRUE(event(thing("b", 7)));
}

// T39: a late answer behind the event of a later version, and behind the deletion.
TEST_F(StoreTest, T39_LateAnswersAreIgnored) {
  event(thing("a", 10));
  event(thing("a", 12, "newer"));
  EXPECT_FALSE(store.apply(thing("a", 11, "late")));
  EXPECT_EQ(get("a")->value, "newer");
  store.erase("ns", "a", "uid-a", "13");
  EXPECT_FALSE(store.apply(thing("a", 12, "late")));
  EXPECT_EQ(get("a"), nullptr);
  EXPECT_TRUE(event(thing("a", 14, "again", "uid-2")));
}

TEST_F(StoreTest, WhatWeDeletedStaysGone) {
  store.replace({thing("a", 3)}, "5");
  store.entomb("ns", "a", "uid-a");
  EXPECT_EQ(get("a"), nullptr);
  EXPECT_FALSE(event(thing("a", 6, "its last update"))) << "the watch is behind";
  store.replace({thing("a", 6)}, "6");
  EXPECT_EQ(get("a"), nullptr) << "a list that is older than the deletion";
  EXPECT_TRUE(store.entombed("ns", "a", "uid-a"));
  store.erase("ns", "a", "uid-a", "7");
  EXPECT_FALSE(store.entombed("ns", "a", "uid-a"));
  EXPECT_FALSE(store.apply(thing("a", 6)));
  EXPECT_TRUE(event(thing("a", 8, "", "uid-2")));
}

TEST_F(StoreTest, ATombstoneYieldsToTheNextIncarnationButNotToAnEarlierOne) {
  event(thing("a", 10, "", "uid-2"));
  store.entomb("ns", "a", "uid-2");
  EXPECT_FALSE(store.apply(thing("a", 4, "", "uid-1")));
  EXPECT_TRUE(store.apply(thing("a", 15, "", "uid-3")));
  EXPECT_FALSE(store.entombed("ns", "a", "uid-2"));
}

TEST_F(StoreTest, ATombstoneEndsWithAListThatDoesNotShowIt) {
  event(thing("a", 10));
  store.entomb("ns", "a", "uid-a");
  store.replace({}, "12");
  EXPECT_FALSE(store.entombed("ns", "a", "uid-a"));
  EXPECT_FALSE(store.apply(thing("a", 11))) << "the list was later";
}

TEST_F(StoreTest, BuryingAnotherIncarnationThanTheOneHeldDoesNothing) {
  event(thing("a", 10, "", "uid-2"));
  store.entomb("ns", "a", "uid-1");
  EXPECT_NE(get("a"), nullptr);
  store.entomb("ns", "a", "");
  EXPECT_NE(get("a"), nullptr);
}

TEST_F(StoreTest, ADeletionThatTheWatchHasShownBeforeItsAnswerNeedsNoTombstone) {
  event(thing("a", 10));
  store.erase("ns", "a", "uid-a", "11");
  store.entomb("ns", "a", "uid-a");
  EXPECT_EQ(store.tombstones(), 0u);
  EXPECT_FALSE(store.apply(thing("a", 10))) << "all the same, a late answer does not bring it back";
  EXPECT_EQ(get("a"), nullptr);
}

TEST_F(StoreTest, ARelistKeepsOwnResultsThatAreNewer) {
  store.replace({thing("a", 3)}, "5");
  store.apply(thing("a", 9, "own"));
  store.apply(thing("b", 10, "own"));
  store.replace({thing("a", 6, "listed")}, "8");
  EXPECT_EQ(get("a")->value, "own");
  EXPECT_EQ(get("b")->value, "own");
  store.replace({thing("a", 9, "own")}, "12");
  EXPECT_EQ(get("b"), nullptr) << "it is gone by now";
}

// T17: a list of the past (a server restored from a backup) is the truth, once somebody decided to believe it.
TEST_F(StoreTest, AListOlderThanWhatIsKnownResetsEverything) {
  store.replace({thing("a", 90), thing("b", 95), thing("c", 96)}, "100");
  store.apply(thing("d", 120, "own"));
  store.entomb("ns", "c", "uid-c");
  store.replace({thing("a", 40, "restored"), thing("c", 41)}, "50");
  EXPECT_EQ(get("a")->value, "restored");
  EXPECT_EQ(get("b"), nullptr);
  EXPECT_NE(get("c"), nullptr) << "tombstones are of the other world";
  EXPECT_EQ(get("d"), nullptr);
  EXPECT_EQ(store.version(), "50");
  EXPECT_TRUE(event(thing("a", 51, "next")));
}

// T33: created and deleted around a relist.
TEST_F(StoreTest, T33_WhatARelistDoesNotShowIsGone) {
  store.replace({}, "5");
  event(thing("x", 6));
  store.replace({}, "9");
  EXPECT_EQ(get("x"), nullptr);
  EXPECT_THAT(changes, ElementsAre("->uid-x", "uid-x>-"));
}

// T34: deleted and recreated while disconnected.
TEST_F(StoreTest, T34_AnotherUidIsAChangeHoweverAlikeTheyLook) {
  store.replace({thing("a", 3, "x", "uid-1")}, "5");
  changes.clear();
  store.replace({thing("a", 8, "x", "uid-2")}, "9");
  EXPECT_THAT(changes, ElementsAre("uid-1>uid-2"));
}

// T36: a deletion that nobody saw is reported like any other.
TEST_F(StoreTest, T36_AMissedDeletionHasTheLastKnownObject) {
  store.replace({thing("a", 3)}, "5");
  changes.clear();
  store.replace({}, "9");
  EXPECT_THAT(changes, ElementsAre("uid-a>-"));
}

TEST_F(StoreTest, ADeletionAdvancesTheVersionAndAnOlderOneIsIgnored) {
  event(thing("a", 10, "", "uid-2"));
  store.erase("ns", "a", "uid-1", "9");
  EXPECT_NE(get("a"), nullptr);
  store.erase("ns", "a", "uid-2", "11");
  EXPECT_EQ(get("a"), nullptr);
  EXPECT_EQ(store.version(), "11");
}

TEST_F(StoreTest, IndexesFollowTheObjects) {
  auto with = [](std::string name, int version, std::string value, std::string order) {
    auto t = thing(std::move(name), version, std::move(value));
    t->group = std::move(order);
    return t;
  };
  event(with("a", 1, "x", "2"));
  event(with("b", 2, "x", "1"));
  event(with("c", 3, "y", ""));
  EXPECT_THAT(bucket("x"), ElementsAre("b", "a"));
  touched.clear();
  event(with("a", 4, "x", "0"));
  EXPECT_THAT(bucket("x"), ElementsAre("a", "b"));
  EXPECT_THAT(touched, ::testing::Contains(&store.bucket(0, "x").node)) << "the order changed";
  event(with("a", 5, "y", "1"));
  EXPECT_THAT(bucket("x"), ElementsAre("b"));
  EXPECT_THAT(bucket("y"), ElementsAre("c", "a"));
  store.erase("ns", "b", "uid-b", "6");
  EXPECT_THAT(bucket("x"), IsEmpty());
}

TEST_F(StoreTest, SlotsGoOnlyWhenAbsentAndUnread) {
  DependencyGraph graph;
  event(thing("a", 1));
  store.slot("ns", "asked");
  store.slot("ns", "read");
  graph.begin_pass();
  graph.note(store.slot("ns", "read").node);
  graph.end_pass(KeyId{0});
  store.collect();
  EXPECT_NE(store.find("ns", "a"), nullptr);
  EXPECT_EQ(store.find("ns", "asked"), nullptr);
  ASSERT_NE(store.find("ns", "read"), nullptr);
  graph.forget(KeyId{0});
  store.erase("ns", "a", "uid-a", "2");
  store.begin_write("ns", "written");
  store.collect();
  EXPECT_EQ(store.find("ns", "a"), nullptr);
  EXPECT_EQ(store.find("ns", "read"), nullptr);
  ASSERT_NE(store.find("ns", "written"), nullptr);
  store.end_write("ns", "written");
  store.collect();
  EXPECT_EQ(store.slots(), 0u);
}

TEST_F(StoreTest, CollectingInSlicesFreesTheSame) {
  DependencyGraph graph;
  graph.begin_pass();
  for (int i = 0; i < 10; ++i) {
    graph.note(store.slot("ns", "read" + std::to_string(i)).node);
    graph.note(store.bucket(0, "read" + std::to_string(i)).node);
  }
  graph.end_pass(KeyId{0});
  for (int i = 0; i < 10; ++i) store.slot("ns", "asked" + std::to_string(i));
  for (int i = 0; i < 7; ++i) store.collect(3);
  EXPECT_EQ(store.slots(), 10u);
  graph.forget(KeyId{0});
  for (int i = 0; i < 4; ++i) store.collect(3);
  EXPECT_EQ(store.slots(), 0u);
}

// --- replacements in slices ---

struct SlicedStoreTest : ::testing::Test {
  SlicedStoreTest() : store(Thing::kind(), {}, {{}, {}, {}, [this](Store&) { ++unfinished; }}) {}
  std::vector<ObjectPtr> list(int n, int version) {
    std::vector<ObjectPtr> all;
    for (int i = 0; i < n; ++i) all.push_back(thing("t" + std::to_string(i), version));
    return all;
  }
  std::string version_of(const std::string& name) {
    const Slot* slot = store.find("ns", name);
    return slot == nullptr || slot->object == nullptr ? "-" : slot->object->meta.resourceVersion;
  }
  void finish() {
    while (!store.resume(500)) {
    }
  }
  int unfinished = 0;
  Store store;
};

TEST_F(SlicedStoreTest, ALongListIsFinishedLater) {
  store.replace(list(5000, 3), "5");
  EXPECT_EQ(unfinished, 1);
  EXPECT_TRUE(store.replacing());
  EXPECT_FALSE(store.synced());
  finish();
  EXPECT_TRUE(store.synced());
  EXPECT_EQ(store.size(), 5000u);
}

TEST_F(SlicedStoreTest, EventsAndAnswersMayComeInBetween) {
  store.replace(list(5000, 3), "5");
  store.erase("ns", "t4999", "uid-t4999", "6");  // not taken in yet
  store.erase("ns", "t0", "uid-t0", "7");        // taken in
  store.apply(thing("t4998", 8));
  store.advance("8");
  store.apply(thing("own", 9));
  EXPECT_FALSE(store.apply(thing("stale", 4))) << "the list does not show it";
  finish();
  EXPECT_EQ(version_of("t4999"), "-");
  EXPECT_EQ(version_of("t0"), "-");
  EXPECT_EQ(version_of("t4998"), "8");
  EXPECT_EQ(version_of("own"), "9");
  EXPECT_EQ(version_of("stale"), "-");
  EXPECT_EQ(store.size(), 4999u);
  EXPECT_FALSE(store.entombed("ns", "t4999", "uid-t4999"));
}

TEST_F(SlicedStoreTest, ANewerListTakesTheWorkOver) {
  store.replace(list(5000, 3), "5");
  store.replace(list(10, 6), "8");
  finish();
  EXPECT_EQ(store.size(), 10u);
  EXPECT_EQ(version_of("t9"), "6");
}

TEST_F(SlicedStoreTest, AResetInSlicesKeepsWhatTheNewWorldSaysMeanwhile) {
  store.replace(list(5000, 90), "100");
  finish();
  store.replace(list(4000, 40), "50");
  store.apply(thing("t3999", 51));  // not taken in yet; its version is lower than the one held
  store.apply(thing("fresh", 52));
  store.erase("ns", "t3998", "uid-t3998", "53");
  finish();
  EXPECT_EQ(store.size(), 4000u);
  EXPECT_EQ(version_of("t3999"), "51");
  EXPECT_EQ(version_of("fresh"), "52");
  EXPECT_EQ(version_of("t3998"), "-");
  EXPECT_EQ(version_of("t4500"), "-");
}

// --- T35 and beyond: whatever comes in whatever order, the store ends up equal to the server ---

TEST(StoreProperty, EndsUpEqualToTheServer) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    base::Random random(seed);
    const auto value_of = [](const Object& o) { return std::vector{static_cast<const Thing&>(o).value}; };
    Store store(Thing::kind(), {}, {{}, {}, {}, [](Store&) {}}, {{"things", "", {"value"}, value_of}});
    struct Event {
      int version;
      std::shared_ptr<Thing> object;  // null: deleted
      std::string name, uid;
    };
    std::map<std::string, std::shared_ptr<Thing>> server;
    std::vector<Event> log;
    std::vector<std::function<void()>> answers;  // own results, still under way
    std::size_t shown = 0;
    int version = 0;
    const auto list = [&](std::size_t at) {
      std::map<std::string, ObjectPtr> state;
      for (std::size_t i = 0; i < at; ++i) {
        if (log[i].object) {
          state[log[i].name] = log[i].object;
        } else {
          state.erase(log[i].name);
        }
      }
      std::vector<ObjectPtr> objects;
      for (auto& [name, object] : state) objects.push_back(object);
      store.replace(std::move(objects), std::to_string(at == 0 ? 0 : log[at - 1].version));
      shown = at;
    };
    list(0);
    for (int step = 0; step < 200; ++step) {
      const std::string name = "t" + std::to_string(random.below(5));
      switch (random.below(6)) {
        case 0:
        case 1: {  // somebody (perhaps we) creates or updates
          const auto held = server.find(name);
          ++version;
          auto next = thing(name, version, std::to_string(random.below(3)),
                            held == server.end() ? "uid-" + std::to_string(version) : held->second->meta.uid);
          server[name] = next;
          log.push_back({version, next, name, next->meta.uid});
          if (random.below(2) == 0) answers.emplace_back([&store, next] { store.apply(next); });
          break;
        }
        case 2: {
          const auto held = server.find(name);
          if (held == server.end()) break;
          const std::string uid = held->second->meta.uid;
          server.erase(held);
          log.push_back({++version, nullptr, name, uid});
          if (random.below(2) == 0) answers.emplace_back([&store, name, uid] { store.entomb("ns", name, uid); });
          break;
        }
        case 3:
          if (shown < log.size()) {
            const Event& e = log[shown++];
            if (e.object) {
              store.apply(e.object);
              store.advance(std::to_string(e.version));
            } else {
              store.erase("ns", e.name, e.uid, std::to_string(e.version));
            }
          }
          break;
        case 4:
          if (!answers.empty()) {
            const std::size_t i = random.below(answers.size());
            answers[i]();
            answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(i));
          }
          break;
        case 5:
          if (random.below(8) == 0) list(shown + random.below(log.size() - shown + 1));
          store.resume(random.below(3));
          if (random.below(4) == 0) store.collect();
          break;
        default:
          break;
      }
    }
    for (auto& answer : answers) answer();
    while (shown < log.size()) {
      const Event& e = log[shown++];
      if (e.object) {
        store.apply(e.object);
        store.advance(std::to_string(e.version));
      } else {
        store.erase("ns", e.name, e.uid, std::to_string(e.version));
      }
    }
    while (!store.resume(1)) {
    }
    std::map<std::string, std::string> want, have;
    for (const auto& [name, object] : server) want[name] = object->meta.resourceVersion;
    store.for_each([&](const ObjectPtr& o) { have[o->meta.name] = o->meta.resourceVersion; });
    ASSERT_EQ(have, want) << "seed " << seed;
    ASSERT_EQ(store.size(), want.size());
    std::map<std::vector<std::string>, std::size_t> counted = store.counts().front().numbers, by_value;
    for (const auto& [name, object] : server) ++by_value[{object->value}];
    std::erase_if(counted, [](const auto& entry) { return entry.second == 0; });
    ASSERT_EQ(counted, by_value) << "seed " << seed;
    ASSERT_EQ(store.tombstones(), 0u) << "seed " << seed << ": the watch has shown everything";
  }
}

}  // namespace
}  // namespace kube::testing
