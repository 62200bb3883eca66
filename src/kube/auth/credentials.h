// Who we are, kept fresh: tokens and certificates are read again, plugins run again, while requests go on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/auth/tls_material.h"
#include "kube/client_config.h"
#include "kube/transport_options.h"

namespace kube {

// What one request is sent with. Immutable; equality of credentials is equality of pointers.
struct Credential {
  std::vector<std::string> headers;  // "Authorization: ...", "Impersonate-...: ..."
  std::shared_ptr<const TlsMaterial> tls;
};
using CredentialPtr = std::shared_ptr<const Credential>;

// A certificate, key, CA or token that stands in a file or in the configuration, with the rules of re-reading.
class ReloadedText {
 public:
  // `data` is used until the file has been read; with `data_wins` the file is never looked at.
  ReloadedText(std::string data, std::string file, base::Duration interval, bool data_wins);
  // First reading; an error if the file is unreadable or empty. Without a file there is nothing to do.
  base::Result<void> load(base::MonoTime now);
  enum class Look : std::uint8_t { not_due, unchanged, changed, empty, read_error };
  // Looks at the file if the last look is the interval ago. A file that is empty or unreadable keeps the old text.
  Look look(base::MonoTime now) { return due(now) ? look_now(now) : Look::not_due; }
  bool due(base::MonoTime now) const { return now >= due_ && !file_.empty(); }
  // The same for a look that is wanted earlier: `least` after the last one.
  Look look_early(base::MonoTime now, base::Duration least);
  // Takes back a changed text that turned out to be unusable; the file is looked at again soon.
  void restore(std::string text, base::MonoTime now);
  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }

 private:
  std::string text_;
  std::string file_;
  Look look_now(base::MonoTime now);

  base::Duration interval_;
  base::MonoTime looked_{};
  base::MonoTime due_{};
};

class ExecPlugin;
struct ExecCredential;

// Lives on the transport's thread; only `on_ready` is called elsewhere.
class Credentials {
 public:
  struct Lookup {
    CredentialPtr credential;  // null while pending and on error
    bool pending = false;      // a plugin runs; on_ready will be called
    std::string error;
  };

  // Reads all files once, so that a missing or unusable one is an error at start. `on_ready` may be called from any
  // thread.
  static base::Result<std::unique_ptr<Credentials>> create(const ClientConfig& config, const TransportOptions& options,
                                                           std::function<void()> on_ready);
  ~Credentials();

  // The credential to use now. Looks at files that are due and starts the plugin when it is needed.
  Lookup get(base::MonoTime now);
  // The server answered 401 to `used`. True if the next get() may give another credential: then trying again makes
  // sense.
  bool rejected(const CredentialPtr& used, base::MonoTime now);
  // Whether certificates may change by themselves, so that get() has to be called from time to time for long-lived
  // streams.
  bool watches_files() const;

 private:
  Credentials(const ClientConfig& config, const TransportOptions& options);
  base::Result<void> start(base::MonoTime now);
  base::Result<std::shared_ptr<const TlsMaterial>> parse_tls() const;
  void refresh_tls(base::MonoTime now);
  bool refresh_ca(base::MonoTime now);
  bool refresh_client_certificate(base::MonoTime now);
  // Takes over what a look at the token file has brought. True if the token changed.
  bool refresh_token(base::MonoTime now, bool early);
  Lookup get_from_plugin(base::MonoTime now);
  void rebuild();
  void report(std::string_view what, std::string_view file, ReloadedText::Look look, std::string_view defect) const;

  ClientConfig config_;
  std::shared_ptr<RequestObserver> observer_;
  ReloadedText ca_;
  ReloadedText certificate_;
  ReloadedText key_;
  ReloadedText token_;
  std::shared_ptr<const TlsMaterial> tls_;  // of files and configuration; a plugin's certificate is added to it
  CredentialPtr current_;                   // of files and configuration, or of the plugin's last result
  std::unique_ptr<ExecPlugin> exec_;
  std::shared_ptr<const ExecCredential> adopted_;  // what `current_` was built from
};

}  // namespace kube
