#include "kube/support/fake_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

namespace kube::test {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

std::shared_ptr<SSL_CTX> make_context(const FakeServerOptions& options) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const auto bio_of = [](const std::string& text) {
    return std::unique_ptr<BIO, Deleter<BIO_free_all>>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  };
  const auto read_certificate = [&](const std::string& text) {
    return std::unique_ptr<X509, Deleter<X509_free>>(PEM_read_bio_X509(bio_of(text).get(), nullptr, nullptr, nullptr));
  };
  const std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(bio_of(options.tls->key).get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_certificate(context.get(), read_certificate(options.tls->certificate).get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  if (!options.client_ca.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), read_certificate(options.client_ca).get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() {
    if (ssl_ != nullptr) SSL_free(ssl_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool handshake(SSL_CTX* context) {
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd_);
    return SSL_accept(ssl_) == 1;
  }
  std::string client_name() const {
    X509* const certificate = ssl_ == nullptr ? nullptr : SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr) return {};
    std::array<char, 256> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(), name.size());
    return name.data();
  }
  // Appends to `buffer`; false at the end.
  bool read_more(std::string& buffer) {
    std::array<char, 16384> piece;
    const auto got = ssl_ != nullptr
                         ? static_cast<ssize_t>(SSL_read(ssl_, piece.data(), static_cast<int>(piece.size())))
                         : ::read(fd_, piece.data(), piece.size());
    if (got <= 0) return false;
    buffer.append(piece.data(), static_cast<std::size_t>(got));
    return true;
  }
  void write(std::string_view data) {
    while (!broken_ && !data.empty()) {
      const auto put = ssl_ != nullptr
                           ? static_cast<ssize_t>(SSL_write(
                                 ssl_, data.data(), static_cast<int>(std::min<std::size_t>(data.size(), 1 << 20))))
                           : ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (put <= 0) {
        broken_ = true;
        return;
      }
      data.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  void reset() {
    const linger now{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    broken_ = true;
  }
  // Whether the peer has closed; waits up to `wait` for it.
  bool gone(std::chrono::milliseconds wait) const {
    pollfd poll_fd{fd_, POLLIN | POLLRDHUP, 0};
    poll(&poll_fd, 1, static_cast<int>(wait.count()));
    return (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }
  bool broken() const { return broken_; }

 private:
  int fd_;
  SSL* ssl_ = nullptr;
  bool broken_ = false;
};

namespace {

// Reads one request into `seen`; what follows it stays in `buffer`.
bool read_request(Wire& wire, std::string& buffer, SeenRequest& seen) {
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!wire.read_more(buffer)) return false;
  }
  const std::string head = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  std::size_t at = head.find("\r\n");
  const std::string line = head.substr(0, at);
  const std::size_t first = line.find(' ');
  const std::size_t second = line.rfind(' ');
  seen.method = line.substr(0, first);
  seen.target = line.substr(first + 1, second - first - 1);
  for (at += 2; at < head.size();) {
    const std::size_t next = head.find("\r\n", at);
    const std::string field = head.substr(at, next - at);
    const std::size_t colon = field.find(':');
    const std::size_t value = field.find_first_not_of(' ', colon + 1);
    seen.headers.emplace_back(lower(field.substr(0, colon)), value == std::string::npos ? "" : field.substr(value));
    at = next + 2;
  }
  const std::string length = seen.header("content-length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  while (buffer.size() < size) {
    if (!wire.read_more(buffer)) return false;
  }
  seen.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return true;
}

}  // namespace

std::string SeenRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, [](const auto& pair) -> std::string_view { return pair.first; });
  return found == headers.end() ? std::string() : found->second;
}

void FakeExchange::respond(int status, const std::string& body, const Headers& headers) {
  std::string text =
      "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  bool typed = false;
  for (const auto& [name, value] : headers) {
    text += name + ": " + value + "\r\n";
    typed = typed || lower(name) == "content-type";
  }
  if (!typed) text += "Content-Type: application/json\r\n";
  wire_.write(text + "\r\n" + body);
}

void FakeExchange::start_stream(int status) {
  wire_.write("HTTP/1.1 " + std::to_string(status) +
              " Status\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void FakeExchange::chunk(std::string_view data) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  wire_.write(std::string(size.data()) + std::string(data) + "\r\n");
}

void FakeExchange::end_stream() { wire_.write("0\r\n\r\n"); }

void FakeExchange::reset() { wire_.reset(); }

void FakeExchange::stall() {
  wait_until([] { return false; });
  wire_.reset();
}

void FakeExchange::wait_until(const std::function<bool()>& condition) {
  while (!stopping_ && !condition()) {
    if (wire_.gone(std::chrono::milliseconds(5))) return;
  }
}

std::pair<int, int> listen_on_loopback(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, 128) != 0) {
    close(fd);
    throw std::runtime_error("cannot listen on loopback");
  }
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return {fd, ntohs(address.sin_port)};
}

FakeServer::FakeServer(Script script, FakeServerOptions options)
    : script_(std::move(script)), options_(std::move(options)), handshake_delay_(options_.handshake_delay) {
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  if (options_.tls) tls_context_ = make_context(options_);
  std::tie(listener_, port_) = listen_on_loopback(options_.port.value_or(0));
  acceptor_ = std::thread([this] { accept_all(); });
}

FakeServer::~FakeServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string FakeServer::url() const {
  return std::string(options_.tls ? "https" : "http") + "://127.0.0.1:" + std::to_string(port_);
}

std::vector<SeenRequest> FakeServer::requests() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void FakeServer::note(const SeenRequest& request) {
  const std::lock_guard lock(mutex_);
  seen_.push_back(request);
}

void FakeServer::accept_all() {
  while (!stopping_) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const int number = ++connections_;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd, number] { serve(fd, number); });
  }
}

void FakeServer::serve(int fd, int number) {
  {
    Wire wire(fd);
    const base::MonoTime ready = std::chrono::steady_clock::now() + handshake_delay_.load();
    while (!stopping_ && std::chrono::steady_clock::now() < ready) wire.gone(std::chrono::milliseconds(5));
    std::string buffer;
    const bool usable = !tls_context_ || wire.handshake(static_cast<SSL_CTX*>(tls_context_.get()));
    while (usable && !wire.broken() && !stopping_) {
      SeenRequest request;
      if (!read_request(wire, buffer, request)) break;
      request.connection = number;
      request.client_name = wire.client_name();
      note(request);
      FakeExchange exchange(std::move(request), wire, stopping_);
      script_(exchange);
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  close(fd);
}

}  // namespace kube::test
