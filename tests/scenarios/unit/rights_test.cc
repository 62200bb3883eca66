// The manifests of deploy/ grant what the controllers say they need, and nothing else.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/names.h"
#include "core/controller.h"
#include "metallb/controller.h"
#include "scenarios/rbac.h"

namespace scenarios {
namespace {

using Grants = std::set<std::string>;

std::string grant(const std::string& group, const std::string& resource, const std::string& ns,
                  const std::string& verb) {
  return verb + " " + group + "/" + resource + (ns.empty() ? "" : " in " + ns);
}

Grants needed(const kube::Controller& controller) {
  Grants out;
  for (const auto& rule : controller.rules) {
    for (const auto& verb : rule.verbs) out.insert(grant(rule.group, rule.resource, rule.ns, verb));
  }
  return out;
}

// Without leader election and events, which are the runtime's.
Grants granted(const std::string& manifest) {
  Grants out;
  auto rights = Rights::of_manifest(SOURCE_DIR "/deploy/" + manifest);
  EXPECT_TRUE(rights) << rights.error().message;
  if (!rights) return out;
  for (const auto& rule : rights->rules()) {
    for (const auto& group : rule.groups) {
      for (const auto& resource : rule.resources) {
        if (resource == "leases" || resource == "events") continue;
        for (const auto& verb : rule.verbs) out.insert(grant(group, resource, rule.ns, verb));
      }
    }
  }
  return out;
}

Grants without_runtime(Grants grants) {
  std::erase_if(grants, [](const std::string& text) {
    return text.find("/leases") != std::string::npos || text.find("/events") != std::string::npos;
  });
  return grants;
}

TEST(Rights, CoreHasWhatItNeeds) { EXPECT_EQ(granted("core.yaml"), without_runtime(needed(core::controller()))); }

TEST(Rights, DriverHasWhatItNeeds) {
  EXPECT_EQ(granted("driver.yaml"), without_runtime(needed(metallb::controller({}))));
}

TEST(Rights, DriverThatAdoptsHasWhatItNeedsInAManifestOfItsOwn) {
  Grants both = granted("driver.yaml");
  both.merge(granted("driver-inventory.yaml"));
  metallb::Options options;
  options.inventory = true;
  EXPECT_EQ(both, without_runtime(needed(metallb::controller(options))));
}

TEST(Rights, LeasesAreGrantedByNameAndEventsToBoth) {
  const std::string leases[] = {std::string(api::core_lease), std::string(api::driver_lease)};
  const std::string namespaces[] = {"address-controller", "metallb-iad-system"};
  const std::string manifests[] = {"core.yaml", "driver.yaml"};
  for (int i = 0; i < 2; ++i) {
    auto rights = Rights::of_manifest(SOURCE_DIR "/deploy/" + manifests[i]);
    ASSERT_TRUE(rights) << rights.error().message;
    for (const auto* verb : {"get", "update", "patch"}) {
      EXPECT_TRUE(rights->allow("coordination.k8s.io", "leases", namespaces[i], leases[i], verb)) << verb;
    }
    EXPECT_FALSE(rights->allow("coordination.k8s.io", "leases", namespaces[i], leases[i], "delete"));
    EXPECT_FALSE(rights->allow("coordination.k8s.io", "leases", namespaces[i], leases[1 - i], "update"));
    EXPECT_FALSE(rights->allow("coordination.k8s.io", "leases", "default", leases[i], "update"));
    EXPECT_TRUE(rights->allow("events.k8s.io", "events", "default", "", "create"));
  }
}

TEST(Rights, NobodyTouchesWhatIsNotTheirs) {
  for (const auto* manifest : {"core.yaml", "driver.yaml"}) {
    auto rights = Rights::of_manifest(std::string(SOURCE_DIR "/deploy/") + manifest);
    ASSERT_TRUE(rights) << rights.error().message;
    EXPECT_FALSE(rights->allow("", "secrets", "default", "any", "get"));
    EXPECT_FALSE(rights->allow("", "services/status", "default", "any", "patch"));
    EXPECT_FALSE(rights->allow("", "services", "default", "any", "create"));
    EXPECT_FALSE(rights->allow("", "services", "default", "any", "delete"));
    EXPECT_FALSE(rights->allow("local.sdn.cozystack.io", "ipaddressclasses", "", "any", "patch"));
    EXPECT_FALSE(rights->allow("local.sdn.cozystack.io", "ipaddressclaims", "default", "any", "delete"));
  }
}

}  // namespace
}  // namespace scenarios
