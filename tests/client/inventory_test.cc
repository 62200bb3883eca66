// kubectl address inventory: the driver's plan for a class, on the in-memory server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client_world.h"

namespace client::testing {
namespace {

using ::testing::HasSubstr;

class InventoryCommand : public ::testing::Test {
 protected:
  void have_pinned(const std::string& name, const std::string& more) {
    world.have("{apiVersion: v1, kind: Service, metadata: {namespace: default, name: " + name +
               ", annotations: {metallb.io/loadBalancerIPs: " + more +
               "}}, spec: {type: LoadBalancer, ports: [{port: 80}]}}");
    world.let_pass(std::chrono::seconds(10));
  }
  ClientWorld world;
};

TEST_F(InventoryCommand, TellsWhatWouldBeAdoptedAndWhyNot) {
  world.have_class();
  world.let_pass(std::chrono::seconds(2));
  EXPECT_EQ(world.run("inventory public").err, "No Service has an address of class public without a claim.\n");
  have_pinned("web", "203.0.113.4");
  have_pinned("other", "203.0.113.5, metallb.io/allow-shared-ip: x");
  const std::string table = world.ok("inventory public");
  EXPECT_THAT(table, HasSubstr("NAMESPACE   SERVICE   ADDRESS       CLAIM"));
  EXPECT_THAT(table, ::testing::ContainsRegex("default +web +203.0.113.4 +web-[0-9a-f]+ +adopt\n"));
  EXPECT_THAT(table,
              ::testing::ContainsRegex("default +other +203.0.113.5 +no: annotation metallb.io/allow-shared-ip"));
  const std::string json = world.ok("inventory public -o json");
  EXPECT_THAT(
      json,
      HasSubstr(R"({"namespace":"default","service":"web","address":"203.0.113.4","plan":"adopt","claim":"web-)"));
}

TEST_F(InventoryCommand, NamesWhatIsNoClass) {
  const Outcome outcome = world.run("inventory nothing");
  EXPECT_EQ(outcome.status, k_failed);
  EXPECT_EQ(outcome.err, "error: nothing is no class of this driver, or is being deleted\n");
}

}  // namespace
}  // namespace client::testing
