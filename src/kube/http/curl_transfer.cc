#include "kube/http/curl_transfer.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <new>

#include "kube/file.h"

namespace kube {
namespace {

// Room behind a body that lets a JSON parser read past its end without copying it.
constexpr std::size_t k_padding = 64;
constexpr std::size_t k_max_reserve = 64 << 20;
// Of an answer that is kept as a whole. Lists go to a sink; a single object is a few megabytes at most.
constexpr std::size_t k_max_body = 256 << 20;

long milliseconds(base::Duration duration) {
  return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

long seconds(base::Duration duration) {
  return std::max<long>(1, static_cast<long>(std::chrono::ceil<std::chrono::seconds>(duration).count()));
}

bool same_name(std::string_view a, std::string_view lower) {
  const auto fold = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, lower, {}, fold);
}

// The text of `299 - "text"`; nullopt for other codes and for what is not a warning.
std::optional<std::string> warning_text(std::string_view value) {
  if (!value.starts_with("299 ")) return std::nullopt;
  const std::size_t begin = value.find('"');
  if (begin == std::string_view::npos) return std::nullopt;
  std::string text;
  for (std::size_t i = begin + 1; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

void take_status_line(std::string_view line, ResponseHead& head) {
  head = ResponseHead();
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.size() < space + 4) return;
  std::from_chars(line.data() + space + 1, line.data() + space + 4, head.status);
}

TransportError::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_URL_MALFORMAT:
      return TransportError::Kind::connect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
      return TransportError::Kind::tls;
    case CURLE_OPERATION_TIMEDOUT:
      return TransportError::Kind::timeout;
    default:
      return TransportError::Kind::reset;
  }
}

}  // namespace

void ResponseHead::take_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    take_status_line(line, *this);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  if (same_name(name, "content-type")) {
    content_type = trimmed(line.substr(colon + 1));
  } else if (same_name(name, "retry-after")) {
    // Only a number of seconds: a date would compare the server's clock with ours.
    const std::string value = trimmed(line.substr(colon + 1));
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= 0) {
      retry_after = std::chrono::seconds(number);
    }
  } else if (same_name(name, "warning")) {
    if (auto text = warning_text(trimmed(line.substr(colon + 1)))) warnings.push_back(std::move(*text));
  }
}

void HeaderList::append(const std::string& line) {
  curl_slist* const longer = curl_slist_append(list_, line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  list_ = longer;
}

CurlTransfer::CurlTransfer(const TransferSetup& setup) : setup_(setup), handle_(curl_easy_init()) {
  if (handle_ == nullptr) throw std::bad_alloc();
  curl_easy_setopt(handle_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle_, CURLOPT_BUFFERSIZE, 64L << 10);
  curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &CurlTransfer::header_line);
  curl_easy_setopt(handle_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &CurlTransfer::body_piece);
  curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(handle_, CURLOPT_PREREQFUNCTION, &CurlTransfer::before_request);
  curl_easy_setopt(handle_, CURLOPT_PREREQDATA, this);
  set_up_connections();
  if (setup_.endpoint.tls) set_up_verification();
}

CurlTransfer::~CurlTransfer() { curl_easy_cleanup(handle_); }

void CurlTransfer::set_up_connections() {
  const TransportOptions& options = setup_.options;
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
  curl_easy_setopt(handle_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle_, CURLOPT_TCP_KEEPIDLE, seconds(options.keepalive_idle));
  curl_easy_setopt(handle_, CURLOPT_TCP_KEEPINTVL, seconds(options.keepalive_interval));
  curl_easy_setopt(handle_, CURLOPT_SOCKOPTFUNCTION, &CurlTransfer::set_up_socket);
  curl_easy_setopt(handle_, CURLOPT_SOCKOPTDATA, this);
  // A burst at start shares one HTTP/2 connection instead of opening one each.
  curl_easy_setopt(handle_, CURLOPT_PIPEWAIT, 1L);
  if (!setup_.config.proxy_url.empty()) {
    curl_easy_setopt(handle_, CURLOPT_PROXY, setup_.config.proxy_url.c_str());
    curl_easy_setopt(handle_, CURLOPT_NOPROXY, "");  // a cluster's proxy is not subject to NO_PROXY
  }
  if (!setup_.endpoint.connect_to.empty()) {
    connect_to_.append(setup_.endpoint.connect_to);
    curl_easy_setopt(handle_, CURLOPT_CONNECT_TO, connect_to_.get());
  }
}

void CurlTransfer::set_up_verification() {
  const long verify = setup_.config.tls.insecure ? 0L : 1L;
  curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYPEER, verify);
  curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYHOST, verify * 2);
  // A resumed session would skip the verification of what has been rotated since.
  curl_easy_setopt(handle_, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  // Roots and certificates are installed by us: parsed once, not for every connection, and not copied for every
  // request.
  const TlsConfig& tls = setup_.config.tls;
  if (!tls.ca_data.empty() || !tls.ca_file.empty()) {
    curl_easy_setopt(handle_, CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(handle_, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(handle_, CURLOPT_SSL_CTX_FUNCTION, &CurlTransfer::set_up_tls);
  curl_easy_setopt(handle_, CURLOPT_SSL_CTX_DATA, this);
}

void CurlTransfer::prepare(Use use) {
  use_ = std::move(use);
  head_ = ResponseHead();
  body_.clear();
  too_long_ = false;
  error_[0] = '\0';
  const Request& request = *use_.request;
  curl_easy_setopt(handle_, CURLOPT_URL, use_.url.c_str());
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, use_.headers->get());
  curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, milliseconds(use_.timeout));
  curl_easy_setopt(handle_, CURLOPT_FRESH_CONNECT, use_.fresh_connection ? 1L : 0L);
  const bool http2 = use_.http2 && setup_.options.http2 && setup_.endpoint.tls;
  curl_easy_setopt(handle_, CURLOPT_HTTP_VERSION, http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
  if (request.body.empty()) {
    curl_easy_setopt(handle_, CURLOPT_HTTPGET, 1L);
  } else {
    curl_easy_setopt(handle_, CURLOPT_POST, 1L);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, request.body.data());
  }
  const bool plain_get = request.body.empty() && request.method == "GET";
  curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, plain_get ? nullptr : request.method.c_str());
  const bool compressed = setup_.options.compression && !setup_.config.disable_compression && use_.compress;
  curl_easy_setopt(handle_, CURLOPT_ACCEPT_ENCODING, compressed ? "gzip" : nullptr);
}

void CurlTransfer::reset() {
  use_ = Use();
  on_body_ = nullptr;
  on_head_ = nullptr;
  head_ = ResponseHead();
  if (body_.capacity() > (1 << 20)) body_ = std::string();
  body_.clear();
}

CurlTransfer& CurlTransfer::of(CURL* handle) {
  CurlTransfer* transfer = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
  return *transfer;
}

bool CurlTransfer::was_sent() const {
  long size = 0;
  curl_easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &size);
  return size > 0;
}

TransportError CurlTransfer::error(CURLcode code) const {
  TransportError error;
  error.kind = kind_of(code);
  error.sent = was_sent();
  const std::string_view detail = error_[0] != '\0' ? std::string_view(error_.data()) : curl_easy_strerror(code);
  error.message = fmt::format("{} {}: {}", use_.request->method, setup_.endpoint.host, detail);
  if (too_long_)
    error.message = fmt::format("{} {}: the answer is too long", use_.request->method, setup_.endpoint.host);
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    error.message = fmt::format("{} {}: the connection was lost after the request had been sent", use_.request->method,
                                setup_.endpoint.host);
  }
  return error;
}

std::size_t CurlTransfer::header_line(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::string_view line(data, size * count);
  transfer.head_.take_line(line);
  if (transfer.on_head_ && (line == "\r\n" || line == "\n")) transfer.on_head_();
  return line.size();
}

void CurlTransfer::reserve_body() {
  curl_off_t length = -1;
  curl_easy_getinfo(handle_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  const std::size_t known = length > 0 ? static_cast<std::size_t>(length) : 0;
  body_.reserve(std::min(known, k_max_reserve) + k_padding);
}

std::size_t CurlTransfer::body_piece(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::string_view piece(data, size * count);
  if (transfer.on_body_ && transfer.on_body_(piece)) return piece.size();
  transfer.too_long_ = piece.size() > k_max_body - transfer.body_.size();
  if (transfer.too_long_) return 0;
  if (transfer.body_.empty()) transfer.reserve_body();
  transfer.body_ += piece;
  return piece.size();
}

// libcurl repeats a request by itself when a reused connection breaks before any answer, whatever the method. Only a
// request of which nothing was sent may go out again without the caller's knowing: repetitions are decided above.
int CurlTransfer::before_request(void* self, char*, char*, int, int) {
  return static_cast<CurlTransfer*>(self)->was_sent() ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

CURLcode CurlTransfer::set_up_tls(CURL*, void* ssl_context, void* self) {
  const auto& transfer = *static_cast<CurlTransfer*>(self);
  return transfer.use_.credential->tls->install(static_cast<ssl_ctx_st*>(ssl_context)) ? CURLE_OK
                                                                                       : CURLE_SSL_CERTPROBLEM;
}

int CurlTransfer::set_up_socket(void* self, curl_socket_t socket, curlsocktype) {
  const auto& transfer = *static_cast<CurlTransfer*>(self);
  const auto timeout = static_cast<unsigned>(milliseconds(transfer.setup_.options.user_timeout));
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
  const int probes = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  return CURL_SOCKOPT_OK;
}

}  // namespace kube
