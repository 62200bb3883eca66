// Blocking calls for tools and tests; controllers use the runtime instead.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_reactor.h"
#include "kube/client_config.h"
#include "kube/transport.h"
#include "kube/transport_options.h"

namespace kube {

// Owns a transport and the reactor thread it answers on. Thread-safe: calls of several threads run at the same time.
// Every call returns what the server answered, whatever its status, or why there is no answer.
class SyncClient {
 public:
  using Query = std::vector<std::pair<std::string, std::string>>;
  using MakeTransport = std::function<base::Result<std::unique_ptr<Transport>>(base::Reactor&)>;

  static base::Result<std::unique_ptr<SyncClient>> connect(ClientConfig config, TransportOptions options = {});
  // Over any transport, such as one that ends in an in-memory server.
  static base::Result<std::unique_ptr<SyncClient>> over(const MakeTransport& make_transport);
  // Ends calls that are still under way with `cancelled`.
  ~SyncClient();
  SyncClient(const SyncClient&) = delete;
  SyncClient& operator=(const SyncClient&) = delete;

  Answer call(Request request);
  Answer get(std::string path, Query query = {});
  // All pages of a collection, in order. The first answer that is not 200 ends it and is the last element.
  std::expected<std::vector<Response>, TransportError> list(const std::string& path, const Query& query = {},
                                                            int page_size = 500);
  Answer create(std::string path, std::string body, Query query = {});
  Answer replace(std::string path, std::string body, Query query = {});
  Answer patch(std::string path, std::string body, std::string content_type = "application/merge-patch+json",
               Query query = {});
  // `body` may hold DeleteOptions.
  Answer remove(std::string path, std::string body = {}, Query query = {});

  // A stream of lines, as of a watch. Calls `line` on the calling thread for each, until it returns false or the stream
  // ends; returns how it ended: the server's refusal, its regular end (a Response with its status) or why it broke.
  Answer stream(Request request, const std::function<bool(std::string_view line)>& line,
                base::Duration idle = std::chrono::hours(1));

 private:
  SyncClient() = default;

  base::ThreadReactor reactor_;
  std::unique_ptr<Transport> transport_;
  std::thread thread_;
};

}  // namespace kube
