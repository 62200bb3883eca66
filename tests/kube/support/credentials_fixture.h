// What the tests of credentials share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>

#include "kube/support/fake_server.h"
#include "kube/support/temporary.h"
#include "kube/support/transport_fixture.h"

namespace kube::test {

// A server that knows some tokens.
class TokenServer {
 public:
  explicit TokenServer(std::string token) : tokens_{std::move(token)} {}
  void accept_too(const std::string& token) {
    const std::lock_guard lock(mutex_);
    tokens_.insert(token);
  }
  void accept_only(const std::string& token) {
    const std::lock_guard lock(mutex_);
    tokens_ = {token};
  }
  bool accepts(const FakeExchange& exchange) {
    const std::string sent = exchange.request.header("authorization");
    const std::lock_guard lock(mutex_);
    return sent.starts_with("Bearer ") && tokens_.contains(sent.substr(7));
  }
  std::atomic<bool> more = false;  // lets watches go on

 private:
  std::mutex mutex_;
  std::set<std::string> tokens_;  // guarded by mutex_

 public:
  // Last: its threads use the others.
  FakeServer server{[this](FakeExchange& exchange) {
    if (!accepts(exchange)) return exchange.respond(401, R"({"kind":"Status","code":401})");
    if (exchange.request.target.find("watch=true") == std::string::npos) return exchange.respond(200, "{}");
    exchange.start_stream();
    exchange.chunk("first\n");
    exchange.wait_until([this] { return more.load(); });
    exchange.chunk("second\n");
    exchange.end_stream();
  }};
};

class CredentialsTest : public TransportFixture, public testing::Test {
 protected:
  // As the kubelet does: the directory that a symbolic link names is exchanged.
  std::string swap_token(const std::string& token) {
    const std::string version = "v" + std::to_string(++version_);
    files.write(version + "/token", token + "\n");
    std::filesystem::create_symlink(version, files.path() / "data.new");
    std::filesystem::rename(files.path() / "data.new", files.path() / "data");
    return (files.path() / "data" / "token").string();
  }
  ClientConfig config_for(const FakeServer& server) const {
    ClientConfig config;
    config.server = server.url();
    return config;
  }
  ExecConfig plugin(const std::string& commands) {
    ExecConfig exec;
    exec.api_version = "client.authentication.k8s.io/v1";
    exec.command = files.write_script("plugin", "echo run >> " + (files.path() / "runs").string() + "\n" + commands);
    return exec;
  }
  int runs() const { return static_cast<int>(std::ranges::count(files.read("runs"), '\n')); }

  TemporaryDirectory files;

 private:
  int version_ = 0;
};

}  // namespace kube::test
