// One libcurl easy handle, set up once and used for many requests. Internal to the transport.
#pragma once

#include <curl/curl.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/auth/credentials.h"
#include "kube/client_config.h"
#include "kube/http/curl_endpoint.h"
#include "kube/transport.h"
#include "kube/transport_options.h"

namespace kube {

// The header fields of a response that somebody reads.
struct ResponseHead {
  int status = 0;
  std::string content_type;
  std::optional<base::Duration> retry_after;
  std::vector<std::string> warnings;

  // Takes one line of the header, line end included. A status line starts anew.
  void take_line(std::string_view line);
};

// A libcurl list of header lines.
class HeaderList {
 public:
  HeaderList() = default;
  ~HeaderList() { curl_slist_free_all(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void append(const std::string& line);
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// What is the same for every transfer of a transport. Outlives them.
struct TransferSetup {
  ClientConfig config;
  TransportOptions options;
  Endpoint endpoint;
};

// Reusable: prepare(), then a lane runs it, then head() and body() are read. Stays at its address while it runs.
class CurlTransfer {
 public:
  struct Use {
    const Request* request = nullptr;  // outlives the run
    std::string url;
    std::shared_ptr<const HeaderList> headers;
    CredentialPtr credential;
    base::Duration timeout{};  // whole transfer; zero: none
    bool fresh_connection = false;
    bool http2 = true;
    bool compress = true;  // if the options want it
    void* owner = nullptr;
  };
  // Pieces of a body, as they come. False: not taken, it belongs into body().
  using OnBody = std::function<bool(std::string_view)>;

  explicit CurlTransfer(const TransferSetup& setup);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  void prepare(Use use);
  // Before prepare(): pieces go there, and into body() only if they are not taken.
  void on_body(OnBody callback) { on_body_ = std::move(callback); }
  // Called at the end of each header block.
  void on_head(std::function<void()> callback) { on_head_ = std::move(callback); }
  // Drops what belongs to the last use, keeps libcurl's handle.
  void reset();

  CURL* handle() const { return handle_; }
  const ResponseHead& head() const { return head_; }
  ResponseHead& head() { return head_; }
  std::string& body() { return body_; }
  void* owner() const { return use_.owner; }
  // The transfer a libcurl handle belongs to.
  static CurlTransfer& of(CURL* handle);

  // Meaningful once the transfer has ended.
  bool was_sent() const;
  // The body was longer than any answer that is kept as a whole may be.
  bool too_long() const { return too_long_; }
  TransportError error(CURLcode code) const;

 private:
  static std::size_t header_line(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t body_piece(char* data, std::size_t size, std::size_t count, void* self);
  static int before_request(void* self, char*, char*, int, int);
  static CURLcode set_up_tls(CURL* handle, void* ssl_context, void* self);
  static int set_up_socket(void* self, curl_socket_t socket, curlsocktype purpose);
  void set_up_connections();
  void set_up_verification();
  void reserve_body();

  const TransferSetup& setup_;
  CURL* handle_;
  HeaderList connect_to_;
  Use use_;
  OnBody on_body_;
  std::function<void()> on_head_;
  ResponseHead head_;
  std::string body_;
  bool too_long_ = false;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace kube
