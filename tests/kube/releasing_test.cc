// The controller that leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube/controller.h"
#include "support/fake_world.h"
#include "support/thing.h"

namespace kube {
namespace {

using ::testing::ElementsAre;
using testing::FakeWorld;
using testing::Place;
using testing::Thing;

Controller staying() {
  Controller controller;
  controller.name = "thing-controller";
  controller.lease_name = "lock";
  controller.finalizers = {
      {&Thing::kind(), "tests.example/a"}, {&Thing::kind(), "tests.example/b"}, {&Place::kind(), "tests.example/a"}};
  return controller;
}

TEST(Releasing, TakesOffItsFinalizersAndNoOthers) {
  const Controller leaving = releasing(staying());
  EXPECT_EQ(leaving.name, "thing-controller");
  EXPECT_EQ(leaving.lease_name, "lock") << "it must not work beside one that puts them back";
  FakeWorld world(leaving);
  world.sync(Thing::kind());
  world.sync(Place::kind());
  world.put<Thing>(
      R"({"metadata":{"namespace":"ns","name":"both","finalizers":["tests.example/b","other/x","tests.example/a","other/y"]}})");
  world.put<Place>(R"({"metadata":{"name":"here","finalizers":["tests.example/b","tests.example/a"]}})");
  world.settle_all();
  EXPECT_THAT(world.get<Thing>("ns", "both")->meta.finalizers, ElementsAre("other/x", "other/y"));
  EXPECT_THAT(world.get<Place>("", "here")->meta.finalizers, ElementsAre("tests.example/b"))
      << "not declared for this kind";
}

TEST(Releasing, LeavesAloneWhatHasNone) {
  const Controller leaving = releasing(staying());
  FakeWorld world(leaving);
  world.sync(Thing::kind());
  world.put<Thing>(R"({"metadata":{"namespace":"ns","name":"free","finalizers":["other/x"]}})");
  EXPECT_TRUE(world.take_woken().empty());
}

TEST(Releasing, WaitsForNoKindThatIsGone) {
  for (const WatchSpec& watch : releasing(staying()).watches) EXPECT_TRUE(watch.optional);
}

}  // namespace
}  // namespace kube
