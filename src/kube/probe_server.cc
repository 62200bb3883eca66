#include "kube/probe_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <thread>
#include <utility>

#include "base/log.h"

namespace kube {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using base::log::kv;
using HttpRequest = http::request<http::empty_body>;
using HttpResponse = http::response<http::string_body>;

constexpr std::size_t k_connections = 64;
constexpr std::uint32_t k_head_bytes = 8192;
constexpr auto k_patience = std::chrono::seconds(10);
constexpr auto k_accept_pause = std::chrono::milliseconds(100);

struct Address {
  asio::ip::address host;
  std::uint16_t port = 0;
  bool any = false;  // both families
};

base::Result<Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto bad = [&](std::string_view why) {
    return base::fail(fmt::format("\"{}\" is no address to listen on: {}; write HOST:PORT, :PORT or 0", text, why));
  };
  if (colon == std::string::npos) return bad("it has no port");
  Address address;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || rest != end) return bad("its port is not a number up to 65535");
  std::string host = text.substr(0, colon);
  if (host.empty()) {
    address.any = true;
    address.host = asio::ip::address_v6::any();
    return address;
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  boost::system::error_code failed;
  address.host = asio::ip::make_address(host, failed);
  if (failed) return bad("its host is not an IP address");
  return address;
}

bool is_off(const std::string& address) { return address.empty() || address == "0"; }

// What one listener serves.
struct Content {
  std::function<std::string()> metrics;
  std::vector<ProbeCheck> healthz;
  std::vector<ProbeCheck> readyz;
};

HttpResponse text_response(http::status status, std::string body) {
  HttpResponse response;
  response.result(status);
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.set("X-Content-Type-Options", "nosniff");
  response.body() = std::move(body);
  return response;
}

// `which` is "healthz" or "readyz", `name` the check after the slash, if any.
HttpResponse run_checks(std::string_view which, std::string_view name, const std::vector<ProbeCheck>& checks,
                        const boost::urls::url_view& url) {
  bool verbose = false;
  std::vector<std::string> excluded;
  for (const auto& param : url.params()) {
    if (param.key == "verbose") verbose = true;
    if (param.key == "exclude") excluded.push_back(param.value);
  }
  std::string lines;
  bool passed = true;
  bool found = name.empty();
  for (const ProbeCheck& check : checks) {
    if (!name.empty() && check.name != name) continue;
    found = true;
    if (std::ranges::find(excluded, check.name) != excluded.end()) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
      continue;
    }
    const auto failure = check.fails();
    passed = passed && !failure;
    lines += failure ? fmt::format("[-]{} failed: {}\n", check.name, *failure) : fmt::format("[+]{} ok\n", check.name);
  }
  if (!found) return text_response(http::status::not_found, "404 page not found\n");
  if (passed && !verbose) return text_response(http::status::ok, "ok");
  lines += fmt::format("{} check {}\n", which, passed ? "passed" : "failed");
  return text_response(passed ? http::status::ok : http::status::internal_server_error, std::move(lines));
}

HttpResponse answer(const Content& content, const HttpRequest& request) {
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    HttpResponse refused = text_response(http::status::method_not_allowed, "Method Not Allowed\n");
    refused.set(http::field::allow, "GET, HEAD");
    return refused;
  }
  const auto url = boost::urls::parse_origin_form(request.target());
  if (!url) return text_response(http::status::bad_request, "400 Bad Request\n");
  const std::string path = url->path();
  if (path == "/metrics" && content.metrics) {
    HttpResponse response = text_response(http::status::ok, content.metrics());
    response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    return response;
  }
  for (const auto& [which, checks] : {std::pair("healthz", &content.healthz), std::pair("readyz", &content.readyz)}) {
    const std::string root = std::string("/") + which;
    if (checks->empty() || !path.starts_with(root)) continue;
    const std::string rest = path.substr(root.size());
    if (rest.empty() || rest == "/") return run_checks(which, "", *checks, *url);
    if (rest.starts_with('/')) return run_checks(which, rest.substr(1), *checks, *url);
  }
  return text_response(http::status::not_found, "404 page not found\n");
}

// One connection. Keeps itself alive by the operation under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, std::shared_ptr<const Content> content, std::shared_ptr<std::size_t> open)
      : stream_(std::move(socket)), content_(std::move(content)), open_(std::move(open)) {
    ++*open_;
  }
  ~Session() { --*open_; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(k_head_bytes);
    parser_->body_limit(k_head_bytes);
    stream_.expires_after(k_patience);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code failed, std::size_t) {
      if (!failed) self->write();
    });
  }

 private:
  void write() {
    const HttpRequest& request = parser_->get();
    response_ = answer(*content_, request);
    response_.version(request.version());
    response_.keep_alive(request.keep_alive());
    response_.prepare_payload();
    if (request.method() == http::verb::head) response_.body().clear();
    stream_.expires_after(k_patience);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code failed, std::size_t) {
      if (failed) return;
      if (self->response_.keep_alive()) return self->read();
      beast::error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{2 * k_head_bytes};
  std::optional<http::request_parser<http::empty_body>> parser_;
  HttpResponse response_;
  std::shared_ptr<const Content> content_;
  std::shared_ptr<std::size_t> open_;  // sessions of all listeners; one thread
};

class Listener {
 public:
  Listener(asio::io_context& io, std::shared_ptr<const Content> content, std::shared_ptr<std::size_t> open)
      : acceptor_(io), pause_(io), content_(std::move(content)), open_(std::move(open)) {}

  base::Result<void> listen(std::string_view what, const std::string& text) {
    auto address = parse_address(text);
    if (!address) return base::fail(fmt::format("cannot serve {}: {}", what, address.error().message));
    auto failed = bind(*address);
    if (failed && address->any) {  // a host without IPv6
      address->host = asio::ip::address_v4::any();
      failed = bind(*address);
    }
    if (failed) return base::fail(fmt::format("cannot serve {} on \"{}\": {}", what, text, failed.message()));
    accept();
    return {};
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  boost::system::error_code bind(const Address& address) {
    boost::system::error_code failed;
    const tcp::endpoint endpoint(address.host, address.port);
    acceptor_.close(failed);
    if (acceptor_.open(endpoint.protocol(), failed)) return failed;
    if (acceptor_.set_option(tcp::acceptor::reuse_address(true), failed)) return failed;
    if (endpoint.protocol() == tcp::v6() && acceptor_.set_option(asio::ip::v6_only(!address.any), failed))
      return failed;
    if (acceptor_.bind(endpoint, failed)) return failed;
    acceptor_.listen(128, failed);
    return failed;
  }

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code failed, tcp::socket socket) {
      if (failed == asio::error::operation_aborted) return;
      if (failed) return accept_later();
      if (*open_ < k_connections) std::make_shared<Session>(std::move(socket), content_, open_)->read();
      accept();
    });
  }
  // Out of file descriptors, most likely: asking again at once would only burn the processor.
  void accept_later() {
    pause_.expires_after(k_accept_pause);
    pause_.async_wait([this](boost::system::error_code failed) {
      if (!failed) accept();
    });
  }

  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::shared_ptr<const Content> content_;
  std::shared_ptr<std::size_t> open_;
};

}  // namespace

struct ProbeServer::Impl {
  asio::io_context io{1};
  std::shared_ptr<std::size_t> open = std::make_shared<std::size_t>(0);
  std::unique_ptr<Listener> metrics;
  std::unique_ptr<Listener> health;
  std::uint16_t metrics_port = 0;
  std::uint16_t health_port = 0;
  std::thread thread;

  base::Result<void> listen(std::unique_ptr<Listener>& listener, std::uint16_t& port, std::string_view what,
                            const std::string& address, Content content) {
    listener = std::make_unique<Listener>(io, std::make_shared<const Content>(std::move(content)), open);
    if (auto ok = listener->listen(what, address); !ok) return ok;
    port = listener->port();
    return {};
  }
};

ProbeServer::ProbeServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

base::Result<std::unique_ptr<ProbeServer>> ProbeServer::start(ProbeOptions options) {
  auto impl = std::make_unique<Impl>();
  const bool shared = options.metrics_address == options.health_address && !options.health_address.ends_with(":0");
  Content health{nullptr, options.healthz, options.readyz};
  Content metrics{options.metrics, {}, {}};
  if (shared) health.metrics = options.metrics;
  if (!is_off(options.health_address)) {
    auto ok = impl->listen(impl->health, impl->health_port, "health probes", options.health_address, std::move(health));
    if (!ok) return std::unexpected(ok.error());
  }
  if (shared) {
    impl->metrics_port = impl->health_port;
  } else if (!is_off(options.metrics_address)) {
    auto ok = impl->listen(impl->metrics, impl->metrics_port, "metrics", options.metrics_address, std::move(metrics));
    if (!ok) return std::unexpected(ok.error());
  }
  if (impl->health || impl->metrics) {
    impl->thread = std::thread([io = &impl->io] {
      try {
        io->run();
      } catch (const std::exception& bug) {
        base::log::error("The probes have failed", {kv("error", bug.what())});
        std::terminate();
      }
    });
  }
  return std::unique_ptr<ProbeServer>(new ProbeServer(std::move(impl)));
}

ProbeServer::~ProbeServer() {
  impl_->io.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

std::uint16_t ProbeServer::metrics_port() const { return impl_->metrics_port; }
std::uint16_t ProbeServer::health_port() const { return impl_->health_port; }

}  // namespace kube
