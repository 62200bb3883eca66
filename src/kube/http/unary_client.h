// Requests with one answer: authorising, limiting, sending, trying again. Internal to the transport; I/O thread only.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <vector>

#include "kube/http/curl_lane.h"
#include "kube/http/curl_transfer.h"
#include "kube/http/io_context.h"
#include "kube/http/token_bucket.h"
#include "kube/transport.h"

namespace kube {

class UnaryClient {
 public:
  explicit UnaryClient(IoContext& context);
  // shutdown() has been called.
  ~UnaryClient();

  // `started` is when the caller asked: the request's time-out counts from there.
  void start(Request request, Receiver receiver, base::MonoTime started);
  // The plugin has ended: goes on with the requests that waited for it.
  void credentials_ready();
  // Answers everything that is under way with `cancelled`.
  void shutdown();

 private:
  struct Exchange {
    Request request;
    Receiver receiver;
    base::MonoTime started{};
    base::MonoTime deadline{};
    base::MonoTime launched{};  // the current attempt
    base::Duration limited{};
    std::uint64_t received = 0;  // by the request's sink, in the current attempt
    int retries = 0;             // after 429 and 5xx
    bool repeated = false;       // after a lost connection
    bool reauthorised = false;   // after a 401
    bool sent = false;           // some attempt may have reached the server
    bool fresh = false;          // the next attempt must not use an old connection
    bool waits_for_credentials = false;
    CredentialPtr credential;
    CurlLane* lane = nullptr;  // while an attempt runs
    std::unique_ptr<CurlTransfer> transfer;
    base::TimerId timer = base::TimerId::none;
    std::list<Exchange>::iterator self;
  };
  // The pools of connections for one set of certificates.
  struct Lanes {
    std::shared_ptr<const TlsMaterial> tls;
    std::unique_ptr<CurlLane> normal;
    std::unique_ptr<CurlLane> lease;
  };

  void admit(Exchange& exchange);
  void authorise(Exchange& exchange);
  void launch(Exchange& exchange);
  static bool take_piece(Exchange& exchange, std::string_view piece);
  void ended(CURL* handle, CURLcode code);
  void answered(Exchange& exchange);
  void failed(Exchange& exchange, TransportError error);
  bool try_new_credential(Exchange& exchange);
  bool try_after_pause(Exchange& exchange);
  void finish(Exchange& exchange, Answer answer);
  void fail(Exchange& exchange, TransportError::Kind kind, std::string message);

  std::unique_ptr<CurlLane> make_lane();
  CurlLane& lane_for(const Exchange& exchange);
  void retire(std::unique_ptr<CurlLane> lane);
  void drop_drained_lanes();
  void shut_down_dead_connection(const Exchange& exchange, base::MonoTime now);
  void note_throttling(const Exchange& exchange, int status);
  std::unique_ptr<CurlTransfer> take_transfer();
  void give_back(std::unique_ptr<CurlTransfer> transfer);

  IoContext& context_;
  TokenBucket limiter_;
  Lanes lanes_;
  std::vector<std::unique_ptr<CurlLane>> retired_;
  std::vector<std::unique_ptr<CurlTransfer>> spare_;
  std::list<Exchange> exchanges_;
  int throttled_in_a_row_ = 0;
  base::MonoTime reconnected_{};
};

}  // namespace kube
