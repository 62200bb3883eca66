#include "kube/http/curl_lane.h"

#include <sys/epoll.h>

#include <cassert>
#include <chrono>
#include <new>

namespace kube {

CurlLane::CurlLane(base::EpollReactor& reactor, long max_connections, Done done)
    : reactor_(reactor), done_(std::move(done)), multi_(curl_multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, max_connections);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, max_connections);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlLane::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlLane::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlLane::~CurlLane() {
  assert(active_ == 0);
  curl_multi_cleanup(multi_);  // closes connections; may still call back
  reactor_.cancel(timer_);
  for (const auto& [socket, state] : sockets_) {
    if (state.in_use) reactor_.unwatch(socket);
  }
}

void CurlLane::add(CURL* transfer) {
  ++active_;
  [[maybe_unused]] const CURLMcode code = curl_multi_add_handle(multi_, transfer);
  assert(code == CURLM_OK);
}

void CurlLane::remove(CURL* transfer) {
  assert(active_ > 0);
  --active_;
  curl_multi_remove_handle(multi_, transfer);
}

std::optional<curl_socket_t> CurlLane::socket_of(CURL* transfer) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(transfer, CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK || socket == CURL_SOCKET_BAD) {
    return std::nullopt;
  }
  return socket;
}

std::optional<base::MonoTime> CurlLane::last_read(curl_socket_t socket) const {
  const auto found = sockets_.find(socket);
  if (found == sockets_.end()) return std::nullopt;
  return found->second.last_read;
}

int CurlLane::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  auto& lane = *static_cast<CurlLane*>(self);
  if (what == CURL_POLL_REMOVE) {
    lane.reactor_.unwatch(socket);
    lane.sockets_[socket].in_use = false;
    return 0;
  }
  std::uint32_t events = 0;
  if ((what & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  Socket& state = lane.sockets_[socket];
  if (!state.in_use) state = {lane.reactor_.now(), true};
  lane.reactor_.watch(socket, events, [&lane, socket](std::uint32_t ready) { lane.socket_ready(socket, ready); });
  return 0;
}

int CurlLane::on_timer(CURLM*, long milliseconds, void* self) {
  auto& lane = *static_cast<CurlLane*>(self);
  lane.reactor_.cancel(lane.timer_);
  lane.timer_ = base::TimerId::none;
  if (milliseconds < 0) return 0;
  const base::MonoTime when = lane.reactor_.now() + std::chrono::milliseconds(milliseconds);
  lane.timer_ = lane.reactor_.at(when, [&lane] {
    lane.timer_ = base::TimerId::none;
    lane.action(CURL_SOCKET_TIMEOUT, 0);
  });
  return 0;
}

void CurlLane::socket_ready(curl_socket_t socket, std::uint32_t events) {
  int mask = 0;
  if ((events & EPOLLIN) != 0) {
    mask |= CURL_CSELECT_IN;
    // A hang-up is reported as readable too, but brings nothing.
    if ((events & (EPOLLHUP | EPOLLERR)) == 0) {
      sockets_[socket].last_read = reactor_.now();
    }
  }
  if ((events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_ERR;
  action(socket, mask);
}

void CurlLane::action(curl_socket_t socket, int mask) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, mask, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const transfer = message->easy_handle;
    const CURLcode result = message->data.result;
    done_(transfer, result);
  }
}

}  // namespace kube
