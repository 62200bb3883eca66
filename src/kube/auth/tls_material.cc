#include "kube/auth/tls_material.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <vector>

namespace kube {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Store = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Bio reader(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no PEM block of that kind" : reason;
}

base::Result<std::vector<Certificate>> parse_certificates(std::string_view pem, std::string_view what) {
  std::vector<Certificate> certificates;
  const Bio bio = reader(pem);
  while (Certificate next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)})
    certificates.push_back(std::move(next));
  const unsigned long code = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  if (certificates.empty() || !at_end) {
    return base::fail(fmt::format("the {} holds no usable PEM certificate: {}", what, openssl_error()));
  }
  ERR_clear_error();
  return certificates;
}

// Refuses to ask a terminal for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace

struct TlsMaterial::Parts {
  Store roots;
  std::vector<Certificate> chain;  // the client's certificate first
  Key key;
};

TlsMaterial::TlsMaterial(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TlsMaterial::~TlsMaterial() = default;

base::Result<std::shared_ptr<const TlsMaterial>> TlsMaterial::parse(std::string_view ca, std::string_view certificate,
                                                                    std::string_view key) {
  ERR_clear_error();
  auto parts = std::make_unique<Parts>();
  if (!ca.empty()) {
    const auto roots = parse_certificates(ca, "certificate authority");
    if (!roots) return std::unexpected(roots.error());
    parts->roots.reset(X509_STORE_new());
    for (const Certificate& root : *roots) X509_STORE_add_cert(parts->roots.get(), root.get());
    // A certificate that is named as an authority is one, even if it is not self-signed (as in Go).
    X509_STORE_set_flags(parts->roots.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  }
  if (!certificate.empty()) {
    auto chain = parse_certificates(certificate, "client certificate");
    if (!chain) return std::unexpected(chain.error());
    parts->chain = std::move(*chain);
    parts->key.reset(PEM_read_bio_PrivateKey(reader(key).get(), nullptr, no_passphrase, nullptr));
    if (!parts->key) return base::fail(fmt::format("the client key is not usable: {}", openssl_error()));
    if (X509_check_private_key(parts->chain.front().get(), parts->key.get()) != 1) {
      ERR_clear_error();
      return base::fail("the client key does not belong to the client certificate");
    }
  }
  return std::shared_ptr<const TlsMaterial>(new TlsMaterial(std::move(parts)));
}

bool TlsMaterial::has_ca() const { return parts_->roots != nullptr; }

bool TlsMaterial::install(ssl_ctx_st* context) const {
  if (parts_->roots) SSL_CTX_set1_cert_store(context, parts_->roots.get());
  if (parts_->chain.empty()) return true;
  if (SSL_CTX_use_certificate(context, parts_->chain.front().get()) != 1) return false;
  for (std::size_t i = 1; i < parts_->chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, parts_->chain[i].get()) != 1) return false;
  }
  return SSL_CTX_use_PrivateKey(context, parts_->key.get()) == 1;
}

}  // namespace kube
