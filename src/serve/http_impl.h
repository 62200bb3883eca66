// The server's inside, shared by the files that implement it. Internal to src/serve.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "serve/http_server.h"

namespace serve {

// One connection, as the server sees it.
class Connection {
 public:
  virtual ~Connection() = default;
  // Cuts it off.
  virtual void abort() = 0;
  // Ends it when it is, or gets, idle.
  virtual void drain() = 0;
};

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(IoReactor& reactor, HttpOptions the_options);

  base::Result<void> listen();
  base::Result<void> use_tls(const TlsFiles& files);
  void accept();
  void accept_later();
  const Handler* handler_of(const std::string& path) const;
  Response refusal(int status, std::string_view why) const;

  HttpOptions options;
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer pause;
  std::optional<boost::asio::ssl::context> tls;
  std::map<std::string, Handler, std::less<>> routes;
  std::map<std::string, Handler, std::less<>> prefixes;
  std::set<Connection*> connections;
  std::size_t body_bytes = 0;  // of all requests being received
  bool draining = false;
};

// Takes over an accepted connection.
void serve_connection(const std::shared_ptr<HttpServer::Impl>& server, boost::asio::ip::tcp::socket socket);

// The status line and headers of a response; nullopt as length: a chunked stream. `keep`: the connection goes on.
std::string head_text(const Response& response, std::optional<std::size_t> length, bool keep, bool http_1_0);
std::string_view reason_phrase(int status);

}  // namespace serve
