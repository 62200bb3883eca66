#include "cmd/sandbox/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace sandbox_process {
namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return value == nullptr ? std::string() : value;
}

constexpr std::string_view k_description =
    "A Kubernetes API server in memory, with a model of MetalLB's controller and the address controllers: everything "
    "that addresses need, on one machine and without a cluster. Listens on 127.0.0.1 only. Ends on Ctrl-C or SIGTERM.";

}  // namespace

std::string_view to_string(Part part) {
  switch (part) {
    case Part::core:
      return "core";
    case Part::driver:
      return "driver";
    case Part::metallb:
      return "metallb";
  }
  return {};
}

std::string default_dir() {
  if (const std::string runtime = env("XDG_RUNTIME_DIR"); !runtime.empty()) return runtime + "/address-sandbox";
  const std::string temporary = env("TMPDIR");
  return fmt::format("{}/address-sandbox-{}", temporary.empty() ? "/tmp" : temporary, getuid());
}

std::expected<Options, int> parse_options(int argc, const char* const* argv) {
  CLI::App app(std::string(k_description), "address-sandbox");
  app.set_version_flag("--version", std::string("address-sandbox ") + PROJECT_VERSION);
  app.get_formatter()->column_width(40);
  Options options;
  std::vector<std::string> without;
  bool no_controllers = false;
  std::string level = "info";
  std::string format = "text";
  app.add_option("--port", options.port, "Port of the API server; 0 takes a free one")
      ->type_name("PORT")
      ->capture_default_str();
  app.add_flag("--plain", options.plain, "HTTP without TLS");
  app.add_option("--page-port", options.page_port, "Port of the page for browsers; 0 takes a free one")
      ->type_name("PORT")
      ->capture_default_str();
  app.add_flag("--open", options.open, "Show the page in the browser");
  app.add_option("--dir", options.dir, "Folder for the kubeconfig and the logs of the parts. Default: " + default_dir())
      ->type_name("DIR");
  app.add_option("--data", options.data,
                 "Keep the state in this file, and go on with what is in it; by default it is gone when this ends")
      ->type_name("FILE");
  app.add_option("--metallb-version", options.metallb_version, "The MetalLB that is modelled")
      ->check(CLI::IsMember({"0.15", "0.16"}))
      ->type_name("VERSION")
      ->capture_default_str();
  app.add_option("--without", without, "Leave out a part: core, driver or metallb; may be repeated")
      ->check(CLI::IsMember({"core", "driver", "metallb"}))
      ->type_name("PART");
  app.add_flag("--no-controllers", no_controllers, "Leave out both controllers: --without core --without driver");
  app.add_option("--audit-log-path", options.audit_log,
                 "Append a line of JSON (audit.k8s.io/v1) for each request that would change something")
      ->type_name("FILE");
  app.add_option("--log-level", level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  app.add_option("--log-format", format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  app.footer(
      "The parts are processes of this program: \"address-sandbox part core|driver|metallb FLAGS\" runs one alone, "
      "with "
      "the flags of\naddress-controller, of metallb-iad, or --kubeconfig and --metallb-version.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return std::unexpected(app.exit(wanted));
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "address-sandbox: {} (--help lists the flags)\n", wrong.what());
    return std::unexpected(2);
  }
  (void)base::log::parse(level, options.log_level);
  (void)base::log::parse(format, options.log_format);
  if (options.dir.empty()) options.dir = default_dir();
  if (no_controllers) without.insert(without.end(), {"core", "driver"});
  for (const Part part : all_parts) {
    if (std::ranges::find(without, to_string(part)) == without.end()) options.parts.push_back(part);
  }
  return options;
}

}  // namespace sandbox_process
