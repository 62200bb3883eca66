// Keys and certificates of a server that makes its own: an authority, the server, its clients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace serve {

struct Certificate {
  std::string certificate = {};  // PEM
  std::string key = {};          // PEM
};

// An authority whose key lives in memory only. Keys are EC P-256.
class Authority {
 public:
  // `common_name` is one that nothing it signs has. Valid from an hour before `now` (clocks differ) for ten years, as
  // everything it signs.
  static base::Result<Authority> make(const std::string& common_name, base::WallTime now);
  ~Authority();
  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;

  const std::string& certificate() const;  // PEM
  // `names`: DNS names and IP addresses.
  base::Result<Certificate> server(const std::string& common_name, const std::vector<std::string>& names) const;
  base::Result<Certificate> client(const std::string& common_name, const std::vector<std::string>& organizations) const;

 private:
  struct Impl;
  explicit Authority(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace serve
