// A class that adopts, and the Services that it looks at. The test plays the core.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>
#include <vector>

#include "metallb/driver_fixture.h"
#include "metallb/inventory.h"

namespace metallb::testing {

inline Options with_inventory() {
  Options options;
  options.inventory = true;
  return options;
}

class InventoryTest : public DriverTest {
 protected:
  explicit InventoryTest(Options o = with_inventory()) : DriverTest(std::move(o)) {}

  void set_mode(std::string_view mode, std::string_view addresses = R"("203.0.113.0/29","2001:db8::/126")") {
    put_class("public", fmt::format(R"("parameters":{{"addresses":[{}],"inventory":"{}"}})", addresses, mode));
    settle();
  }
  // A Service that MetalLB has given addresses to, and that nobody claims.
  void put_stranger(std::string_view name = "app", const std::vector<std::string>& ips = {std::string(k_v4)},
                    std::string_view annotations = "{}") {
    const bool dual = ips.size() == 2;
    const bool v6 = !dual && ips.front().find(':') != std::string::npos;
    put_service(name, "",
                dual ? R"("clusterIPs":["10.96.0.9","fd00::9"],"ipFamilies":["IPv4","IPv6"],"ports":[{"port":80}])"
                : v6 ? R"("clusterIPs":["fd00::9"],"ipFamilies":["IPv6"],"ports":[{"port":80}])"
                     : "");
    world.change<api::Service>("tenant-a", name, fmt::format(R"({{"metadata":{{"annotations":{}}}}})", annotations));
    assign("tenant-a", name, ips);
  }
  // The core has seen the address without its claim.
  void core_sees(std::string_view ip) {
    world.change<api::IPAddress>(
        "", name_of(ip),
        fmt::format(
            R"({{"metadata":{{"finalizers":["{}","{}"],"annotations":{{"{}":"uid-{}"}}}},"status":{{"phase":"Available"}}}})",
            api::metallb::teardown, api::address_protection, api::recorded_uid_annotation, name_of(ip)));
  }
  std::string claim_name(std::string_view ip = k_v4) { return address(ip)->claimRef->name; }
  // It has completed the binding of the generated claim.
  void core_binds(const std::vector<std::string>& ips = {std::string(k_v4)}) {
    const std::string name = claim_name(ips.front());
    for (const std::string& ip : ips) {
      world.change<api::IPAddress>("", name_of(ip),
                                   fmt::format(R"({{"spec":{{"claimRef":{{"uid":"uid-{}"}}}}}})", name));
    }
    world.change<api::IPAddressClaim>(
        "tenant-a", name,
        fmt::format(
            R"({{"metadata":{{"finalizers":["{}"],"annotations":{{"{}":"{}"}}}},"status":{{"className":"public"}}}})",
            api::claim_protection, api::provisioner_annotation, api::metallb::provisioner));
    bind(name, ips);
  }
  // The core's part of a claim's deletion.
  void core_reclaims(const std::vector<std::string>& ips = {std::string(k_v4)}) {
    const std::string name = claim_name(ips.front());
    for (const std::string& ip : ips)
      world.change<api::IPAddress>("", name_of(ip), R"({"status":{"phase":"Released"}})");
    world.vanish<api::IPAddressClaim>("tenant-a", name);
  }
  void core_lets_go(std::string_view ip) {
    if (address(ip) == nullptr || !address(ip)->meta.deleting) return;
    const bool ours = address(ip)->meta.has_finalizer(api::metallb::teardown);
    world.change<api::IPAddress>("", name_of(ip),
                                 fmt::format(R"({{"metadata":{{"finalizers":[{}]}}}})",
                                             ours ? fmt::format("\"{}\"", api::metallb::teardown) : ""));
  }
  void adopt(const std::vector<std::string>& ips = {std::string(k_v4)}) {
    settle();
    for (const std::string& ip : ips) core_sees(ip);
    settle();
    core_binds(ips);
    settle();
  }
  std::string state_of(std::string_view ip = k_v4) {
    const auto adoption = adoption_of(*address(ip));
    if (!adoption) return "none";
    constexpr std::string_view names[] = {"adopting", "adopted", "reverting"};
    return std::string(names[static_cast<std::size_t>(adoption->state)]);
  }
  std::string condition() {
    settle_after(std::chrono::seconds(6));
    const auto* cls = world.get<api::IPAddressClass>("", "public");
    const auto* found = kube::find_condition(cls->conditions, "Inventory");
    return found == nullptr ? "" : found->status + "/" + found->reason + ": " + found->message;
  }
  std::string document(std::string_view name = "app") {
    auto object = *world.document(api::Service::kind(), "tenant-a", name);
    object["metadata"].as_object().erase("resourceVersion");
    if (auto& metadata = object["metadata"].as_object();
        metadata.contains("finalizers") && metadata["finalizers"].as_array().empty())
      metadata.erase("finalizers");
    return boost::json::serialize(object);
  }
  const api::IPAddressClaim* generated(std::string_view ip = k_v4) { return claim(claim_name(ip)); }
  // No write of `steps` may come near what makes MetalLB take an address away.
  void expect_untouched(std::string_view name = "app") {
    EXPECT_NE(annotation(*service(name), api::metallb::pool), api::metallb::awaiting_pool);
    EXPECT_EQ(annotation(*service(name), api::metallb::sharing_key), "");
    EXPECT_THAT(placeholders(), ::testing::IsEmpty());
    EXPECT_THAT(event_reasons(), ::testing::Not(::testing::Contains("AddressConflict")));
  }
};

}  // namespace metallb::testing
