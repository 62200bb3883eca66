#include "serve/peer.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <string>
#include <utility>

namespace serve {
namespace {

std::string text_of(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, value);
  if (length < 0) return {};
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(length));
  OPENSSL_free(utf8);
  return text;
}

}  // namespace

Peer peer_of(const SSL* ssl) {
  Peer peer;
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return peer;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    std::string text = text_of(X509_NAME_ENTRY_get_data(entry));
    if (nid == NID_commonName)
      peer.common_name = std::move(text);
    else if (nid == NID_organizationName)
      peer.organizations.push_back(std::move(text));
  }
  return peer;
}

}  // namespace serve
