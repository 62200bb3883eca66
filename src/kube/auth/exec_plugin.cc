#include "kube/auth/exec_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "kube/auth/base64.h"
#include "kube/auth/plugin_policy.h"
#include "kube/auth/process.h"
#include "kube/file.h"

namespace kube {
namespace {

namespace json = boost::json;

constexpr base::Duration k_max_backoff = std::chrono::minutes(1);

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Exactly `digits` decimal digits from the front of `text`.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int number = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc() || end != text.data() + digits || text[0] == '-') return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, "Z")) return std::chrono::minutes(0);
  const bool negative = text.starts_with('-');
  if (!take(text, negative ? "-" : "+")) return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours || !take(text, ":")) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes) return std::nullopt;
  const std::chrono::minutes offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return negative ? -offset : offset;
}

// RFC 3339, as Go's metav1.Time prints it.
std::optional<std::chrono::sys_seconds> parse_time(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || !take(text, "T")) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || !take(text, ":")) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second) return std::nullopt;
  if (take(text, ".")) text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::sys_days(date) + std::chrono::hours(*hour) +
                                  std::chrono::minutes(*minute) + std::chrono::seconds(*second) - *offset);
}

// The certificate authority as the plugin wants it: data, also if we have it as a file.
std::string ca_of(const TlsConfig& tls) {
  if (!tls.ca_data.empty() || tls.ca_file.empty()) return tls.ca_data;
  return read_file(tls.ca_file).value_or(std::string());
}

std::string first_line(std::string_view text) { return trimmed(text.substr(0, text.find('\n'))); }

}  // namespace

base::Result<ExecCredential> parse_exec_credential(std::string_view output, std::string_view api_version) {
  boost::system::error_code error;
  const json::value document = json::parse(json::string_view(output.data(), output.size()), error);
  if (error || !document.is_object()) return base::fail("printed something that is not a JSON object");
  const json::object& root = document.get_object();
  if (text_of(root, "kind") != "ExecCredential") {
    return base::fail(fmt::format("printed the kind {:?}, want \"ExecCredential\"", text_of(root, "kind")));
  }
  if (text_of(root, "apiVersion") != api_version) {
    return base::fail(fmt::format("printed apiVersion {:?}, want {:?}", text_of(root, "apiVersion"), api_version));
  }
  const json::value* status = root.if_contains("status");
  if (status == nullptr || !status->is_object()) return base::fail("printed an ExecCredential without status");
  ExecCredential credential;
  credential.token = text_of(status->get_object(), "token");
  credential.certificate = text_of(status->get_object(), "clientCertificateData");
  credential.key = text_of(status->get_object(), "clientKeyData");
  if (credential.certificate.empty() != credential.key.empty()) {
    return base::fail("printed only one of clientCertificateData and clientKeyData");
  }
  if (credential.token.empty() && credential.certificate.empty()) {
    return base::fail("printed neither a token nor a client certificate");
  }
  if (credential.token.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
    return base::fail("printed a token with a line break");
  if (const std::string text = text_of(status->get_object(), "expirationTimestamp"); !text.empty()) {
    credential.expires = parse_time(text);
    if (!credential.expires) return base::fail("printed an expirationTimestamp that is not RFC 3339");
  }
  return credential;
}

std::string exec_info(const ExecConfig& exec, const ClientConfig& cluster) {
  json::object spec{{"interactive", false}};
  if (exec.provide_cluster_info) {
    json::object info{{"server", cluster.server}};
    if (!cluster.tls.server_name.empty()) info["tls-server-name"] = cluster.tls.server_name;
    if (cluster.tls.insecure) info["insecure-skip-tls-verify"] = true;
    if (const std::string ca = ca_of(cluster.tls); !ca.empty()) info["certificate-authority-data"] = encode_base64(ca);
    if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
    if (cluster.disable_compression) info["disable-compression"] = true;
    if (!exec.cluster_config_json.empty()) info["config"] = json::parse(exec.cluster_config_json);
    spec["cluster"] = std::move(info);
  }
  return json::serialize(
      json::object{{"kind", "ExecCredential"}, {"apiVersion", exec.api_version}, {"spec", std::move(spec)}});
}

std::string exec_not_found_message(const ExecConfig& exec) {
  std::string message =
      fmt::format("the credential plugin {:?} was not found: install it or put it into PATH", exec.command);
  if (!exec.install_hint.empty()) message += "; " + trimmed(exec.install_hint);
  return message;
}

ExecPlugin::ExecPlugin(const ClientConfig& config, const TransportOptions& options, std::function<void()> on_ready)
    : config_(config),
      timeout_(options.exec_timeout),
      min_interval_(options.exec_min_interval),
      first_backoff_(options.exec_backoff),
      observer_(options.observer),
      on_ready_(std::move(on_ready)) {}

ExecPlugin::~ExecPlugin() = default;

ExecPlugin::Lookup ExecPlugin::get(base::MonoTime now) {
  std::optional<Outcome> finished;
  {
    const std::lock_guard lock(mutex_);
    finished = std::exchange(finished_, std::nullopt);
  }
  if (finished) adopt(now, std::move(*finished));
  if (credential_ && now < expires_) return {credential_, false, {}};
  if (!running_ && now >= not_before_) start_run();
  if (running_) return {nullptr, true, {}};
  if (credential_) return {credential_, false, {}};
  return {nullptr, false, error_};
}

bool ExecPlugin::rejected(const std::shared_ptr<const ExecCredential>& used, base::MonoTime now) {
  if (used != credential_) return true;
  expires_ = std::min(expires_, now);
  return running_ || now >= not_before_;
}

void ExecPlugin::adopt(base::MonoTime now, Outcome outcome) {
  running_ = false;
  if (!outcome) {
    backoff_ = backoff_ == base::Duration::zero() ? first_backoff_ : std::min(backoff_ * 2, k_max_backoff);
    not_before_ = now + backoff_;
    if (error_ != outcome.error().message) {
      base::log::error("Credential plugin failed", {base::log::kv("command", config_.exec->command),
                                                    base::log::kv("error", outcome.error().message)});
    }
    error_ = std::move(outcome.error().message);
    return;
  }
  backoff_ = base::Duration::zero();
  error_.clear();
  not_before_ = now + min_interval_;
  expires_ = base::MonoTime::max();
  if (outcome->expires) {
    const auto left = *outcome->expires - std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (left < std::chrono::hours(24 * 365)) expires_ = now + std::max(left, std::chrono::seconds(0));
  }
  // An unchanged result stays the same credential: nothing has to be built or reconnected for it.
  const bool same = credential_ && credential_->token == outcome->token &&
                    credential_->certificate == outcome->certificate && credential_->key == outcome->key;
  if (!same) credential_ = std::make_shared<const ExecCredential>(std::move(*outcome));
}

void ExecPlugin::start_run() {
  running_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    Outcome outcome = run(stop);
    {
      const std::lock_guard lock(mutex_);
      finished_ = std::move(outcome);
    }
    on_ready_();
  });
}

ExecPlugin::Outcome ExecPlugin::run(const std::stop_token& stop) const {
  const ExecConfig& exec = *config_.exec;
  const auto report = [&](int exit_code, std::string_view status) {
    if (observer_) observer_->exec_call(exit_code, status);
  };
  const auto failed = [&](std::string_view why) {
    return base::fail(fmt::format("the credential plugin {:?} {}", exec.command, why));
  };
  if (exec.needs_terminal) {
    report(1, "client_internal_error");
    return failed("has interactiveMode Always, but a controller has no terminal for it");
  }
  auto command = permitted_command(exec);
  if (!command) {
    report(1, "client_internal_error");
    return std::unexpected(std::move(command.error()));
  }
  ProcessSpec spec{.command = std::move(*command), .args = exec.args, .env = exec.env, .timeout = timeout_};
  spec.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(exec, config_));
  const auto result = run_process(spec, stop);
  if (!result && result.error().kind == ProcessFailure::not_found) {
    report(1, "plugin_not_found_error");
    return base::fail(exec_not_found_message(exec));
  }
  if (!result) {
    report(1, "plugin_execution_error");
    return failed(result.error().message);
  }
  if (result->exit_code != 0) {
    report(result->exit_code, "plugin_execution_error");
    return failed(fmt::format("ended with code {}: {}", result->exit_code, first_line(result->errors)));
  }
  auto credential = parse_exec_credential(result->output, exec.api_version);
  report(0, credential ? "no_error" : "client_internal_error");
  if (!credential) return failed(credential.error().message);
  return std::move(*credential);
}

}  // namespace kube
