// What a handler of the HTTP server sees of a request, and what it answers with. Everything here belongs to the
// server's one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Who the client proved to be by its certificate; empty without one.
struct Peer {
  std::string common_name = {};
  std::vector<std::string> organizations = {};
};

// A request up to the end of its headers.
struct Head {
  std::string method = {};
  std::string target = {};  // as it came: "/path?query", percent-encoded
  std::string path = {};    // of the target, still encoded, without the query
  Headers headers = {};     // as they came, in their order
  Peer peer = {};

  // The value of a header, whatever the case of its name; "" if there is none. Of several the first.
  std::string_view header(std::string_view name) const;
};

struct Request : Head {
  std::string body = {};
};

// Content-Length, Transfer-Encoding, Connection and Date are the server's own to write.
struct Response {
  int status = 200;
  std::string content_type = {};
  Headers headers = {};
  std::string body = {};
};

// A response that goes on until one side ends it. Whoever holds it may write; letting go of it ends it. After the
// client is gone all members do nothing.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void write(std::shared_ptr<const std::string> piece) = 0;
  // The regular end: the client is told that this was all.
  virtual void end() = 0;
  // Bytes that were written and are not yet on their way to the client.
  virtual std::size_t backlog() const = 0;
  // Called once, when the client is gone or reads too slowly to be kept; not after end(). May be called from within
  // write().
  virtual void on_closed(std::function<void()> closed) = 0;
  // Called each time the backlog has fallen below the server's low mark; for those that make pieces as they are wanted.
  virtual void on_drained(std::function<void()> drained) = 0;
  // From here on a backlog over the server's limit ends the connection. Until then the writer is trusted to look at
  // backlog().
  virtual void limit_backlog() = 0;
};

// The right to answer one request, once, now or later. Destroying it unused answers with 500.
class Responder {
 public:
  class Channel;

  explicit Responder(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  ~Responder();
  Responder(Responder&&) = default;
  Responder& operator=(Responder&& other) noexcept;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  void send(Response response);
  // Sends status and headers; the body of `head` is the stream's first piece.
  std::shared_ptr<Stream> stream(Response head);

 private:
  std::shared_ptr<Channel> channel_;
};

class Responder::Channel {
 public:
  virtual ~Channel() = default;
  virtual void send(Response response) = 0;
  virtual std::shared_ptr<Stream> stream(Response head) = 0;
  virtual void abandoned() = 0;
};

using Handler = std::function<void(Request, Responder)>;

// A text that never changes, for GET and HEAD; other methods get 405.
Handler fixed_text(std::string content_type, std::string text);

}  // namespace serve
