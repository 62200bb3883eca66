// One connection: requests are read, handed on and answered one after the other, whatever is already in the pipe.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <utility>

#include "base/log.h"
#include "serve/http_impl.h"
#include "serve/peer.h"

namespace serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using base::log::kv;
using boost::system::error_code;

constexpr std::size_t k_write_bytes = 64UL * 1024;  // taken from the queue at a time
constexpr std::size_t k_read_bytes = 64UL * 1024;   // that may come along with a head
constexpr base::Duration k_linger = std::chrono::seconds(1);

using TlsStream = asio::ssl::stream<tcp::socket>;

tcp::socket& socket_of(tcp::socket& stream) { return stream; }
tcp::socket& socket_of(TlsStream& stream) { return stream.next_layer(); }

// The client speaks HTTP without TLS.
bool is_plain_http(const error_code& failed) {
  return failed.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(failed.value())) == SSL_R_HTTP_REQUEST;
}

std::string string_of(beast::string_view text) { return {text.data(), text.size()}; }

template <class Transport>
class Session final : public Connection, public std::enable_shared_from_this<Session<Transport>> {
 public:
  template <class... Arguments>
  explicit Session(std::shared_ptr<HttpServer::Impl> server, Arguments&&... arguments)
      : server_(std::move(server)),
        transport_(std::forward<Arguments>(arguments)...),
        buffer_(server_->options.limits.head + k_read_bytes),
        timer_(transport_.get_executor()) {
    server_->connections.insert(this);
  }
  ~Session() override { closed(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() {
    error_code ignored;
    socket_of(transport_).set_option(tcp::no_delay(true), ignored);
    if constexpr (std::is_same_v<Transport, TlsStream>) {
      read_within(limits().handshake);
      transport_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](error_code failed) {
        if (failed) return self->handshake_failed(failed);
        self->peer_ = peer_of(self->transport_.native_handle());
        self->next_request();
      });
    } else {
      next_request();
    }
  }

  void abort() override {
    error_code ignored;
    socket_of(transport_).close(ignored);
    closed();
  }
  void drain() override {
    if (idle_) return abort();
    keep_ = false;
  }

 private:
  class Reply;
  class Streaming;
  friend class Reply;
  friend class Streaming;
  struct Piece {
    std::shared_ptr<const std::string> text;
    bool chunk = false;  // to be framed as one
  };

  const HttpLimits& limits() const { return server_->options.limits; }

  // --- deadlines: one timer, which looks when it rings whether anything is late
  void read_within(base::Duration time) { set_deadline(read_deadline_, time); }
  void write_within(base::Duration time) { set_deadline(write_deadline_, time); }
  void set_deadline(base::MonoTime& deadline, base::Duration time) {
    deadline = std::chrono::steady_clock::now() + time;
    arm();
  }
  void arm() {
    const base::MonoTime next = std::min(read_deadline_, write_deadline_);
    if (next >= armed_) return;
    armed_ = next;
    timer_.expires_at(next);
    timer_.async_wait([weak = this->weak_from_this()](error_code cancelled) {
      const auto self = weak.lock();
      if (self == nullptr || cancelled) return;
      self->armed_ = base::MonoTime::max();
      if (std::min(self->read_deadline_, self->write_deadline_) <= std::chrono::steady_clock::now()) {
        return self->abort();
      }
      self->arm();
    });
  }

  // --- requests in
  void handshake_failed(const error_code& failed) {
    if (!is_plain_http(failed)) return abort();
    keep_ = false;
    plain_error_ = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    write_within(limits().progress);
    asio::async_write(socket_of(transport_), asio::buffer(plain_error_),
                      [self = this->shared_from_this()](error_code, std::size_t) { self->linger(); });
  }

  void next_request() {
    if (closed_) return;
    if (server_->draining) return abort();
    keep_ = true;
    if (buffer_.size() > 0 && !reading_) return read_head();
    idle_ = true;
    read_within(limits().idle);
    read_ahead();
  }

  // Reads what comes next, be it a request or the client's end.
  void read_ahead() {
    if (reading_ || closed_) return;
    reading_ = true;
    transport_.async_read_some(buffer_.prepare(4096),
                               [self = this->shared_from_this()](error_code failed, std::size_t bytes) {
                                 self->reading_ = false;
                                 if (failed) return self->broken(failed);
                                 self->buffer_.commit(bytes);
                                 if (self->idle_)
                                   self->read_head();  // else a stream is being written: that is for later
                               });
  }

  void broken(const error_code& how) {
    base::log::debug("A connection has ended", {kv("how", how.message())});
    abort();
  }

  void read_head() {
    idle_ = false;
    read_within(limits().receive);
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits().head));
    parser_->body_limit(limits().body);
    reading_ = true;
    http::async_read_header(transport_, buffer_, *parser_,
                            [self = this->shared_from_this()](error_code failed, std::size_t) {
                              self->reading_ = false;
                              if (failed) return self->request_failed(failed);
                              self->take_head();
                            });
  }

  void request_failed(const error_code& failed) {
    if (failed == http::error::body_limit) {
      return refuse(413, fmt::format("limit is {}", limits().body));
    }
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return refuse(431, "");
    if (failed.category() != http::make_error_code(http::error::bad_method).category()) return abort();
    if (failed == http::error::end_of_stream || failed == http::error::partial_message) return abort();
    if (failed == http::error::bad_version) return refuse(505, "");
    refuse(400, "");
  }

  void take_head() {
    const auto& message = parser_->get();
    http_1_0_ = message.version() < 11;
    keep_ = message.keep_alive();
    request_ = {};
    request_.method = string_of(message.method_string());
    head_only_ = request_.method == "HEAD";
    request_.target = string_of(message.target());
    request_.path = request_.target.substr(0, request_.target.find('?'));
    for (const auto& field : message) {
      request_.headers.emplace_back(string_of(field.name_string()), string_of(field.value()));
    }
    request_.peer = peer_;
    if (!http_1_0_ && message.count(http::field::host) != 1) return refuse(400, "missing required Host header");
    if (message.find(http::field::transfer_encoding) != message.end() && !parser_->chunked()) {
      return refuse(501, "Unsupported transfer encoding");
    }
    if (server_->options.admit) {
      if (auto refusal = server_->options.admit(request_)) {
        if (!parser_->is_done()) keep_ = false;
        return respond(std::move(*refusal));
      }
    }
    const std::string_view expect = request_.header("Expect");
    if (!expect.empty() && !beast::iequals(beast::string_view(expect.data(), expect.size()), "100-continue")) {
      return refuse(417, "");
    }
    parser_->eager(true);
    read_within(limits().receive);
    if (expect.empty() || parser_->is_done() || http_1_0_) return read_body();
    write_within(limits().progress);
    asio::async_write(transport_, asio::buffer(k_continue.data(), k_continue.size()),
                      [self = this->shared_from_this()](error_code failed, std::size_t) {
                        self->write_deadline_ = base::MonoTime::max();
                        if (failed) return self->abort();
                        self->read_body();
                      });
  }

  void read_body() {
    if (parser_->is_done()) return dispatch();
    reading_ = true;
    http::async_read_some(transport_, buffer_, *parser_,
                          [self = this->shared_from_this()](error_code failed, std::size_t) {
                            self->reading_ = false;
                            if (failed) return self->request_failed(failed);
                            self->charge(self->parser_->get().body().size());
                            if (self->server_->body_bytes > self->limits().bodies)
                              return self->refuse(429, "too many bodies at once");
                            self->read_body();
                          });
  }

  // What of the bodies' budget this connection uses.
  void charge(std::size_t bytes) {
    server_->body_bytes += bytes - charged_;
    charged_ = bytes;
  }

  void dispatch() {
    read_deadline_ = base::MonoTime::max();
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    const Handler* handler = server_->handler_of(request_.path);
    if (handler == nullptr) return respond(server_->refusal(404, ""));
    const std::string path = request_.path;
    try {
      (*handler)(std::move(request_), Responder(std::make_shared<Reply>(this->shared_from_this())));
    } catch (const std::exception& bug) {  // the responder has answered when it was unwound
      base::log::error("A request has failed", {kv("path", path), kv("error", bug.what())});
    }
  }

  void refuse(int status, std::string_view why) {
    keep_ = false;  // where the next request would begin is not known
    respond(server_->refusal(status, why));
  }

  // --- answers out
  void respond(Response response) {
    if (closed_) return;
    charge(0);
    read_deadline_ = base::MonoTime::max();
    put(std::make_shared<const std::string>(head_text(response, response.body.size(), keep_, http_1_0_)));
    if (!head_only_ && !response.body.empty()) put(std::make_shared<const std::string>(std::move(response.body)));
    complete_ = true;
    pump();
  }

  std::shared_ptr<Stream> begin_stream(Response head) {
    charge(0);
    if (http_1_0_) keep_ = false;  // the end of the body is the end of the connection
    auto stream = std::make_shared<Streaming>(this->weak_from_this());
    stream_ = stream;
    if (closed_) return stream;
    while_streaming_ = this->shared_from_this();
    put(std::make_shared<const std::string>(head_text(head, std::nullopt, keep_, http_1_0_)));
    if (!head.body.empty()) stream->write(std::make_shared<const std::string>(std::move(head.body)));
    pump();
    if (buffer_.size() == 0) read_ahead();  // to notice when the client goes
    return stream;
  }

  void put(std::shared_ptr<const std::string> text, bool chunk = false) {
    queued_ += text->size();
    queue_.push_back({std::move(text), chunk});
  }

  void pump() {
    if (writing_ || closed_) return;
    if (queue_.empty()) return all_written();
    fill();
    writing_ = true;
    write_within(limits().progress);
    asio::async_write(transport_, asio::buffer(out_),
                      [self = this->shared_from_this()](error_code failed, std::size_t) {
                        self->writing_ = false;
                        self->write_deadline_ = base::MonoTime::max();
                        if (failed) return self->abort();
                        self->out_.clear();
                        if (self->queued_ < self->limits().low_mark) self->drained();
                        self->pump();
                      });
  }

  // Moves the next bytes of the queue to `out_`.
  void fill() {
    const bool framed = !http_1_0_;
    while (!queue_.empty() && out_.size() < k_write_bytes) {
      const Piece& piece = queue_.front();
      if (written_ == 0 && piece.chunk && framed) out_ += fmt::format("{:x}\r\n", piece.text->size());
      const std::size_t bytes = std::min(k_write_bytes, piece.text->size() - written_);
      out_.append(*piece.text, written_, bytes);
      written_ += bytes;
      queued_ -= bytes;
      if (written_ < piece.text->size()) break;
      if (piece.chunk && framed) out_ += "\r\n";
      written_ = 0;
      queue_.pop_front();
    }
  }

  void drained() {
    if (const auto stream = stream_.lock()) stream->tell_drained();
  }

  void all_written() {
    out_ = {};  // thousands of silent watches need no buffers
    if (!std::exchange(complete_, false)) return;
    if (keep_) return next_request();
    if constexpr (std::is_same_v<Transport, TlsStream>) {
      read_within(k_linger);
      if (reading_) return linger();
      transport_.async_shutdown([self = this->shared_from_this()](error_code) { self->linger(); });
    } else {
      linger();
    }
  }

  // Closes in a way that lets the client read the answer even while it is still sending.
  void linger() {
    if (closed_) return;
    error_code failed;
    read_within(k_linger);
    socket_of(transport_).shutdown(tcp::socket::shutdown_send, failed);
    if (failed) return abort();
    discard();
  }
  void discard() {
    socket_of(transport_)
        .async_read_some(asio::buffer(trash_), [self = this->shared_from_this()](error_code failed, std::size_t) {
          if (failed || self->closed_) return self->abort();
          self->discard();
        });
  }

  void end_stream() {
    if (closed_) return;
    const auto last = std::exchange(while_streaming_, nullptr);
    stream_.reset();
    if (!http_1_0_) put(std::make_shared<const std::string>("0\r\n\r\n"));
    complete_ = true;
    pump();
  }

  void closed() {
    if (std::exchange(closed_, true)) return;
    const auto last = std::exchange(while_streaming_, nullptr);  // goes when all else is done
    server_->connections.erase(this);
    charge(0);
    timer_.cancel();
    queue_.clear();
    queued_ = 0;
    if (const auto stream = stream_.lock()) stream->tell_closed();
    stream_.reset();
  }

  static constexpr std::string_view k_continue = "HTTP/1.1 100 Continue\r\n\r\n";

  std::shared_ptr<HttpServer::Impl> server_;
  Transport transport_;
  beast::flat_buffer buffer_;
  asio::steady_timer timer_;
  base::MonoTime armed_ = base::MonoTime::max();
  base::MonoTime read_deadline_ = base::MonoTime::max();
  base::MonoTime write_deadline_ = base::MonoTime::max();
  std::optional<http::request_parser<http::string_body>> parser_;
  Peer peer_;
  Request request_;
  std::size_t charged_ = 0;
  bool http_1_0_ = false;
  bool head_only_ = false;
  bool keep_ = true;
  bool idle_ = false;      // between requests
  bool reading_ = false;   // a read is under way
  bool complete_ = false;  // the answer is in the queue, whole
  bool closed_ = false;

  std::deque<Piece> queue_;
  std::size_t queued_ = 0;   // bytes in it
  std::size_t written_ = 0;  // bytes of its first piece that are gone already
  std::string out_;
  bool writing_ = false;
  std::weak_ptr<Streaming> stream_;
  std::shared_ptr<Session> while_streaming_;  // no operation may be under way that keeps it alive
  std::string plain_error_;
  std::array<char, 4096> trash_;
};

template <class Transport>
class Session<Transport>::Reply final : public Responder::Channel {
 public:
  explicit Reply(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  void send(Response response) override {
    if (const auto session = std::exchange(session_, nullptr)) session->respond(std::move(response));
  }
  std::shared_ptr<Stream> stream(Response head) override {
    const auto session = std::exchange(session_, nullptr);
    return session == nullptr ? nullptr : session->begin_stream(std::move(head));
  }
  void abandoned() override {
    if (session_ != nullptr) send(session_->server_->refusal(500, ""));
  }

 private:
  std::shared_ptr<Session> session_;
};

template <class Transport>
class Session<Transport>::Streaming final : public Stream {
 public:
  explicit Streaming(std::weak_ptr<Session> session) : session_(std::move(session)) {}
  ~Streaming() override { end(); }
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;

  void write(std::shared_ptr<const std::string> piece) override {
    const auto session = session_.lock();
    if (session == nullptr || session->closed_ || session->head_only_ || piece->empty()) return;
    session->put(std::move(piece), true);
    if (limited_ && session->queued_ > session->limits().backlog) return session->abort();
    session->pump();
  }
  void end() override {
    const auto session = session_.lock();
    session_.reset();
    closed_ = nullptr;
    drained_ = nullptr;
    if (session != nullptr) session->end_stream();
  }
  std::size_t backlog() const override {
    const auto session = session_.lock();
    return session == nullptr ? 0 : session->queued_;
  }
  void on_closed(std::function<void()> closed) override {
    closed_ = std::move(closed);
    const auto session = session_.lock();
    if (session == nullptr || session->closed_) tell_closed();
  }
  void on_drained(std::function<void()> drained) override { drained_ = std::move(drained); }
  void limit_backlog() override { limited_ = true; }

  void tell_closed() {
    session_.reset();
    if (const auto closed = std::exchange(closed_, nullptr)) closed();
  }
  void tell_drained() {
    if (const auto drained = drained_) drained();  // a copy: it may end this
  }

 private:
  std::weak_ptr<Session> session_;
  std::function<void()> closed_;
  std::function<void()> drained_;
  bool limited_ = false;
};

}  // namespace

void serve_connection(const std::shared_ptr<HttpServer::Impl>& server, tcp::socket socket) {
  if (server->tls) {
    std::make_shared<Session<TlsStream>>(server, std::move(socket), *server->tls)->start();
  } else {
    std::make_shared<Session<tcp::socket>>(server, std::move(socket))->start();
  }
}

}  // namespace serve
