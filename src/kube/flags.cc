#include "kube/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

using Policy = PluginPolicy::Type;
constexpr std::pair<std::string_view, Policy> k_policies[] = {
    {"AllowAll", Policy::allow_all}, {"DenyAll", Policy::deny_all}, {"Allowlist", Policy::allowlist}};
constexpr std::pair<std::string_view, base::Duration> k_units[] = {{"h", 1h}, {"m", 1min}, {"s", 1s}, {"ms", 1ms}};

// A flag whose text is parsed by `parse(text, value)`; `known` says what would have been right.
template <class T>
void add_choice(CLI::App& app, const std::string& flag, T& value, const std::string& known, const std::string& shown,
                const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&value, known, flag](const std::string& text) {
           if (!base::log::parse(text, value)) {
             throw CLI::ValidationError(flag, fmt::format("\"{}\" is none of {}", text, known));
           }
         },
         fmt::format("{}: {}", help, known))
      ->type_name("NAME")
      ->default_str(shown);
}

}  // namespace

base::Result<base::Duration> parse_duration(std::string_view text) {
  const auto bad = [&] { return base::fail(fmt::format("\"{}\" is no duration such as 300ms, 15s or 1m30s", text)); };
  base::Duration sum{};
  std::string_view rest = text;
  if (rest.empty()) return bad();
  if (text == "0") return sum;  // the one number that needs no unit
  while (!rest.empty()) {
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error != std::errc() || count > 100'000'000) return bad();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::string_view unit = rest.substr(0, std::min(rest.find_first_of("0123456789"), rest.size()));
    const auto* found = std::ranges::find(k_units, unit, &std::pair<std::string_view, base::Duration>::first);
    if (found == std::end(k_units) || count > std::chrono::hours(100'000) / found->second) return bad();
    sum += count * found->second;
    rest.remove_prefix(unit.size());
  }
  return sum;
}

std::string format_duration(base::Duration d) {
  std::string text;
  for (const auto& [unit, length] : k_units) {
    if (d < length) continue;
    text += fmt::format("{}{}", d / length, unit);
    d %= length;
  }
  return text.empty() ? "0s" : text;
}

void add_duration(CLI::App& app, const std::string& flag, base::Duration& value, base::Duration least,
                  const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&value, least, flag](const std::string& text) {
           const auto parsed = parse_duration(text);
           if (!parsed) throw CLI::ValidationError(flag, parsed.error().message);
           if (*parsed < least) {
             throw CLI::ValidationError(flag, fmt::format("\"{}\" is less than {}", text, format_duration(least)));
           }
           value = *parsed;
         },
         help)
      ->type_name("DURATION")
      ->default_str(format_duration(value));
}

std::string number_trouble(const std::string& text) {
  double number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= 1e9) return {};
  return fmt::format("\"{}\" is no number from 0 to 1000000000", text);
}

std::string namespace_trouble(const std::string& text) {
  if (text.empty() || base::is_dns_label(text)) return {};
  return fmt::format("\"{}\" cannot be the name of a namespace: lower-case letters, digits and -, 63 at most", text);
}

base::Result<void> Flags::validate() const {
  const bool listed = credential_plugins.type == Policy::allowlist;
  if (listed && credential_plugins.allowlist.empty()) {
    return base::fail("--credential-plugin-policy=Allowlist needs --credential-plugin-allowlist");
  }
  if (!listed && !credential_plugins.allowlist.empty()) {
    return base::fail("--credential-plugin-allowlist needs --credential-plugin-policy=Allowlist");
  }
  return {};
}

void Flags::add_to(CLI::App& app) {
  const auto* cluster = "Cluster";
  app.add_option("--kubeconfig", kubeconfig,
                 "File that says where the API server is. Without it: the files of $KUBECONFIG, then the pod's service "
                 "account, then ~/.kube/config")
      ->type_name("FILE")
      ->group(cluster);
  app.add_option("--context", context, "Context of the kubeconfig to use instead of its current one")
      ->type_name("NAME")
      ->group(cluster);
  app.add_option_function<std::string>(
         "--credential-plugin-policy",
         [this](const std::string& text) {
           const auto* found = std::ranges::find(k_policies, text, &std::pair<std::string_view, Policy>::first);
           if (found == std::end(k_policies)) {
             throw CLI::ValidationError("--credential-plugin-policy",
                                        fmt::format("\"{}\" is none of AllowAll, DenyAll, Allowlist", text));
           }
           credential_plugins.type = found->second;
         },
         "Credential plugins that a kubeconfig may have run: AllowAll, DenyAll, Allowlist")
      ->type_name("NAME")
      ->default_str("AllowAll")
      ->group(cluster);
  app.add_option("--credential-plugin-allowlist", credential_plugins.allowlist,
                 "With Allowlist: paths of plugins, or names that are looked up in PATH")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->group(cluster);
  app.add_option("--kube-api-qps", kube_api_qps,
                 "Requests per second to the API server; 0 leaves it to the server's priority and fairness")
      ->check(number_trouble)
      ->type_name("NUMBER")
      ->capture_default_str()
      ->group(cluster);
  app.add_option("--kube-api-burst", kube_api_burst, "Requests at once above that rate; 0 means twice the rate")
      ->check(number_trouble)
      ->type_name("NUMBER")
      ->capture_default_str()
      ->group(cluster);
  app.add_option("--max-concurrent-reconciles", max_concurrent_reconciles,
                 "Objects that are being worked on at the same time")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10000}))
      ->type_name("NUMBER")
      ->capture_default_str()
      ->group(cluster);
  app.add_flag(
         "--leader-elect", leader_elect,
         "Work only while holding a Lease, so that several replicas can run; the others stand by with full caches")
      ->group("Leader election");
  app.add_option("--leader-election-namespace", leader_election_namespace,
                 "Namespace of the Lease. Default: the pod's own, else that of the kubeconfig's context")
      ->check(namespace_trouble)
      ->type_name("NAME")
      ->group("Leader election");
  app.add_option("--metrics-bind-address", metrics_bind_address, "Where /metrics is served, or 0")
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->group("Probes");
  app.add_option("--health-probe-bind-address", health_probe_bind_address,
                 "Where /healthz and /readyz are served, or 0")
      ->type_name("HOST:PORT")
      ->capture_default_str()
      ->group("Probes");
  const auto group_last = [&app](const char* group) { app.get_options().back()->group(group); };
  add_duration(app, "--leader-election-lease-duration", lease_duration, 1s,
               "How long others wait for a leader that does not renew");
  group_last("Leader election");
  add_duration(app, "--leader-election-renew-deadline", renew_deadline, 1s,
               "How long a leader goes on without a renewal before it gives up");
  group_last("Leader election");
  add_duration(app, "--leader-election-retry-period", retry_period, 100ms, "Pause between renewals");
  group_last("Leader election");
  add_choice(app, "--log-level", log_level, "debug, info, warn, error", "info", "Least severity that is logged");
  group_last("Logs");
  add_choice(app, "--log-format", log_format, "text, json", "text", "Form of a log line");
  group_last("Logs");
  add_duration(app, "--shutdown-grace-period", grace_period, 1s,
               "How long work under way may take to end after SIGTERM");
  group_last("Shutdown");
}

}  // namespace kube
