#include "kube/auth/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "kube/auth/base64.h"
#include "kube/auth/exec_plugin.h"
#include "kube/auth/plugin_policy.h"
#include "kube/file.h"

namespace kube {
namespace {

// Files are not read again for a 401 more often than this, however many requests are refused.
constexpr base::Duration k_after_rejection = std::chrono::seconds(1);

// A certificate and its key are not replaced in one instant: a pair that does not fit is looked at again this soon.
constexpr base::Duration k_after_defect = std::chrono::seconds(10);

bool header_safe(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

std::vector<std::string> impersonation_headers(const Impersonation& as) {
  std::vector<std::string> headers;
  if (as.user.empty()) return headers;
  headers.push_back("Impersonate-User: " + as.user);
  if (!as.uid.empty()) headers.push_back("Impersonate-Uid: " + as.uid);
  for (const std::string& group : as.groups) headers.push_back("Impersonate-Group: " + group);
  for (const auto& [key, values] : as.extra) {
    const std::string name = "Impersonate-Extra-" + boost::urls::encode(key, boost::urls::unreserved_chars);
    for (const std::string& value : values) headers.push_back(name + ": " + value);
  }
  return headers;
}

}  // namespace

ReloadedText::ReloadedText(std::string data, std::string file, base::Duration interval, bool data_wins)
    : text_(std::move(data)), interval_(interval) {
  if (!data_wins || text_.empty()) file_ = std::move(file);
}

base::Result<void> ReloadedText::load(base::MonoTime now) {
  if (file_.empty()) return {};
  looked_ = now;
  due_ = now + interval_;
  auto text = read_file(file_);
  if (!text) return std::unexpected(text.error());
  if (trimmed(*text).empty()) return base::fail(fmt::format("{}: the file is empty", file_));
  text_ = std::move(*text);
  return {};
}

ReloadedText::Look ReloadedText::look_early(base::MonoTime now, base::Duration least) {
  if (now - looked_ < std::min(least, interval_)) return Look::not_due;
  return look_now(now);
}

ReloadedText::Look ReloadedText::look_now(base::MonoTime now) {
  if (file_.empty()) return Look::not_due;
  looked_ = now;
  due_ = now + interval_;
  auto text = read_file(file_);
  if (!text) return Look::read_error;
  if (trimmed(*text).empty()) return Look::empty;
  if (*text == text_) return Look::unchanged;
  text_ = std::move(*text);
  return Look::changed;
}

void ReloadedText::restore(std::string text, base::MonoTime now) {
  text_ = std::move(text);
  due_ = now + std::min(interval_, k_after_defect);
}

Credentials::Credentials(const ClientConfig& config, const TransportOptions& options)
    : config_(config),
      observer_(options.observer),
      ca_(config.tls.ca_data, config.tls.ca_file, options.certificate_reload, true),
      certificate_(config.tls.certificate_data, config.tls.certificate_file, options.certificate_reload, true),
      key_(config.tls.key_data, config.tls.key_file, options.certificate_reload, true),
      token_(config.token, config.token_file, options.token_reload, false) {}

Credentials::~Credentials() = default;

base::Result<std::unique_ptr<Credentials>> Credentials::create(const ClientConfig& config,
                                                               const TransportOptions& options,
                                                               std::function<void()> on_ready) {
  auto credentials = std::unique_ptr<Credentials>(new Credentials(config, options));
  if (auto ok = credentials->start(std::chrono::steady_clock::now()); !ok) return std::unexpected(ok.error());
  if (!config.exec) return credentials;
  if (auto command = permitted_command(*config.exec); !command) return std::unexpected(command.error());
  credentials->exec_ = std::make_unique<ExecPlugin>(config, options, std::move(on_ready));
  return credentials;
}

base::Result<void> Credentials::start(base::MonoTime now) {
  const auto named = [](std::string_view what, const base::Error& error) {
    return base::fail(fmt::format("{}: {}", what, error.message));
  };
  if (auto ok = ca_.load(now); !ok) return named("certificate authority", ok.error());
  if (auto ok = certificate_.load(now); !ok) return named("client certificate", ok.error());
  if (auto ok = key_.load(now); !ok) return named("client key", ok.error());
  if (auto ok = token_.load(now); !ok && token_.text().empty()) return named("token", ok.error());
  auto tls = parse_tls();
  if (!tls) return std::unexpected(tls.error());
  tls_ = std::move(*tls);
  for (const std::string& header : impersonation_headers(config_.impersonate)) {
    if (!header_safe(header)) return base::fail("an impersonation value holds a line break");
  }
  if (!header_safe(trimmed(token_.text()))) return base::fail("the token holds a line break");
  rebuild();
  return {};
}

base::Result<std::shared_ptr<const TlsMaterial>> Credentials::parse_tls() const {
  const bool plugin = adopted_ && !adopted_->certificate.empty();
  return TlsMaterial::parse(ca_.text(), plugin ? adopted_->certificate : certificate_.text(),
                            plugin ? adopted_->key : key_.text());
}

void Credentials::rebuild() {
  auto built = std::make_shared<Credential>();
  built->tls = tls_;
  const std::string token = adopted_ && !adopted_->token.empty() ? adopted_->token : trimmed(token_.text());
  if (!token.empty()) {
    built->headers.push_back("Authorization: Bearer " + token);
  } else if (!config_.username.empty()) {
    built->headers.push_back("Authorization: Basic " + encode_base64(config_.username + ":" + config_.password));
  }
  for (std::string& header : impersonation_headers(config_.impersonate)) built->headers.push_back(std::move(header));
  current_ = std::move(built);
}

void Credentials::report(std::string_view what, std::string_view file, ReloadedText::Look look,
                         std::string_view defect) const {
  using enum ReloadedText::Look;
  if (look == not_due) return;
  std::string_view result = "unchanged";
  if (look == read_error) result = "read_error";
  if (look == empty) result = "empty";
  if (look == changed && defect.empty()) result = "updated";
  if (look == changed && !defect.empty()) result = what == "ca" ? "ca_parse_error" : "parse_error";
  if (observer_) observer_->reloaded(what, result);
  if (look == unchanged) return;
  if (look == changed && defect.empty()) {
    base::log::info("Credential file changed", {base::log::kv("what", what), base::log::kv("file", file)});
    return;
  }
  if (look == read_error) defect = "it cannot be read";
  if (look == empty) defect = "it is empty";
  base::log::warn("Credential file is not usable, keeping what was read before",
                  {base::log::kv("what", what), base::log::kv("file", file), base::log::kv("error", defect)});
}

bool Credentials::refresh_ca(base::MonoTime now) {
  if (!ca_.due(now)) return false;
  std::string before = ca_.text();
  const auto look = ca_.look(now);
  std::string defect;
  if (look == ReloadedText::Look::changed) {
    if (const auto parsed = TlsMaterial::parse(ca_.text(), {}, {}); !parsed) {
      defect = parsed.error().message;
      ca_.restore(std::move(before), now);
    }
  }
  report("ca", ca_.file(), look, defect);
  return look == ReloadedText::Look::changed && defect.empty();
}

bool Credentials::refresh_client_certificate(base::MonoTime now) {
  if (!certificate_.due(now) && !key_.due(now)) return false;
  std::string certificate_before = certificate_.text();
  std::string key_before = key_.text();
  const auto certificate = certificate_.look(now);
  const auto key = key_.look(now);
  const bool changed = certificate == ReloadedText::Look::changed || key == ReloadedText::Look::changed;
  std::string defect;
  if (changed) {
    if (const auto parsed = TlsMaterial::parse({}, certificate_.text(), key_.text()); !parsed) {
      defect = parsed.error().message;
      certificate_.restore(std::move(certificate_before), now);
      key_.restore(std::move(key_before), now);
    }
  }
  report("client-certificate", certificate_.file(), certificate, defect);
  report("client-certificate", key_.file(), key, defect);
  return changed && defect.empty();
}

void Credentials::refresh_tls(base::MonoTime now) {
  const bool ca_changed = refresh_ca(now);
  const bool certificate_changed = refresh_client_certificate(now);
  if (!ca_changed && !certificate_changed) return;
  if (auto parsed = parse_tls()) {
    tls_ = std::move(*parsed);
    rebuild();
  }
}

bool Credentials::refresh_token(base::MonoTime now, bool early) {
  if (!early && !token_.due(now)) return false;
  std::string before = token_.text();
  const auto look = early ? token_.look_early(now, k_after_rejection) : token_.look(now);
  if (look != ReloadedText::Look::changed) {
    report("token", token_.file(), look, {});
    return false;
  }
  if (!header_safe(trimmed(token_.text()))) {
    token_.restore(std::move(before), now);
    report("token", token_.file(), look, "it holds a line break");
    return false;
  }
  report("token", token_.file(), look, {});
  if (trimmed(before) == trimmed(token_.text())) return false;
  rebuild();
  return true;
}

Credentials::Lookup Credentials::get_from_plugin(base::MonoTime now) {
  ExecPlugin::Lookup found = exec_->get(now);
  if (!found.credential) return {nullptr, found.pending, std::move(found.error)};
  if (found.credential != adopted_) {
    const auto before = std::exchange(adopted_, found.credential);
    const bool same_certificate =
        before && before->certificate == adopted_->certificate && before->key == adopted_->key;
    if (!same_certificate && !(adopted_->certificate.empty() && (!before || before->certificate.empty()))) {
      auto parsed = parse_tls();
      if (!parsed) {
        adopted_ = before;
        return {nullptr, false,
                fmt::format("the credential plugin {:?}: {}", config_.exec->command, parsed.error().message)};
      }
      tls_ = std::move(*parsed);
    }
    rebuild();
  }
  return {current_, false, {}};
}

Credentials::Lookup Credentials::get(base::MonoTime now) {
  refresh_tls(now);
  refresh_token(now, false);
  if (exec_) return get_from_plugin(now);
  return {current_, false, {}};
}

bool Credentials::rejected(const CredentialPtr& used, base::MonoTime now) {
  if (exec_) return used != current_ || exec_->rejected(adopted_, now);
  if (used != current_) return true;
  return refresh_token(now, true);
}

bool Credentials::watches_files() const {
  return !ca_.file().empty() || !certificate_.file().empty() || !key_.file().empty();
}

}  // namespace kube
