// Certificates and keys, parsed once and shared by every connection that uses them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace kube {

// Immutable; safe to share between threads.
class TlsMaterial {
 public:
  // PEM texts. An empty `ca` means the system's roots; empty `certificate` and `key` mean no client certificate.
  // `certificate` may hold a chain. The error says which of the three is unusable and why.
  static base::Result<std::shared_ptr<const TlsMaterial>> parse(std::string_view ca, std::string_view certificate,
                                                                std::string_view key);
  ~TlsMaterial();
  TlsMaterial(const TlsMaterial&) = delete;
  TlsMaterial& operator=(const TlsMaterial&) = delete;

  bool has_ca() const;
  // Puts roots and client certificate into a context. False, with OpenSSL's error queue set, if it refuses them.
  bool install(ssl_ctx_st* context) const;

 private:
  struct Parts;
  explicit TlsMaterial(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kube
