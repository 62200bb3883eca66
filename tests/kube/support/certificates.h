// Certificates made when a test runs: an authority, and what it signs for servers and clients on loopback.
#pragma once

#include <memory>
#include <string>

namespace kube::test {

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM
};

// A certificate authority with a key of its own. Valid from a minute ago for a day.
class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
  // PEM of the authority's own certificate.
  const std::string& certificate() const { return certificate_; }
  // `subject_alt_names` as OpenSSL writes them: "IP:127.0.0.1,DNS:localhost".
  KeyPair server(const std::string& subject_alt_names = "IP:127.0.0.1,IP:::1,DNS:localhost") const;
  KeyPair client(const std::string& common_name) const;

 private:
  struct Parts;
  KeyPair sign(const std::string& common_name, const std::string& alt_names, const char* usage) const;
  std::unique_ptr<Parts> parts_;
  std::string certificate_;
};

}  // namespace kube::test
