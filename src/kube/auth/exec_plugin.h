// Credential plugins: programs that print an ExecCredential (client.authentication.k8s.io).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client_config.h"
#include "kube/transport_options.h"

namespace kube {

struct ExecCredential {
  std::string token;        // may be empty
  std::string certificate;  // PEM; empty, or given together with `key`
  std::string key;
  std::optional<std::chrono::sys_seconds> expires;  // of any year: nanoseconds end in 2262
};

// Reads what a plugin printed. The error says what is wrong with it, without showing it.
base::Result<ExecCredential> parse_exec_credential(std::string_view output, std::string_view api_version);
// The value of KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecConfig& exec, const ClientConfig& cluster);
// The error message for a plugin that could not be run.
std::string exec_not_found_message(const ExecConfig& exec);

// Runs a plugin when it is needed, one run at a time on a thread of its own, and keeps its result until that expires.
// A plugin that fails is not run again before a growing pause is over; one whose results are born expired not more
// often than the options' exec_min_interval: its last result is used meanwhile.
class ExecPlugin {
 public:
  // `on_ready` is called on the plugin's thread after each run.
  ExecPlugin(const ClientConfig& config, const TransportOptions& options, std::function<void()> on_ready);
  // Kills a run in progress.
  ~ExecPlugin();

  struct Lookup {
    std::shared_ptr<const ExecCredential> credential;
    bool pending = false;
    std::string error;
  };
  Lookup get(base::MonoTime now);
  // The server refused `used`: it counts as expired. True if a run may give another one now.
  bool rejected(const std::shared_ptr<const ExecCredential>& used, base::MonoTime now);

 private:
  using Outcome = base::Result<ExecCredential>;

  void start_run();
  Outcome run(const std::stop_token& stop) const;
  void adopt(base::MonoTime now, Outcome outcome);

  const ClientConfig config_;
  const base::Duration timeout_;
  const base::Duration min_interval_;
  const base::Duration first_backoff_;
  const std::shared_ptr<RequestObserver> observer_;
  const std::function<void()> on_ready_;

  std::shared_ptr<const ExecCredential> credential_;
  base::MonoTime expires_ = base::MonoTime::max();
  base::MonoTime not_before_ = base::MonoTime::min();  // of the next run
  base::Duration backoff_{};
  std::string error_;
  bool running_ = false;

  std::mutex mutex_;
  std::optional<Outcome> finished_;  // guarded by mutex_
  std::jthread thread_;              // last: joined first
};

}  // namespace kube
