// The flags that every controller's binary has.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/client_config.h"

namespace CLI {
class App;
}

namespace kube {

struct Flags {
  std::string kubeconfig;  // "": KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;
  PluginPolicy credential_plugins;
  bool leader_elect = false;
  std::string leader_election_namespace;  // "": the pod's, else the kubeconfig context's
  base::Duration lease_duration = std::chrono::seconds(15);
  base::Duration renew_deadline = std::chrono::seconds(10);
  base::Duration retry_period = std::chrono::seconds(2);
  std::string metrics_bind_address = ":8080";
  std::string health_probe_bind_address = ":8081";
  base::log::Level log_level = base::log::Level::info;
  base::log::Format log_format = base::log::Format::text;
  double kube_api_qps = 0;  // 0: no limit on this side
  int kube_api_burst = 0;   // 0: twice the qps
  std::size_t max_concurrent_reconciles = 64;
  base::Duration grace_period = std::chrono::seconds(30);  // of a shutdown

  // What no single flag can say about itself; the error names the flag.
  base::Result<void> validate() const;

  // Registers the flags. `*this` must outlive the parsing.
  void add_to(CLI::App& app);
};

// Adds a flag of a duration such as "300ms", "15s", "1m30s" or "2h", at least `least`.
void add_duration(CLI::App& app, const std::string& flag, base::Duration& value, base::Duration least,
                  const std::string& help);

// Why that is no number from 0 to 10^9, "" if it is. A check of CLI11's, which has worse words for it.
std::string number_trouble(const std::string& text);
// Why that cannot be the name of a namespace, "" if it can or is empty. A check of CLI11's.
std::string namespace_trouble(const std::string& text);

// As Go's time.ParseDuration, without signs and fractions; a bare number is refused.
base::Result<base::Duration> parse_duration(std::string_view text);
// "1m30s".
std::string format_duration(base::Duration d);

}  // namespace kube
