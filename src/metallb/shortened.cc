#include "metallb/shortened.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

namespace metallb {
namespace {

constexpr std::size_t k_hash_bytes = 8;
constexpr std::size_t k_suffix = 1 + 2 * k_hash_bytes;

}  // namespace

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string result(text.substr(0, limit - k_suffix));
  while (!result.empty() && (result.back() == '.' || result.back() == '-')) result.pop_back();
  result += '-';
  for (std::size_t i = 0; i < k_hash_bytes; ++i) result += fmt::format("{:02x}", digest.at(i));
  return result;
}

}  // namespace metallb
