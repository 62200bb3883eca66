#include <fmt/format.h>

#include "serve/server_fixture.h"

namespace serve_test {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Tls : public ServerTest {
 protected:
  void SetUp() override {
    auto authority = serve::Authority::make("test-ca", std::chrono::system_clock::now());
    ASSERT_TRUE(authority);
    authority_.emplace(std::move(*authority));
    auto server = authority_->server("test", {"127.0.0.1", "localhost", "::1"});
    ASSERT_TRUE(server);
    serve::HttpOptions options;
    options.tls = serve::TlsFiles{server->certificate, server->key, authority_->certificate()};
    start(std::move(options), [](serve::HttpServer& http) {
      http.route("/whoami", [](serve::Request request, serve::Responder responder) {
        std::string text = request.peer.common_name;
        for (const std::string& organization : request.peer.organizations) text += "," + organization;
        responder.send({.status = 200, .body = "[" + text + "]"});
      });
    });
  }
  std::optional<serve::Authority> authority_;
};

constexpr std::string_view k_who = "GET /whoami HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(Tls, ServesClientsWithAndWithoutCertificates) {
  RawClient nobody(port_, authority_->certificate());
  nobody.send(k_who);
  EXPECT_THAT(nobody.read_response(), EndsWith("\r\n\r\n[]"));
  const auto mine = authority_->client("anna", {"system:masters", "b"});
  RawClient known(port_, authority_->certificate(), mine->certificate, mine->key);
  known.send(k_who);
  EXPECT_THAT(known.read_response(), EndsWith("\r\n\r\n[anna,system:masters,b]"));
}

TEST_F(Tls, TheBearerOfAForeignCertificateIsNobody) {
  const auto other = serve::Authority::make("other-ca", std::chrono::system_clock::now());
  const auto theirs = other->client("anna", {"system:masters"});
  RawClient client(port_, authority_->certificate(), theirs->certificate, theirs->key);
  client.send(k_who);
  EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n[]"));
}

TEST_F(Tls, TellsAClientThatForgotTls) {
  RawClient client(port_);
  client.send(k_who);
  EXPECT_THAT(client.read_all(), EndsWith("Client sent an HTTP request to an HTTPS server.\n"));
}

TEST_F(Tls, StreamsInBothDirectionsAtOnce) {
  RawClient client(port_, authority_->certificate());
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  client.send(k_who);  // in the pipe behind the stream
  for (int i = 0; i < 100; ++i) {
    on_server([this, i] { stream_->write(std::make_shared<const std::string>(fmt::format("event {}\n", i))); });
  }
  EXPECT_THAT(client.read_until("event 99\n\r\n"), HasSubstr("event 50\n"));
  on_server([this] { stream_->end(); });
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_THAT(client.read_response(), EndsWith("[]"));
}

TEST_F(Tls, NoticesAReaderThatIsGone) {
  {
    RawClient client(port_, authority_->certificate());
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("\r\n\r\n");
  }
  EXPECT_TRUE(eventually([this] { return stream_closed_; }));
}

TEST_F(Tls, ClosesInOrderWhenAsked) {
  RawClient client(port_, authority_->certificate());
  client.send("GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(client.closed_within(seconds(5)));
}

}  // namespace
}  // namespace serve_test
