#include "cmd/sandbox/identities.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "serve/certificates.h"

namespace sandbox_process {
namespace {

struct Known {
  std::string_view name;  // of the kubeconfig's user
  std::string_view user;  // to the server
  std::vector<std::string> groups;
};

const std::vector<Known>& known_users() {
  static const std::vector<Known> users{
      {"admin", "kubernetes-admin", {"system:masters"}},
      {"tenant", "tenant", {}},
      {"core",
       "system:serviceaccount:address-controller:address-controller",
       {"system:serviceaccounts", "system:serviceaccounts:address-controller"}},
      {"driver",
       "system:serviceaccount:metallb-iad-system:metallb-iad",
       {"system:serviceaccounts", "system:serviceaccounts:metallb-iad-system"}},
      {"metallb",
       "system:serviceaccount:metallb-system:controller",
       {"system:serviceaccounts", "system:serviceaccounts:metallb-system"}},
  };
  return users;
}

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

}  // namespace

base::Result<std::string> random_token() {
  std::array<unsigned char, 24> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return base::fail("no random bytes for tokens");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

std::string kubeconfig_of(std::string_view user) {
  return user == "admin" ? std::string("kubeconfig") : fmt::format("{}.kubeconfig", user);
}

base::Result<Identities> Identities::make(bool plain) {
  Identities made;
  std::optional<serve::Authority> authority;
  if (!plain) {
    auto created = serve::Authority::make("address-sandbox-ca", std::chrono::system_clock::now());
    if (!created) return std::unexpected(created.error());
    authority = std::move(*created);
    auto server = authority->server("kube-apiserver", {"127.0.0.1", "::1", "localhost", "kubernetes",
                                                       "kubernetes.default", "kubernetes.default.svc"});
    if (!server) return std::unexpected(server.error());
    made.authority_ = authority->certificate();
    made.tls_ = serve::TlsFiles{server->certificate, server->key, made.authority_};
  }
  for (const Known& known : known_users()) {
    auto token = random_token();
    if (!token) return std::unexpected(token.error());
    made.users_.add_token(*token, {std::string(known.user), known.groups});
    Account account{std::string(known.name), std::move(*token)};
    if (authority && known.name == "admin") {
      auto client = authority->client(std::string(known.user), known.groups);
      if (!client) return std::unexpected(client.error());
      account.certificate = std::move(client->certificate);
      account.key = std::move(client->key);
    }
    made.accounts_.push_back(std::move(account));
  }
  return made;
}

std::string Identities::kubeconfig(const Account& account, std::string_view server) const {
  std::string text = fmt::format(
      "apiVersion: v1\nkind: Config\nclusters:\n- name: address-sandbox\n  cluster:\n    server: {}\n", server);
  if (!authority_.empty()) text += fmt::format("    certificate-authority-data: {}\n", base64(authority_));
  text += fmt::format("users:\n- name: {}\n  user:\n", account.name);
  if (account.certificate.empty()) {
    text += fmt::format("    token: \"{}\"\n", account.token);
  } else {
    text += fmt::format("    client-certificate-data: {}\n    client-key-data: {}\n", base64(account.certificate),
                        base64(account.key));
  }
  text += fmt::format(
      "contexts:\n- name: address-sandbox\n  context:\n    cluster: address-sandbox\n    user: {}\n    namespace: "
      "default\ncurrent-context: address-sandbox\n",
      account.name);
  return text;
}

base::Result<void> Identities::write_kubeconfigs(Folder& folder, std::string_view server) const {
  for (const Account& account : accounts_) {
    if (auto written = folder.write(kubeconfig_of(account.name), kubeconfig(account, server)); !written) return written;
  }
  return {};
}

}  // namespace sandbox_process
