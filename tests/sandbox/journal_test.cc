#include "sandbox/data/journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/thread_reactor.h"
#include "sandbox/data/format.h"
#include "sandbox/request.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A server with a data file, on the test's own thread.
struct Kept {
  explicit Kept(const std::string& path, JournalOptions options = {}) {
    auto opened = Journal::open(path, server, reactor, std::move(options));
    if (opened) journal = std::move(*opened);
    if (!opened) problem = opened.error().message;
  }
  kube::Response call(std::string_view method, std::string_view path, std::string_view body = {}) {
    return server.handle(make_request(method, path, body), "admin");
  }
  // Until what has been done is on the disk.
  void wait() {
    if (journal->durable() >= server.revision()) return;
    journal->when_durable(server.revision(), [this] { reactor.stop(); });
    reactor.run();
  }

  base::ThreadReactor reactor;
  ApiServer server{reactor, {.managed_fields = true}};
  std::unique_ptr<Journal> journal;
  std::string problem;
};

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("journal-{}-{}", getpid(), counter_++);
    fs::create_directories(folder_);
    path_ = folder_ / "state";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  static std::string config_map(int number, std::string_view value = "") {
    return fmt::format(R"({{"metadata":{{"name":"m{}"}},"data":{{"value":"{}"}}}})", number, value);
  }
  static std::string custom_definition() {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
      "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
      "properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})";
  }

  static inline int counter_ = 0;
  fs::path folder_;
  fs::path path_;
};

constexpr std::string_view k_maps = "/api/v1/namespaces/default/configmaps";

TEST_F(JournalTest, KeepsObjectsVersionsAndRevisions) {
  std::string before;
  std::uint64_t revision = 0;
  {
    Kept kept(path_);
    ASSERT_EQ(kept.problem, "");
    ASSERT_EQ(kept.call("POST", k_maps, config_map(1)).status, 201);
    ASSERT_EQ(kept.call("POST", k_maps, config_map(2)).status, 201);
    ASSERT_EQ(kept.call("DELETE", std::string(k_maps) + "/m1").status, 200);
    ASSERT_EQ(kept.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", custom_definition()).status,
              201);
    ASSERT_EQ(kept.call("POST", "/apis/example.com/v1/namespaces/default/things",
                        R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"a":1}})")
                  .status,
              201);
    kept.wait();
    before = kept.call("GET", "/apis/example.com/v1/things").body + kept.call("GET", k_maps).body +
             kept.call("GET", "/api/v1/namespaces").body;
    revision = kept.server.revision();
  }
  Kept again(path_);
  ASSERT_EQ(again.problem, "");
  EXPECT_EQ(again.server.revision(), revision);
  EXPECT_EQ(again.call("GET", "/apis/example.com/v1/things").body + again.call("GET", k_maps).body +
                again.call("GET", "/api/v1/namespaces").body,
            before);
  ASSERT_EQ(again.call("POST", k_maps, config_map(3)).status, 201);
  EXPECT_EQ(again.server.revision(), revision + 1);
}

TEST_F(JournalTest, AWatchFromBeforeARestartIsTooOldWhateverTheKind) {
  struct Lines : WatchSink {
    std::string text;
    void event(std::shared_ptr<const std::string> line) override { text += *line; }
    void ended() override {}
  };
  std::uint64_t revision = 0;
  {
    Kept kept(path_);
    kept.call("POST", k_maps, config_map(1));
    revision = kept.server.revision();
    kept.call("DELETE", std::string(k_maps) + "/m1");
    kept.wait();
  }
  Kept again(path_);
  Lines lines;
  ASSERT_TRUE(again.server.watch(make_request("GET", fmt::format("{}?watch=1&resourceVersion={}", k_maps, revision)),
                                 "admin", lines));
  EXPECT_THAT(lines.text, HasSubstr("\"code\":410"));
}

TEST_F(JournalTest, ClusterIpsThatAreTakenStayTaken) {
  std::string ip;
  const std::string service = R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"clusterIP":"10.96.7.7"}})";
  {
    Kept kept(path_);
    ASSERT_EQ(kept.call("POST", "/api/v1/namespaces/default/services", service).status, 201);
    kept.wait();
  }
  Kept again(path_);
  const auto answer = again.call("POST", "/api/v1/namespaces/default/services",
                                 R"({"metadata":{"name":"t"},"spec":{"ports":[{"port":80}],"clusterIP":"10.96.7.7"}})");
  EXPECT_EQ(answer.status, 422) << answer.body;
}

TEST_F(JournalTest, ADamagedFileIsRefusedByNameAndLeftAsItIs) {
  {
    Kept kept(path_);
    kept.call("POST", k_maps, config_map(1, "precious"));
    kept.wait();
  }
  std::string damaged = bytes();
  damaged[damaged.find("precious")] = 'P';
  write(damaged);
  const Kept refused(path_);
  EXPECT_EQ(refused.journal, nullptr);
  EXPECT_THAT(refused.problem, HasSubstr(path_.string() + " is left as it is: it is damaged: a checksum is wrong"));
  EXPECT_EQ(bytes(), damaged);
  const std::string foreign = "apiVersion: v1\n";
  write(foreign);
  EXPECT_THAT(Kept(path_).problem, HasSubstr("not a data file"));
  EXPECT_EQ(bytes(), foreign);
}

TEST_F(JournalTest, AFileInUseIsRefused) {
  const Kept kept(path_);
  EXPECT_THAT(Kept(path_).problem, HasSubstr("in use by another sandbox"));
}

TEST_F(JournalTest, AFolderIsNoFile) { EXPECT_NE(Kept(folder_).problem, ""); }

TEST_F(JournalTest, AFileWithKindsThatAreNotServedIsRefused) {
  data::Encoder encoder;
  std::string file(data::magic);
  file += encoder.begin(5, 1);
  file += encoder.object(5, {"example.com", "v1", "things"}, "default/x", "{}");
  file += encoder.end(1);
  write(file);
  EXPECT_THAT(Kept(path_).problem, HasSubstr("this sandbox does not serve things.example.com/v1"));
  EXPECT_EQ(bytes(), file);
}

TEST_F(JournalTest, AChangeCutShortIsForgottenAndWritingGoesOn) {
  {
    Kept kept(path_);
    kept.call("POST", k_maps, config_map(1));
    kept.call("POST", k_maps, config_map(2));
    kept.wait();
  }
  const std::string whole = bytes();
  write(whole.substr(0, whole.size() - 3));
  {
    Kept again(path_);
    ASSERT_EQ(again.problem, "");
    EXPECT_EQ(again.call("GET", std::string(k_maps) + "/m1").status, 200);
    EXPECT_EQ(again.call("GET", std::string(k_maps) + "/m2").status, 404);
    again.call("POST", k_maps, config_map(3));
    again.wait();
  }
  Kept last(path_);
  ASSERT_EQ(last.problem, "");
  EXPECT_EQ(last.call("GET", std::string(k_maps) + "/m3").status, 200);
}

// What the server notes of its managers is deeper than the object itself.
TEST_F(JournalTest, AnObjectAsDeepAsABodyMayBeComesBack) {
  const std::string things = "/apis/example.com/v1/namespaces/default/things";
  std::string before;
  {
    Kept kept(path_);
    ASSERT_EQ(kept.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", custom_definition()).status,
              201);
    std::string body = R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},"spec":)";
    for (int i = 0; i < 98; ++i) body += R"({"a":)";
    body += "1" + std::string(98, '}') + "}";
    ASSERT_EQ(kept.call("POST", things, body).status, 201);
    before = kept.call("GET", things + "/x").body;
    kept.wait();
  }
  Kept again(path_);
  ASSERT_EQ(again.problem, "");
  EXPECT_EQ(again.call("GET", things + "/x").body, before);
  EXPECT_EQ(again.call("PATCH", things + "/x", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
}

TEST_F(JournalTest, IsWrittenAnewWhenItsLogIsLong) {
  std::string before;
  {
    Kept kept(path_, {.least_log = 20'000, .failed = {}});
    kept.call("POST", k_maps, config_map(1));
    for (int i = 0; i < 2000; ++i) {
      kept.call("PUT", std::string(k_maps) + "/m1", config_map(1, std::to_string(i)));
      if (i % 50 == 0) kept.wait();
    }
    kept.wait();
    // It is rewritten beside the changes, which may outrun it: without changes in a hurry it catches up.
    for (int i = 0; i < 2000 && fs::file_size(path_) >= 200'000U; ++i) {
      kept.call("PUT", std::string(k_maps) + "/m1", config_map(1, std::to_string(i)));
      kept.wait();
    }
    EXPECT_GT(kept.journal->compactions(), 1U);
    EXPECT_LT(fs::file_size(path_), 200'000U);
    before = kept.call("GET", k_maps).body;
  }
  EXPECT_FALSE(fs::exists(path_.string() + ".new"));
  Kept again(path_);
  ASSERT_EQ(again.problem, "");
  EXPECT_EQ(again.call("GET", k_maps).body, before);
}

}  // namespace
}  // namespace sandbox
