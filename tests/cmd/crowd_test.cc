// Crowds of clients, and such as do not behave: an answer or a closed connection, the others go on, and afterwards
// everything is as before.
#include <sys/resource.h>

#include <memory>
#include <random>
#include <vector>

#include "cmd/process_info.h"
#include "cmd/sandbox_fixture.h"
#include "serve/raw_client.h"
#include "support/sanitized.h"

namespace cmd_test {
namespace {

using serve_test::RawClient;
using Clients = std::vector<std::unique_ptr<RawClient>>;

// Of memory that may be used; a sanitizer keeps what is freed for a while.
constexpr std::size_t k_mebibyte = (support::k_sanitized ? 4UL : 1UL) << 20U;

std::string between(const std::string& text, const std::string& before, char after) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return {};
  const std::size_t from = text.find_first_not_of('"', at + before.size());
  return text.substr(from, text.find_first_of(std::string("\n\"") + after, from) - from);
}

class Crowd : public AddressSandbox {
 protected:
  void SetUp() override {
    AddressSandbox::SetUp();
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  void TearDown() override {
    admin_.reset();
    AddressSandbox::TearDown();
  }

  bool begin(std::vector<std::string> flags) {
    if (!start_alone(std::move(flags))) return false;
    const std::string config = text_of(dir() / "tenant.kubeconfig");
    port_ = static_cast<std::uint16_t>(std::stoi(between(config, "://127.0.0.1:", '/')));
    token_ = between(config, "token: ", ' ');
    admin_ = client();
    go_on();
    files_ = open_files(child_->pid());
    memory_ = resident_bytes(child_->pid());
    return true;
  }
  std::string head(std::string_view method, std::string_view target, std::string_view more = "") const {
    return fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{}\r\n", method, target, token_, more);
  }
  Clients connect(std::size_t count, const std::string& first_words) const {
    Clients clients;
    for (std::size_t i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<RawClient>(port_));
      if (!first_words.empty()) clients.back()->send(first_words);
    }
    return clients;
  }
  // Somebody else is served.
  void go_on() {
    const auto answer = admin_->send(request("POST", std::string(k_maps), config_map(++written_)));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 201) << answer->body;
    EXPECT_EQ(admin_->send(request("GET", "/api/v1/namespaces"))->status, 200);
  }
  void expect_as_before() {
    go_on();
    EXPECT_TRUE(eventually([this] { return open_files(child_->pid()) <= files_; })) << open_files(child_->pid());
    EXPECT_LT(resident_bytes(child_->pid()), memory_ + 100 * k_mebibyte);
  }

  std::uint16_t port_ = 0;
  std::string token_;
  std::unique_ptr<HttpClient> admin_;
  int written_ = 0;
  std::size_t files_ = 0;
  std::size_t memory_ = 0;
};

TEST_F(Crowd, ThousandsOfWatchesSeeEverything) {
  ASSERT_TRUE(begin({"--plain"}));
  Clients watches = connect(2000, head("GET", std::string(k_maps) + "?watch=1&resourceVersion=1"));
  for (const auto& watch : watches) ASSERT_NE(watch->read_until("\r\n\r\n").find("200 OK"), std::string::npos);
  for (int i = 0; i < 10; ++i) go_on();
  const std::string last = fmt::format("\"name\":\"m{:05}\"", written_);
  for (const auto& watch : watches) ASSERT_NE(watch->read_until(last).find("\"ADDED\""), std::string::npos);
  EXPECT_LT(peak_bytes(child_->pid()), memory_ + 200 * k_mebibyte);
  watches.clear();
  expect_as_before();
}

TEST_F(Crowd, WatchesThatNobodyReadsAreClosedAndKeepNothing) {
  ASSERT_TRUE(begin({"--plain"}));
  const Clients watches = connect(30, head("GET", std::string(k_maps) + "?watch=1&resourceVersion=1"));
  for (const auto& watch : watches) {
    watch->set_receive_buffer(4096);
    watch->read_until("\r\n\r\n");
  }
  EXPECT_GE(open_files(child_->pid()), files_ + watches.size());
  const std::string path = fmt::format("{}/m{:05}", k_maps, written_);
  int updates = 0;
  for (; updates < 150 && open_files(child_->pid()) > files_; ++updates) {
    const auto answer = admin_->send(request("PUT", path,
                                             fmt::format(R"({{"metadata":{{"name":"m{:05}"}},"data":{{"v":"{}{}"}}}})",
                                                         written_, std::string(500'000, 'x'), updates)));
    ASSERT_EQ(answer->status, 200) << answer->body;
  }
  EXPECT_LE(open_files(child_->pid()), files_) << updates;
  // each is let fall behind by 16 MiB, of lines that they share
  EXPECT_LT(peak_bytes(child_->pid()), memory_ + 250 * k_mebibyte);
  go_on();
}

TEST_F(Crowd, SlowSilentAndHalfOpenClientsHoldUpNobody) {
  ASSERT_TRUE(begin({"--plain"}));
  const std::string post = head("POST", k_maps, "Content-Type: application/json\r\nContent-Length: 3000000\r\n");
  Clients idle = connect(500, "");
  Clients in_the_head = connect(500, "GET /api HTTP/1.1\r\nHost: x\r\nX-");
  Clients in_the_body = connect(60, post + std::string(1'000'000, ' '));
  Clients served = connect(200, head("GET", "/version"));
  go_on();
  for (const auto& client : in_the_head) client->send("A: b\r\nX-");
  Clients half_open = connect(100, "GET /api HTTP/1.1\r\nHost: x\r\n");
  for (const auto& client : half_open) client->shut_down_sending();
  for (const auto& client : half_open) EXPECT_TRUE(client->closed_within(seconds(10)));
  for (const auto& client : served) EXPECT_NE(client->read_response().find("200 OK"), std::string::npos);
  go_on();
  // 60 bodies of 3 MB are less than what all bodies may take together; what they hold is given back with them
  EXPECT_LT(peak_bytes(child_->pid()), memory_ + 256 * k_mebibyte);
  idle.clear();
  in_the_head.clear();
  in_the_body.clear();
  served.clear();
  half_open.clear();
  expect_as_before();
}

TEST_F(Crowd, NonsenseIsAnsweredOrHungUpOn) {
  ASSERT_TRUE(begin({"--plain"}));
  const std::string long_line(100'000, 'x');
  const std::string maps(k_maps);
  const std::vector<std::pair<std::string, std::string>> words = {
      {"nonsense\r\n\r\n", " 400 "},
      {std::string(200'000, '\0'), ""},
      {head("BREW", maps), " 405 "},
      {head("POST", maps, "Content-Type: text/plain\r\nContent-Length: 2\r\n") + "{}", " 415 "},
      {head("POST", maps, "Content-Type: application/json\r\nContent-Length: 4000000\r\n"), " 413 "},
      {head("POST", maps, "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n") + "zz\r\n", " 400 "},
      {head("GET", "/" + long_line), " 431 "},
      {head("GET", maps, "X-A: " + long_line + "\r\n"), " 431 "},
      {"GET /version HTTP/9.9\r\nHost: x\r\n\r\n", ""},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", ""},
  };
  for (const auto& [said, answer] : words) {
    RawClient client(port_);
    client.send(said);
    client.shut_down_sending();
    EXPECT_THAT(client.read_all(), HasSubstr(answer)) << said.substr(0, 40);
  }
  std::string pipe;
  for (int i = 0; i < 500; ++i) pipe += head("GET", i % 2 == 0 ? "/version" : maps + "?limit=1");
  Clients hasty = connect(20, pipe);
  for (const auto& client : hasty) {
    for (int i = 0; i < 500; ++i) ASSERT_THAT(client->read_response(), testing::StartsWith("HTTP/1.1 200 OK"));
  }
  Clients gone = connect(50, pipe);  // who does not wait for the answers
  gone.clear();
  hasty.clear();
  expect_as_before();
}

TEST_F(Crowd, RubbishInsteadOfTlsIsHungUpOn) {
  ASSERT_TRUE(begin({}));
  std::mt19937 random(3);
  // a ClientHello's beginning, so that some of what follows is taken for one
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (int i = 0; i < 200; ++i) {
    std::string rubbish = i % 2 == 0 ? hello : "";
    for (std::size_t bytes = random() % 2000; bytes > 0; --bytes) rubbish += static_cast<char>(random());
    RawClient client(port_);
    client.send(rubbish);
    if (i % 3 == 0) continue;  // gone without a word
    client.shut_down_sending();
    EXPECT_TRUE(client.closed_within(seconds(10)));
  }
  RawClient plain(port_);
  plain.send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(plain.read_all(), HasSubstr("Client sent an HTTP request to an HTTPS server."));
  Clients silent = connect(300, "");
  Clients halfway = connect(300, hello);
  go_on();
  silent.clear();
  halfway.clear();
  expect_as_before();
}

}  // namespace
}  // namespace cmd_test
