#include "kube/curl_transport.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/log.h"
#include "kube/http/io_context.h"
#include "kube/http/stream_client.h"
#include "kube/http/unary_client.h"

namespace kube {
namespace {

constexpr base::Duration k_heartbeat = std::chrono::seconds(1);

void init_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

// Signals are for the thread that waits for them. SIGPIPE stays blocked even for the writes of a TLS library.
void block_signals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&signals, fault);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

class CurlTransport final : public Transport {
 public:
  CurlTransport(base::Reactor& home) : context_(home), open_(std::make_shared<OpenStreams>()) {}

  base::Result<void> start(ClientConfig config, TransportOptions options) {
    auto endpoint = Endpoint::of(config);
    if (!endpoint) return std::unexpected(endpoint.error());
    auto credentials =
        Credentials::create(config, options, [this] { context_.io.post([this] { credentials_ready(); }); });
    if (!credentials) return std::unexpected(credentials.error());
    context_.random = base::Random(options.seed);
    context_.setup = {std::move(config), std::move(options), std::move(*endpoint)};
    context_.credentials = std::move(*credentials);
    unary_.emplace(context_);
    streams_.emplace(context_, open_);
    if (context_.credentials->watches_files()) schedule_certificate_check();
    beat();
    thread_ = std::thread([this] {
      block_signals();
      context_.io.run();
    });
    return {};
  }

  ~CurlTransport() override {
    if (!thread_.joinable()) return;
    context_.io.post([this] {
      unary_->shutdown();
      streams_->shutdown();
      // One more turn for the connections whose closing was put off.
      context_.io.post([this] { context_.io.stop(); });
    });
    thread_.join();
  }

  void send(Request request, Receiver receiver) override {
    context_.io.post(
        [this, started = context_.io.now(), request = std::move(request), receiver = std::move(receiver)]() mutable {
          unary_->start(std::move(request), std::move(receiver), started);
        });
  }

  StreamId open(Request request, std::unique_ptr<StreamReceiver> receiver, base::Duration idle) override {
    const StreamId id{++last_stream_};
    open_->insert(id);
    context_.io.post([this, id, idle, started = context_.io.now(), request = std::move(request),
                      receiver = std::move(receiver)]() mutable {
      streams_->open(id, std::move(request), std::move(receiver), idle, started);
    });
    return id;
  }

  void close(StreamId stream) override {
    if (open_->erase(stream) == 0) return;
    context_.io.post([this, stream] { streams_->close(stream); });
  }

  std::shared_ptr<const base::Pulse> pulse() const override { return pulse_; }

 private:
  void beat() {
    pulse_->beat(context_.io.now());
    context_.io.at(context_.io.now() + k_heartbeat, [this] { beat(); });
  }

  void credentials_ready() {
    unary_->credentials_ready();
    streams_->credentials_ready();
  }

  // Streams live long: they need to hear of replaced certificate files although they do not ask.
  void schedule_certificate_check() {
    const base::MonoTime next = context_.io.now() + context_.setup.options.certificate_reload;
    context_.io.at(next, [this] {
      const Credentials::Lookup found = context_.credentials->get(context_.io.now());
      if (found.credential) streams_->close_all_but(found.credential->tls);
      schedule_certificate_check();
    });
  }

  IoContext context_;
  std::shared_ptr<base::Pulse> pulse_ = std::make_shared<base::Pulse>();
  std::shared_ptr<OpenStreams> open_;  // reactor's thread
  std::uint64_t last_stream_ = 0;      // reactor's thread
  std::optional<UnaryClient> unary_;
  std::optional<StreamClient> streams_;
  std::thread thread_;
};

}  // namespace

std::string default_user_agent(std::string_view binary, std::string_view version, std::string_view commit) {
#if defined(__x86_64__)
  constexpr std::string_view arch = "amd64";
#elif defined(__aarch64__)
  constexpr std::string_view arch = "arm64";
#else
  constexpr std::string_view arch = "unknown";
#endif
  std::string agent(binary);
  agent += "/";
  agent += version;
  agent += " (linux/";
  agent += arch;
  agent += ") kubernetes/";
  agent += commit.empty() ? std::string_view("unknown") : commit;
  return agent;
}

base::Result<std::unique_ptr<Transport>> make_transport(ClientConfig config, base::Reactor& reactor,
                                                        TransportOptions options) {
  init_curl();
  if (config.tls.insecure) {
    base::log::warn("The API server's certificate is not verified (insecure-skip-tls-verify)",
                    {base::log::kv("server", config.server)});
  }
  auto transport = std::make_unique<CurlTransport>(reactor);
  if (auto ok = transport->start(std::move(config), std::move(options)); !ok) return std::unexpected(ok.error());
  return transport;
}

}  // namespace kube
