#include "serve/http_server.h"

#include <fmt/format.h>

#include "serve/server_fixture.h"

namespace serve_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view k_get = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";

class HttpServer : public ServerTest {};

TEST_F(HttpServer, AnswersAndKeepsTheConnection) {
  start({});
  RawClient client(port_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send("POST /echo?a=b%20c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"));
    const std::string answer = client.read_response();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nPOST /echo?a=b%20c abc"));
  }
}

TEST_F(HttpServer, AnswersWhatIsInThePipeInOrder) {
  start({});
  RawClient client(port_);
  std::string all;
  for (int i = 0; i < 50; ++i) all += fmt::format("GET /echo?{} HTTP/1.1\r\nHost: x\r\n\r\n", i);
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 50; ++i) EXPECT_THAT(client.read_response(), EndsWith(fmt::format("GET /echo?{} ", i)));
}

TEST_F(HttpServer, ClosesWhenAsked) {
  start({});
  RawClient client(port_);
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_response(), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_TRUE(client.closed_within(seconds(5)));
  RawClient old(port_);
  old.send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.read_all(), EndsWith("GET /echo "));
}

TEST_F(HttpServer, TakesChunkedBodies) {
  start({});
  RawClient client(port_);
  client.send("PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_THAT(client.read_response(), EndsWith("PUT /echo abcde"));
}

TEST_F(HttpServer, ToldToContinueTheClientSendsTheBody) {
  start({});
  RawClient client(port_);
  client.send("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_THAT(client.read_response(), EndsWith("PUT /echo abc"));
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n");
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 417 "));
}

TEST_F(HttpServer, AnswersHeadWithoutBody) {
  start({});
  RawClient client(port_);
  client.send("HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.read_until("\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 11\r\n"));
  client.send(k_get);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServer, RefusesBodiesOverTheLimitByLengthAndByChunks) {
  serve::HttpOptions options;
  options.limits.body = 1000;
  start(std::move(options));
  RawClient stated(port_);
  stated.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_THAT(stated.read_all(), StartsWith("HTTP/1.1 413 "));
  RawClient chunked(port_);
  chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 11; ++i) chunked.send(fmt::format("64\r\n{}\r\n", std::string(100, 'x')));
  EXPECT_THAT(chunked.read_all(), StartsWith("HTTP/1.1 413 "));
  RawClient exact(port_);
  exact.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x'));
  EXPECT_THAT(exact.read_response(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServer, AClientThatGoesOnSendingStillReadsTheRefusal) {
  serve::HttpOptions options;
  options.limits.body = 1000;
  start(std::move(options));
  RawClient client(port_);
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n");
  const std::string block(100'000, 'x');
  for (int i = 0; i < 40 && client.send(block); ++i) {
  }
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServer, RefusesWhatIsNoHttp) {
  start({});
  for (const std::string_view text :
       {"nonsense\r\n\r\n", "GET /echo HTTP/1.1\r\nno colon\r\n\r\n", "GET  HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "GET /echo HTTP/1.1\r\n\r\n",
        "GET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"}) {
    RawClient client(port_);
    client.send(text);
    EXPECT_THAT(client.read_all(), testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 501 "))) << text;
  }
  RawClient preface(port_);
  preface.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_THAT(preface.read_all(), testing::AnyOf(StartsWith("HTTP/1.1 505 "), StartsWith("HTTP/1.1 400 ")));
}

TEST_F(HttpServer, RefusesHeadsOverTheLimit) {
  start({});
  RawClient client(port_);
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(70'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServer, ClosesOnClientsThatTakeTheirTime) {
  serve::HttpOptions options;
  options.limits.receive = milliseconds(200);
  options.limits.idle = milliseconds(400);
  start(std::move(options));
  RawClient silent(port_);
  RawClient slow_head(port_);
  slow_head.send("GET /echo HTTP/1.1\r\nHost");
  RawClient slow_body(port_);
  slow_body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(slow_head.closed_within(seconds(5)));
  EXPECT_TRUE(slow_body.closed_within(seconds(5)));
  EXPECT_TRUE(silent.closed_within(seconds(5)));
  EXPECT_TRUE(eventually([this] { return server_->connections() == 0; }));
}

TEST_F(HttpServer, DripsDoNotKeepAHeadAlive) {
  serve::HttpOptions options;
  options.limits.receive = milliseconds(300);
  start(std::move(options));
  RawClient client(port_);
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\n");
  bool closed = false;
  for (int i = 0; i < 100 && !closed; ++i) {
    client.send("X-A: b\r\n");
    closed = client.closed_within(milliseconds(20));
  }
  EXPECT_TRUE(closed);
}

TEST_F(HttpServer, StreamsPieceByPiece) {
  start({});
  RawClient client(port_);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  on_server([this] { stream_->write(std::make_shared<const std::string>("one\n")); });
  EXPECT_EQ(client.read_until("one\n\r\n"), "4\r\none\n\r\n");
  on_server([this] {
    stream_->write(std::make_shared<const std::string>("two\n"));
    stream_->end();
  });
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "4\r\ntwo\n\r\n0\r\n\r\n");
  client.send(k_get);  // the connection goes on
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServer, AStreamToAnOldClientEndsWithTheConnection) {
  start({});
  RawClient client(port_);
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  client.read_until("\r\n\r\n");
  on_server([this] {
    stream_->write(std::make_shared<const std::string>("one\n"));
    stream_->end();
  });
  EXPECT_EQ(client.read_all(), "one\n");
}

TEST_F(HttpServer, LettingGoOfAStreamEndsIt) {
  start({});
  RawClient client(port_);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  on_server([this] { stream_.reset(); });
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
}

TEST_F(HttpServer, NoticesThatTheReaderOfASilentStreamIsGone) {
  start({});
  RawClient client(port_);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  client.close();
  EXPECT_TRUE(eventually([this] { return stream_closed_; }));
  EXPECT_EQ(connections(), 0U);
}

TEST_F(HttpServer, ARequestInThePipeBehindAStreamIsAnsweredAfterIt) {
  start({});
  RawClient client(port_);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  client.send(k_get);
  std::this_thread::sleep_for(milliseconds(50));  // it has been read when the stream goes on
  on_server([this] { stream_->write(std::make_shared<const std::string>("one\n")); });
  EXPECT_EQ(client.read_until("one\n\r\n"), "4\r\none\n\r\n");
  on_server([this] { stream_->end(); });
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_THAT(client.read_response(), EndsWith("GET /echo "));
}

TEST_F(HttpServer, DropsAReaderThatIsTooFarBehindAndServesTheOthers) {
  serve::HttpOptions options;
  options.limits.backlog = 1'000'000;
  start(std::move(options));
  RawClient slow(port_);
  slow.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.read_until("\r\n\r\n");
  const auto piece = std::make_shared<const std::string>(100'000, 'x');
  on_server([&] {
    stream_->limit_backlog();
    for (int i = 0; i < 500 && !stream_closed_; ++i) stream_->write(piece);
  });
  EXPECT_TRUE(eventually([this] { return stream_closed_; }));
  RawClient other(port_);
  other.send(k_get);
  EXPECT_THAT(other.read_response(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServer, DropsAReaderThatTakesNothingAtAll) {
  serve::HttpOptions options;
  options.limits.progress = milliseconds(300);
  start(std::move(options));
  RawClient slow(port_);
  slow.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.read_until("\r\n\r\n");
  const auto piece = std::make_shared<const std::string>(20'000'000, 'x');
  on_server([&] { stream_->write(piece); });
  EXPECT_TRUE(eventually([this] { return stream_closed_; }));
}

TEST_F(HttpServer, SendsMuchToAReaderThatReads) {
  start({}, [](serve::HttpServer& server) {
    server.route("/much", [](serve::Request, serve::Responder responder) {
      responder.send({.status = 200, .content_type = "text/plain", .body = std::string(30'000'000, 'x')});
    });
  });
  RawClient client(port_);
  client.send("GET /much HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_GT(client.read_all().size(), 30'000'000U);
}

TEST_F(HttpServer, HandlersMayAnswerLaterOrNever) {
  std::optional<serve::Responder> kept;
  start({}, [&kept](serve::HttpServer& server) {
    server.route("/later", [&kept](serve::Request, serve::Responder responder) { kept.emplace(std::move(responder)); });
    server.route("/never", [](serve::Request, serve::Responder) {});
    server.route("/throws", [](serve::Request, serve::Responder) { throw std::runtime_error("a bug"); });
  });
  RawClient client(port_);
  client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(eventually([&kept] { return kept.has_value(); }));
  on_server([&kept] {
    kept->send({.status = 201, .body = "late"});
    kept.reset();
  });
  EXPECT_THAT(client.read_response(), EndsWith("late"));
  client.send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
  client.send("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
  client.send("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServer, TheLongestPrefixWinsAndAnExactPathOverAll) {
  const auto say = [](std::string text) { return serve::fixed_text("text/plain", std::move(text)); };
  start({}, [&say](serve::HttpServer& server) {
    server.route_below("/", say("all"));
    server.route_below("/a/", say("below a"));
    server.route("/", say("root"));
    server.route("/a/b", say("a b"));
  });
  RawClient client(port_);
  for (const auto& [path, text] :
       {std::pair("/", "root"), std::pair("/?x=/a/b", "root"), std::pair("/x", "all"), std::pair("/a", "all"),
        std::pair("/a/", "below a"), std::pair("/a/b", "a b"), std::pair("/a/b/c", "below a")}) {
    client.send(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path));
    EXPECT_THAT(client.read_response(), EndsWith(std::string("\r\n\r\n") + text)) << path;
  }
}

TEST_F(HttpServer, NoHeaderOfAHandlerCanEndTheHead) {
  start({}, [](serve::HttpServer& server) {
    server.route("/", [](serve::Request, serve::Responder responder) {
      responder.send({.status = 200, .headers = {{"Warning", "a\r\nSet-Cookie: b"}}, .body = "x"});
    });
  });
  RawClient client(port_);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_response(), Not(HasSubstr("\nSet-Cookie")));
}

TEST_F(HttpServer, AsksForAdmissionBeforeTheBody) {
  serve::HttpOptions options;
  options.admit = [](const serve::Head& head) -> std::optional<serve::Response> {
    if (head.header("authorization") == "yes") return std::nullopt;
    return serve::Response{.status = 401, .body = "no"};
  };
  start(std::move(options));
  RawClient client(port_);
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 401 "));
  RawClient known(port_);
  known.send("POST /echo HTTP/1.1\r\nHost: x\r\nAuthorization: yes\r\nContent-Length: 1\r\n\r\na");
  EXPECT_THAT(known.read_response(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServer, LimitsWhatAllBodiesTakeTogether) {
  serve::HttpOptions options;
  options.limits.bodies = 250'000;
  start(std::move(options));
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n";
  RawClient first(port_);
  first.send(head + std::string(190'000, 'x'));
  ASSERT_TRUE(eventually([this] { return server_->body_bytes() == 190'000; }));
  RawClient second(port_);
  for (int i = 0; i < 20 && second.send(i == 0 ? head : std::string(10'000, 'x')); ++i) {
  }
  EXPECT_THAT(second.read_all(), StartsWith("HTTP/1.1 429 "));
  first.send(std::string(10'000, 'x'));
  EXPECT_THAT(first.read_response(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServer, ServesThousandsOfStreamsAtOnce) {
  std::vector<std::shared_ptr<serve::Stream>> streams;
  start({}, [&streams](serve::HttpServer& server) {
    server.route("/watch", [&streams](serve::Request, serve::Responder responder) {
      streams.push_back(responder.stream({.status = 200, .content_type = "application/json"}));
    });
  });
  std::vector<std::unique_ptr<RawClient>> clients;
  constexpr std::size_t k_many = 400;  // a test may not have more files than 1,024
  for (std::size_t i = 0; i < k_many; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_));
    clients.back()->send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&streams] { return streams.size() == k_many; }));
  on_server([&streams] {
    const auto line = std::make_shared<const std::string>("event\n");
    for (const auto& stream : streams) stream->write(line);
  });
  for (const auto& client : clients) {
    EXPECT_THAT(client->read_until("event\n\r\n"), EndsWith("event\n\r\n"));
  }
  clients.clear();
  EXPECT_TRUE(eventually([this] { return server_->connections() == 0; }));
  on_server([&streams] { streams.clear(); });
}

TEST_F(HttpServer, ClosesConnectionsOverTheLimit) {
  serve::HttpOptions options;
  options.limits.connections = 2;
  start(std::move(options));
  RawClient first(port_);
  RawClient second(port_);
  for (RawClient* client : {&first, &second}) {
    client->send(k_get);
    EXPECT_THAT(client->read_response(), StartsWith("HTTP/1.1 200 "));
  }
  RawClient third(port_);
  EXPECT_TRUE(third.closed_within(seconds(5)));
  first.close();
  EXPECT_TRUE(eventually([this] { return server_->connections() == 1; }));
  RawClient fourth(port_);
  fourth.send(k_get);
  EXPECT_THAT(fourth.read_response(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServer, ListensOnLoopbackOnly) {
  for (const std::string host : {"0.0.0.0", "::", "192.0.2.1", "localhost", ""}) {
    serve::HttpOptions options;
    options.host = host;
    EXPECT_FALSE(serve::HttpServer::start(reactor_, std::move(options))) << host;
  }
}

TEST_F(HttpServer, DrainsIdleConnectionsAtOnceAndOthersAfterTheirAnswer) {
  std::optional<serve::Responder> kept;
  start({}, [&kept](serve::HttpServer& server) {
    server.route("/later", [&kept](serve::Request, serve::Responder responder) { kept.emplace(std::move(responder)); });
  });
  RawClient idle(port_);
  idle.send(k_get);
  idle.read_response();
  RawClient busy(port_);
  busy.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(eventually([&kept] { return kept.has_value(); }));
  on_server([this] { server_->drain(); });
  EXPECT_TRUE(idle.closed_within(seconds(5)));
  on_server([&kept] {
    kept->send({.status = 200, .body = "done"});
    kept.reset();
  });
  EXPECT_THAT(busy.read_all(), EndsWith("done"));
}

}  // namespace
}  // namespace serve_test
