// Inventory under fire (driver design §9): a failed call, a conflict and a crash at every single write of adopting and
// giving back, by driver and core. At no version does a Service lose its address, and the end is the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <tuple>

#include "api/names.h"
#include "sim/driver_sim.h"

namespace metallb::sim {
namespace {

namespace json = boost::json;
using Effect = sandbox::Fault::Effect;
using std::chrono::minutes;
using std::chrono::seconds;

class Story {
 public:
  explicit Story(std::uint64_t seed) : sim({.seed = seed, .options = options()}) {
    sim.put_class("public", "203.0.113.0/29, '2001:db8::/126'");
    sim.world.run_for(seconds(1));
    have("web", "203.0.113.4", "");
    have("both", "203.0.113.5,2001:db8::2", ", ipFamilyPolicy: RequireDualStack");
    before_ = {written("web"), written("both")};
    sim.watch([this] { check(); });
  }

  void play() {
    set_mode("Adopt");
    ASSERT_TRUE(sim.eventually([&] { return said() == "True/Adopted"; }, minutes(10))) << said() << sim.story();
    for (const std::string_view ip : {"203.0.113.4", "203.0.113.5", "2001:db8::2"}) {
      EXPECT_TRUE(sim.eventually([&] { return sim.address_phase(ip) == "Bound"; })) << ip << sim.story();
      EXPECT_NE(sim.attached_to(ip), "");
    }
    set_mode("Revert");
    ASSERT_TRUE(sim.eventually(
        [&] {
          return sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses").empty() &&
                 sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclaims").empty() && said() == "True/Reverted";
        },
        minutes(10)))
        << said() << sim.story();
    EXPECT_EQ(before_, std::pair(written("web"), written("both")));
    EXPECT_TRUE(sim.placeholders().empty());
  }

  DriverSim sim;

 private:
  static Options options() {
    Options options;
    options.inventory = true;
    return options;
  }
  void have(std::string_view name, std::string_view pin, std::string_view families) {
    sim.put_service(name, "", "tenant-a", families);
    sim.patch(DriverSim::service_path(name),
              fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", api::metallb::pin, pin));
    ASSERT_TRUE(sim.eventually([&] { return sim.ingress(name).contains(std::string(pin.substr(0, pin.find(',')))); }));
    // From here on it is not asked for any more: MetalLB leaves it.
    sim.patch(DriverSim::service_path(name),
              fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", api::metallb::pin));
    sim.world.run_for(seconds(1));
  }
  void set_mode(std::string_view mode) {
    sim.patch(DriverSim::class_path("public"),
              fmt::format(R"({{"spec":{{"parameters":{{"inventory":"{}"}}}}}})", mode));
  }
  std::string said() {
    const auto cls = sim.get(DriverSim::class_path("public"));
    const auto* status = cls ? cls->if_contains("status") : nullptr;
    const auto* list = status == nullptr ? nullptr : status->get_object().if_contains("conditions");
    if (list == nullptr) return "";
    for (const auto& condition : list->as_array()) {
      if (condition.at("type") == "Inventory")
        return fmt::format("{}/{}", std::string_view(condition.at("status").as_string()),
                           std::string_view(condition.at("reason").as_string()));
    }
    return "";
  }
  std::string written(std::string_view name) {
    Document service = *sim.get(DriverSim::service_path(name));
    service.erase("status");  // MetalLB sorts the addresses of a pinned Service anew
    json::object& metadata = service.at("metadata").as_object();
    for (const char* key : {"resourceVersion", "managedFields", "generation"}) metadata.erase(key);
    return json::serialize(service);
  }
  void check() {
    EXPECT_EQ(sim.ingress("web"), std::set<std::string>{"203.0.113.4"}) << sim.story();
    EXPECT_EQ(sim.ingress("both"), (std::set<std::string>{"203.0.113.5", "2001:db8::2"})) << sim.story();
    EXPECT_TRUE(sim.placeholders().empty()) << "a Service that has the address needs no hold";
    EXPECT_FALSE(sim.event_reasons("ip-203-0-113-4").contains("AddressConflict"));
    for (const Document& address : sim.list("/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses")) {
      const auto* status = address.if_contains("status");
      const auto* phase = status == nullptr ? nullptr : status->get_object().if_contains("phase");
      EXPECT_FALSE(phase != nullptr && *phase == "Conflict") << sim.story();
    }
  }

  std::pair<std::string, std::string> before_;
};

class EveryInventoryWrite : public ::testing::TestWithParam<std::tuple<Effect, std::string>> {};

TEST_P(EveryInventoryWrite, TheServicesKeepTheirAddressesAndTheEndIsTheSame) {
  const auto& [effect, user] = GetParam();
  int last = 0;
  for (int skip = 0; skip < 80; ++skip) {
    SCOPED_TRACE(fmt::format("write {} of {}", skip, user));
    Story story(static_cast<std::uint64_t>(skip + 1));
    sandbox::Fault fault;
    fault.effect = effect;
    fault.user = user;
    fault.verb = "write";
    fault.skip = skip;
    fault.code = 409;
    story.sim.world.faults().add(fault);
    story.play();
    if (::testing::Test::HasFailure()) return;
    story.sim.world.faults().clear();
    story.sim.world.run_for(minutes(2));
    story.sim.expect_rest();
    if (story.sim.world.faults().hits() == 0) break;
    last = skip;
  }
  EXPECT_GT(last, 15) << "there are at least so many writes";
}

INSTANTIATE_TEST_SUITE_P(DriverInventory, EveryInventoryWrite,
                         ::testing::Combine(::testing::Values(Effect::fail_before, Effect::fail_after,
                                                              Effect::hang_after, Effect::status, Effect::crash_before,
                                                              Effect::crash_after),
                                            ::testing::Values("driver", "core")));

}  // namespace
}  // namespace metallb::sim
