// What the core counts by class and phase.
#include "core/metrics.h"
#include "core_fixture.h"

namespace core {
namespace {

using testing::UnorderedElementsAre;

class Metrics : public CoreTest {
 protected:
  // "public Bound 2" of the metric, without those at zero.
  std::vector<std::string> counted(std::string_view metric) {
    std::vector<std::string> lines;
    for (const auto& store : world.stores()) {
      for (const kube::Count& count : store->counts()) {
        if (count.spec.metric != metric) continue;
        EXPECT_EQ(count.spec.labels, (std::vector<std::string>{"class", "phase"}));
        for (const auto& [values, number] : count.numbers) {
          if (number > 0) lines.push_back(fmt::format("{} {} {}", values[0], values[1], number));
        }
      }
    }
    return lines;
  }
};

TEST_F(Metrics, AddressesAndClaimsAreCountedByClassAndPhase) {
  make_class("public", "prov", true);
  make_bound_pair("web", "a", "203.0.113.1");
  make_bound_pair("db", "b", "203.0.113.2");
  make_claim("waits");
  EXPECT_THAT(counted(k_claims_metric), testing::Contains(testing::EndsWith("Pending 1"))) << "nobody has seen it yet";
  settle();
  EXPECT_THAT(counted(k_addresses_metric), UnorderedElementsAre("public Bound 2"));
  EXPECT_THAT(counted(k_claims_metric), UnorderedElementsAre("public Bound 2", "public Pending 1"));
  change_address("a", R"({"status":{"phase":"Lost"}})");
  make_address("c", "203.0.113.3", "other", "", R"("phase":"Conflict")");
  settle();
  EXPECT_THAT(counted(k_addresses_metric), UnorderedElementsAre("public Bound 1", "public Lost 1", "other Conflict 1"));
  EXPECT_THAT(counted(k_claims_metric), UnorderedElementsAre("public Bound 1", "public Lost 1", "public Pending 1"));
}

}  // namespace
}  // namespace core
