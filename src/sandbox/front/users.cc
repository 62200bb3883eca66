#include "sandbox/front/users.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cctype>

namespace sandbox {
namespace {

constexpr std::string_view k_anonymous = "system:anonymous";
constexpr std::string_view k_masters = "system:masters";

// Tokens are looked up by their digests: how long that takes tells nothing about the tokens.
std::string digest(std::string_view token) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

bool same_scheme(std::string_view scheme) {
  return std::ranges::equal(scheme, std::string_view("bearer"),
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

std::string_view bearer_token(std::string_view authorization) {
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos || !same_scheme(authorization.substr(0, space))) return {};
  std::string_view token = authorization.substr(space + 1);
  while (token.starts_with(' ')) token.remove_prefix(1);
  return token;
}

std::vector<std::string> all(const serve::Head& head, std::string_view name) {
  std::vector<std::string> values;
  serve::Head one;
  for (const auto& header : head.headers) {
    one.headers = {header};
    if (const std::string_view value = one.header(name); !value.empty()) values.emplace_back(value);
  }
  return values;
}

}  // namespace

bool User::anonymous() const { return name == k_anonymous; }
bool User::in(std::string_view group) const { return std::ranges::find(groups, group) != groups.end(); }

void Users::add_token(std::string token, User user) { tokens_.insert_or_assign(digest(token), std::move(user)); }

std::expected<User, AuthFailure> Users::of(const serve::Head& head) const {
  User user{std::string(k_anonymous), {"system:unauthenticated"}};
  const std::string_view authorization = head.header("Authorization");
  if (!head.peer.common_name.empty()) {
    user = {head.peer.common_name, head.peer.organizations};
    user.groups.emplace_back("system:authenticated");
  } else if (!authorization.empty()) {
    const std::string_view token = bearer_token(authorization);
    const auto found = tokens_.find(digest(token));
    if (token.empty() || found == tokens_.end()) return std::unexpected(AuthFailure::unknown_token);
    user = found->second;
    user.groups.emplace_back("system:authenticated");
  }
  const std::string_view wanted = head.header("Impersonate-User");
  std::vector<std::string> groups = all(head, "Impersonate-Group");
  if (wanted.empty() && groups.empty()) return user;
  if (wanted.empty() || !user.in(k_masters)) return std::unexpected(AuthFailure::may_not_impersonate);
  groups.emplace_back("system:authenticated");
  return User{std::string(wanted), std::move(groups)};
}

}  // namespace sandbox
