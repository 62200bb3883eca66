// Base64 (RFC 4648) for kubeconfig data and basic authentication.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kube {

std::string encode_base64(std::string_view bytes);
// White space is skipped; anything else outside the alphabet, or a wrong length, gives nullopt.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kube
