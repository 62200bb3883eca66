// Finding the API server: precedence, kubeconfig files, the pod's service account (A1 to A3, A8, A9).
#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "kube/auth/base64.h"
#include "kube/client_config.h"
#include "kube/support/temporary.h"

namespace kube::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string minimal(const std::string& server, const std::string& context = "main") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: " + context + "\nclusters:\n- {name: c, cluster: {server: \"" +
         server + "\"}}\nusers:\n- {name: u, user: {token: t-" + context + "}}\ncontexts:\n- {name: " + context +
         ", context: {cluster: c, user: u, namespace: ns-" + context + "}}\n";
}

// A file with one cluster, user and context, whose cluster and user hold these flow mappings.
std::string with(const std::string& cluster, const std::string& user) {
  return "current-context: main\nclusters: [{name: c, cluster: " + cluster + "}]\nusers: [{name: u, user: " + user +
         "}]\ncontexts: [{name: main, context: {cluster: c, user: u}}]\n";
}

class Kubeconfig : public testing::Test {
 protected:
  ClientConfig load(const std::string& text) {
    const auto config = load_kubeconfig({files.write("config", text)});
    EXPECT_TRUE(config.has_value()) << config.error().message;
    return config.value_or(ClientConfig{});
  }
  std::string error(const std::string& text, std::string_view context = {}) {
    const auto config = load_kubeconfig({files.write("config", text)}, context);
    EXPECT_FALSE(config.has_value()) << text;
    return config ? std::string() : config.error().message;
  }
  std::string path(const std::string& name) const { return (files.path() / name).string(); }

  TemporaryDirectory files;
};

TEST_F(Kubeconfig, ReadsEveryField) {
  const ClientConfig config = load(
      "apiVersion: v1\nkind: Config\ncurrent-context: main\nclusters:\n- name: c\n  cluster:\n    server: "
      "https://api.example:6443/prefix/\n"
      "    certificate-authority: pki/ca.crt\n    tls-server-name: kubernetes\n    proxy-url: socks5://127.0.0.1:1080\n"
      "    disable-compression: true\nusers:\n- name: u\n  user:\n    client-certificate: /etc/tls.crt\n    "
      "client-key: tls.key\n"
      "    tokenFile: token\n    as: somebody\n    as-uid: \"7\"\n    as-groups: [a, b]\n    as-user-extra: {scope: "
      "[x, y]}\n"
      "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: web}\n");
  EXPECT_EQ(config.server, "https://api.example:6443/prefix");
  EXPECT_EQ(config.tls.ca_file, path("pki/ca.crt")) << "relative to the file it stands in";
  EXPECT_EQ(config.tls.server_name, "kubernetes");
  EXPECT_EQ(config.proxy_url, "socks5://127.0.0.1:1080");
  EXPECT_TRUE(config.disable_compression);
  EXPECT_EQ(config.tls.certificate_file, "/etc/tls.crt");
  EXPECT_EQ(config.tls.key_file, path("tls.key"));
  EXPECT_EQ(config.token_file, path("token"));
  EXPECT_EQ(config.ns, "web");
  EXPECT_EQ(config.impersonate.user, "somebody");
  EXPECT_EQ(config.impersonate.uid, "7");
  EXPECT_THAT(config.impersonate.groups, ElementsAre("a", "b"));
  EXPECT_THAT(config.impersonate.extra, ElementsAre(Pair("scope", ElementsAre("x", "y"))));
  EXPECT_EQ(config.source, "context main of " + path("config"));
}

TEST_F(Kubeconfig, ReadsInlineDataAndPasswords) {
  const ClientConfig config =
      load(with("{server: \"https://h\", certificate-authority-data: Y2E=}",
                "{username: u, password: p, client-certificate-data: Y2VydA==, client-key-data: a2V5}"));
  EXPECT_EQ(config.tls.ca_data, "ca");
  EXPECT_EQ(config.tls.certificate_data, "cert");
  EXPECT_EQ(config.tls.key_data, "key");
  EXPECT_EQ(config.username, "u");
  EXPECT_EQ(config.password, "p");
  EXPECT_EQ(config.ns, "default");
}

TEST_F(Kubeconfig, ReadsPlugins) {
  const ClientConfig config = load(
      "current-context: main\nclusters:\n- name: c\n  cluster:\n    server: https://h\n    extensions:\n    - name: "
      "client.authentication.k8s.io/exec\n      extension: {audience: \"1\", count: 2, deep: {list: [true, "
      "x]}}\nusers:\n- name: u\n  user:\n"
      "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: bin/plugin\n      args: [get, "
      "--flag]\n"
      "      env: [{name: A, value: b}]\n      installHint: look there\n      provideClusterInfo: true\n      "
      "interactiveMode: Always\n"
      "contexts: [{name: main, context: {cluster: c, user: u}}]\n");
  ASSERT_TRUE(config.exec.has_value());
  EXPECT_EQ(config.exec->command, path("bin/plugin"));
  EXPECT_THAT(config.exec->args, ElementsAre("get", "--flag"));
  EXPECT_THAT(config.exec->env, ElementsAre(Pair("A", "b")));
  EXPECT_EQ(config.exec->install_hint, "look there");
  EXPECT_TRUE(config.exec->provide_cluster_info);
  EXPECT_TRUE(config.exec->needs_terminal);
  EXPECT_EQ(config.exec->cluster_config_json, R"({"audience":"1","count":2,"deep":{"list":[true,"x"]}})");
  const ClientConfig in_path = load(
      with("{server: \"https://h\"}", "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plugin}}"));
  EXPECT_EQ(in_path.exec->command, "plugin") << "a bare name is looked up in PATH";
}

TEST_F(Kubeconfig, ATokenOfTheUsersOwnBeatsAPlugin) {
  const ClientConfig config =
      load(with("{server: \"https://h\"}",
                "{token: t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plugin}}"));
  EXPECT_FALSE(config.exec.has_value());
  EXPECT_EQ(config.token, "t");
}

TEST_F(Kubeconfig, MergesFilesFirstOneWins) {
  const std::string first = files.write(
      "one/config", "clusters: [{name: c, cluster: {server: \"https://one\", certificate-authority: ca}}]\n");
  const std::string second = files.write("two/config", minimal("https://two", "second"));
  const std::string third = files.write("three/config", minimal("https://three", "third"));
  const std::vector<std::string> all{path("missing"), first, second, third};
  const auto merged = load_kubeconfig(all);
  ASSERT_TRUE(merged.has_value()) << merged.error().message;
  EXPECT_EQ(merged->server, "https://one");
  EXPECT_EQ(merged->tls.ca_file, path("one/ca"));
  EXPECT_EQ(merged->token, "t-second");
  EXPECT_EQ(merged->ns, "ns-second");
  const auto chosen = load_kubeconfig(all, "third");
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->ns, "ns-third");
  EXPECT_EQ(chosen->token, "t-second") << "user u stands in the second file first";
}

TEST_F(Kubeconfig, SaysWhatIsMissing) {
  EXPECT_THAT(load_kubeconfig({path("missing")}).error().message, HasSubstr(path("missing") + " does not exist"));
  EXPECT_THAT(error("a: [b"), HasSubstr("is not YAML"));
  EXPECT_THAT(error("- a"), HasSubstr("is not a mapping"));
  EXPECT_THAT(error(""), HasSubstr("no current-context"));
  EXPECT_THAT(error(minimal("https://h"), "other"), HasSubstr("has no context \"other\"; there are: main"));
  EXPECT_THAT(error("current-context: x\ncontexts: [{name: x, context: {cluster: nope, user: u}}]"),
              HasSubstr("names the cluster \"nope\""));
  EXPECT_THAT(
      error(
          "current-context: x\nclusters: [{name: c, cluster: {server: \"https://h\"}}]\ncontexts: [{name: x, context: "
          "{cluster: c, user: nope}}]"),
      HasSubstr("names the user \"nope\""));
  EXPECT_THAT(error(with("{}", "{}")), HasSubstr("has no server"));
  EXPECT_THAT(error(with("{server: \"ftp://h\"}", "{}")), HasSubstr("want a URL such as https://host:port"));
  EXPECT_THAT(error(with("{server: \"https://h\", proxy-url: \"gopher://p\"}", "{}")), HasSubstr("proxy-url"));
  EXPECT_THAT(error(with("{server: \"https://h\", certificate-authority-data: \"%%\"}", "{}")),
              HasSubstr("certificate-authority-data is not base64"));
  EXPECT_THAT(error(with("{server: \"https://h\", insecure-skip-tls-verify: true, certificate-authority: ca}", "{}")),
              HasSubstr("both insecure-skip-tls-verify and a certificate-authority"));
}

TEST_F(Kubeconfig, SaysWhatAUserDoesWrong) {
  const auto user_error = [&](const std::string& user) { return error(with("{server: \"https://h\"}", user)); };
  EXPECT_THAT(user_error("{auth-provider: {name: gcp}}"), HasSubstr("auth-provider, which Kubernetes has removed"));
  EXPECT_THAT(user_error("{token: t, username: u}"), HasSubstr("both a token and a username"));
  EXPECT_THAT(user_error("{client-certificate: c}"), HasSubstr("no client-key"));
  EXPECT_THAT(user_error("{client-key-data: a2V5}"), HasSubstr("no client-certificate"));
  EXPECT_THAT(user_error("{as-groups: [a]}"), HasSubstr("without as"));
  EXPECT_THAT(user_error("{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: c}}"),
              HasSubstr("exec.apiVersion"));
  EXPECT_THAT(user_error("{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}"),
              HasSubstr("no command"));
  EXPECT_THAT(user_error("{exec: {apiVersion: client.authentication.k8s.io/v1, command: c}}"),
              HasSubstr("interactiveMode is missing"));
  EXPECT_THAT(
      user_error("{exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Sometimes}}"),
      HasSubstr("want Never, IfAvailable or Always"));
}

class Finding : public Kubeconfig {
 protected:
  Finding() {
    base::log::configure(base::log::Level::info, base::log::Format::text);  // whatever other tests have chosen
    environment.home = path("home");
    environment.service_account_dir = path("account");
  }
  void in_pod() {
    environment.service_host = "10.96.0.1";
    environment.service_port = "443";
    files.write("account/token", "pod-token\n");
    files.write("account/ca.crt", "PEM");
    files.write("account/namespace", "system");
  }
  ClientConfig find(std::string_view flag = {}, std::string_view context = {}) {
    const auto config = load_client_config(flag, environment, context);
    EXPECT_TRUE(config.has_value()) << config.error().message;
    return config.value_or(ClientConfig{});
  }
  Environment environment;
};

TEST_F(Finding, TheFlagThenTheVariableThenThePodThenHome) {
  const std::string by_flag = files.write("flag", minimal("https://flag"));
  const std::string by_variable = files.write("variable", minimal("https://variable"));
  files.write("home/.kube/config", minimal("https://home"));
  EXPECT_EQ(find().server, "https://home");
  in_pod();
  EXPECT_EQ(find().server, "https://10.96.0.1:443");
  environment.kubeconfig = path("missing") + "::" + by_variable;
  EXPECT_EQ(find().server, "https://variable");
  EXPECT_EQ(find(by_flag).server, "https://flag");
  EXPECT_EQ(find(by_flag, "main").ns, "ns-main");
}

TEST_F(Finding, NothingAtAllIsExplained) {
  EXPECT_THAT(load_client_config({}, environment).error().message,
              HasSubstr("--kubeconfig is not given, KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not set (not in "
                        "a cluster), and " +
                        path("home/.kube/config") + " does not exist"));
}

TEST_F(Finding, ThePodsAccount) {
  in_pod();
  const ClientConfig config = find();
  EXPECT_EQ(config.token_file, path("account/token")) << "read again as it rotates";
  EXPECT_EQ(config.token, "pod-token");
  EXPECT_EQ(config.tls.ca_file, path("account/ca.crt"));
  EXPECT_EQ(config.ns, "system");
  environment.service_host = "fd00::1";
  EXPECT_EQ(find().server, "https://[fd00::1]:443");
  std::filesystem::remove(files.path() / "account/ca.crt");
  testing::internal::CaptureStderr();
  EXPECT_EQ(find().tls.ca_file, "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("using the system's roots"));
  std::filesystem::remove(files.path() / "account/token");
  EXPECT_THAT(load_client_config({}, environment).error().message, HasSubstr("automountServiceAccountToken"));
  environment.service_host.clear();
  EXPECT_THAT(load_in_cluster_config(environment).error().message, HasSubstr("not in a cluster"));
}

TEST_F(Finding, APodHasNoContexts) {
  in_pod();
  EXPECT_THAT(load_client_config({}, environment, "other").error().message, HasSubstr("pass a kubeconfig"));
}

TEST(Base64, RoundTripsAndRefusesNonsense) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd"}) EXPECT_EQ(decode_base64(encode_base64(text)), text);
  EXPECT_EQ(encode_base64(std::string("\0\xff", 2)), "AP8=");
  EXPECT_EQ(decode_base64(" Y2\nE=\n"), "ca");
  for (const char* bad : {"a", "%%%%", "YQ==YQ==", "=a==", "Y2E"}) EXPECT_FALSE(decode_base64(bad).has_value()) << bad;
}

}  // namespace
}  // namespace kube::test
