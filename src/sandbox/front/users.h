// Who a request over HTTP comes from: bearer tokens, client certificates, impersonation.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.h"

namespace sandbox {

struct User {
  std::string name = {};
  std::vector<std::string> groups = {};

  bool anonymous() const;
  bool in(std::string_view group) const;
};

enum class AuthFailure : char {
  unknown_token,        // 401
  may_not_impersonate,  // 403; only members of system:masters may
};

class Users {
 public:
  void add_token(std::string token, User user);
  // A certificate's common name is the user's name, its organizations are the groups. Without any credential:
  // system:anonymous.
  std::expected<User, AuthFailure> of(const serve::Head& head) const;

 private:
  std::map<std::string, User, std::less<>> tokens_;  // by their SHA-256
};

}  // namespace sandbox
