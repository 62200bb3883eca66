// What the transport makes of answers: T08, T09, T69, T70, limits, warnings, streams, shutdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kube/support/fake_server.h"
#include "kube/support/transport_fixture.h"
#include "kube/sync_client.h"

namespace kube::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = TransportError::Kind;

int status_of(const Answer& answer) {
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer ? answer->status : 0;
}

class Answers : public TransportFixture, public testing::Test {};

// Keeps what comes, and says so.
struct Sink final : BodySink {
  void restart() override {
    text.clear();
    ++restarts;
  }
  void data(std::string_view bytes) override { text += bytes; }
  std::string text;
  int restarts = 0;
};

TEST_F(Answers, ASinkTakesTheBodyOfWhatWasAskedForAndNothingElse) {
  std::atomic<int> seen = 0;
  FakeServer server([&](FakeExchange& exchange) {
    if (exchange.request.target == "/missing") return exchange.respond(404, "not here");
    if (++seen == 1) return exchange.respond(429, "busy", {{"Retry-After", "0"}});
    exchange.start_stream();
    exchange.chunk("first,");
    if (seen == 2) return exchange.reset();
    exchange.chunk("second");
    exchange.end_stream();
  });
  connect(server.url());
  const auto sink = std::make_shared<Sink>();
  Request request{.path = "/a", .sink = sink};
  const Answer answer = call(request);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(sink->text, "first,second") << "of the last attempt alone";
  EXPECT_EQ(sink->restarts, 3);
  EXPECT_EQ(observer->reports().back().response_bytes, 12u);
  request.path = "/missing";
  const Answer refusal = call(request);
  EXPECT_EQ(status_of(refusal), 404);
  EXPECT_EQ(refusal->body, "not here");
  EXPECT_EQ(sink->text, "");
}

TEST_F(Answers, ThePulseTellsWhetherTheThreadTurns) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); });
  connect(server.url());
  const auto pulse = transport().pulse();
  ASSERT_NE(pulse, nullptr);
  std::atomic<bool> hang = true;
  transport().send({.path = "/a"}, [&](Answer) -> base::Task {
    while (hang) std::this_thread::yield();
    return [] {};
  });
  EXPECT_TRUE(run_until([&] { return pulse->age(reactor.now()) > milliseconds(2500); }));
  hang = false;
  EXPECT_TRUE(run_until([&] { return pulse->age(reactor.now()) < seconds(1); }));
}

TEST_F(Answers, T08_RetryAfterIsObeyedWithinTheTimeout) {
  std::atomic<int> refusals = 2;
  FakeServer server([&](FakeExchange& exchange) {
    if (refusals-- > 0) return exchange.respond(429, "{}", {{"Retry-After", "1"}});
    exchange.respond(200);
  });
  connect(server.url());
  const base::MonoTime start = reactor.now();
  EXPECT_EQ(status_of(write("POST", "/a", seconds(10))), 200);
  EXPECT_GE(reactor.now() - start, seconds(2));
  EXPECT_LT(reactor.now() - start, milliseconds(3500)) << "jitter adds half at most";
  EXPECT_EQ(observer->count("retry POST 429"), 2);

  refusals = 1;
  const Answer late = write("POST", "/a", milliseconds(500));
  EXPECT_EQ(status_of(late), 429) << "the wait does not fit into the time-out: the caller learns of the refusal";
  EXPECT_EQ(late->retry_after, seconds(1));
}

TEST_F(Answers, T08_WhichAnswersAreTriedAgain) {
  int status = 0;
  bool with_retry_after = true;
  std::atomic<int> seen = 0;
  FakeServer server([&](FakeExchange& exchange) {
    ++seen;
    exchange.respond(status, "{}",
                     with_retry_after ? FakeExchange::Headers{{"Retry-After", "0"}} : FakeExchange::Headers{});
  });
  options.max_retries = 2;
  connect(server.url());
  const auto attempts = [&](const std::string& method, int answer) {
    seen = 0;
    status = answer;
    EXPECT_EQ(status_of(method == "GET" ? get("/a") : write(method, "/a")), answer);
    return seen.load();
  };
  for (const int code : {429, 500, 502, 503}) EXPECT_EQ(attempts("GET", code), 3) << code;
  for (const int code : {429, 503}) EXPECT_EQ(attempts("PATCH", code), 3) << code;
  EXPECT_EQ(attempts("POST", 429), 3);
  EXPECT_EQ(attempts("POST", 503), 1) << "it may have taken effect";
  for (const int code : {200, 404, 409, 504}) EXPECT_EQ(attempts("GET", code), 1) << code;
  with_retry_after = false;
  EXPECT_EQ(attempts("GET", 503), 1);
}

TEST_F(Answers, T08_AServerThatOnlyThrottlesLosesItsConnection) {
  // As behind a load balancer: connection 1 leads to a server that is always busy.
  FakeServer server([](FakeExchange& exchange) {
    if (exchange.request.connection == 1) return exchange.respond(429, "{}", {{"Retry-After", "0"}});
    exchange.respond(200);
  });
  options.throttled_before_reconnect = 3;
  connect(server.url());
  EXPECT_EQ(status_of(get("/a")), 200);
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(observer->count("retry GET 429"), 3);
}

TEST_F(Answers, T09_LargeAnswersDoNotDelayTheLease) {
  const std::string list(24 << 20, 'x');
  FakeServer server(
      [&](FakeExchange& exchange) { exchange.respond(200, exchange.request.target == "/list" ? list : "{}"); });
  connect(server.url());
  const auto first = begin({.path = "/list"});
  const auto second = begin({.path = "/list"});
  base::Duration worst{};
  while (!first->has_value() || !second->has_value()) {
    const base::MonoTime start = reactor.now();
    ASSERT_EQ(status_of(call({.path = "/lease", .lane = Lane::lease})), 200);
    worst = std::max(worst, reactor.now() - start);
  }
  EXPECT_EQ((**first)->body.size(), list.size());
  EXPECT_LT(worst, seconds(1)) << "of a deadline of 5 s; the machine may be busy";
}

TEST_F(Answers, T69_ATransportErrorIsNotMistakenForTheLastAnswer) {
  ClientConfig config;
  {
    FakeServer server([](FakeExchange& exchange) { exchange.respond(200); });
    config.server = server.url();
    connect(config);
    ASSERT_EQ(status_of(get("/a")), 200);
  }
  const Answer refused = get("/a");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, Kind::connect) << refused.error().message;
  EXPECT_FALSE(refused.error().sent);
  const Answer unsent = write("POST", "/a");
  ASSERT_FALSE(unsent.has_value());
  EXPECT_FALSE(unsent.error().sent) << "proof that the write did not happen";
}

TEST_F(Answers, T69_QueriesAreEncoded) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); });
  connect(server.url() + "/prefix/");
  Request request;
  request.path = "/api/v1/pods/a%2Fb";
  request.query = {{"labelSelector", "a in (b,c)"}, {"fieldSelector", "x!=y&z=1+2%"}, {"grüße", "ü"}};
  EXPECT_EQ(status_of(call(request)), 200);
  EXPECT_EQ(server.requests().front().target,
            "/prefix/api/v1/pods/a%2Fb?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=x%21%3Dy%26z%3D1%2B2%25"
            "&gr%C3%BC%C3%9Fe=%C3%BC");
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(Answers, T70_CompressionIsOffByDefaultAndChangesNothingWhenOn) {
  std::string list;
  for (int i = 0; i < 200000; ++i) list += R"({"metadata":{"name":"object-)" + std::to_string(i) + R"("}},)";
  FakeServer server([&](FakeExchange& exchange) {
    if (exchange.request.header("accept-encoding").empty()) return exchange.respond(200, list);
    exchange.respond(200, gzip(list), {{"Content-Encoding", "gzip"}});
  });
  ClientConfig config;
  config.server = server.url();
  connect(config);
  const Answer plain = get("/list");
  ASSERT_EQ(status_of(plain), 200);
  EXPECT_EQ(server.requests().back().header("accept-encoding"), "");

  options.compression = true;
  connect(config);
  const Answer packed = get("/list");
  ASSERT_EQ(status_of(packed), 200);
  EXPECT_EQ(server.requests().back().header("accept-encoding"), "gzip");
  EXPECT_TRUE(packed->body == plain->body);

  config.disable_compression = true;
  connect(config);
  EXPECT_EQ(status_of(get("/list")), 200);
  EXPECT_EQ(server.requests().back().header("accept-encoding"), "");
}

TEST_F(Answers, CarryWhatTheCallerReads) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.respond(409, R"({"kind":"Status"})",
                     {{"Content-Type", "application/json; x=y"},
                      {"Retry-After", "17"},
                      {"Warning", R"(299 - "use \"v1\" instead")"},
                      {"warning", R"(199 - "not this")"}});
  });
  connect(server.url());
  const Answer answer = write("PUT", "/a");
  ASSERT_EQ(status_of(answer), 409);
  EXPECT_EQ(answer->body, R"({"kind":"Status"})");
  EXPECT_EQ(answer->content_type, "application/json; x=y");
  EXPECT_EQ(answer->retry_after, seconds(17));
  EXPECT_THAT(answer->warnings, ElementsAre("use \"v1\" instead"));
  const SeenRequest request = server.requests().front();
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("accept"), "application/json");
  EXPECT_EQ(request.header("user-agent"), options.user_agent);
}

TEST_F(Answers, WarningsAreLoggedOncePerText) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.respond(200, "{}", {{"Warning", "299 - \"" + exchange.request.target.substr(1) + " is deprecated\""}});
  });
  connect(server.url());
  testing::internal::CaptureStderr();
  for (const char* path : {"/one", "/one", "/two", "/one"}) get(path);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
  EXPECT_THAT(log, HasSubstr("one is deprecated"));
  EXPECT_THAT(log, HasSubstr("two is deprecated"));
}

TEST_F(Answers, T58_TheClientSideLimitSparesLeasesAndStreams) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200); });
  options.qps = 20;
  options.burst = 2;
  connect(server.url());
  const base::MonoTime start = reactor.now();
  std::vector<std::shared_ptr<std::optional<Answer>>> limited;
  for (int i = 0; i < 12; ++i) limited.push_back(begin({.path = "/a"}));
  ASSERT_EQ(status_of(call({.path = "/lease", .lane = Lane::lease})), 200);
  const auto stream = watch("/pods");
  ASSERT_TRUE(run_until([&] { return stream->closed.has_value(); }));
  EXPECT_FALSE(limited.back()->has_value()) << "neither waited for the ordinary requests before them";
  for (const auto& answer : limited) ASSERT_TRUE(run_until([&] { return answer->has_value(); }));
  EXPECT_GE(reactor.now() - start, milliseconds(450)) << "ten requests beyond the burst at 20 a second";
  base::Duration waited{};
  for (const RequestReport& report : observer->reports()) waited = std::max(waited, report.rate_limited);
  EXPECT_GE(waited, milliseconds(400));
  const Answer impatient = get("/a", milliseconds(1));
  ASSERT_FALSE(impatient.has_value());
  EXPECT_FALSE(impatient.error().sent);
}

TEST_F(Answers, ARefusedStreamBringsItsWholeBody) {
  const std::string status = "{\n  \"kind\": \"Status\",\n  \"code\": 403\n}\n";
  FakeServer server([&](FakeExchange& exchange) { exchange.respond(403, status); });
  connect(server.url());
  const auto refused = watch("/pods");
  ASSERT_TRUE(run_until([&] { return refused->closed.has_value(); }));
  EXPECT_EQ(status_of(*refused->closed), 403);
  EXPECT_EQ((*refused->closed)->body, status);
  EXPECT_FALSE(refused->opened);
  EXPECT_EQ(refused->data, "");
}

TEST_F(Answers, AHugeRefusalIsCut) {
  FakeServer server([&](FakeExchange& exchange) { exchange.respond(500, std::string(3 << 20, 'x')); });
  connect(server.url());
  const auto refused = watch("/pods");
  ASSERT_TRUE(run_until([&] { return refused->closed.has_value(); }));
  EXPECT_EQ((*refused->closed)->body.size(), 1u << 20);
}

TEST_F(Answers, AfterCloseNoTaskOfTheStreamRuns) {
  std::atomic<bool> gone = false;
  FakeServer server([&](FakeExchange& exchange) {
    exchange.start_stream();
    while (exchange.request.connection == 1 && !gone) {
      exchange.chunk(std::string(1000, 'x'));
      exchange.wait_until([] { return true; });
    }
  });
  connect(server.url());
  StreamId id = StreamId::none;
  const auto closed = watch("/pods", seconds(5), seconds(5), &id);
  ASSERT_TRUE(run_until([&] { return closed->data.size() > 100000; }));
  transport().close(id);
  transport().close(id);
  const std::size_t size = closed->data.size();
  run_for(milliseconds(50));
  EXPECT_EQ(closed->data.size(), size);
  EXPECT_EQ(closed->closings, 0);
  gone = true;
}

TEST_F(Answers, ShutdownEndsEverythingOnce) {
  FakeServer server([](FakeExchange& exchange) {
    if (exchange.request.target == "/now") return exchange.respond(200);
    if (exchange.request.target.starts_with("/pods")) exchange.start_stream();
    exchange.stall();
  });
  connect(server.url());
  ASSERT_EQ(status_of(get("/now")), 200);
  const auto stream = watch("/pods");
  const auto pending = begin({.path = "/never"});
  ASSERT_TRUE(run_until([&] { return stream->opened && server.requests().size() == 3; }));
  const auto unsent = begin({.method = "POST", .path = "/never", .body = "{}"});
  disconnect();
  ASSERT_TRUE(run_until([&] { return pending->has_value() && unsent->has_value() && stream->closed.has_value(); }));
  EXPECT_EQ((*pending)->error().kind, Kind::cancelled);
  EXPECT_TRUE((*pending)->error().sent);
  EXPECT_EQ((*unsent)->error().kind, Kind::cancelled);
  EXPECT_EQ(stream->closed->error().kind, Kind::cancelled);
  EXPECT_EQ(stream->closings, 1);
}

TEST_F(Answers, ManyRequestsAtOnceAllGetTheirOwnAnswer) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200, exchange.request.target); },
                    {.tls = SharedTls::get().server});
  connect(server.url(), SharedTls::get().authority.certificate());
  std::vector<std::shared_ptr<std::optional<Answer>>> answers;
  for (int i = 0; i < 500; ++i) answers.push_back(begin({.path = "/" + std::to_string(i)}));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(run_until([&] { return answers[i]->has_value(); }));
    ASSERT_EQ(status_of(**answers[i]), 200);
    EXPECT_EQ((**answers[i])->body, "/" + std::to_string(i));
  }
  EXPECT_LE(server.connections(), options.max_connections);
  EXPECT_EQ(observer->count("GET 200"), 500);
}

TEST(SyncClient, ReadsAllPagesAndPassesAnswersOn) {
  FakeServer server([](FakeExchange& exchange) {
    const std::string& target = exchange.request.target;
    if (exchange.request.method != "GET") return exchange.respond(201, exchange.request.method + exchange.request.body);
    if (target.find("continue=two%2F") != std::string::npos)
      return exchange.respond(200, R"({"metadata":{},"items":[3]})");
    if (target.find("limit=2") != std::string::npos) {
      return exchange.respond(200, R"({"metadata":{"resourceVersion":"7","continue":"two/"},"items":[1,2]})");
    }
    exchange.respond(404, R"({"kind":"Status"})");
  });
  ClientConfig config;
  config.server = server.url();
  const auto client = SyncClient::connect(config);
  ASSERT_TRUE(client.has_value());
  const auto pages = (*client)->list("/pods", {{"labelSelector", "a"}}, 2);
  ASSERT_TRUE(pages.has_value());
  ASSERT_EQ(pages->size(), 2u);
  EXPECT_THAT((*pages)[1].body, HasSubstr("[3]"));
  EXPECT_EQ(status_of((*client)->get("/none")), 404);
  EXPECT_EQ((*client)->create("/pods", "{1}")->body, "POST{1}");
  EXPECT_EQ((*client)->replace("/pods/a", "{2}")->body, "PUT{2}");
  EXPECT_EQ((*client)->patch("/pods/a", "{3}")->body, "PATCH{3}");
  EXPECT_EQ((*client)->remove("/pods/a")->body, "DELETE");
  EXPECT_EQ(server.requests()[5].header("content-type"), "application/merge-patch+json");
}

TEST(SyncClient, AsksForTheRepresentationThatIsWanted) {
  FakeServer server([](FakeExchange& exchange) { exchange.respond(200, exchange.request.header("accept")); });
  ClientConfig config;
  config.server = server.url();
  const auto client = SyncClient::connect(config);
  ASSERT_TRUE(client.has_value());
  Request table;
  table.path = "/pods";
  table.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  EXPECT_EQ((*client)->call(table)->body, table.accept);
  EXPECT_EQ((*client)->get("/pods")->body, "application/json");
}

TEST(SyncClient, StreamsLinesUntilEitherSideHasEnough) {
  FakeServer server([](FakeExchange& exchange) {
    if (exchange.request.target.find("/refused") == 0) return exchange.respond(403, R"({"kind":"Status"})");
    exchange.start_stream();
    exchange.chunk("one\ntw");
    exchange.chunk("o\nthree");
    if (exchange.request.target.find("/endless") == 0) return exchange.stall();
    exchange.end_stream();
  });
  ClientConfig config;
  config.server = server.url();
  const auto client = SyncClient::connect(config);
  ASSERT_TRUE(client.has_value());
  std::vector<std::string> lines;
  const auto read = [&](const std::string& path, std::size_t enough) {
    lines.clear();
    Request request;
    request.path = path;
    return status_of((*client)->stream(request, [&](std::string_view line) {
      lines.emplace_back(line);
      return lines.size() < enough;
    }));
  };
  EXPECT_EQ(read("/ending", 10), 200);
  EXPECT_THAT(lines, ElementsAre("one", "two", "three"));
  EXPECT_EQ(read("/endless", 2), 200);
  EXPECT_THAT(lines, ElementsAre("one", "two"));
  EXPECT_EQ(read("/refused", 10), 403);
  EXPECT_THAT(lines, ElementsAre());
}

}  // namespace
}  // namespace kube::test
