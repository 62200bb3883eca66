// Driver design §6: the shared handoff, step by step, with MetalLB played by the test.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "metallb/driver_fixture.h"

namespace metallb::testing {

class SharingTest : public DriverTest {
 protected:
  static constexpr std::string_view k_hold = "iad-ip-203-0-113-1";

  std::string attached_to(std::string_view ip = k_v4) {
    return address(ip)->associatedTo ? address(ip)->associatedTo->name : "";
  }
  void annotate(std::string_view name, std::string_view key, std::string_view value) {
    world.change<api::Service>("tenant-a", name,
                               fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", key, value));
  }
  std::string key_of(const api::Service* s) { return annotation(*s, api::metallb::sharing_key); }
  // MetalLB has been at rest since.
  void put_bound() {
    DriverTest::put_bound();
    settle_after(std::chrono::seconds(2));
    world.writes = 0;
  }
  // The steps of one pass, carried out.
  std::vector<std::string> pass(const kube::Key& key) {
    const kube::Plan next = plan(key);
    world.execute(next);
    return steps(next);
  }
  std::vector<std::string> pass_service(std::string_view name = "app") { return pass(service_key("tenant-a", name)); }
  std::vector<std::string> pass_address(std::string_view ip = k_v4) { return pass(address_key(name_of(ip))); }
  bool publishes_gap(const kube::Key& key) {
    return std::ranges::any_of(plan(key).facts, [](const kube::Fact& f) { return f.bucket.starts_with("gaps/"); });
  }
  // MetalLB takes off what has been told to let go.
  void empty_holds() {
    for (const std::string& name : placeholders()) {
      if (annotation(*placeholder(name), api::metallb::pool) == api::metallb::awaiting_pool) assign(k_home, name, {});
    }
    settle();
  }
  // Attached by the shared handoff, to its very end.
  void attach(std::string_view name = "app", std::string_view spec = {}) {
    put_service(name, "web", spec);
    settle();
    assign("tenant-a", name, {std::string(k_v4)});
    settle();
    empty_holds();
    settle_after(std::chrono::seconds(1));
    ASSERT_EQ(key_of(service(name)), "");
    ASSERT_THAT(placeholders(), ::testing::IsEmpty());
    world.writes = 0;
  }
};

}  // namespace metallb::testing
