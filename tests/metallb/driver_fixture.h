// The driver's reconcilers on a cluster made of documents: tests play the core, MetalLB and the tenants.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "api/names.h"
#include "metallb/controller.h"
#include "metallb/names.h"
#include "support/fake_world.h"

namespace metallb::testing {

inline constexpr std::string_view k_home = "metallb-iad-system";
inline constexpr std::string_view k_v4 = "203.0.113.1";
inline constexpr std::string_view k_v6 = "2001:db8::1";

// Class `public` (203.0.113.0/29, 2001:db8::/126), its pool, and the placeholder namespace are there.
class DriverTest : public ::testing::Test {
 protected:
  explicit DriverTest(Options options = {});

  // --- what others do ---
  void put_class(std::string_view name = "public", std::string_view spec = {});
  // Its advertisement selects Services, so that no address of it is ever shared: every handoff makes a gap.
  void put_unshared_class(std::string_view addresses = R"("203.0.113.0/29","2001:db8::/126")");
  // Somebody else's, in place of what has the name.
  void put_foreign_pool(std::string_view name, std::string_view addresses);
  // A claim as the core leaves it when it waits for us: stamped, resolved, Pending.
  const api::IPAddressClaim& put_claim(std::string_view name = "web", std::string_view family = "IPv4");
  // The core has bound the claim to these address objects.
  void bind(std::string_view claim, const std::vector<std::string>& addresses);
  // A driver-made address of the claim, Bound and with our finalizer; its name. `claim` "" = unclaimed and Available.
  std::string put_address(std::string_view ip, std::string_view claim = "web", std::string_view extra_spec = {});
  // Its hold, landed.
  void put_hold(std::string_view ip);
  // Claim, address and hold, all settled.
  void put_bound(std::string_view ip = k_v4, std::string_view claim = "web");
  const api::Service& put_service(std::string_view name = "app", std::string_view claim = "web",
                                  std::string_view spec = {});
  // A Service that has everything of ours for these addresses and shows them; their holds are gone.
  void put_attached(std::string_view name, const std::vector<std::string>& ips, std::string_view claim = "web");

  // --- MetalLB ---
  void assign(std::string_view ns, std::string_view name, const std::vector<std::string>& ips,
              std::string_view pool = "iad-public");
  void assign_home(std::string_view name, std::string_view ip) { assign(k_home, name, {std::string(ip)}); }

  // --- what came of it ---
  const api::IPAddressClaim* claim(std::string_view name = "web") {
    return world.get<api::IPAddressClaim>("tenant-a", name);
  }
  const api::IPAddress* address(std::string_view ip);
  const api::Service* service(std::string_view name = "app") { return world.get<api::Service>("tenant-a", name); }
  const api::Service* placeholder(std::string_view name) { return world.get<api::Service>(k_home, name); }
  const api::Service* hold(std::string_view ip);
  const api::Service* drawn(std::string_view claim = "web", std::string_view suffix = "-v4");
  std::vector<std::string> placeholders();
  std::string provisioning(std::string_view claim = "web");
  std::vector<std::string> event_reasons();
  // All woken keys until nothing is left to do; the number of writes it took.
  // With a MetalLB that runs, whether or not it gives anybody anything.
  int settle();
  // MetalLB puts back what it writes on whatever it serves. True if there was such a thing.
  bool answer();
  // The same after so much time.
  int settle_after(base::Duration d);
  // One pass of the key, its writes not carried out.
  kube::Plan plan(const kube::Key& key) { return world.run(key); }
  static std::vector<std::string> steps(const kube::Plan& plan);

  Options options;
  kube::Controller driver;
  kube::testing::FakeWorld world;
};

std::string annotation(const kube::Object& object, std::string_view key);
std::string name_of(std::string_view ip);

}  // namespace metallb::testing
