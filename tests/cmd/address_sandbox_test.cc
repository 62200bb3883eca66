#include <sys/stat.h>

#include <set>

#include "cmd/sandbox_fixture.h"

namespace cmd_test {
namespace {

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
    EXPECT_THAT(text_of(folder_ / part),
                testing::ContainsRegex("has taken its finalizers off [1-9][0-9]* objects?\\. [A-Z]"));
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

}  // namespace
}  // namespace cmd_test
