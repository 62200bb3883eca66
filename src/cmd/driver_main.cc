#include "cmd/driver_main.h"

#include <openssl/rand.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "api/restore.h"
#include "kube/flags.h"
#include "kube/run.h"
#include "metallb/controller.h"

namespace {

void add_flags(CLI::App& app, metallb::Options& options, std::string& placeholder_namespace) {
  const auto* group = "MetalLB";
  app.add_option("--metallb-namespace", options.metallb_namespace, "Namespace of MetalLB and its configuration")
      ->check(kube::namespace_trouble)
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  app.add_option("--placeholder-namespace", placeholder_namespace,
                 "Namespace that only this driver writes to: a Service in it holds each address. Default: the pod's "
                 "own, else " +
                     options.placeholder_namespace)
      ->check(kube::namespace_trouble)
      ->type_name("NAME")
      ->group(group);
  app.add_option("--former-placeholder-namespaces", options.former_placeholder_namespaces,
                 "Namespaces, with commas between them, where the Services that hold addresses were before: those that "
                 "are left there are trusted, and replaced by ones in the placeholder namespace without an address "
                 "being free for a moment")
      ->type_name("NAMES")
      ->delimiter(',')
      ->check(kube::namespace_trouble)
      ->group(group);
  app.add_option("--load-balancer-class", options.load_balancer_class,
                 "The loadBalancerClass that MetalLB serves, if it was given one")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--max-placeholders", options.max_placeholders,
                 "Placeholders to make at most, as each takes a ClusterIP; 0 means any number")
      ->check(kube::number_trouble)
      ->type_name("NUMBER")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--evict-intruders", options.evict_intruders,
               "Have MetalLB take a reserved address from a Service that uses it without a claim")
      ->group(group);
  app.add_flag("--inventory", options.inventory,
               "Do what the parameter inventory of a class asks for, Adopt or Revert. Takes the right to create and "
               "delete claims")
      ->group(group);
  kube::add_duration(app, "--detach-timeout", options.detach_timeout, std::chrono::seconds(1),
                     "How long the deletion of a Service may wait until its address is held again");
  app.get_options().back()->group(group);
  kube::add_duration(
      app, "--restore-grace", options.restore_grace, {},
      "How long placeholders and Services that a backup tool made again wait for their addresses, counted "
      "from the last restored address; 30m at most");
  app.get_options().back()->group("Restore");
}

// Each once, without the present one: the flag may stay when the move is taken back.
base::Result<std::vector<std::string>> former_namespaces(const metallb::Options& options) {
  std::vector<std::string> names;
  for (const std::string& name : options.former_placeholder_namespaces) {
    if (name == options.metallb_namespace)
      return base::fail("--former-placeholder-namespaces must not name MetalLB's own namespace");
    const bool known = name == options.placeholder_namespace || std::ranges::find(names, name) != names.end();
    if (!name.empty() && !known) names.push_back(name);
  }
  return names;
}

base::Result<std::string> new_secret() {
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return base::fail("no random bytes");
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

int driver_main(int argc, const char* const* argv) {
  metallb::Options options;
  std::string placeholder_namespace;
  kube::ControllerMain what;
  what.name = "metallb-iad";
  what.description =
      "Serves IPAddressClasses from MetalLB: reserves an address for each claim, holds it while no Service uses it, "
      "and hands it to "
      "the Service that names the claim.";
  what.version = PROJECT_VERSION;
  what.after_drain =
      "The placeholder Services, the pools and advertisements labelled metallb.drivers.local.sdn.cozystack.io/class, "
      "and "
      "the pins of attached Services stay: MetalLB goes on holding and serving every address. Deleting a placeholder "
      "gives its address back to MetalLB.";
  what.add_flags = [&](CLI::App& app) { add_flags(app, options, placeholder_namespace); };
  what.build = [&](const kube::Surroundings& around) -> base::Result<kube::Controller> {
    if (!around.pod_namespace.empty()) options.placeholder_namespace = around.pod_namespace;
    if (!placeholder_namespace.empty()) options.placeholder_namespace = placeholder_namespace;
    if (options.placeholder_namespace == options.metallb_namespace) {
      return base::fail("--placeholder-namespace must not be MetalLB's own namespace");
    }
    auto former = former_namespaces(options);
    if (!former) return std::unexpected(former.error());
    options.former_placeholder_namespaces = std::move(*former);
    if (options.restore_grace > api::k_longest_restore) return base::fail("--restore-grace must not be more than 30m");
    auto secret = new_secret();
    if (!secret) return std::unexpected(secret.error());
    options.secret = std::move(*secret);
    return metallb::controller(options);
  };
  return kube::run(what, argc, argv);
}
