// What the parts of the transport's I/O thread share. Internal to the transport.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/epoll_reactor.h"
#include "base/random.h"
#include "base/reactor.h"
#include "kube/auth/credentials.h"
#include "kube/http/curl_transfer.h"

namespace kube {

// Writes each text of a Warning header to the log once. I/O thread only.
class WarningLog {
 public:
  void note(const std::vector<std::string>& warnings);

 private:
  std::unordered_set<std::string> seen_;
};

// Header lists for requests, made once for each credential and pair of content types. I/O thread only.
class HeaderLists {
 public:
  HeaderLists(const TransferSetup& setup, const CredentialPtr& credential) : setup_(setup), credential_(credential) {}
  std::shared_ptr<const HeaderList> get(const Request& request);
  const CredentialPtr& credential() const { return credential_; }

 private:
  struct Item {
    std::string content_type;
    std::string accept;
    Lane lane = Lane::normal;
    std::shared_ptr<const HeaderList> list;
  };
  std::shared_ptr<const HeaderList> make(const Request& request) const;

  const TransferSetup& setup_;
  CredentialPtr credential_;
  std::vector<Item> items_;
};

struct IoContext {
  explicit IoContext(base::Reactor& home_reactor) : home(home_reactor), random(0) {}

  base::Reactor& home;    // where second stages run
  base::EpollReactor io;  // the I/O thread
  TransferSetup setup;
  std::unique_ptr<Credentials> credentials;
  std::unique_ptr<HeaderLists> headers;
  base::Random random;
  WarningLog warnings;

  // Header lists of this credential, cached for the current one.
  std::shared_ptr<const HeaderList> headers_for(const CredentialPtr& credential, const Request& request);
  void report(const Request& request, int code, bool stream, base::Duration duration, base::Duration limited,
              std::uint64_t response_bytes);
  void report_retry(const Request& request, int code);
};

// A Response made of what a transfer brought.
Response take_response(CurlTransfer& transfer);

}  // namespace kube
