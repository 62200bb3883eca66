// A client that says exactly what a test tells it to, over a plain or a TLS socket.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace serve_test {

class RawClient {
 public:
  // With `authority` (PEM) it speaks TLS and checks the server; `certificate` and `key` are its own.
  explicit RawClient(std::uint16_t port, const std::string& authority = {}, const std::string& certificate = {},
                     const std::string& key = {});
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False if the server has closed.
  bool send(std::string_view bytes);
  // Everything up to and including `end`; less if the server closes or says nothing for ten seconds.
  std::string read_until(std::string_view end);
  // Everything until the server closes.
  std::string read_all();
  // One response with its body, by Content-Length or chunks.
  std::string read_response();
  // Whether the server closes the connection within `patience`, whatever it says before.
  bool closed_within(std::chrono::milliseconds patience);
  // No more will be sent.
  void shut_down_sending();
  void set_receive_buffer(int bytes);
  void close();

 private:
  bool more(std::chrono::milliseconds patience = std::chrono::seconds(10));

  int fd_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  std::string received_;
  bool over_ = false;
};

}  // namespace serve_test
