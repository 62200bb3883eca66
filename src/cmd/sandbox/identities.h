// Who may talk to the sandbox's server, and the kubeconfigs that say so.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cmd/sandbox/folder.h"
#include "sandbox/front/users.h"
#include "serve/http_server.h"

namespace sandbox_process {

// Made anew at each start; whoever has read an older kubeconfig reads it again.
class Identities {
 public:
  // Keys and certificates (unless `plain`), a token for each user: admin, tenant, and the service accounts of the
  // parts.
  static base::Result<Identities> make(bool plain);

  const std::optional<serve::TlsFiles>& tls() const { return tls_; }
  const sandbox::Users& users() const { return users_; }
  // "kubeconfig" (admin) and "<user>.kubeconfig".
  base::Result<void> write_kubeconfigs(Folder& folder, std::string_view server) const;

 private:
  struct Account {
    std::string name;
    std::string token;
    std::string certificate = {};  // PEM, with key: instead of the token
    std::string key = {};
  };
  std::string kubeconfig(const Account& account, std::string_view server) const;

  std::string authority_;
  std::optional<serve::TlsFiles> tls_;
  sandbox::Users users_;
  std::vector<Account> accounts_;
};

// 192 random bits in hex: a bearer token, or another secret.
base::Result<std::string> random_token();

// "kubeconfig" or "<user>.kubeconfig".
std::string kubeconfig_of(std::string_view user);

}  // namespace sandbox_process
