#include "kube/sync_client.h"

#include <simdjson.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>

#include "kube/curl_transport.h"
#include "kube/line_framer.h"

namespace kube {
namespace {

// metadata.continue of a list; "" on the last page and for what is not a list.
std::string continue_token(std::string_view body) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(body);
  simdjson::ondemand::document document;
  std::string_view token;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return {};
  if (document["metadata"]["continue"].get_string().get(token) != simdjson::SUCCESS) return {};
  return std::string(token);
}

// Hands the lines of a stream from the transport's thread to the one that waits for them.
class LineQueue {
 public:
  void add(std::string_view line) {
    const std::scoped_lock lock(mutex_);
    lines_.emplace_back(line);
    changed_.notify_one();
  }
  void end(Answer how) {
    const std::scoped_lock lock(mutex_);
    if (!end_) end_ = std::move(how);
    changed_.notify_one();
  }
  // The next line; nothing when there are no more.
  std::optional<std::string> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !lines_.empty() || end_; });
    if (lines_.empty()) return std::nullopt;
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }
  // How it ended, once take() has said so.
  Answer how() {
    const std::scoped_lock lock(mutex_);
    return *end_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::optional<Answer> end_;
};

class LineReceiver final : public StreamReceiver {
 public:
  explicit LineReceiver(std::shared_ptr<LineQueue> queue) : queue_(std::move(queue)) {}
  base::Task opened() override { return {}; }
  base::Task data(std::string_view bytes) override {
    framer_.feed(bytes, [this](std::string_view line) { queue_->add(line); });
    return {};
  }
  base::Task closed(Answer how) override {
    framer_.finish([this](std::string_view line) { queue_->add(line); });
    queue_->end(std::move(how));
    return {};
  }

 private:
  std::shared_ptr<LineQueue> queue_;
  LineFramer framer_;
};

Request make_request(std::string method, std::string path, SyncClient::Query query, std::string content_type,
                     std::string body) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.query = std::move(query);
  if (!body.empty()) request.content_type = std::move(content_type);
  request.body = std::move(body);
  return request;
}

}  // namespace

base::Result<std::unique_ptr<SyncClient>> SyncClient::connect(ClientConfig config, TransportOptions options) {
  return over([&](base::Reactor& reactor) { return make_transport(std::move(config), reactor, std::move(options)); });
}

base::Result<std::unique_ptr<SyncClient>> SyncClient::over(const MakeTransport& make_transport) {
  auto client = std::unique_ptr<SyncClient>(new SyncClient());
  auto transport = make_transport(client->reactor_);
  if (!transport) return std::unexpected(transport.error());
  client->transport_ = std::move(*transport);
  client->thread_ = std::thread([reactor = &client->reactor_] { reactor->run(); });
  return client;
}

SyncClient::~SyncClient() {
  if (!thread_.joinable()) return;
  reactor_.post([this] {
    transport_.reset();                          // posts the last answers,
    reactor_.post([this] { reactor_.stop(); });  // which run before this
  });
  thread_.join();
}

Answer SyncClient::call(Request request) {
  std::promise<Answer> promise;
  std::future<Answer> answer = promise.get_future();
  reactor_.post([this, request = std::move(request), promise = std::move(promise)]() mutable {
    transport_->send(std::move(request), [promise = std::move(promise)](Answer got) mutable -> base::Task {
      promise.set_value(std::move(got));
      return {};
    });
  });
  return answer.get();
}

Answer SyncClient::get(std::string path, Query query) {
  return call(make_request("GET", std::move(path), std::move(query), {}, {}));
}

std::expected<std::vector<Response>, TransportError> SyncClient::list(const std::string& path, const Query& query,
                                                                      int page_size) {
  std::vector<Response> pages;
  std::string token;
  do {
    Query page_query = query;
    page_query.emplace_back("limit", std::to_string(page_size));
    if (!token.empty()) page_query.emplace_back("continue", token);
    Answer answer = get(path, std::move(page_query));
    if (!answer) return std::unexpected(std::move(answer.error()));
    token = answer->status == 200 ? continue_token(answer->body) : std::string();
    pages.push_back(std::move(*answer));
  } while (!token.empty());
  return pages;
}

Answer SyncClient::create(std::string path, std::string body, Query query) {
  return call(make_request("POST", std::move(path), std::move(query), "application/json", std::move(body)));
}

Answer SyncClient::replace(std::string path, std::string body, Query query) {
  return call(make_request("PUT", std::move(path), std::move(query), "application/json", std::move(body)));
}

Answer SyncClient::patch(std::string path, std::string body, std::string content_type, Query query) {
  return call(make_request("PATCH", std::move(path), std::move(query), std::move(content_type), std::move(body)));
}

Answer SyncClient::remove(std::string path, std::string body, Query query) {
  return call(make_request("DELETE", std::move(path), std::move(query), "application/json", std::move(body)));
}

Answer SyncClient::stream(Request request, const std::function<bool(std::string_view)>& line, base::Duration idle) {
  auto queue = std::make_shared<LineQueue>();
  std::promise<StreamId> promise;
  std::future<StreamId> id = promise.get_future();
  reactor_.post(
      [&] { promise.set_value(transport_->open(std::move(request), std::make_unique<LineReceiver>(queue), idle)); });
  const StreamId stream = id.get();
  while (const auto text = queue->take()) {
    if (line(*text)) continue;
    reactor_.post([this, stream] { transport_->close(stream); });
    return Response{.status = 200, .body = {}, .content_type = {}, .retry_after = {}, .warnings = {}};
  }
  return queue->how();
}

}  // namespace kube
