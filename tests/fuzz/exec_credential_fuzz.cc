// What a credential plugin prints: what is accepted can be put into a header.
#include "fuzz/fuzz.h"
#include "kube/auth/exec_plugin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto credential =
      kube::parse_exec_credential(kube::fuzz::text_of(data, size), "client.authentication.k8s.io/v1");
  if (!credential) return 0;
  kube::fuzz::expect(credential->token.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
                     "a token fits into a header");
  kube::fuzz::expect(credential->certificate.empty() == credential->key.empty(), "a certificate has its key");
  kube::fuzz::expect(!credential->token.empty() || !credential->key.empty(), "something was given");
  return 0;
}
