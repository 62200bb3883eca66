// A server on a thread of its own, for tests that talk to it over sockets.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "serve/certificates.h"
#include "serve/http_server.h"
#include "serve/raw_client.h"

namespace serve_test {

class ServerTest : public testing::Test {
 protected:
  // `prepare` is called with the server before the first connection, on its thread.
  void start(serve::HttpOptions options, const std::function<void(serve::HttpServer&)>& prepare = {}) {
    std::promise<std::uint16_t> port;
    thread_ = std::thread([this, &port, &options, &prepare] {
      auto started = serve::HttpServer::start(reactor_, std::move(options));
      ASSERT_TRUE(started) << started.error().message;
      server_ = std::move(*started);
      add_routes();
      if (prepare) prepare(*server_);
      port.set_value(server_->port());
      reactor_.run();
      server_.reset();
      stream_.reset();
    });
    port_ = port.get_future().get();
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    reactor_.stop();
    thread_.join();
  }

  // Runs `task` on the server's thread and waits for it.
  void on_server(std::function<void()> task) {
    std::promise<void> done;
    reactor_.post([&] {
      task();
      done.set_value();
    });
    done.get_future().get();
  }
  // Until `holds` does, asked on the server's thread; false after ten seconds.
  bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000; ++i) {
      bool held = false;
      on_server([&] { held = holds(); });
      if (held) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::size_t connections() {
    std::size_t count = 0;
    on_server([&] { count = server_->connections(); });
    return count;
  }

  // /echo: method, target and body; /stream: a stream that the test writes to.
  void add_routes() {
    server_->route("/echo", [](serve::Request request, serve::Responder responder) {
      responder.send({.status = 200,
                      .content_type = "text/plain",
                      .body = request.method + " " + request.target + " " + request.body});
    });
    server_->route("/stream", [this](serve::Request, serve::Responder responder) {
      stream_ = responder.stream({.status = 200, .content_type = "application/json"});
      stream_->on_closed([this] { stream_closed_ = true; });
    });
  }

  serve::IoReactor reactor_;
  std::unique_ptr<serve::HttpServer> server_;  // touched on its thread only, as what follows
  std::shared_ptr<serve::Stream> stream_;
  bool stream_closed_ = false;
  std::thread thread_;
  std::uint16_t port_ = 0;
};

}  // namespace serve_test
