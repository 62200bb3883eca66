// A TCP proxy on loopback that misbehaves on command.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace kube::test {

class FaultProxy {
 public:
  enum class Mode {
    pass,
    swallow,  // reads and acknowledges everything, forwards nothing: a load balancer whose back end is gone
    stuck,    // reads nothing any more: a stopped process, or packets that vanish once the window is full
    reset,    // resets
  };
  // Forwards to 127.0.0.1:`target`.
  explicit FaultProxy(int target);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  int port() const { return port_; }
  int connections() const { return accepted_; }
  // How the connections that exist now behave from now on; new ones pass.
  void set_existing(Mode mode);
  // How the connection with this number (from 1) behaves, whether it exists yet or not.
  void set(int connection, Mode mode);
  // Resets every connection of this age.
  void set_max_age(base::Duration age) { max_age_ = age; }
  // Forwards in pieces of at most so many bytes towards the client.
  void set_piece(std::size_t bytes) { piece_ = bytes; }

 private:
  void accept_all();
  void pump(int client, int number);
  Mode mode_of(int number);
  // Forwards what is readable on `from`; false at the end.
  bool forward(int from, int to, Mode mode, std::size_t piece);

  int target_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> accepted_ = 0;
  std::atomic<base::Duration> max_age_{base::Duration::max()};
  std::atomic<std::size_t> piece_{1 << 16};
  std::mutex mutex_;
  std::vector<Mode> modes_;           // guarded by mutex_
  std::vector<std::thread> threads_;  // guarded by mutex_
  std::thread acceptor_;
};

}  // namespace kube::test
