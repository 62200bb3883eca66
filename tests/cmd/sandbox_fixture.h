// address-sandbox as a process, for tests that use it as a person or a cluster's tenant would.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "scenarios/child.h"
#include "scenarios/http.h"

namespace cmd_test {

namespace fs = std::filesystem;
using scenarios::Child;
using scenarios::HttpClient;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::string_view k_maps = "/api/v1/namespaces/default/configmaps";

inline const std::string k_group = "/apis/local.sdn.cozystack.io/v1alpha1";

inline std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

inline kube::Request request(std::string method, std::string path, std::string body = {}, std::string type = {}) {
  kube::Request made;
  made.method = std::move(method);
  made.path = std::move(path);
  made.content_type = !type.empty() || body.empty() ? std::move(type) : "application/json";
  made.body = std::move(body);
  return made;
}

inline std::string config_map(int number) { return fmt::format(R"({{"metadata":{{"name":"m{:05}"}}}})", number); }

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

}  // namespace cmd_test
