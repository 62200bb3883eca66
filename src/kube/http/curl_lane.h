// One libcurl multi handle (a pool of connections and the transfers on them) driven by an EpollReactor. Internal to the
// transport.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/epoll_reactor.h"

namespace kube {

// Lives on the reactor's thread. Connections are shared by the transfers of one lane and by nothing else.
class CurlLane {
 public:
  // A transfer has ended. It is still attached: its connection can be asked for, and remove() must be called.
  using Done = std::function<void(CURL* transfer, CURLcode result)>;

  CurlLane(base::EpollReactor& reactor, long max_connections, Done done);
  // All transfers have been removed; open connections are closed.
  ~CurlLane();
  CurlLane(const CurlLane&) = delete;
  CurlLane& operator=(const CurlLane&) = delete;

  void add(CURL* transfer);
  // Ends a transfer that is not done yet, or detaches one that is.
  void remove(CURL* transfer);
  std::size_t active() const { return active_; }
  // The connection that an ended, still attached transfer used, if it is still open.
  static std::optional<curl_socket_t> socket_of(CURL* transfer);
  // When bytes last arrived on a socket of this lane, or when it was last taken into use, whichever is later.
  std::optional<base::MonoTime> last_read(curl_socket_t socket) const;

 private:
  struct Socket {
    base::MonoTime last_read{};
    bool in_use = false;  // some transfer waits for it
  };

  static int on_socket(CURL* transfer, curl_socket_t socket, int what, void* self, void* unused);
  static int on_timer(CURLM* multi, long milliseconds, void* self);
  void socket_ready(curl_socket_t socket, std::uint32_t events);
  void action(curl_socket_t socket, int mask);

  base::EpollReactor& reactor_;
  Done done_;
  CURLM* multi_;
  std::size_t active_ = 0;
  std::unordered_map<curl_socket_t, Socket> sockets_;
  base::TimerId timer_ = base::TimerId::none;
};

}  // namespace kube
