#include "serve/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <stdexcept>

namespace serve_test {
namespace {

BIO* bio_of(const std::string& text) { return BIO_new_mem_buf(text.data(), static_cast<int>(text.size())); }

void trust(SSL_CTX* context, const std::string& authority) {
  BIO* bio = bio_of(authority);
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
  X509_free(certificate);
  BIO_free(bio);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

void present(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  BIO* certificate_bio = bio_of(certificate);
  X509* own = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, own);
  X509_free(own);
  BIO_free(certificate_bio);
  BIO* key_bio = bio_of(key);
  EVP_PKEY* own_key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_PrivateKey(context, own_key);
  EVP_PKEY_free(own_key);
  BIO_free(key_bio);
}

std::size_t content_length(std::string_view head) {
  static constexpr std::string_view name = "\r\nContent-Length: ";
  const std::size_t at = head.find(name);
  std::size_t length = 0;
  if (at != std::string_view::npos) {
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length);
  }
  return length;
}

}  // namespace

RawClient::RawClient(std::uint16_t port, const std::string& authority, const std::string& certificate,
                     const std::string& key)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect");
  }
  if (authority.empty()) return;
  context_ = SSL_CTX_new(TLS_client_method());
  trust(context_, authority);
  if (!certificate.empty()) present(context_, certificate, key);
  ssl_ = SSL_new(context_);
  SSL_set1_host(ssl_, "127.0.0.1");
  SSL_set_fd(ssl_, fd_);
  if (SSL_connect(ssl_) != 1) throw std::runtime_error("no TLS: " + std::to_string(ERR_peek_error()));
}

RawClient::~RawClient() { close(); }

void RawClient::close() {
  if (ssl_ != nullptr) SSL_free(std::exchange(ssl_, nullptr));
  if (context_ != nullptr) SSL_CTX_free(std::exchange(context_, nullptr));
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                      : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawClient::more(std::chrono::milliseconds patience) {
  if (over_) return false;
  pollfd ready{fd_, POLLIN, 0};
  const bool buffered = ssl_ != nullptr && SSL_pending(ssl_) > 0;
  if (!buffered && poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return false;
  char block[65536];
  const auto got = ssl_ != nullptr ? SSL_read(ssl_, block, sizeof block) : recv(fd_, block, sizeof block, 0);
  if (got <= 0) {
    over_ = true;
    return false;
  }
  received_.append(block, static_cast<std::size_t>(got));
  return true;
}

std::string RawClient::read_until(std::string_view end) {
  std::size_t at = 0;
  while ((at = received_.find(end)) == std::string::npos) {
    if (!more()) return std::exchange(received_, {});
  }
  std::string text = received_.substr(0, at + end.size());
  received_.erase(0, at + end.size());
  return text;
}

std::string RawClient::read_all() {
  while (more()) {
  }
  return std::exchange(received_, {});
}

std::string RawClient::read_response() {
  std::string text = read_until("\r\n\r\n");
  if (text.find("Transfer-Encoding: chunked") != std::string::npos) return text + read_until("0\r\n\r\n");
  const std::size_t length = content_length(text);
  while (received_.size() < length && more()) {
  }
  text += received_.substr(0, length);
  received_.erase(0, length);
  return text;
}

bool RawClient::closed_within(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!over_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    more(left);
  }
  return true;
}

void RawClient::shut_down_sending() { shutdown(fd_, SHUT_WR); }

void RawClient::set_receive_buffer(int bytes) { setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes); }

}  // namespace serve_test
