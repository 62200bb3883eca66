#include "kube/sync_client.h"

#include <simdjson.h>

#include <chrono>
#include <future>

#include "kube/curl_transport.h"

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

}  // namespace kube
