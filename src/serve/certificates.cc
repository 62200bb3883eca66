#include "serve/certificates.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <ctime>

namespace serve {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Freed<BN_free>>;

constexpr auto k_validity = std::chrono::days(3650);

std::string pem_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

base::Result<std::string> pem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return base::fail("a certificate cannot be written");
  return pem_of(bio.get());
}

base::Result<std::string> pem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return base::fail("a key cannot be written");
  return pem_of(bio.get());
}

std::string reason() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return text.data();
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  const NumberPtr number(BN_new());
  return BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    boost::system::error_code no_address;
    (void)boost::asio::ip::make_address(name, no_address);
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", no_address ? "DNS" : "IP", name);
  }
  return text;
}

struct Wanted {
  std::string common_name;
  std::vector<std::string> organizations = {};
  std::vector<std::pair<int, std::string>> extensions;
};

}  // namespace

struct Authority::Impl {
  base::WallTime now;
  KeyPtr key;
  CertificatePtr certificate;
  std::string text;

  // Signed by `issuer`, or by itself.
  base::Result<std::pair<CertificatePtr, KeyPtr>> sign(const Wanted& wanted) const {
    KeyPtr own(EVP_EC_gen("P-256"));
    CertificatePtr made(X509_new());
    if (own == nullptr || made == nullptr) return base::fail("no key can be made: " + reason());
    X509* issuer = certificate == nullptr ? made.get() : certificate.get();
    const std::time_t since = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(now - std::chrono::hours(1)));
    bool good = X509_set_version(made.get(), X509_VERSION_3) == 1 && set_serial(made.get());
    good = good && ASN1_TIME_set(X509_getm_notBefore(made.get()), since) != nullptr;
    good = good && ASN1_TIME_adj(X509_getm_notAfter(made.get()), since, k_validity.count(), 0) != nullptr;
    X509_NAME* subject = X509_get_subject_name(made.get());
    for (const std::string& organization : wanted.organizations) add_name(subject, "O", organization);
    add_name(subject, "CN", wanted.common_name);
    good = good && X509_set_issuer_name(made.get(), X509_get_subject_name(issuer)) == 1;
    good = good && X509_set_pubkey(made.get(), own.get()) == 1;
    for (const auto& [nid, value] : wanted.extensions) good = good && add_extension(made.get(), issuer, nid, value);
    EVP_PKEY* signer = key == nullptr ? own.get() : key.get();
    good = good && X509_sign(made.get(), signer, EVP_sha256()) > 0;
    if (!good) return base::fail("no certificate can be made: " + reason());
    return std::pair(std::move(made), std::move(own));
  }

  base::Result<Certificate> issue(const Wanted& wanted) const {
    auto made = sign(wanted);
    if (!made) return std::unexpected(made.error());
    auto certificate_text = pem(made->first.get());
    auto key_text = pem(made->second.get());
    if (!certificate_text) return std::unexpected(certificate_text.error());
    if (!key_text) return std::unexpected(key_text.error());
    return Certificate{std::move(*certificate_text), std::move(*key_text)};
  }
};

Authority::Authority(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Authority::~Authority() = default;
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;

base::Result<Authority> Authority::make(const std::string& common_name, base::WallTime now) {
  auto impl = std::make_unique<Impl>();
  impl->now = now;
  auto made = impl->sign({.common_name = common_name,
                          .extensions = {{NID_basic_constraints, "critical,CA:TRUE"},
                                         {NID_key_usage, "critical,keyCertSign,digitalSignature"},
                                         {NID_subject_key_identifier, "hash"}}});
  if (!made) return std::unexpected(made.error());
  impl->certificate = std::move(made->first);
  impl->key = std::move(made->second);
  auto text = pem(impl->certificate.get());
  if (!text) return std::unexpected(text.error());
  impl->text = std::move(*text);
  return Authority(std::move(impl));
}

const std::string& Authority::certificate() const { return impl_->text; }

base::Result<Certificate> Authority::server(const std::string& common_name,
                                            const std::vector<std::string>& names) const {
  return impl_->issue({.common_name = common_name,
                       .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                      {NID_key_usage, "critical,digitalSignature"},
                                      {NID_ext_key_usage, "serverAuth"},
                                      {NID_authority_key_identifier, "keyid"},
                                      {NID_subject_alt_name, alternative_names(names)}}});
}

base::Result<Certificate> Authority::client(const std::string& common_name,
                                            const std::vector<std::string>& organizations) const {
  return impl_->issue({.common_name = common_name,
                       .organizations = organizations,
                       .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                      {NID_key_usage, "critical,digitalSignature"},
                                      {NID_ext_key_usage, "clientAuth"},
                                      {NID_authority_key_identifier, "keyid"}}});
}

}  // namespace serve
