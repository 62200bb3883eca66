#include "kube/support/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <tuple>

#include "kube/support/fake_server.h"

namespace kube::test {
namespace {

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void reset_on_close(int fd) {
  const linger now{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

FaultProxy::FaultProxy(int target) : target_(target) {
  std::tie(listener_, port_) = listen_on_loopback();
  acceptor_ = std::thread([this] { accept_all(); });
}

FaultProxy::~FaultProxy() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (std::thread& thread : threads_) thread.join();
}

void FaultProxy::set_existing(Mode mode) {
  const int existing = accepted_;
  for (int number = 1; number <= existing; ++number) set(number, mode);
}

void FaultProxy::set(int connection, Mode mode) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(connection);
  if (modes_.size() <= index) modes_.resize(index + 1, Mode::pass);
  modes_[index] = mode;
}

FaultProxy::Mode FaultProxy::mode_of(int number) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(number);
  return index < modes_.size() ? modes_[index] : Mode::pass;
}

void FaultProxy::accept_all() {
  while (!stopping_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const int number = ++accepted_;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, client, number] { pump(client, number); });
  }
}

bool FaultProxy::forward(int from, int to, Mode mode, std::size_t piece) {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = read(from, buffer.data(), buffer.size());
  if (got <= 0) return false;
  if (mode == Mode::swallow) return true;
  std::string_view data(buffer.data(), static_cast<std::size_t>(got));
  while (!data.empty()) {
    const ssize_t put = send(to, data.data(), std::min(data.size(), piece), MSG_NOSIGNAL);
    if (put <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void FaultProxy::pump(int client, int number) {
  const int server = connect_to(target_);
  const base::MonoTime start = std::chrono::steady_clock::now();
  while (!stopping_ && server >= 0) {
    const Mode mode = mode_of(number);
    if (mode == Mode::reset || std::chrono::steady_clock::now() - start > max_age_.load()) {
      reset_on_close(client);
      break;
    }
    std::array<pollfd, 2> fds{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    if (mode == Mode::stuck) {
      poll(nullptr, 0, 5);
      continue;
    }
    poll(fds.data(), fds.size(), 5);
    if (fds[0].revents != 0 && !forward(client, server, mode, 1 << 16)) break;
    if (fds[1].revents != 0 && !forward(server, client, mode, piece_)) break;
  }
  close(client);
  if (server >= 0) close(server);
}

}  // namespace kube::test
