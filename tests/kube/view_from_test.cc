// Reading a bucket from a position on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_world.h"
#include "support/thing.h"

namespace kube::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Reader {
  std::string from;
  std::string until;
  std::vector<std::string> found;
};

// Things in the order of their value; the key "reader" visits those from `from` up to the first one beyond `until`.
Controller controller_of(Reader& reader) {
  Controller c;
  WatchSpec things;
  things.kind = &Thing::kind();
  things.indexes = {{"value", [](const Object& o, std::vector<IndexEntry>& out) {
                       out.push_back({"", static_cast<const Thing&>(o).value});
                     }}};
  c.watches = {things};
  c.reconcilers.push_back({"reader",
                           [&reader](const Key&, View& view) {
                             reader.found.clear();
                             view.each_from<Thing>("value", "", reader.from, [&](const Thing& t) {
                               if (t.value > reader.until) return false;
                               reader.found.push_back(t.meta.name);
                               return true;
                             });
                             return Plan();
                           },
                           0});
  return c;
}

const Key k_reader{"reader", "", "r"};

void put_thing(FakeWorld& world, std::string_view name, std::string_view value) {
  world.put<Thing>(R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":"ns"},"spec":{"value":")" +
                   std::string(value) + R"("}})");
}

TEST(EachFromTest, StartsAtThePositionAndEndsWhereToldTo) {
  Reader reader;
  const Controller controller = controller_of(reader);
  FakeWorld world(controller);
  for (const char* value : {"1", "3", "5", "7"}) put_thing(world, std::string("n") + value, value);
  const auto found = [&](std::string_view from, std::string_view until) {
    reader.from = from;
    reader.until = until;
    world.run(k_reader);
    return reader.found;
  };
  EXPECT_THAT(found("", "9"), ElementsAre("n1", "n3", "n5", "n7"));
  EXPECT_THAT(found("3", "5"), ElementsAre("n3", "n5"));
  EXPECT_THAT(found("4", "6"), ElementsAre("n5"));
  EXPECT_THAT(found("8", "9"), IsEmpty());
}

TEST(EachFromTest, ANewMemberWakesTheReader) {
  Reader reader{"4", "6", {}};
  const Controller controller = controller_of(reader);
  FakeWorld world(controller);
  put_thing(world, "n1", "1");
  world.run(k_reader);
  world.take_woken();
  put_thing(world, "n5", "5");
  EXPECT_THAT(world.take_woken(), ElementsAre(k_reader));
  world.run(k_reader);
  EXPECT_THAT(reader.found, ElementsAre("n5"));
}

}  // namespace
}  // namespace kube::testing
