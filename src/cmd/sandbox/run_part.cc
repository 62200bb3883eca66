#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <random>

#include "base/thread_reactor.h"
#include "cmd/core_main.h"
#include "cmd/driver_main.h"
#include "cmd/sandbox/parts.h"
#include "kube/client_config.h"
#include "kube/curl_transport.h"
#include "kube/signals.h"
#include "sandbox/metallb.h"

namespace sandbox_process {
namespace {

using base::log::kv;

// The model of MetalLB's controller, by itself: over the wire like the real one.
int metallb_main(int argc, const char* const* argv) {
  CLI::App app("A model of MetalLB's controller.", "address-sandbox part metallb");
  std::string kubeconfig;
  std::string version = "0.16";
  std::string level = "info";
  std::string format = "text";
  sandbox::MetalLbOptions options;
  app.add_option("--kubeconfig", kubeconfig, "Where the API server is and who we are")->type_name("FILE");
  app.add_option("--metallb-version", version, "The MetalLB that is modelled")
      ->check(CLI::IsMember({"0.15", "0.16"}))
      ->type_name("VERSION")
      ->capture_default_str();
  app.add_option("--lb-class", options.lb_class, "The loadBalancerClass to serve; Services without one by default")
      ->type_name("NAME");
  app.add_option("--log-level", level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.add_option("--log-format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "address-sandbox part metallb: {} (--help lists the flags)\n", wrong.what());
    return 2;
  }
  base::log::Level log_level = base::log::Level::info;
  base::log::Format log_format = base::log::Format::text;
  (void)base::log::parse(level, log_level);
  (void)base::log::parse(format, log_format);
  base::log::configure(log_level, log_format);

  const auto config = kube::load_client_config(kubeconfig, kube::Environment::of_process());
  if (!config) {
    fmt::print(stderr, "address-sandbox part metallb: {}\n", config.error().message);
    return 1;
  }
  base::ThreadReactor reactor;
  const kube::SignalWatcher signals([&](int) { reactor.stop(); });
  kube::TransportOptions transport_options;
  transport_options.user_agent = kube::default_user_agent("metallb-model", PROJECT_VERSION, "");
  auto transport = kube::make_transport(*config, reactor, transport_options);
  if (!transport) {
    fmt::print(stderr, "address-sandbox part metallb: {}\n", transport.error().message);
    return 1;
  }
  options.version =
      version == "0.15" ? sandbox::MetalLbOptions::Version::v0_15 : sandbox::MetalLbOptions::Version::v0_16;
  options.seed = std::random_device{}();
  const sandbox::MetalLb metallb(reactor, **transport, options);
  base::log::info("Starting", {kv("version", version), kv("server", config->server)});
  reactor.run();
  base::log::info("Ended");
  return 0;
}

}  // namespace

int run_part(int argc, const char* const* argv) {
  const std::string_view name = argc > 0 ? argv[0] : "";
  if (name == "core") return core_main(argc, argv);
  if (name == "driver") return driver_main(argc, argv);
  if (name == "metallb") return metallb_main(argc, argv);
  fmt::print(stderr, "address-sandbox: there is no part \"{}\": core, driver, metallb\n", name);
  return 2;
}

}  // namespace sandbox_process
