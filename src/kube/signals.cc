#include "kube/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "kube/check.h"

namespace kube {

SignalWatcher::SignalWatcher(std::function<void(int)> first) {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a client of the probes that goes away is no reason to die
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  end_ = eventfd(0, EFD_CLOEXEC);
  check(signals_ >= 0 && end_ >= 0, "no file descriptors for signals");
  thread_ = std::thread([this, first = std::move(first)] { watch(first); });
}

SignalWatcher::~SignalWatcher() {
  const std::uint64_t one = 1;
  check(write(end_, &one, sizeof one) == sizeof one, "the signal thread cannot be told to end");
  thread_.join();
  close(signals_);
  close(end_);
}

void SignalWatcher::watch(const std::function<void(int)>& first) const {
  bool seen = false;
  while (true) {
    pollfd ready[] = {{signals_, POLLIN, 0}, {end_, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) continue;
    if (ready[1].revents != 0) return;
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != sizeof info) continue;
    if (std::exchange(seen, true)) std::_Exit(1);
    first(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace kube
