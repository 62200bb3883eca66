#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "scenarios/child.h"
#include "scenarios/http.h"

namespace {

namespace fs = std::filesystem;
using scenarios::Child;
using scenarios::HttpClient;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::string_view k_maps = "/api/v1/namespaces/default/configmaps";

const std::string k_group = "/apis/local.sdn.cozystack.io/v1alpha1";

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

kube::Request request(std::string method, std::string path, std::string body = {}, std::string type = {}) {
  kube::Request made;
  made.method = std::move(method);
  made.path = std::move(path);
  made.content_type = !type.empty() || body.empty() ? std::move(type) : "application/json";
  made.body = std::move(body);
  return made;
}

std::string config_map(int number) { return fmt::format(R"({{"metadata":{{"name":"m{:05}"}}}})", number); }

class AddressSandbox : public testing::Test {
 protected:
  void SetUp() override {
    static int counter = 0;
    folder_ = fs::temp_directory_path() / fmt::format("address-sandbox-test-{}-{}", getpid(), counter++);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    child_.reset();
    fs::remove_all(folder_);
  }

  fs::path dir() const { return folder_ / "dir"; }
  fs::path data() const { return folder_ / "state"; }
  std::string log() const { return text_of(folder_ / "log"); }

  std::unique_ptr<Child> launch(std::vector<std::string> flags) {
    std::vector<std::string> argv{ADDRESS_SANDBOX, "--dir=" + dir().string()};
    argv.insert(argv.end(), flags.begin(), flags.end());
    auto child = Child::start(argv, (folder_ / "log").string());
    EXPECT_TRUE(child);
    return child ? std::move(*child) : nullptr;
  }
  // Until it serves.
  bool start(std::vector<std::string> flags) {
    child_.reset();
    fs::remove(dir() / "metallb.kubeconfig");  // the last to be written
    child_ = launch(std::move(flags));
    return eventually([this] { return fs::exists(dir() / "metallb.kubeconfig") || !child_->running(); }) &&
           child_->running();
  }
  bool start_alone(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"--no-controllers", "--without=metallb"});
    return start(std::move(flags));
  }
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 3000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }
  std::unique_ptr<HttpClient> client(std::string_view file = "kubeconfig") {
    auto made = HttpClient::from_kubeconfig((dir() / file).string());
    EXPECT_TRUE(made);
    return made ? std::move(*made) : nullptr;
  }
  // A class of 10.242.42.0/24, and a claim of it that is Bound.
  void give_web_its_address() {
    const auto admin = client();
    EXPECT_EQ(
        admin
            ->send(request("POST", k_group + "/ipaddressclasses",
                           "apiVersion: local.sdn.cozystack.io/v1alpha1\nkind: IPAddressClass\n"
                           "metadata: {name: demo}\nspec:\n  provisioner: metallb.drivers.local.sdn.cozystack.io\n"
                           "  parameters: {addresses: [10.242.42.0/24]}\n",
                           "application/yaml"))
            ->status,
        201);
    EXPECT_EQ(admin
                  ->send(request("POST", k_group + "/namespaces/default/ipaddressclaims",
                                 R"({"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClaim",
                                     "metadata":{"name":"web"},"spec":{"className":"demo","family":"IPv4"}})"))
                  ->status,
              201);
    EXPECT_TRUE(eventually([&] {
      return admin->send(request("GET", k_group + "/namespaces/default/ipaddressclaims/web"))
                 ->body.find("\"phase\":\"Bound\"") != std::string::npos;
    })) << text_of(dir() / "driver.log");
  }
  // Until it ends by itself; how it did.
  std::string ending_of(std::vector<std::string> flags) {
    const auto child = launch(std::move(flags));
    EXPECT_TRUE(eventually([&child] { return !child->running(); }));
    return child->ending();
  }

  fs::path folder_;
  std::unique_ptr<Child> child_;
};

TEST_F(AddressSandbox, SaysWhatItIsAndEndsInOrder) {
  ASSERT_TRUE(start({}));
  ASSERT_TRUE(eventually([this] { return log().find("Ctrl-C ends it.") != std::string::npos; }));
  EXPECT_THAT(log(), HasSubstr("This is a sandbox, not a cluster"));
  EXPECT_THAT(log(), HasSubstr("export KUBECONFIG=" + (dir() / "kubeconfig").string()));
  struct stat info {};
  ASSERT_EQ(stat((dir() / "kubeconfig").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto admin = client();
  EXPECT_EQ(admin->send(request("GET", "/api/v1/namespaces/metallb-iad-system"))->status, 200);
  EXPECT_TRUE(child_->end(seconds(20))) << child_->ending() << log();
  EXPECT_FALSE(fs::exists(dir() / "kubeconfig"));
}

TEST_F(AddressSandbox, GivesAClaimItsAddress) {
  ASSERT_TRUE(start({}));
  give_web_its_address();
}

TEST_F(AddressSandbox, ControllersThatDrainLeaveNothingThatKeepsObjects) {
  ASSERT_TRUE(start({"--data=" + data().string()}));
  give_web_its_address();
  ASSERT_TRUE(child_->end(seconds(20)));
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  for (const std::string part : {"driver", "core"}) {
    const auto ended = scenarios::run_to_end(
        {ADDRESS_SANDBOX, "part", part, "--drain", "--metrics-bind-address=0", "--health-probe-bind-address=0",
         "--kubeconfig=" + (dir() / (part + ".kubeconfig")).string()},
        (folder_ / part).string());
    EXPECT_TRUE(ended) << text_of(folder_ / part);
    EXPECT_THAT(text_of(folder_ / part), HasSubstr("has taken its finalizers off "));
  }
  const auto admin = client();
  for (const std::string& path :
       {k_group + "/namespaces/default/ipaddressclaims/web", k_group + "/ipaddresses/ip-10-242-42-1"}) {
    const auto found = admin->send(request("GET", path));
    EXPECT_EQ(found->status, 200);
    EXPECT_THAT(found->body, testing::Not(HasSubstr("finalizers")));
    EXPECT_THAT(found->body, HasSubstr("\"phase\":\"Bound\""));
  }
  const auto holds = admin->send(request("GET", "/api/v1/namespaces/metallb-iad-system/services"));
  EXPECT_THAT(holds->body, HasSubstr("\"ip\":\"10.242.42.1\"")) << "MetalLB goes on holding it";
}

TEST_F(AddressSandbox, RefusesFlagsItDoesNotKnow) {
  EXPECT_EQ(ending_of({"--nonsense"}), "exited with 2");
  EXPECT_THAT(log(), HasSubstr("--nonsense"));
  EXPECT_EQ(ending_of({"--metallb-version=0.14"}), "exited with 2");
  EXPECT_EQ(ending_of({"--without=nothing"}), "exited with 2");
}

TEST_F(AddressSandbox, OneFolderOneSandbox) {
  ASSERT_TRUE(start_alone());
  EXPECT_EQ(ending_of({}), "exited with 1");
  EXPECT_THAT(log(), HasSubstr("another sandbox uses " + dir().string()));
}

TEST_F(AddressSandbox, ServesPlainHttpToo) {
  ASSERT_TRUE(start_alone({"--plain"}));
  EXPECT_THAT(text_of(dir() / "kubeconfig"), HasSubstr("server: http://127.0.0.1:"));
  EXPECT_EQ(client()->send(request("GET", std::string(k_maps)))->status, 200);
}

TEST_F(AddressSandbox, KnowsWhoAsks) {
  ASSERT_TRUE(start_alone({"--plain"}));
  const std::string config = text_of(dir() / "kubeconfig");
  const std::size_t at = config.find("server: ") + 8;
  const auto nobody = HttpClient::plain(config.substr(at, config.find('\n', at) - at));
  EXPECT_EQ(nobody->send(request("GET", "/healthz"))->status, 200);
  const auto refused = nobody->send(request("GET", std::string(k_maps)));
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->body, HasSubstr("User \\\"system:anonymous\\\" cannot list resource \\\"configmaps\\\""));
  EXPECT_EQ(nobody->send(request("GET", "/apis"))->status, 403);
  EXPECT_EQ(client("tenant.kubeconfig")->send(request("GET", std::string(k_maps)))->status, 200);
}

TEST_F(AddressSandbox, AnswersBadRequestsAsTheRealServerDoes) {
  ASSERT_TRUE(start_alone());
  const auto admin = client();
  const std::string path(k_maps);
  EXPECT_EQ(admin->send(request("POST", path, "{\"metadata\":"))->status, 400);
  EXPECT_EQ(admin->send(request("POST", path, "metadata: [", "application/yaml"))->status, 400);
  EXPECT_EQ(admin->send(request("POST", path, "x", "text/plain"))->status, 415);
  EXPECT_EQ(admin->send(request("PATCH", path + "/m", "{}", "application/json"))->status, 415);
  EXPECT_EQ(admin->send(request("BREW", path))->status, 405);
  EXPECT_EQ(admin->send(request("OPTIONS", path))->status, 405);
  EXPECT_EQ(admin->send(request("PUT", path, "{}"))->status, 405);
  const auto large = admin->send(request("POST", path, std::string(4'000'000, ' ')));
  EXPECT_EQ(large->status, 413);
  EXPECT_THAT(large->body, HasSubstr("\"message\":\"Request entity too large: limit is 3145728\""));
  // documents that are made to exhaust whoever reads them
  EXPECT_EQ(admin->send(request("POST", path, std::string(2'000'000, '[')))->status, 400);
  EXPECT_EQ(admin->send(request("POST", path, std::string(2'000'000, '['), "application/yaml"))->status, 400);
  EXPECT_EQ(admin->send(request("POST", path, std::string(2'000'000, '{'), "application/yaml"))->status, 400);
  EXPECT_TRUE(child_->running());
}

TEST_F(AddressSandbox, KilledAtAnyMomentItHasAllThatWasAnswered) {
  std::mt19937 random(7);
  int answered = 0;  // objects m00000 to m<answered - 1> exist for sure
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(start_alone({"--data=" + data().string()})) << log();
    const auto admin = client();
    const auto list = admin->send(request("GET", std::string(k_maps)));
    ASSERT_TRUE(list);
    int there = 0;
    while (list->body.find(fmt::format("\"m{:05}\"", there)) != std::string::npos) ++there;
    ASSERT_GE(there, answered) << "round " << round;
    ASSERT_LE(there, answered + 1) << "round " << round;
    answered = there;
    std::thread killer([this, after = milliseconds(20 + random() % 300)] {
      std::this_thread::sleep_for(after);
      ::kill(child_->pid(), SIGKILL);
    });
    while (true) {
      const auto answer = admin->send(request("POST", std::string(k_maps), config_map(answered)));
      if (!answer || answer->status != 201) break;
      ++answered;
    }
    killer.join();
  }
  EXPECT_GT(answered, 8);
}

TEST_F(AddressSandbox, GoesOnWhereItEnded) {
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  client()->send(request("POST", std::string(k_maps), config_map(1)));
  const std::string path = std::string(k_maps) + "/m00001";  // lists have another version: definitions are renewed
  const std::string before = client()->send(request("GET", path))->body;
  EXPECT_THAT(before, HasSubstr("resourceVersion"));
  ASSERT_TRUE(child_->end(seconds(20)));
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  EXPECT_EQ(client()->send(request("GET", path))->body, before);
}

TEST_F(AddressSandbox, LeavesADamagedFileAsItIs) {
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  ASSERT_TRUE(child_->end(seconds(20)));
  std::string damaged = text_of(data());
  damaged[damaged.size() / 2] ^= 1;
  std::ofstream(data(), std::ios::binary) << damaged;
  EXPECT_EQ(ending_of({"--data=" + data().string()}), "exited with 1");
  EXPECT_THAT(log(), HasSubstr(data().string() + " is left as it is: it is damaged"));
  EXPECT_EQ(text_of(data()), damaged);
}

}  // namespace
