#include "serve/http_server.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/error.hpp>
#include <utility>

#include "serve/http_impl.h"
#include "serve/io_impl.h"

namespace serve {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;

constexpr auto k_accept_pause = std::chrono::milliseconds(100);

// HTTP/1.1 is all that is spoken here; a client that offers nothing else by ALPN is told so.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* in,
                    unsigned int in_length, void*) {
  static constexpr unsigned char known[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_length, known, sizeof known, in, in_length) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

HttpServer::Impl::Impl(IoReactor& reactor, HttpOptions the_options)
    : options(std::move(the_options)), acceptor(reactor.impl().io), pause(reactor.impl().io) {}

base::Result<void> HttpServer::Impl::use_tls(const TlsFiles& files) {
  boost::system::error_code failed;
  tls.emplace(ssl::context::tls_server);
  SSL_CTX* native = tls->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // thousands of silent watches
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  tls->use_certificate_chain(asio::buffer(files.certificate), failed);
  if (failed) return base::fail("the server's certificate: " + failed.message());
  tls->use_private_key(asio::buffer(files.key), ssl::context::pem, failed);
  if (failed) return base::fail("the server's key: " + failed.message());
  if (files.client_ca.empty()) return {};
  tls->add_certificate_authority(asio::buffer(files.client_ca), failed);
  if (failed) return base::fail("the clients' certificate authority: " + failed.message());
  // Asked for, not demanded; and one that does not hold is no reason to hang up: its bearer is nobody.
  if (tls->set_verify_mode(ssl::verify_peer, failed)) return base::fail(failed.message());
  tls->set_verify_callback([](bool, ssl::verify_context&) { return true; });
  static constexpr unsigned char session_scope[] = "serve";
  SSL_CTX_set_session_id_context(native, session_scope, sizeof session_scope - 1);
  return {};
}

base::Result<void> HttpServer::Impl::listen() {
  boost::system::error_code failed;
  const auto host = asio::ip::make_address(options.host, failed);
  if (failed || !host.is_loopback()) {
    return base::fail(fmt::format("\"{}\" is no address of the loopback interface", options.host));
  }
  const tcp::endpoint endpoint(host, options.port);
  const auto refused = [&] {
    return base::fail(fmt::format("cannot listen on {}:{}: {}", options.host, options.port, failed.message()));
  };
  if (acceptor.open(endpoint.protocol(), failed)) return refused();
  if (acceptor.set_option(tcp::acceptor::reuse_address(true), failed)) return refused();
  if (acceptor.bind(endpoint, failed)) return refused();
  if (acceptor.listen(1024, failed)) return refused();
  accept();
  return {};
}

void HttpServer::Impl::accept() {
  acceptor.async_accept([weak = weak_from_this()](boost::system::error_code failed, tcp::socket socket) {
    const auto self = weak.lock();
    if (self == nullptr || self->draining || failed == asio::error::operation_aborted) return;
    if (failed) return self->accept_later();
    if (self->connections.size() < self->options.limits.connections) serve_connection(self, std::move(socket));
    self->accept();
  });
}

// Out of file descriptors, most likely: asking again at once would only burn the processor.
void HttpServer::Impl::accept_later() {
  pause.expires_after(k_accept_pause);
  pause.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    const auto self = weak.lock();
    if (self != nullptr && !failed) self->accept();
  });
}

const Handler* HttpServer::Impl::handler_of(const std::string& path) const {
  if (const auto exact = routes.find(path); exact != routes.end()) return &exact->second;
  for (std::string_view prefix = path; !prefix.empty(); prefix.remove_suffix(1)) {
    prefix = prefix.substr(0, prefix.rfind('/') + 1);
    if (prefix.empty()) break;
    if (const auto found = prefixes.find(prefix); found != prefixes.end()) return &found->second;
  }
  return nullptr;
}

Response HttpServer::Impl::refusal(int status, std::string_view why) const {
  if (options.refusal) return options.refusal(status, why);
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = fmt::format("{} {}{}{}\n", status, reason_phrase(status), why.empty() ? "" : ": ", why)};
}

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  impl_->draining = true;
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  impl_->pause.cancel();
  const std::set<Connection*> all = std::exchange(impl_->connections, {});
  for (Connection* connection : all) connection->abort();
  impl_->routes.clear();
  impl_->prefixes.clear();
  impl_->options.admit = nullptr;
  impl_->options.refusal = nullptr;
}

base::Result<std::unique_ptr<HttpServer>> HttpServer::start(IoReactor& reactor, HttpOptions options) {
  auto impl = std::make_shared<Impl>(reactor, std::move(options));
  if (impl->options.tls) {
    if (auto ready = impl->use_tls(*impl->options.tls); !ready) return std::unexpected(ready.error());
  }
  if (auto listening = impl->listen(); !listening) return std::unexpected(listening.error());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::route(std::string path, Handler handler) {
  impl_->routes.insert_or_assign(std::move(path), std::move(handler));
}

void HttpServer::route_below(std::string prefix, Handler handler) {
  impl_->prefixes.insert_or_assign(std::move(prefix), std::move(handler));
}

std::uint16_t HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }
std::size_t HttpServer::connections() const { return impl_->connections.size(); }

std::size_t HttpServer::body_bytes() const { return impl_->body_bytes; }

void HttpServer::drain() {
  if (std::exchange(impl_->draining, true)) return;
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  const std::set<Connection*> all = impl_->connections;
  for (Connection* connection : all) connection->drain();
}

}  // namespace serve
